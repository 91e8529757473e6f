/* SPDX-License-Identifier: Apache-2.0
 *
 * A fixed number of threads that run jobs in the order of their arrival. Any thread may add jobs;
 * one thread starts and stops the pool.
 */
#ifndef NB_SERVER_REQUEST_WORK_POOL_H
#define NB_SERVER_REQUEST_WORK_POOL_H

#include <stdbool.h>

#include "core/base/error.h"

struct nb_work_pool;

/* A job is a member of the object that it works on, so adding one needs no memory. */
struct nb_work_job {
    struct nb_work_job *next; /* the queue's */
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

#endif
