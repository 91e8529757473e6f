/* SPDX-License-Identifier: Apache-2.0
 *
 * The route of questions to a network. For the thread that works on the request.
 */
#ifndef NB_SERVER_NETWORK_NETWORK_ASK_H
#define NB_SERVER_NETWORK_NETWORK_ASK_H

#include "server/http/request/request.h"

nb_handler nb_route_query_network;

#endif
