/* SPDX-License-Identifier: Apache-2.0
 *
 * Work that takes long: export, import, evaluation, a vocabulary, a deletion, loading a model. It
 * runs on a bounded pool of threads while its request waits, so that it holds up no thread that
 * serves connections. A connection has at most one job at a time. For the thread that works on the
 * request.
 */
#ifndef NB_SERVER_REQUEST_WORK_H
#define NB_SERVER_REQUEST_WORK_H

#include "core/base/error.h"
#include "server/request/route.h"

struct nb_work_pool;

/* Runs `work`, which must not wait itself, on a thread of the pool; as long as it returns NB_WAIT,
 * again and again, after the other jobs there. Until it has ended the request belongs to that
 * thread. Returns NB_WAIT: the request then goes on with what `work` has returned,
 * as if its handler had returned it; or NB_STOPPING, NB_NO_MEMORY. */
int nb_work_run(struct nb_request *request, struct nb_work_pool *pool, nb_handler *work,
                struct nb_error *error);

/* Frees the work of a request that was broken off. The work has ended. */
void nb_work_end(struct nb_request *request);

#endif
