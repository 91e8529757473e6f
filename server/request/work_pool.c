/* SPDX-License-Identifier: Apache-2.0 */
#include "server/request/work_pool.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

struct nb_work_pool {
    pthread_mutex_t lock; /* of the queue and is_ending; not held while a job runs */
    pthread_cond_t news;
    struct nb_job_queue queue;
    bool is_ending;
    pthread_t *threads; /* owned */
    unsigned thread_count;
};

void nb_job_queue_init(struct nb_job_queue *queue)
{
    queue->first = NULL;
    queue->last = &queue->first;
}

void nb_job_queue_add(struct nb_job_queue *queue, struct nb_work_job *job)
{
    job->next = NULL;
    *queue->last = job;
    queue->last = &job->next;
}

struct nb_work_job *nb_job_queue_take(struct nb_job_queue *queue)
{
    struct nb_work_job *job = queue->first;
    if (job == NULL)
        return NULL;
    queue->first = job->next;
    if (queue->first == NULL)
        queue->last = &queue->first;
    return job;
}

static void *pool_thread(void *user)
{
    struct nb_work_pool *pool = user;
    pthread_mutex_lock(&pool->lock);
    while (!pool->is_ending) {
        struct nb_work_job *job = nb_job_queue_take(&pool->queue);
        if (job == NULL) {
            pthread_cond_wait(&pool->news, &pool->lock);
            continue;
        }
        pthread_mutex_unlock(&pool->lock);
        job->run(job);
        pthread_mutex_lock(&pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

int nb_pool_start(unsigned threads, const char *what, struct nb_work_pool **pool,
                  struct nb_error *error)
{
    struct nb_work_pool *p = calloc(1, sizeof *p);
    assert(threads > 0);
    if (p == NULL)
        return nb_error_no_memory(error);
    nb_job_queue_init(&p->queue);
    p->threads = calloc(threads, sizeof *p->threads);
    if (p->threads == NULL || pthread_mutex_init(&p->lock, NULL) != 0) {
        free(p->threads);
        free(p);
        return nb_error_no_memory(error);
    }
    (void)pthread_cond_init(&p->news, NULL); /* cannot fail with the GNU library */
    while (p->thread_count < threads &&
           pthread_create(&p->threads[p->thread_count], NULL, pool_thread, p) == 0)
        p->thread_count++;
    if (p->thread_count < threads) {
        nb_pool_stop(&p);
        return nb_error_set(error, NB_IO, "the threads of %s do not start", what);
    }
    *pool = p;
    return 0;
}

void nb_pool_add(struct nb_work_pool *pool, struct nb_work_job *job)
{
    assert(job->run != NULL);
    pthread_mutex_lock(&pool->lock);
    nb_job_queue_add(&pool->queue, job);
    pthread_cond_signal(&pool->news);
    pthread_mutex_unlock(&pool->lock);
}

void nb_pool_stop(struct nb_work_pool **pool)
{
    struct nb_work_pool *p = *pool;
    if (p == NULL)
        return;
    pthread_mutex_lock(&p->lock);
    p->is_ending = true;
    pthread_cond_broadcast(&p->news);
    pthread_mutex_unlock(&p->lock);
    for (unsigned i = 0; i < p->thread_count; i++)
        pthread_join(p->threads[i], NULL);
    pthread_cond_destroy(&p->news);
    pthread_mutex_destroy(&p->lock);
    free(p->threads);
    free(p);
    *pool = NULL;
}
