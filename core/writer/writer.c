/* SPDX-License-Identifier: Apache-2.0 */
#include "core/writer/writer.h"

#include <assert.h>
#include <stdlib.h>

#include "core/base/platform/platform.h"
#include "core/base/system.h"
#include "core/model/model_transaction.h"
#include "core/model/refit.h"
#include "core/model/relayed.h"
#include "core/writer/ageing.h"
#include "core/writer/commit.h"
#include "core/writer/recalibrate.h"
#include "core/writer/remember.h"
#include "core/writer/submit.h"
#include "core/writer/unused.h"
#include "core/writer/upgrade.h"
#include "core/writer/upkeep.h"

enum {
    SLOW_SYNC = 1000000, /* nanoseconds; a disk without a power-protected cache takes longer */
    GATHER_SHARE = 4,    /* the writer waits 1/GATHER_SHARE of the sync time for changes to join the
                            next commit */
};
static const uint64_t RECOVER_EVERY = 100000000; /* nanoseconds, while the store has failed */

/* ---- the queue ------------------------------------------------------------------------------- */

static void enqueue(struct nb_engine *engine, struct nb_job *job)
{
    job->next = NULL;
    if (engine->queue.last == NULL)
        engine->queue.first = job;
    else
        engine->queue.last->next = job;
    engine->queue.last = job;
    engine->queue.waiting++;
    if (engine->queue.waiting == 1 || engine->queue.waiting >= engine->queue.expected)
        pthread_cond_signal(&engine->queue.filled);
}

/* Waits until a commit is worth it. Clients that wait for each receipt send their next document as
 * soon as the receipt has come. If the next commit began with the first of these documents, the
 * others would have to wait for the commit after it, and each commit would hold half of what it
 * could. So the next commit begins when as many changes wait as the last commit answered or left
 * waiting. On a disk that takes 4 ms to sync, 16 clients train nearly twice as fast. */
static void gather(struct nb_engine *engine)
{
    while (engine->queue.waiting < engine->queue.expected && !engine->queue.closing)
        if (!nb_condition_wait(&engine->queue.filled, &engine->queue.lock,
                               engine->queue.gather_until))
            return;
}

/* Sets how many changes the next commit waits for. On a fast disk it waits for none: there it is
 * better if trainers tokenize while the writer works. */
static void expect(struct nb_engine *engine, size_t answered)
{
    bool slow = engine->queue.sync_time >= SLOW_SYNC;
    pthread_mutex_lock(&engine->queue.lock);
    engine->queue.expected = slow ? engine->queue.waiting + answered : 0;
    engine->queue.gather_until = nb_clock_monotonic() + engine->queue.sync_time / GATHER_SHARE;
    pthread_mutex_unlock(&engine->queue.lock);
}

/* Continues refits and calibrations while nothing waits. Called with the queue's lock held. If
 * there is nothing but refits that rest, it waits for work until they may go on. */
static void fit_some(struct nb_engine *engine)
{
    pthread_mutex_unlock(&engine->queue.lock);
    bool some = nb_refits_some(engine, false) || nb_refits_calibrate(engine);
    bool rests = !some && nb_refits_rest(engine);
    if (some || rests)
        atomic_store(&engine->queue.refits, true);
    pthread_mutex_lock(&engine->queue.lock);
    if (!rests || engine->queue.first != NULL || engine->queue.closing)
        return;
    (void)nb_condition_wait(&engine->queue.filled, &engine->queue.lock,
                            nb_clock_monotonic() + NB_REFIT_REST);
}

/* Continues the upgrade of models while nothing waits. Called with the queue's lock held. Returns
 * whether there is more to do. */
static bool upgrade_some(struct nb_engine *engine)
{
    pthread_mutex_unlock(&engine->queue.lock);
    bool has_more = nb_upgrade_some(engine);
    pthread_mutex_lock(&engine->queue.lock);
    return has_more;
}

/* Waits for work. Called with the queue's lock held. In quiet moments it does upkeep, or tests
 * whether a store that failed works again. */
static void wait_for_work(struct nb_engine *engine)
{
    bool failed = nb_transaction_health(engine, NULL) != 0;
    uint64_t until = nb_clock_monotonic() + (failed ? RECOVER_EVERY : engine->settings.quiet_after);
    bool quiet = engine->queue.trim || engine->queue.remember;
    if (!quiet && !failed && upgrade_some(engine))
        return;
    if (!quiet && !failed && atomic_exchange(&engine->queue.refits, false)) {
        fit_some(engine);
        return;
    }
    if (!quiet)
        quiet = !nb_condition_wait(&engine->queue.filled, &engine->queue.lock, until);
    bool trim = engine->queue.trim, remember = engine->queue.remember;
    engine->queue.trim = engine->queue.remember = false;
    if (!quiet && !trim && !remember)
        return;
    pthread_mutex_unlock(&engine->queue.lock);
    if (failed)
        nb_transaction_probe(engine);
    else if (remember)
        (void)nb_remember_flush(engine, true, NULL);
    else if (trim)
        nb_upkeep_trim(engine);
    else
        nb_upkeep_quiet(engine);
    pthread_mutex_lock(&engine->queue.lock);
}

/* Returns everything that waits; NULL if the engine closes and nothing waits. */
static struct nb_job *take_all(struct nb_engine *engine)
{
    pthread_mutex_lock(&engine->queue.lock);
    while (engine->queue.first == NULL && !engine->queue.closing)
        wait_for_work(engine);
    gather(engine);
    struct nb_job *jobs = engine->queue.first;
    engine->queue.first = engine->queue.last = NULL;
    engine->queue.waiting = 0;
    pthread_mutex_unlock(&engine->queue.lock);
    return jobs;
}

/* A task from the stream that nodes share is done after everything before it in the stream, and
 * with the time that it carries. */
static int run_relayed(struct nb_engine *engine, struct nb_job *job)
{
    if (job->relayed == NULL)
        return job->task(engine, job->argument, job->error);
    int code = nb_stream_states_stage(engine, NULL, job->relayed, job->error);
    if (code != 0)
        return code;
    engine->stream_states.time = job->relayed->time;
    nb_relay_apply(job->relayed);
    code = job->task(engine, job->argument, job->error);
    nb_relay_apply(NULL);
    engine->stream_states.time = 0;
    if (nb_error_is_passing(code))
        nb_stream_states_return(engine);
    return code;
}

static void run_task(struct nb_engine *engine, struct nb_job *job)
{
    assert(job->task != NULL && !job->finished);
    int code = run_relayed(engine, job);
    pthread_mutex_lock(&engine->queue.lock);
    job->code = code;
    job->finished = true;
    pthread_cond_broadcast(&engine->queue.finished);
    pthread_mutex_unlock(&engine->queue.lock);
}

/* Batches up to the next task are divided into groups of bounded size; each group is one commit. */
static struct nb_job *run_batches(struct nb_engine *engine, struct nb_job *jobs)
{
    struct nb_group group = {.engine = engine};
    struct nb_job *job = jobs;
    size_t answered = 0;
    assert(jobs->task == NULL && jobs->batch->written <= jobs->batch->size);
    for (; job != NULL && job->task == NULL && nb_group_add(&group, job->batch); job = job->next) {
        answered++;
        engine->freed_after += job->batch->size;
    }
    nb_ageing_join(engine, &group);
    nb_group_commit(&group);
    nb_ageing_end(engine);
    nb_unused_drop_some(engine, &group);
    for (size_t i = 0; i < group.model_count; i++)
        if (nb_refits_calibrate_model(engine, group.models[i].live))
            atomic_store(&engine->queue.refits, true);
    expect(engine, answered);
    nb_group_deinit(&group);
    while (jobs != NULL && jobs->task == NULL && jobs->batch->written == jobs->batch->size) {
        struct nb_job *next = jobs->next;
        jobs->done(jobs->batch, jobs->user); /* may free the batch, and the job with it */
        jobs = next;
    }
    return jobs;
}

static void *writer_main(void *argument)
{
    struct nb_engine *engine = argument;
    struct nb_job *jobs;
    struct nb_upkeep_times times = {.trimmed = nb_clock_monotonic()};
    while ((jobs = take_all(engine)) != NULL) {
        while (jobs != NULL) {
            if (jobs->task == NULL) {
                jobs = run_batches(engine, jobs);
                continue;
            }
            struct nb_job *next = jobs->next;
            run_task(engine, jobs);
            jobs = next;
        }
        nb_upkeep_busy(engine, &times);
    }
    /* No client relies on these being durable. */
    (void)nb_remember_flush(engine, true, NULL);
    nb_traffic_save(engine, true);
    nb_unused_end(engine);
    nb_recalibrate_end(engine);
    return NULL;
}

int nb_writer_start(struct nb_engine *engine, struct nb_error *error)
{
    assert(!engine->writer_started);
    int rc = pthread_create(&engine->writer, NULL, writer_main, engine);
    if (rc != 0)
        return nb_error_errno(error, rc, "starting the writer's thread");
    nb_platform_name_thread(engine->writer,
                            "writer"); /* so that tools can show the cost of each thread */
    engine->writer_started = true;
    return 0;
}

void nb_writer_stop(struct nb_engine *engine)
{
    if (!engine->writer_started)
        return;
    pthread_mutex_lock(&engine->queue.lock);
    engine->queue.closing = true;
    pthread_cond_signal(&engine->queue.filled);
    pthread_mutex_unlock(&engine->queue.lock);
    pthread_join(engine->writer, NULL);
    engine->writer_started = false;
}

static int run(struct nb_engine *engine,
               int (*task)(struct nb_engine *engine, void *argument, struct nb_error *error),
               void *argument, const struct nb_relayed *relayed, struct nb_error *error)
{
    struct nb_job job = {.task = task, .argument = argument, .error = error, .relayed = relayed};
    pthread_mutex_lock(&engine->queue.lock);
    if (engine->queue.closing) {
        job.code = nb_error_set(error, NB_STOPPING, "the daemon is stopping");
    } else {
        enqueue(engine, &job);
        while (!job.finished)
            pthread_cond_wait(&engine->queue.finished, &engine->queue.lock);
    }
    pthread_mutex_unlock(&engine->queue.lock);
    return job.code;
}

int nb_writer_run(struct nb_engine *engine,
                  int (*task)(struct nb_engine *engine, void *argument, struct nb_error *error),
                  void *argument, struct nb_error *error)
{
    return run(engine, task, argument, nb_relay_applied(), error);
}

struct transacting {
    uint64_t expected;
    nb_transaction_work *work;
    void *argument;
};

static int transact_task(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    const struct transacting *t = argument;
    return nb_transaction(engine, t->expected, t->work, t->argument, error);
}

int nb_writer_transact(struct nb_engine *engine, uint64_t expected, nb_transaction_work *work,
                       void *argument, struct nb_error *error)
{
    struct transacting t = {expected, work, argument};
    return nb_writer_run(engine, transact_task, &t, error);
}

int nb_writer_run_ahead(struct nb_engine *engine,
                        int (*task)(struct nb_engine *engine, void *argument,
                                    struct nb_error *error),
                        void *argument, struct nb_error *error)
{
    return run(engine, task, argument, NULL, error);
}

/* NB_STOPPING: the engine closes. */
static int enqueue_batch(struct nb_engine *engine, struct nb_batch *batch, nb_batch_done *done,
                         void *user, struct nb_error *error)
{
    batch->job = (struct nb_job){.batch = batch, .done = done, .user = user};
    batch->written = 0;
    pthread_mutex_lock(&engine->queue.lock);
    bool closing = engine->queue.closing;
    if (!closing) {
        atomic_fetch_add(&engine->counters.queued, batch->size);
        enqueue(engine, &batch->job);
    }
    pthread_mutex_unlock(&engine->queue.lock);
    return closing ? nb_error_set(error, NB_STOPPING, "the daemon is stopping") : 0;
}

void nb_engine_submit(struct nb_engine *engine, struct nb_batch *batch, nb_batch_done *done,
                      void *user)
{
    struct nb_error why = {0};
    bool has_some = batch->size > 0;
    int rc = 0;
    assert(batch->engine == engine && done != NULL);
    if (has_some)
        rc = nb_relay_is_wanted(engine)
                 ? nb_relay_submit(engine, nb_buffer_string(&batch->name), batch, done, user, &why)
                 : enqueue_batch(engine, batch, done, user, &why);
    if (rc == 0 && has_some)
        return; /* `done` may have freed the batch by now */
    for (size_t i = 0; i < batch->size; i++) {
        batch->changes[i].receipt.code = rc;
        batch->changes[i].receipt.error = why;
    }
    done(batch, user);
}

struct waiter {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool done;
};

static void wake(struct nb_batch *batch, void *user)
{
    struct waiter *waiter = user;
    (void)batch;
    pthread_mutex_lock(&waiter->lock);
    waiter->done = true;
    pthread_cond_signal(&waiter->changed);
    pthread_mutex_unlock(&waiter->lock);
}

void nb_engine_apply(struct nb_engine *engine, struct nb_batch *batch)
{
    struct waiter waiter = {.done = false};
    pthread_mutex_init(&waiter.lock, NULL);
    pthread_cond_init(&waiter.changed, NULL);
    nb_engine_submit(engine, batch, wake, &waiter);
    pthread_mutex_lock(&waiter.lock);
    while (!waiter.done)
        pthread_cond_wait(&waiter.changed, &waiter.lock);
    pthread_mutex_unlock(&waiter.lock);
    pthread_cond_destroy(&waiter.changed);
    pthread_mutex_destroy(&waiter.lock);
    for (size_t i = 0; i < batch->size; i++)
        if (batch->changes[i].receipt.code == 0)
            nb_relay_collected(batch->changes[i].receipt.number);
}

void nb_engine_collect_number(uint64_t *number)
{
    nb_relay_collect(number);
}

bool nb_engine_has_applied(const struct nb_engine *engine, uint64_t number, uint64_t *last)
{
    unsigned stream = (unsigned)(number % engine->settings.streams);
    uint64_t applied = atomic_load(&engine->stream_states.places[stream].applied);
    *last = nb_relay_number(engine, stream, applied);
    return *last >= number;
}
