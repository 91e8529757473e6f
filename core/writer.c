/* SPDX-License-Identifier: Apache-2.0
 *
 * The writer's thread: takes everything that waits, in the order in which it came, and hands it on
 * in groups; runs tasks (settings, imports, deletions); uses quiet moments for checkpoints.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/group.h"

enum {
    QUIET_SECONDS = 1,    /* without work, before the writer looks for something to tidy */
    MAP_TRIES = 16,       /* the map doubles each time */
    PURGE_ENTRIES = 2000, /* deleted per transaction from models that are gone */
    PURGE_REST = 3,       /* times as long as that took, other work goes first */
    SLOW_SYNC = 1000000,  /* nanoseconds; a disk without a cache that keeps power takes longer */
    GATHER_SHARE = 4,     /* of that time, to wait for those that the next commit should hold */
};

/* ---- transactions ---------------------------------------------------------------------------- */

static void note_health(struct nb_engine *engine, int rc, const struct nb_error *error)
{
    pthread_mutex_lock(&engine->health_lock);
    if (rc == 0)
        engine->health.code = 0;
    else if (error != NULL)
        engine->health = *error;
    pthread_mutex_unlock(&engine->health_lock);
}

/* Opens the store again if it has failed. */
static int recover(struct nb_engine *engine, struct nb_error *error)
{
    if (!nb_store_failed(engine->store, NULL))
        return 0;
    int rc = nb_store_reopen(engine->store, error);
    note_health(engine, rc, error);
    return rc;
}

int nb_writer_transaction(struct nb_engine *engine, uint64_t expected,
                          int (*work)(struct nb_engine *engine, struct nb_view *view,
                                      void *argument, struct nb_error *error),
                          void *argument, struct nb_error *error)
{
    struct nb_error local;
    uint64_t started = nb_clock_monotonic();
    int rc = recover(engine, &local);
    rc = rc == 0 ? NB_STORE_MAP_FULL : rc;
    for (int i = 0; rc == NB_STORE_MAP_FULL && i < MAP_TRIES; i++) {
        struct nb_view view;
        rc = nb_store_begin(engine->store, expected, &view, &local);
        if (rc != 0)
            break;
        rc = work(engine, &view, argument, &local);
        uint64_t worked = nb_clock_monotonic();
        if (rc == 0)
            rc = nb_store_commit(&view, &local);
        else
            nb_store_abort(&view);
        engine->sync_time = nb_clock_monotonic() - worked;
    }
    if (rc == 0)
        atomic_fetch_add(&engine->counters.commits, 1);
    else
        atomic_fetch_add(&engine->counters.commit_failures, 1);
    atomic_fetch_add(&engine->counters.commit_nanoseconds, nb_clock_monotonic() - started);
    if (rc == NB_STORE_MAP_FULL)
        rc = local.code = NB_IO;
    /* What a caller got wrong says nothing about the store. */
    if (rc == 0 || rc == NB_DISK_FULL || rc == NB_IO || rc == NB_CORRUPT)
        note_health(engine, rc, &local);
    if (rc != 0 && error != NULL)
        *error = local;
    return rc;
}

static int put_scratch(struct nb_engine *engine, const struct nb_view *view, enum nb_table table,
                       struct nb_string key, struct nb_error *error)
{
    struct nb_string value = {engine->scratch.bytes, engine->scratch.length};
    return nb_store_put(view, table, key, value, error);
}

int nb_writer_put_state(struct nb_engine *engine, const struct nb_view *view,
                        const struct nb_live *live, const struct nb_state_record *state,
                        struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_model(live->number);
    engine->scratch.length = 0;
    if (nb_state_write(state, &engine->scratch) != 0)
        return nb_error_no_memory(error);
    return put_scratch(engine, view, NB_TABLE_STATE, nb_store_key_string(&key), error);
}

int nb_writer_put_stack(struct nb_engine *engine, const struct nb_view *view,
                        const struct nb_live *live, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_model(live->number);
    struct nb_writer w = {.out = &engine->scratch};
    engine->scratch.length = 0;
    nb_stack_weights_write(live->published->weights, &w);
    if (w.code != 0)
        return nb_error_no_memory(error);
    return put_scratch(engine, view, NB_TABLE_STACK, nb_store_key_string(&key), error);
}

/* Numbers of models are never used twice, or a deleted model's leftovers would come back. */
static int reserve_numbers(struct nb_engine *engine, const struct nb_view *view,
                           const struct nb_live *live, struct nb_error *error)
{
    if (live->number < engine->next_stored)
        return 0;
    struct nb_writer w = {.out = &engine->scratch};
    engine->scratch.length = 0;
    nb_write_varint(&w, (uint64_t)live->number + 1);
    if (w.code != 0)
        return nb_error_no_memory(error);
    return put_scratch(engine, view, NB_TABLE_META, (struct nb_string){"next_model", 10}, error);
}

void nb_writer_number_stored(struct nb_engine *engine, const struct nb_live *live)
{
    if (live->number >= engine->next_stored)
        engine->next_stored = live->number + 1;
}

int nb_writer_put_model(struct nb_engine *engine, const struct nb_view *view,
                        const struct nb_live *live, const struct nb_settings *settings,
                        struct nb_error *error)
{
    int rc = reserve_numbers(engine, view, live, error);
    if (rc != 0)
        return rc;
    engine->scratch.length = 0;
    if (nb_model_record_write(live, settings, &engine->scratch) != 0)
        return nb_error_no_memory(error);
    struct nb_string name = {live->name, strlen(live->name)};
    return put_scratch(engine, view, NB_TABLE_MODELS, name, error);
}

/* ---- quiet moments --------------------------------------------------------------------------- */

struct purge {
    const struct nb_engine *engine;
    uint32_t number;
    bool found;
};

static int first_orphan(void *user, struct nb_string key, struct nb_string value,
                        struct nb_error *error)
{
    struct purge *purge = user;
    (void)value;
    (void)error;
    purge->number = 0;
    for (size_t i = 0; i < 4 && i < key.length; i++)
        purge->number = purge->number << 8 | (unsigned char)key.bytes[i];
    purge->found = !nb_import_is_running(purge->engine, purge->number);
    return purge->found;
}

/* Deletes a bounded part of what a model that is gone has left. */
static int purge_slice(struct nb_engine *engine, struct nb_view *view, void *argument,
                       struct nb_error *error)
{
    static const enum nb_table tables[] = {
        NB_TABLE_STATE, NB_TABLE_LABELS, NB_TABLE_LEDGER, NB_TABLE_DOCUMENTS, NB_TABLE_ROWS,
        NB_TABLE_WORDS, NB_TABLE_STACK,  NB_TABLE_SCORES, NB_TABLE_GARBAGE,   NB_TABLE_ORPHANS};
    struct purge *purge = argument;
    *purge = (struct purge){.engine = engine};
    int rc = nb_store_scan(view, NB_TABLE_ORPHANS, (struct nb_string){"", 0}, 0, first_orphan,
                           purge, error);
    if (rc < 0 || !purge->found)
        return rc < 0 ? rc : 0;
    struct nb_store_key key = nb_store_key_model(purge->number);
    size_t left = PURGE_ENTRIES;
    for (size_t i = 0; i < sizeof tables / sizeof *tables && left > 0; i++) {
        size_t deleted;
        rc = nb_store_clear(view, tables[i], nb_store_key_string(&key), left, &deleted, error);
        if (rc != 0)
            return rc;
        left -= deleted;
    }
    return 0;
}

static bool work_waits(struct nb_engine *engine)
{
    pthread_mutex_lock(&engine->queue_lock);
    bool waits = engine->first != NULL || engine->closing;
    pthread_mutex_unlock(&engine->queue_lock);
    return waits;
}

/* One slice, unless there is nothing or the last one was a short time ago. */
static void purge_some(struct nb_engine *engine, uint64_t *not_before)
{
    struct purge purge;
    uint64_t start = nb_clock_monotonic();
    if (!engine->purge || start < *not_before)
        return;
    if (nb_writer_transaction(engine, 0, purge_slice, &purge, NULL) == 0)
        engine->purge = purge.found;
    uint64_t end = nb_clock_monotonic();
    *not_before = end + (end - start) * PURGE_REST;
}

static void purge_orphans(struct nb_engine *engine)
{
    struct purge purge = {.found = engine->purge};
    while (purge.found && !work_waits(engine))
        if (nb_writer_transaction(engine, 0, purge_slice, &purge, NULL) != 0)
            return;
    engine->purge = purge.found;
}

static int save_model(struct nb_engine *engine, struct nb_live *live)
{
    if (atomic_load(&live->removed))
        return 0;
    return nb_checkpoint_all(engine, live, NULL);
}

static void tidy(struct nb_engine *engine)
{
    struct nb_error error;
    if (recover(engine, &error) != 0)
        return;
    if (engine->purge)
        purge_orphans(engine);
    if (!work_waits(engine))
        nb_registry_trim(engine, save_model);
}

/* ---- the queue ------------------------------------------------------------------------------- */

static void enqueue(struct nb_engine *engine, struct nb_job *job)
{
    job->next = NULL;
    if (engine->last == NULL)
        engine->first = job;
    else
        engine->last->next = job;
    engine->last = job;
    engine->waiting++;
    if (engine->waiting == 1 || engine->waiting >= engine->expected)
        pthread_cond_signal(&engine->queue_filled);
}

/* Clients that wait for each receipt send their next document as soon as it has come. A commit that
 * began with the first of them would leave the others to the one after it, and each would hold half
 * of what it could. So the next begins when as many wait as were answered or left waiting by the
 * last. On a disk that takes 4 ms to sync, 16 clients train nearly twice as fast. */
static void gather(struct nb_engine *engine)
{
    struct timespec until = {.tv_sec = (time_t)(engine->gather_until / 1000000000u),
                             .tv_nsec = (long)(engine->gather_until % 1000000000u)};
    while (engine->waiting < engine->expected && !engine->closing)
        if (pthread_cond_clockwait(&engine->queue_filled, &engine->queue_lock, CLOCK_MONOTONIC,
                                   &until) == ETIMEDOUT)
            return;
}

/* Nothing is expected of a fast disk: there it is better that trainers tokenize while the writer
 * works. */
static void expect(struct nb_engine *engine, size_t answered)
{
    bool slow = engine->sync_time >= SLOW_SYNC;
    pthread_mutex_lock(&engine->queue_lock);
    engine->expected = slow ? engine->waiting + answered : 0;
    engine->gather_until = nb_clock_monotonic() + engine->sync_time / GATHER_SHARE;
    pthread_mutex_unlock(&engine->queue_lock);
}

/* Everything that waits; NULL when the engine closes and nothing does. */
static struct nb_job *take_all(struct nb_engine *engine)
{
    pthread_mutex_lock(&engine->queue_lock);
    while (engine->first == NULL && !engine->closing) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += QUIET_SECONDS;
        int rc = pthread_cond_timedwait(&engine->queue_filled, &engine->queue_lock, &until);
        if (rc != ETIMEDOUT)
            continue;
        pthread_mutex_unlock(&engine->queue_lock);
        tidy(engine);
        pthread_mutex_lock(&engine->queue_lock);
    }
    gather(engine);
    struct nb_job *jobs = engine->first;
    engine->first = engine->last = NULL;
    engine->waiting = 0;
    pthread_mutex_unlock(&engine->queue_lock);
    return jobs;
}

static void run_task(struct nb_engine *engine, struct nb_job *job)
{
    int code = job->task(engine, job->argument, job->error);
    pthread_mutex_lock(&engine->queue_lock);
    job->code = code;
    job->finished = true;
    pthread_cond_broadcast(&engine->task_finished);
    pthread_mutex_unlock(&engine->queue_lock);
}

/* Batches up to the next task make groups of bounded size, each one commit. */
static struct nb_job *run_batches(struct nb_engine *engine, struct nb_job *jobs)
{
    struct nb_group group = {.engine = engine};
    struct nb_job *job = jobs;
    size_t answered = 0;
    for (; job != NULL && job->task == NULL && nb_group_add(&group, job->batch); job = job->next)
        answered++;
    nb_group_commit(&group);
    expect(engine, answered);
    nb_group_deinit(&group);
    while (jobs != job ||
           (jobs != NULL && jobs->task == NULL && jobs->batch->written == jobs->batch->size)) {
        struct nb_job *next = jobs->next;
        jobs->done(jobs->batch, jobs->user); /* may free the batch, and the job with it */
        if (jobs == job)
            return next;
        jobs = next;
    }
    return jobs;
}

static void *writer_main(void *argument)
{
    struct nb_engine *engine = argument;
    struct nb_job *jobs;
    uint64_t trimmed = nb_clock_monotonic();
    uint64_t purge_not_before = 0;
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
        /* Without quiet moments models, and what deleted ones left, must not pile up either. */
        if (nb_clock_monotonic() - trimmed > (uint64_t)QUIET_SECONDS * 1000000000u) {
            nb_registry_trim(engine, save_model);
            trimmed = nb_clock_monotonic();
        }
        purge_some(engine, &purge_not_before);
    }
    return NULL;
}

int nb_writer_start(struct nb_engine *engine, struct nb_error *error)
{
    int rc = pthread_create(&engine->writer, NULL, writer_main, engine);
    if (rc != 0)
        return nb_error_errno(error, rc, "starting the writer's thread");
    engine->writer_started = true;
    return 0;
}

void nb_writer_stop(struct nb_engine *engine)
{
    if (!engine->writer_started)
        return;
    pthread_mutex_lock(&engine->queue_lock);
    engine->closing = true;
    pthread_cond_signal(&engine->queue_filled);
    pthread_mutex_unlock(&engine->queue_lock);
    pthread_join(engine->writer, NULL);
    engine->writer_started = false;
}

int nb_writer_run(struct nb_engine *engine,
                  int (*task)(struct nb_engine *engine, void *argument, struct nb_error *error),
                  void *argument, struct nb_error *error)
{
    struct nb_job job = {.task = task, .argument = argument, .error = error};
    pthread_mutex_lock(&engine->queue_lock);
    if (engine->closing) {
        job.code = nb_error_set(error, NB_STOPPING, "the daemon is stopping");
    } else {
        enqueue(engine, &job);
        while (!job.finished)
            pthread_cond_wait(&engine->task_finished, &engine->queue_lock);
    }
    pthread_mutex_unlock(&engine->queue_lock);
    return job.code;
}

void nb_engine_submit(struct nb_engine *engine, struct nb_batch *batch, nb_batch_done *done,
                      void *user)
{
    batch->job = (struct nb_job){.batch = batch, .done = done, .user = user};
    batch->written = 0;
    pthread_mutex_lock(&engine->queue_lock);
    bool closing = engine->closing;
    if (!closing && batch->size > 0) {
        atomic_fetch_add(&engine->counters.queued, batch->size);
        enqueue(engine, &batch->job);
    }
    pthread_mutex_unlock(&engine->queue_lock);
    if (!closing && batch->size > 0)
        return;
    for (size_t i = 0; i < batch->size; i++) {
        struct nb_receipt *receipt = &batch->changes[i].receipt;
        receipt->code = nb_error_set(&receipt->error, NB_STOPPING, "the daemon is stopping");
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
}
