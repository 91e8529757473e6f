/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists of addresses and networks, as options name them. Read once; read-only afterwards, for any
 * thread.
 */
#ifndef NB_SERVER_ACCESS_NETWORKS_H
#define NB_SERVER_ACCESS_NETWORKS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/error.h"
#include "server/access/address.h"

struct nb_network;

struct nb_networks {
    struct nb_network *all; /* owned */
    size_t count;
};

/* Reads "127.0.0.1, 192.0.2.0/24, 2001:db8::/32". `option` names the list in messages: "[tokens]
 * trusted". Returns 0, NB_NO_MEMORY or NB_INVALID; on failure nothing is owned. */
int nb_networks_read(struct nb_networks *networks, const char *list, const char *option,
                     struct nb_error *error);
void nb_networks_deinit(struct nb_networks *networks);

/* Whether the address lies in one of the networks; those that are no IP address lie in none. */
bool nb_networks_have(const struct nb_networks *networks, const struct nb_address *address);

#endif
