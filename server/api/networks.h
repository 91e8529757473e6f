/* SPDX-License-Identifier: Apache-2.0
 *
 * The routes of /v1/networks: kept, shown, removed, listed. For the thread that works on the
 * request. A network's name is request->model, so tokens that are for some models are for the
 * networks of these names.
 */
#ifndef NB_SERVER_API_NETWORKS_H
#define NB_SERVER_API_NETWORKS_H

#include "core/networks/network/named.h"
#include "core/networks/network/network.h"
#include "server/http/request/request.h"

/* Reads the network of the name. On success the caller owns *network and what `stored` holds.
 * Returns as nb_named_get and nb_network_read. */
int nb_network_load(const struct nb_request *request, struct nb_string name,
                    struct nb_network **network, struct nb_named *stored, struct nb_error *error);

/* Keeps the network under request->model; sets the status of the reply, which is yet to be
 * written. Returns as nb_named_put; NB_UNUSABLE: a bad name. */
int nb_network_keep(struct nb_request *request, const struct nb_network *network,
                    struct nb_error *error);
int nb_network_check_own_name(const struct nb_request *request, struct nb_error *error);

#endif
