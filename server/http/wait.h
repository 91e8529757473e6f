/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests that wait, without occupying a thread, for the engine's writer or for long work, and the
 * pools of threads on which long work runs. For the thread that works on the request, unless a
 * comment says otherwise.
 */
#ifndef NB_SERVER_HTTP_WAIT_H
#define NB_SERVER_HTTP_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "server/http/request.h"

struct nb_batch;
struct nb_request;
struct nb_round;
struct nb_route;
struct nb_work_pool;

/* ---- pools ----------------------------------------------------------------------------------- */

/* A pool has a fixed number of threads that run jobs in the order of their arrival. Any thread may
 * add jobs; one thread starts and stops the pool. */

/* A job is a member of the object that it works on, so adding one needs no memory. */
struct nb_work_job {
    struct nb_work_job *next; /* private to the queue */
    /* Called once on a thread of the pool; it may free the job or add it again. */
    void (*run)(struct nb_work_job *job);
};

/* A queue of jobs, also for use without a pool. The caller locks it. */
struct nb_job_queue {
    struct nb_work_job *first, **last;
};
void nb_job_queue_init(struct nb_job_queue *queue);
void nb_job_queue_add(struct nb_job_queue *queue, struct nb_work_job *job);
struct nb_work_job *nb_job_queue_take(struct nb_job_queue *queue); /* NULL: it is empty */

/* Starts `threads` threads. Error messages call their work `what`. Returns 0, NB_NO_MEMORY or
 * NB_IO. */
int nb_pool_start(unsigned threads, const char *what, struct nb_work_pool **pool,
                  struct nb_error *error);

/* Adds a job, whose `run` is set. */
void nb_pool_add(struct nb_work_pool *pool, struct nb_work_job *job);

/* Waits for the running jobs and ends the threads; jobs in the queue stay there. NULL is allowed
 * inside. */
void nb_pool_stop(struct nb_work_pool **pool);

/* Whether the daemon aborts requests: then the work of `request` (a struct nb_request) ends early.
 * For the engine's `stop` callbacks. Any thread. */
bool nb_request_is_cut(void *request);
/* Returns 0, or NB_STOPPING when the daemon aborts requests. Any thread. */
int nb_request_check_cut(const struct nb_request *request, struct nb_error *error);

/* ---- waits ----------------------------------------------------------------------------------- */

/* Takes the request off its thread. A handler calls it before it hands work to another thread,
 * because that work may end at once; then the handler returns NB_WAIT. Returns false when the
 * daemon aborts requests: then the handler must not begin the work. */
bool nb_request_suspend(struct nb_request *request);

/* Lets other requests use the thread before this one continues. For a handler with long work; it is
 * called again to do the rest. Returns NB_WAIT, or NB_STOPPING. */
int nb_request_yield(struct nb_request *request, struct nb_error *error);

/* Hands a batch of at least one change to the writer; the request continues in `again` when all of
 * them are on disk or have failed. The caller keeps the batch but must not touch it until then.
 * Returns NB_WAIT, or NB_STOPPING. */
int nb_request_submit(struct nb_request *request, struct nb_batch *batch, nb_handler *again,
                      struct nb_error *error);

/* A round: a batch that the writer works on while its request continues. */

/* Hands a batch of at least one change to the writer and continues. The batch moves into the round
 * (*batch becomes NULL) and comes back from nb_round_take. Until then the request counts as one
 * that has changed something. Returns 0, or NB_NO_MEMORY, and then nothing was handed over. */
int nb_round_begin(struct nb_request *request, struct nb_batch **batch, struct nb_round **round,
                   struct nb_error *error);
/* Returns 0 when all changes of the round are on disk or have failed. Else returns NB_WAIT, and the
 * request continues in `again` when they are; or NB_STOPPING. */
int nb_round_wait(struct nb_request *request, struct nb_round *round, nb_handler *again,
                  struct nb_error *error);
/* Ends a round for which nb_round_wait has returned 0, and returns its batch to the caller. */
struct nb_batch *nb_round_take(struct nb_request *request, struct nb_round **round);
/* Abandons a round when its request ends first: frees batch and round, or lets the writer free them
 * if it still has them. NULL is allowed. */
void nb_round_leave(struct nb_round **round);

/* Refuses a change when more than [server] queue_changes changes already wait for the disk. Returns
 * 0 or NB_STOPPING. */
int nb_request_check_load(const struct nb_request *request, struct nb_error *error);

/* Long work: export, import, evaluation, a vocabulary, a deletion, loading a model. It runs on a
 * bounded pool of threads while its request waits, so that it blocks no thread that serves
 * connections. A connection has at most one job at a time. For the thread that works on the
 * request. */

/* Runs `work`, which must not block, on a thread of the pool; while it returns NB_WAIT, it is
 * queued again behind the other jobs. Until it has ended the request belongs to that thread.
 * Returns NB_WAIT, and the request continues with the result of `work`, as if its handler had
 * returned it; or NB_STOPPING, NB_NO_MEMORY. */
int nb_work_run(struct nb_request *request, struct nb_work_pool *pool, nb_handler *work,
                struct nb_error *error);

/* Frees the work of an aborted request. The work must have ended. */
void nb_work_end(struct nb_request *request);

/* With several nodes, a client may require that the reply of one node includes a change made on
 * another: it names the place of the change in the stream. For the thread that works on the
 * request. */

/* Header fields: in a reply, the place of the change that it confirms; in a request, the place that
 * the reply must include. */
#define NB_FIELD_NUMBER "Bayesd-Number"
#define NB_FIELD_AFTER "Bayesd-After"
/* The query parameter with the same meaning as NB_FIELD_AFTER. */
#define NB_QUERY_AFTER "after"

/* Whether requests to the route may name a place: those of the API may. Paged lists, which use
 * NB_QUERY_AFTER for their own purpose, take the header field alone. */
bool nb_takes_after(const struct nb_route *route);

/* Waits until this node has applied the place that the request names. Returns 0, also if it names
 * none; NB_WAIT: the request continues when the place is applied; NB_INVALID: it is not a number;
 * NB_CONFLICT: this bayesd has no other nodes; NB_STOPPING: as nb_catch_up_look. */
int nb_catch_up(struct nb_request *request, struct nb_error *error);

/* Checks once whether the place is applied here. Returns 0; NB_WAIT, after a short pause;
 * NB_STOPPING: the request has waited for [nodes] patience; NB_CONFLICT. On a thread of a pool. */
int nb_catch_up_look(const struct nb_request *request, uint64_t number, struct nb_error *error);

#endif
