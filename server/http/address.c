/* SPDX-License-Identifier: Apache-2.0 */
#include "server/http/address.h"

#include <arpa/inet.h>
#include <assert.h>
#include <pwd.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/number.h"

static const unsigned char MAPPED[12] = {[10] = 0xff, [11] = 0xff}; /* RFC 4291, 2.5.5.2 */
static_assert(sizeof MAPPED + 4 == sizeof((struct nb_address *)NULL)->bytes, "an IPv4 address");

static void set_v4(struct nb_address *address, const void *bytes)
{
    address->kind = NB_ADDRESS_IP;
    memcpy(address->bytes, MAPPED, sizeof MAPPED);
    memcpy(address->bytes + sizeof MAPPED, bytes, 4);
}

static void set_v6(struct nb_address *address, const void *bytes)
{
    address->kind = NB_ADDRESS_IP;
    memcpy(address->bytes, bytes, 16);
}

struct nb_address nb_address_of(const struct sockaddr *peer)
{
    struct nb_address address = {.kind = NB_ADDRESS_UNKNOWN};
    if (peer == NULL)
        return address;
    if (peer->sa_family == AF_UNIX)
        address.kind = NB_ADDRESS_FILE;
    else if (peer->sa_family == AF_INET)
        set_v4(&address, &((const struct sockaddr_in *)(const void *)peer)->sin_addr);
    else if (peer->sa_family == AF_INET6)
        set_v6(&address, &((const struct sockaddr_in6 *)(const void *)peer)->sin6_addr);
    return address;
}

unsigned nb_address_read(struct nb_string text, struct nb_address *address)
{
    char copy[INET6_ADDRSTRLEN];
    unsigned char bytes[16];
    if (text.length == 0 || text.length >= sizeof copy || memchr(text.bytes, '\0', text.length))
        return 0;
    memcpy(copy, text.bytes, text.length);
    copy[text.length] = '\0';
    if (inet_pton(AF_INET6, copy, bytes) == 1) {
        set_v6(address, bytes);
        return 128;
    }
    if (inet_pton(AF_INET, copy, bytes) != 1)
        return 0;
    set_v4(address, bytes);
    return 32;
}

bool nb_address_is_v4(const struct nb_address *address)
{
    return address->kind == NB_ADDRESS_IP && memcmp(address->bytes, MAPPED, sizeof MAPPED) == 0;
}

void nb_address_print(const struct nb_address *address, char text[NB_ADDRESS_TEXT])
{
    static_assert(NB_ADDRESS_TEXT >= INET6_ADDRSTRLEN && NB_ADDRESS_TEXT >= INET_ADDRSTRLEN,
                  "room for every address");
    if (address->kind != NB_ADDRESS_IP) {
        (void)snprintf(text, NB_ADDRESS_TEXT, "%s",
                       address->kind == NB_ADDRESS_FILE ? "socket" : "-");
        return;
    }
    /* Neither call fails: there is room for every address. */
    if (nb_address_is_v4(address))
        (void)inet_ntop(AF_INET, address->bytes + sizeof MAPPED, text, NB_ADDRESS_TEXT);
    else
        (void)inet_ntop(AF_INET6, address->bytes, text, NB_ADDRESS_TEXT);
}

bool nb_address_is_local(const struct nb_address *address)
{
    static const unsigned char loopback[16] = {[15] = 1};
    if (address->kind != NB_ADDRESS_IP)
        return address->kind == NB_ADDRESS_FILE;
    return nb_address_is_v4(address) ? address->bytes[sizeof MAPPED] == 127
                                     : memcmp(address->bytes, loopback, sizeof loopback) == 0;
}

/* ---- networks -------------------------------------------------------------------------------- */

struct nb_address_range {
    struct nb_address address;
    unsigned bits; /* number of leading bits that count, of 128 */
};

static bool read_network(struct nb_string item, struct nb_address_range *network)
{
    const char *slash = memchr(item.bytes, '/', item.length);
    size_t length = slash != NULL ? (size_t)(slash - item.bytes) : item.length;
    unsigned own = nb_address_read((struct nb_string){item.bytes, length}, &network->address);
    uint64_t bits = own;
    if (slash != NULL && !nb_number_read_whole(nb_string_from(item, length + 1), &bits))
        return false;
    if (own == 0 || bits > own)
        return false;
    network->bits = 128 - own + (unsigned)bits;
    return true;
}

int nb_networks_read(struct nb_networks *networks, const char *list, const char *option,
                     struct nb_error *error)
{
    struct nb_string item;
    *networks = (struct nb_networks){.all = calloc(nb_list_count(list) + 1, sizeof *networks->all)};
    if (networks->all == NULL)
        return nb_error_no_memory(error);
    while (nb_list_next(&list, &item)) {
        if (read_network(item, &networks->all[networks->count++]))
            continue;
        nb_networks_deinit(networks);
        return nb_error_set(error, NB_INVALID,
                            "%s: '%.*s' is neither an address nor a network such as 192.0.2.0/24 "
                            "or 2001:db8::/32",
                            option, (int)(item.length < 64 ? item.length : 64), item.bytes);
    }
    return 0;
}

void nb_networks_deinit(struct nb_networks *networks)
{
    free(networks->all);
    *networks = (struct nb_networks){NULL, 0};
}

static bool is_inside(const struct nb_address_range *network, const struct nb_address *address)
{
    assert(network->bits <= 128 && address->kind == NB_ADDRESS_IP);
    unsigned bytes = network->bits / 8, rest = network->bits % 8;
    unsigned char mask = (unsigned char)(0xff00 >> rest);
    return memcmp(network->address.bytes, address->bytes, bytes) == 0 &&
           (rest == 0 || ((network->address.bytes[bytes] ^ address->bytes[bytes]) & mask) == 0);
}

bool nb_networks_have(const struct nb_networks *networks, const struct nb_address *address)
{
    for (size_t i = 0; i < networks->count && address->kind == NB_ADDRESS_IP; i++) {
        if (is_inside(&networks->all[i], address))
            return true;
    }
    return false;
}

enum { OVERFLOW_USER = 65534 }; /* DEFAULT_OVERFLOWUID of Linux */

/* Finds a user by name or number. */
static bool find_user(struct nb_string item, uid_t *user)
{
    uint64_t number;
    char name[256];
    if (nb_number_read_whole(item, &number)) {
        *user = (uid_t)number;
        return number < UINT32_MAX;
    }
    if (item.length >= sizeof name)
        return false;
    memcpy(name, item.bytes, item.length);
    name[item.length] = '\0';
    const struct passwd *entry = getpwnam(name); /* main thread only: not reentrant */
    if (entry != NULL)
        *user = entry->pw_uid;
    return entry != NULL;
}

static int add(struct nb_users *users, struct nb_string item, const char *option,
               struct nb_error *error)
{
    int shown = item.length < 64 ? (int)item.length : 64;
    uid_t user;
    if (nb_string_equals(item, "*")) {
        users->has_everybody = true;
        return 0;
    }
    if (!find_user(item, &user))
        return nb_error_set(error, NB_INVALID, "%s: this machine has no user '%.*s'", option, shown,
                            item.bytes);
    if (user == OVERFLOW_USER)
        return nb_error_set(error, NB_INVALID,
                            "%s: '%.*s' is what every user looks like whom the daemon's name space "
                            "does not know; name another user, or * for everybody",
                            option, shown, item.bytes);
    users->all[users->count++] = user;
    return 0;
}

int nb_users_read(struct nb_users *users, const char *list, const char *option,
                  struct nb_error *error)
{
    struct nb_string item;
    *users = (struct nb_users){.all = calloc(nb_list_count(list) + 1, sizeof *users->all)};
    int rc = users->all != NULL ? 0 : nb_error_no_memory(error);
    while (rc == 0 && nb_list_next(&list, &item))
        rc = add(users, item, option, error);
    if (rc != 0)
        nb_users_deinit(users);
    return rc;
}

void nb_users_deinit(struct nb_users *users)
{
    free(users->all);
    *users = (struct nb_users){.all = NULL};
}

bool nb_users_have(const struct nb_users *users, uid_t user)
{
    for (size_t i = 0; i < users->count; i++) {
        if (users->all[i] == user)
            return true;
    }
    return users->has_everybody;
}

static const char EXAMPLE[] = "an origin looks like https://app.example.org or "
                              "http://localhost:3000";

static int refuse(struct nb_string item, const char *why, struct nb_error *error)
{
    int shown = item.length < 100 ? (int)item.length : 100;
    return nb_error_set(error, NB_INVALID, "[http] origins: '%.*s' %s; %s", shown, item.bytes, why,
                        EXAMPLE);
}

/* Returns the rest after "http://" or "https://"; bytes == NULL if it begins otherwise. */
static struct nb_string after_scheme(struct nb_string origin, bool *is_tls)
{
    static const char PLAIN[] = "http://", TLS[] = "https://";
    *is_tls = nb_string_starts_nocase(origin, TLS);
    if (*is_tls)
        return nb_string_from(origin, sizeof TLS - 1);
    return nb_string_starts_nocase(origin, PLAIN) ? nb_string_from(origin, sizeof PLAIN - 1)
                                                  : (struct nb_string){NULL, 0};
}

/* Returns the length of a host: an IP literal with its brackets, or a name; 0: it is no host. */
static size_t host_length(struct nb_string rest)
{
    static const char NAME[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
    char literal[INET6_ADDRSTRLEN];
    unsigned char address[sizeof(struct in6_addr)];
    size_t length = 0;
    if (rest.length > 0 && rest.bytes[0] == '[') {
        const char *end = memchr(rest.bytes, ']', rest.length);
        length = end != NULL ? (size_t)(end - rest.bytes) - 1 : 0;
        if (length == 0 || length >= sizeof literal)
            return 0;
        memcpy(literal, rest.bytes + 1, length);
        literal[length] = '\0';
        return inet_pton(AF_INET6, literal, address) == 1 ? length + 2 : 0;
    }
    while (length < rest.length && strchr(NAME, rest.bytes[length]) != NULL)
        length++;
    bool is_name = length > 0 && length < 256 && rest.bytes[0] != '.' && rest.bytes[0] != '-' &&
                   rest.bytes[length - 1] != '-';
    for (size_t i = 1; i < length; i++)
        is_name = is_name && (rest.bytes[i] != '.' || rest.bytes[i - 1] != '.');
    return is_name ? length : 0;
}

/* Checks ":" and a port, or an empty text. Returns NULL or the fault. */
static const char *port_fault(struct nb_string rest, bool is_tls)
{
    enum { DIGITS = 5, PORT_MOST = 65535, PLAIN = 80, TLS = 443 };
    if (rest.length == 0)
        return NULL;
    long port = 0;
    bool is_port = rest.bytes[0] == ':' && rest.length > 1 && rest.length <= 1 + DIGITS &&
                   rest.bytes[1] != '0';
    for (size_t i = 1; i < rest.length && is_port; i++) {
        is_port = rest.bytes[i] >= '0' && rest.bytes[i] <= '9';
        port = port * 10 + (rest.bytes[i] - '0');
    }
    if (!is_port || port > PORT_MOST)
        return "has something else than a port from 1 to 65535 behind its host";
    if (port == (is_tls ? TLS : PLAIN))
        return "has the port that its scheme has anyway, which browsers leave out";
    return NULL;
}

static int check(struct nb_string item, struct nb_error *error)
{
    bool is_tls;
    if (nb_string_equals(item, "*"))
        return 0;
    if (nb_string_equals_nocase(item, "null"))
        return refuse(item, "is what any page may be made to send", error);
    for (size_t i = 0; i < item.length; i++)
        if ((unsigned char)item.bytes[i] > 126)
            return refuse(item, "is not ASCII: browsers send such a host as xn--...", error);
    struct nb_string rest = after_scheme(item, &is_tls);
    if (rest.bytes == NULL)
        return refuse(item, "does not begin with https:// or http://", error);
    if (memchr(rest.bytes, '*', rest.length) != NULL)
        return refuse(item, "has a *, which is allowed alone only: name each host", error);
    if (memchr(rest.bytes, '@', rest.length) != NULL)
        return refuse(item, "has a user, which no origin has", error);
    size_t host = host_length(rest);
    if (host == 0)
        return refuse(item, "has no host that can be", error);
    rest = nb_string_from(rest, host);
    if (rest.length > 0 && strcspn(rest.bytes, "/?#") < rest.length)
        return refuse(item, "has a path or a slash at its end, which no origin has", error);
    const char *fault = port_fault(rest, is_tls);
    return fault != NULL ? refuse(item, fault, error) : 0;
}

int nb_origins_check(const char *list, struct nb_error *error)
{
    struct nb_string item;
    int rc = 0;
    while (rc == 0 && nb_list_next(&list, &item))
        rc = check(item, error);
    return rc;
}

bool nb_origins_have(const char *list, const char *origin)
{
    return strcasecmp(origin, "null") != 0 && nb_list_has(list, origin);
}
