/* SPDX-License-Identifier: Apache-2.0
 *
 * The route that tells how good a model's verdicts were. For the thread that works on the request.
 */
#ifndef NB_SERVER_API_EVALUATION_H
#define NB_SERVER_API_EVALUATION_H

#include "server/request/route.h"

nb_handler nb_route_evaluation;

#endif
