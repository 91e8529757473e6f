/* SPDX-License-Identifier: Apache-2.0
 *
 * Networks that are learned: the route that does it from rows, and what the one that does it from a
 * model's documents (from_model.h) has in common with it. For the thread that works on the request.
 */
#ifndef NB_SERVER_NETWORK_NETWORK_LEARN_ROUTE_H
#define NB_SERVER_NETWORK_NETWORK_LEARN_ROUTE_H

#include "core/networks/network/columns.h"
#include "server/request/request.h"

nb_handler nb_route_learn_network;

/* What is asked for. */
struct nb_learn_options {
    double alpha, prior;
    uint64_t separators;
};
#define NB_LEARN_ALPHA .01
#define NB_LEARN_PRIOR 1.0
#define NB_LEARN_PRIOR_MOST 1e6

/* Learns a network from columns, keeps it under the request's name, if there is one, and replies.
 * Returns 0 or a code. */
int nb_network_learn(struct nb_request *request, const struct nb_columns *columns,
                     const struct nb_learn_options *options, struct nb_error *error);

/* Whether the daemon is stopping, and long work is to be given up. `request`: struct nb_request. */
bool nb_network_is_cutting(void *request);

#endif
