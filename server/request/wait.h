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

/* Refuses a change when more of them than [server] queue_changes wait for the disk already.
 * Returns 0 or NB_STOPPING. */
int nb_request_check_load(const struct nb_request *request, struct nb_error *error);

#endif
