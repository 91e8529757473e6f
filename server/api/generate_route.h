/* SPDX-License-Identifier: Apache-2.0
 *
 * The routes that say what documents of a label are like: one drawn, and the estimates that it is
 * drawn from. For the thread that works on the request.
 */
#ifndef NB_SERVER_API_GENERATE_ROUTE_H
#define NB_SERVER_API_GENERATE_ROUTE_H

#include "server/http/request/request.h"

nb_handler nb_route_sample;
nb_handler nb_route_distribution;

#endif
