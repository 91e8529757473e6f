/* SPDX-License-Identifier: Apache-2.0 */
#include "server/access/origins.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "server/access/list.h"

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
    struct nb_string item;
    if (strcasecmp(origin, "null") == 0)
        return false;
    while (nb_list_next(&list, &item))
        if (nb_string_equals(item, "*") || nb_string_equals_nocase(item, origin))
            return true;
    return false;
}
