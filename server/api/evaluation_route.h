/* SPDX-License-Identifier: Apache-2.0
 *
 * The route that tells how good a model's verdicts were. For the thread that works on the request.
 */
#ifndef NB_SERVER_API_EVALUATION_ROUTE_H
#define NB_SERVER_API_EVALUATION_ROUTE_H

#include "core/engine/engine.h"
#include "server/request/request.h"

nb_handler nb_route_evaluation;

/* Reads ?scores: which scores an evaluation, or a threshold that follows from one, is made of;
 * without it those before learning. Returns 0 or NB_INVALID. */
int nb_evaluation_scores(const struct nb_request *request, enum nb_score_kind *scores,
                         struct nb_error *error);

#endif
