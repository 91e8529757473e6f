/* SPDX-License-Identifier: Apache-2.0
 *
 * The routes that make a network: learned from rows, given, or learned from the documents of a
 * model. For the thread that works on the request.
 */
#ifndef NB_SERVER_NETWORK_NETWORK_LEARN_ROUTE_H
#define NB_SERVER_NETWORK_NETWORK_LEARN_ROUTE_H

#include "core/networks/network/columns.h"
#include "server/http/request/request.h"

/* Learns a network from the rows of the body. */
nb_handler nb_route_learn_network;

/* Takes a network as it is given, or learns it from the documents of a model: their values of
 * categories, and their label. */
nb_handler nb_route_post_network;

#endif
