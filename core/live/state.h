/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of an engine: what the files of core/live and core/engine share. For these alone.
 *
 * Locks, in the order in which they are taken: `registry`, a model's `loading`, its counts, its
 * weights, the store's. A model's `lock`, `queue_lock` and `health_lock` are taken last and for
 * moments.
 */
#ifndef NB_CORE_LIVE_STATE_H
#define NB_CORE_LIVE_STATE_H

#include "core/live/engine_settings.h"
#include "core/live/live.h"
#include "core/store/features.h"
#include "core/store/serials.h"

struct nb_ageing;
struct nb_job;
struct nb_importing;
struct nb_learner;
struct nb_recalibration;
struct nb_refining_worker;
struct nb_remembering;

struct nb_counters {
    atomic_uint_fast64_t learned, unchanged, relabelled, updated, forgotten, aged, failed;
    atomic_uint_fast64_t quarantined, near_duplicates, stored;
    atomic_uint_fast64_t tokens_learned, commits, commit_nanoseconds, commit_changes;
    atomic_uint_fast64_t commit_failures, queued, features_dropped;
};

/* A pass that drops rows (unused.h). */
struct nb_unused_pass {
    struct nb_live *live; /* referenced; NULL: there is none */
    uint64_t until;       /* the newest entry when it began */
    uint64_t newest;      /* entry of all models when it began */
    uint32_t next;        /* row that is looked at next */
    uint64_t next_bag;    /* entry of a document without a label that is looked at next ... */
    bool has_held;        /* ... or all were looked at */
    unsigned pin;         /* of the batches that began before it */
    bool has_dropped;     /* some rows */
    bool is_ready;        /* what entries until then superseded is gone */
};

struct nb_engine {
    struct nb_engine_settings settings;
    char *directory;
    struct nb_store *store;
    struct nb_key key; /* of the store */

    pthread_rwlock_t registry; /* `models`, and who may come and go in them */
    struct nb_live **models;   /* sorted by name */
    size_t model_count, model_room;

    pthread_mutex_t queue_lock;
    pthread_cond_t queue_filled;
    pthread_cond_t task_finished;
    struct nb_job *first, *last;
    size_t waiting;        /* from first to last */
    size_t expected;       /* so many waiting ones and the next commit begins */
    uint64_t gather_until; /* or now, on nb_clock_monotonic; the writer's */
    uint64_t sync_time;    /* nanoseconds that the last commit waited for the disk; the writer's */
    bool closing;
    bool trim;     /* models in memory are over the setting */
    bool remember; /* many verdicts wait for the history */
    atomic_bool
        refits; /* some loaded model wants one; set under the queue's lock, or by the writer */
    /* core/unlabelled/worker.h. `refining_lock` is taken last, and for moments. */
    pthread_mutex_t refining_lock;
    pthread_cond_t refining_filled;
    bool refining_asked, refining_stops;
    bool refines; /* some model is being fitted: one at a time, for the memory ... */
    pthread_cond_t refining_turn;               /* ... and this one is done */
    struct nb_refining_worker *refining_worker; /* NULL: not started */
    atomic_bool has_families;                   /* some model has, or had, a parent */
    bool writer_started;
    pthread_t writer;

    /* The writer's. */
    struct nb_serials serials;      /* as committed, or as the transaction under way gave them */
    struct nb_importing *importing; /* imports under way */
    struct nb_unused_pass unused;   /* under way */
    struct nb_ageing *ageing;       /* NULL: not there yet */
    struct nb_recalibration *recalibration; /* under way (core/recalibrate), or NULL */
    bool purge;                             /* there may be data of models that are gone */
    struct nb_live *unsaved, *unsaved_last; /* models that a start would replay, oldest first */
    struct nb_buffer scratch;
    struct nb_features_coder *coder;
    struct nb_learner *learner;
    atomic_uint_fast64_t memory; /* sum of the models' `bytes`, while there is a setting */
    atomic_uint_fast64_t tail;   /* feature changes that a start would replay, of all models */

    struct nb_remembering *remembering; /* verdicts for the history (core/remember/remember.h) */

    pthread_mutex_t health_lock;
    struct nb_error health; /* code 0: the last commit succeeded */
    /* The writer's, while the store does not take changes: when it is tried next, the pause before,
     * and about how many bytes the last refused transaction would have written. */
    uint64_t not_before, pause, refused_bytes;
    struct nb_counters counters;
    atomic_uint_fast64_t superseded_seconds; /* of the settings, or as it was changed since */
};

#endif
