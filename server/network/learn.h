/* SPDX-License-Identifier: Apache-2.0
 *
 * The route that learns a network from rows. For the thread that works on the request.
 */
#ifndef NB_SERVER_NETWORK_LEARN_H
#define NB_SERVER_NETWORK_LEARN_H

#include "server/request/route.h"

nb_handler nb_route_learn_network;

#endif
