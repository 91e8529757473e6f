/* SPDX-License-Identifier: Apache-2.0 */
#include "server/access/address.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/number.h"
#include "server/access/list.h"

static const unsigned char MAPPED[12] = {[10] = 0xff, [11] = 0xff}; /* RFC 4291, 2.5.5.2 */

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
    if (address->kind != NB_ADDRESS_IP) {
        (void)snprintf(text, NB_ADDRESS_TEXT, "%s",
                       address->kind == NB_ADDRESS_FILE ? "socket" : "-");
        return;
    }
    /* Neither fails: there is room for every address. */
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

/* ---- networks -----------------------------------------------------------------------------------
 */

struct nb_address_range {
    struct nb_address address;
    unsigned bits; /* of 128 */
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
