/* SPDX-License-Identifier: Apache-2.0
 *
 * A fixed number of threads that work jobs off in the order in which they came. Any thread may add
 * jobs; started and stopped by one.
 */
#ifndef NB_SERVER_REQUEST_WORK_POOL_H
#define NB_SERVER_REQUEST_WORK_POOL_H

#include <stdbool.h>

#include "core/base/error.h"

struct nb_work_pool;

/* A job lies in what it works on: no memory is needed to add one. */
struct nb_work_job {
    struct nb_work_job *next; /* the queue's */
    /* Called once on a thread of the pool. The job may be freed or added again in it. */
    void (*run)(struct nb_work_job *job);
};

/* A queue of jobs, also for use without a pool. The caller locks it. */
struct nb_job_queue {
    struct nb_work_job *first, **last;
};
void nb_job_queue_init(struct nb_job_queue *queue);
void nb_job_queue_add(struct nb_job_queue *queue, struct nb_work_job *job);
struct nb_work_job *nb_job_queue_take(struct nb_job_queue *queue); /* NULL: it is empty */

/* Starts `threads` threads. `what` names their work in the error. 0, NB_NO_MEMORY or NB_IO. */
int nb_pool_start(unsigned threads, const char *what, struct nb_work_pool **pool,
                  struct nb_error *error);

/* Adds a job, whose `run` is set. */
void nb_pool_add(struct nb_work_pool *pool, struct nb_work_job *job);

/* Waits for the jobs that run, and ends the threads; jobs in the queue are left as they are. NULL
 * is allowed inside. */
void nb_pool_stop(struct nb_work_pool **pool);

#endif
