/* SPDX-License-Identifier: Apache-2.0 */
#include "server/access/address.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

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
