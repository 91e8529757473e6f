/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests that wait, off their thread, for the engine's writer or for long work. For the thread
 * that works on the request, except nb_request_resume.
 */
#ifndef NB_SERVER_REQUEST_WAIT_H
#define NB_SERVER_REQUEST_WAIT_H

#include <stdbool.h>

#include "core/base/error.h"
#include "server/request/route.h"

struct nb_batch;

/* Takes the request off its thread. A handler calls it before it hands work to another thread,
 * because that work may end at once; then the handler returns NB_WAIT. Returns false when the
 * daemon is breaking requests off: then the handler must not begin the work. */
bool nb_request_suspend(struct nb_request *request);

/* Puts it back; any thread. The request must not be touched afterwards. */
void nb_request_resume(struct nb_request *request);

/* Lets other requests have the thread before this one goes on: for a handler that has work for a
 * long time, and is called again to do the rest. Returns NB_WAIT, or NB_STOPPING. */
int nb_request_yield(struct nb_request *request, struct nb_error *error);

/* Hands a batch of at least one change to the writer; the request goes on in `again` when all of
 * them are on disk or have failed. The batch stays the caller's, who must not touch it until then.
 * Returns NB_WAIT, or NB_STOPPING. */
int nb_request_submit(struct nb_request *request, struct nb_batch *batch, nb_handler *again,
                      struct nb_error *error);

/* A round: a batch that the writer has while its request goes on. */
struct nb_round;

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

#endif
