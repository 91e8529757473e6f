/* SPDX-License-Identifier: Apache-2.0
 *
 * Stored networks: the routes that put, show, delete and list them (handlers.h), and functions for
 * other routes of networks. For the thread that works on the request. The name of a network is
 * request->model, so a token that is limited to some models also gives access to the networks of
 * these names.
 */
#ifndef NB_SERVER_API_NETWORKS_H
#define NB_SERVER_API_NETWORKS_H

#include "core/networks/network/named.h"
#include "core/networks/network/network.h"
#include "server/http/request.h"

/* Loads the network of this name. On success the caller owns *network and what `stored` holds.
 * Returns 0 or a code of nb_named_get or nb_network_read. */
int nb_network_load(const struct nb_request *request, struct nb_string name,
                    struct nb_network **network, struct nb_named *stored, struct nb_error *error);

/* Stores the network under request->model and sets the status of the reply, which the caller then
 * writes. Returns 0, NB_UNUSABLE (a bad name) or a code of nb_named_put. */
int nb_network_keep(struct nb_request *request, const struct nb_network *network,
                    struct nb_error *error);
int nb_network_check_own_name(const struct nb_request *request, struct nb_error *error);

#endif
