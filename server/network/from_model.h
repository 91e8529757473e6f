/* SPDX-License-Identifier: Apache-2.0
 *
 * The route that takes a network as it is given, or learns it from the documents of a model: their
 * values of categories, and their label. For the thread that works on the request.
 */
#ifndef NB_SERVER_NETWORK_FROM_MODEL_H
#define NB_SERVER_NETWORK_FROM_MODEL_H

#include "server/request/request.h"

nb_handler nb_route_post_network;

#endif
