/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests that wait, off their thread, for the engine's writer or for long work. For the thread
 * that works on the request, except nb_request_resume.
 */
#ifndef NB_SERVER_REQUEST_WAIT_H
#define NB_SERVER_REQUEST_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "server/request/route.h"

struct nb_batch;
struct nb_request;
struct nb_round;
struct nb_route;
struct nb_work_pool;

/* Takes the request off its thread. A handler calls it before it hands work to another thread,
 * because that work may end at once; then the handler returns NB_WAIT. Returns false when the
 * daemon is breaking requests off: then the handler must not begin the work. */
bool nb_request_suspend(struct nb_request *request);

/* Lets other requests have the thread before this one goes on: for a handler that has work for a
 * long time, and is called again to do the rest. Returns NB_WAIT, or NB_STOPPING. */
int nb_request_yield(struct nb_request *request, struct nb_error *error);

/* Hands a batch of at least one change to the writer; the request goes on in `again` when all of
 * them are on disk or have failed. The batch stays the caller's, who must not touch it until then.
 * Returns NB_WAIT, or NB_STOPPING. */
int nb_request_submit(struct nb_request *request, struct nb_batch *batch, nb_handler *again,
                      struct nb_error *error);

/* A round: a batch that the writer has while its request goes on. */

/* Hands a batch of at least one change to the writer and goes on. The batch is moved into the round
 * (*batch becomes NULL) and comes back by nb_round_take. Until then the request counts as one that
 * has changed something. Returns 0 or NB_NO_MEMORY; then nothing was handed over. */
int nb_round_begin(struct nb_request *request, struct nb_batch **batch, struct nb_round **round,
                   struct nb_error *error);
/* Returns 0 when all changes of the round are on disk or have failed; else NB_WAIT: the request
 * goes on in `again` when they are. Or NB_STOPPING. */
int nb_round_wait(struct nb_request *request, struct nb_round *round, nb_handler *again,
                  struct nb_error *error);
/* Ends a round that nb_round_wait says is over, and returns its batch, which is the caller's. */
struct nb_batch *nb_round_take(struct nb_request *request, struct nb_round **round);
/* Gives a round up, for a request that ends before it: batch and round are freed, by the writer if
 * it still has them. NULL allowed. */
void nb_round_leave(struct nb_round **round);

/* Refuses a change when more of them than [server] queue_changes wait for the disk already.
 * Returns 0 or NB_STOPPING. */
int nb_request_check_load(const struct nb_request *request, struct nb_error *error);

/* Work that takes long: export, import, evaluation, a vocabulary, a deletion, loading a model. It
 * runs on a bounded pool of threads while its request waits, so that it holds up no thread that
 * serves connections. A connection has at most one job at a time. For the thread that works on the
 * request. */

/* Runs `work`, which must not wait itself, on a thread of the pool; as long as it returns NB_WAIT,
 * again and again, after the other jobs there. Until it has ended the request belongs to that
 * thread. Returns NB_WAIT: the request then goes on with what `work` has returned,
 * as if its handler had returned it; or NB_STOPPING, NB_NO_MEMORY. */
int nb_work_run(struct nb_request *request, struct nb_work_pool *pool, nb_handler *work,
                struct nb_error *error);

/* Frees the work of a request that was broken off. The work has ended. */
void nb_work_end(struct nb_request *request);

/* A node of several answers as of a change that another one has made: who asks names its place in
 * the stream. For the thread that works on the request. */

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
