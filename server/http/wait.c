/* SPDX-License-Identifier: Apache-2.0 */
#include "server/http/wait.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "config/config.h"
#include "core/base/number.h"
#include "core/base/system.h"
#include "core/engine/engine.h"
#include "server/http/request.h"
#include "server/http/server.h"

struct nb_work_pool {
    pthread_mutex_t lock; /* guards the queue and is_ending; not held while a job runs */
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
    assert(*queue->last == NULL);
    job->next = NULL;
    *queue->last = job;
    queue->last = &job->next;
}

struct nb_work_job *nb_job_queue_take(struct nb_job_queue *queue)
{
    struct nb_work_job *job = queue->first;
    assert(job != NULL || queue->last == &queue->first);
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

bool nb_request_is_cut(void *request)
{
    const struct nb_request *r = request;
    return atomic_load_explicit(&r->server->is_cutting, memory_order_relaxed);
}

int nb_request_check_cut(const struct nb_request *request, struct nb_error *error)
{
    return atomic_load_explicit(&request->server->is_cutting, memory_order_relaxed)
               ? nb_error_set(error, NB_STOPPING, "the daemon is stopping")
               : 0;
}

bool nb_request_suspend(struct nb_request *request)
{
    struct nb_server *server = request->server;
    /* The count rises before the flag is read, and a stop sets the flag before it reads the count.
     * So at least one side sees the other, and no wait begins unnoticed by a stop. */
    atomic_fetch_add(&server->suspended, 1);
    if (atomic_load(&server->is_cutting)) {
        atomic_fetch_sub(&server->suspended, 1);
        return false;
    }
    request->carrier->suspend(request);
    return true;
}

/* Resumes the request; any thread. It must not be touched afterwards. */
static void request_resume(struct nb_request *request)
{
    struct nb_server *server = request->server;
    assert(atomic_load(&server->suspended) > 0);
    request->carrier->resume(request);
    atomic_fetch_sub(&server->suspended, 1);
}

static int carry_on(struct nb_request *request, struct nb_error *error)
{
    (void)request;
    (void)error;
    return 0;
}

int nb_request_yield(struct nb_request *request, struct nb_error *error)
{
    assert(request->again == NULL);
    if (!nb_request_suspend(request))
        return nb_error_set(error, NB_STOPPING, "the daemon is stopping");
    request->again = carry_on;
    request_resume(request); /* the request continues when its thread comes back to it */
    return NB_WAIT;
}

/* Returns whether any change of the batch was made, and notes the number of the last one in the
 * request. */
static bool note_success(struct nb_request *request, const struct nb_batch *batch)
{
    bool has_success = false;
    for (size_t i = 0; i < nb_batch_size(batch); i++) {
        const struct nb_receipt *receipt = nb_batch_receipt(batch, i);
        if (receipt->code != 0)
            continue;
        has_success = true;
        request->number = receipt->number > request->number ? receipt->number : request->number;
    }
    return has_success;
}

static void count_down(struct nb_server *server, const struct nb_batch *batch)
{
    size_t before = atomic_fetch_sub(&server->waiting_changes, nb_batch_size(batch));
    assert(before >= nb_batch_size(batch));
    (void)before;
}

/* Called when the batch is done. On the writer's thread. */
static void on_committed(struct nb_batch *batch, void *user)
{
    struct nb_request *request = user;
    request->has_changed |= note_success(request, batch);
    count_down(request->server, batch);
    request_resume(request);
}

int nb_request_submit(struct nb_request *request, struct nb_batch *batch, nb_handler *again,
                      struct nb_error *error)
{
    struct nb_server *server = request->server;
    assert(nb_batch_size(batch) > 0 && again != NULL);
    assert(request->again == NULL); /* the handler that runs was taken off */
    if (!nb_request_suspend(request))
        return nb_error_set(error, NB_STOPPING, "the daemon is stopping");
    request->again = again;
    request->body = (struct nb_string){NULL, 0};
    atomic_fetch_add(&server->waiting_changes, nb_batch_size(batch));
    nb_engine_submit(server->engine, batch, on_committed, request);
    return NB_WAIT;
}

/* ---- rounds ---------------------------------------------------------------------------------- */

/* The writer arrives when the batch is done, the request when it waits or leaves. Whoever arrives
 * second does the rest: resumes the request, or frees the round. */
enum round_state {
    ROUND_RUNS,
    ROUND_IS_OVER,    /* set by the writer */
    ROUND_IS_AWAITED, /* the request is suspended, and the writer resumes it */
    ROUND_IS_LEFT,    /* the request has ended, and the writer frees the round */
};

struct nb_round {
    struct nb_server *server;
    struct nb_request *request; /* borrowed; no longer valid when the round is left */
    struct nb_batch *batch;     /* owned */
    bool had_changed;           /* earlier value of request->has_changed */
    atomic_int state;
};

static void round_free(struct nb_round *round)
{
    nb_batch_free(&round->batch);
    free(round);
}

/* Called when the batch of a round is done. On the writer's thread. */
static void on_round_over(struct nb_batch *batch, void *user)
{
    struct nb_round *round = user;
    count_down(round->server, batch);
    int before = atomic_exchange(&round->state, ROUND_IS_OVER);
    assert(before != ROUND_IS_OVER); /* a batch is done once */
    /* If the request still runs (ROUND_RUNS), the round belongs to its thread from here on. */
    if (before == ROUND_IS_AWAITED)
        request_resume(round->request);
    else if (before == ROUND_IS_LEFT)
        round_free(round);
}

int nb_round_begin(struct nb_request *request, struct nb_batch **batch, struct nb_round **out,
                   struct nb_error *error)
{
    struct nb_round *round = calloc(1, sizeof *round);
    assert(nb_batch_size(*batch) > 0);
    if (round == NULL)
        return nb_error_no_memory(error);
    *round = (struct nb_round){.server = request->server,
                               .request = request,
                               .batch = *batch,
                               .had_changed = request->has_changed};
    *batch = NULL;
    *out = round;
    request->has_changed = true;
    atomic_fetch_add(&round->server->waiting_changes, nb_batch_size(round->batch));
    nb_engine_submit(round->server->engine, round->batch, on_round_over, round);
    return 0;
}

int nb_round_wait(struct nb_request *request, struct nb_round *round, nb_handler *again,
                  struct nb_error *error)
{
    assert(request == round->request && again != NULL);
    assert(request->again == NULL);
    if (atomic_load(&round->state) == ROUND_IS_OVER)
        return 0;
    if (!nb_request_suspend(request))
        return nb_error_set(error, NB_STOPPING, "the daemon is stopping");
    request->again = again;
    int runs = ROUND_RUNS;
    if (!atomic_compare_exchange_strong(&round->state, &runs, ROUND_IS_AWAITED))
        request_resume(request); /* the round has ended meanwhile */
    return NB_WAIT;
}

struct nb_batch *nb_round_take(struct nb_request *request, struct nb_round **out)
{
    struct nb_round *round = *out;
    struct nb_batch *batch = round->batch;
    assert(atomic_load(&round->state) == ROUND_IS_OVER);
    request->has_changed = note_success(request, batch) || round->had_changed;
    *out = NULL;
    free(round);
    return batch;
}

void nb_round_leave(struct nb_round **out)
{
    struct nb_round *round = *out;
    *out = NULL;
    if (round != NULL && atomic_exchange(&round->state, ROUND_IS_LEFT) == ROUND_IS_OVER)
        round_free(round);
}

int nb_request_check_load(const struct nb_request *request, struct nb_error *error)
{
    size_t waiting = atomic_load(&request->server->waiting_changes);
    if (waiting <= request->config->queue_changes)
        return 0;
    return nb_error_set(error, NB_STOPPING,
                        "overloaded: %zu changes wait for the disk; try again later", waiting);
}

struct nb_work {
    struct nb_work_job job; /* the first member */
    struct nb_request *request;
    struct nb_work_pool *pool;
    nb_handler *work;
    int rc; /* result of the work */
    struct nb_error error;
};

/* Runs the work. On a thread of the pool. */
static void run(struct nb_work_job *job)
{
    static_assert(offsetof(struct nb_work, job) == 0, "the cast below");
    struct nb_work *w = (struct nb_work *)job;
    struct nb_request *request = w->request;
    if (atomic_load(&request->server->is_cutting)) {
        w->rc = nb_error_set(&w->error, NB_STOPPING, "the daemon is stopping");
    } else {
        nb_engine_collect_number(&request->number); /* the number of any change by the work */
        w->rc = w->work(request, &w->error);
        nb_engine_collect_number(NULL);
    }
    if (w->rc == NB_WAIT) { /* other jobs run first */
        nb_pool_add(w->pool, &w->job);
        return;
    }
    assert(w->rc <= 0);
    request_resume(request);
}

/* Ends the work and returns its result. On the request's thread. */
static int after_work(struct nb_request *request, struct nb_error *error)
{
    struct nb_work *w = request->work;
    assert(w != NULL && w->request == request);
    int rc = w->rc;
    if (rc != 0)
        *error = w->error;
    request->work = NULL;
    free(w);
    return rc;
}

int nb_work_run(struct nb_request *request, struct nb_work_pool *pool, nb_handler *work,
                struct nb_error *error)
{
    struct nb_work *w = calloc(1, sizeof *w);
    assert(request->work == NULL);
    assert(request->again == NULL && pool != NULL && work != NULL);
    if (w == NULL)
        return nb_error_no_memory(error);
    if (!nb_request_suspend(request)) {
        free(w);
        return nb_error_set(error, NB_STOPPING, "the daemon is stopping");
    }
    w->job.run = run;
    w->request = request;
    w->pool = pool;
    w->work = work;
    request->work = w;
    request->again = after_work;
    nb_pool_add(pool, &w->job);
    return NB_WAIT;
}

void nb_work_end(struct nb_request *request)
{
    free(request->work);
    request->work = NULL;
}

enum { LOOK_NANOSECONDS = 2000000 };

bool nb_takes_after(const struct nb_route *route)
{
    return strncmp(route->pattern, "/v1/", 4) == 0;
}

int nb_catch_up_look(const struct nb_request *request, uint64_t number, struct nb_error *error)
{
    const struct timespec pause = {.tv_nsec = LOOK_NANOSECONDS};
    struct nb_server *server = request->server;
    uint64_t patience = server->startup->nodes_patience * UINT64_C(1000000000);
    if (server->nodes == NULL)
        return nb_error_set(error, NB_CONFLICT, "this bayesd is none of several ([nodes])");
    uint64_t last;
    if (nb_engine_has_applied(server->engine, number, &last))
        return 0;
    if (nb_clock_monotonic() - request->started > patience || atomic_load(&server->is_cutting))
        return nb_error_set(error, NB_STOPPING,
                            "this node has come to the change %llu, and not to %llu yet: ask again "
                            "later, or another node",
                            (unsigned long long)last, (unsigned long long)number);
    (void)nanosleep(&pause, NULL); /* it may wake early */
    return NB_WAIT;
}

static int look(struct nb_request *request, struct nb_error *error)
{
    uint64_t number = 0;
    bool is_number = nb_number_read_whole(request->after, &number);
    assert(is_number); /* nb_catch_up has read it */
    (void)is_number;
    return nb_catch_up_look(request, number, error);
}

int nb_catch_up(struct nb_request *request, struct nb_error *error)
{
    uint64_t number;
    if (request->after.bytes == NULL)
        return 0;
    if (!nb_number_read_whole(request->after, &number))
        return nb_error_set(error, NB_INVALID,
                            "query parameter '%s', or the header field %s, must be a whole number",
                            NB_QUERY_AFTER, NB_FIELD_AFTER);
    return nb_work_run(request, request->server->streams, look, error);
}
