/* SPDX-License-Identifier: Apache-2.0
 *
 * A node of several answers as of a change that another one has made: who asks names its place in
 * the stream. For the thread that works on the request.
 */
#ifndef NB_SERVER_REQUEST_CATCH_UP_H
#define NB_SERVER_REQUEST_CATCH_UP_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"

struct nb_request;
struct nb_route;

/* Header fields: of a reply, the place of the change that it confirms; of a request, the one that
 * the reply has to know. */
#define NB_FIELD_NUMBER "Bayesd-Number"
#define NB_FIELD_AFTER "Bayesd-After"
/* The query parameter that says the same as NB_FIELD_AFTER. */
#define NB_QUERY_AFTER "after"

/* Whether requests to the route may name a place: those of the API. Lists in pages, which have a
 * parameter NB_QUERY_AFTER of their own, take the header field alone. */
bool nb_takes_after(const struct nb_route *route);

/* Waits until this node has applied the place that the request names. Returns 0, also if it names
 * none; NB_WAIT: the request goes on when it has; NB_INVALID: it is no number; NB_CONFLICT: this
 * bayesd is none of several; NB_STOPPING: as nb_catch_up_look. */
int nb_catch_up(struct nb_request *request, struct nb_error *error);

/* One look whether the place is applied here. Returns 0; NB_WAIT, after a short pause; NB_STOPPING:
 * the request has waited for [nodes] patience; NB_CONFLICT. On a thread of a pool. */
int nb_catch_up_look(const struct nb_request *request, uint64_t number, struct nb_error *error);

#endif
