/* SPDX-License-Identifier: Apache-2.0 */
#include "server/access/networks.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/number.h"
#include "server/access/list.h"

struct nb_network {
    struct nb_address address;
    unsigned bits; /* of 128 */
};

static bool read_network(struct nb_string item, struct nb_network *network)
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

static bool is_inside(const struct nb_network *network, const struct nb_address *address)
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
