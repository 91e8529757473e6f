/* SPDX-License-Identifier: Apache-2.0
 *
 * GET and POST /v1/models/{model}/em: what documents without a label give a model.
 */
#ifndef NB_SERVER_EM_EM_ROUTE_H
#define NB_SERVER_EM_EM_ROUTE_H

#include "server/http/request/request.h"

nb_handler nb_route_em;       /* the state */
nb_handler nb_route_start_em; /* finds it anew first */

#endif
