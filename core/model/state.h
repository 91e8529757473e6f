/* SPDX-License-Identifier: Apache-2.0
 *
 * The private state of an engine, shared by the files of core/model/live and core/engine. For these
 * alone.
 *
 * Order of locks: the registry's, a model's `loading`, its counts, its weights, the store's. A
 * model's `lock`, and those of the queue and of the health are taken last and held briefly.
 */
#ifndef NB_CORE_MODEL_STATE_H
#define NB_CORE_MODEL_STATE_H

#include "core/ledger/features_coding.h"
#include "core/ledger/record.h"
#include "core/model/engine_settings.h"
#include "core/model/live.h"
#include "core/model/relayed.h"

struct nb_ageing;
struct nb_foreseen;
struct nb_job;
struct nb_importing;
struct nb_learner;
struct nb_recalibration;
struct nb_refining_worker;
struct nb_remembering;

enum { NB_TRAFFIC_SLOTS = 144 }; /* a day */

/* The verdicts of the last day (core/writer/upkeep.h). */
struct nb_traffic {
    atomic_uint_fast64_t slots[NB_TRAFFIC_SLOTS];
    uint64_t looked, saved; /* the writer's: the last slot in which it looked; the stored sum */
};

struct nb_counters {
    atomic_uint_fast64_t learned, unchanged, relabelled, updated, forgotten, aged, failed;
    atomic_uint_fast64_t quarantined, near_duplicates, stored;
    atomic_uint_fast64_t tokens_learned, commits, commit_nanoseconds, commit_changes;
    atomic_uint_fast64_t commit_failures, queued, features_dropped;
};

/* A pass that drops rows (unused.h). */
struct nb_unused_pass {
    struct nb_live *live; /* referenced; NULL: no pass is under way */
    uint64_t until;       /* the model's newest entry when it began */
    uint64_t newest;      /* newest entry of all models when it began */
    uint32_t next;        /* next row to check */
    uint64_t next_bag;    /* next entry of a document without a label to check ... */
    bool has_held;        /* ... or all were checked */
    unsigned pin;         /* parity of the epoch of batches that began before it */
    bool has_dropped;     /* some rows were dropped */
    bool is_ready;        /* all entries that were superseded until then are removed */
};

/* The models by name. */
struct nb_registry {
    pthread_rwlock_t lock;
    struct nb_live **models; /* sorted by name */
    size_t count, room;
    atomic_bool has_parents; /* some model has, or had, a parent */
};

/* The work that waits for the writer. */
struct nb_work_queue {
    pthread_mutex_t lock;
    pthread_cond_t filled, finished;
    struct nb_job *first, *last;
    size_t waiting;        /* jobs from first to last */
    size_t expected;       /* the next commit begins when this many jobs wait ... */
    uint64_t gather_until; /* ... or at this time on nb_clock_monotonic; the writer's */
    uint64_t sync_time;    /* nanoseconds that the last commit took to sync; the writer's */
    bool closing;
    bool trim;          /* models in memory exceed the setting `memory` */
    bool remember;      /* many verdicts wait for the history */
    atomic_bool refits; /* a loaded model may want a refit; set under the lock, or by the writer */
};

/* The thread that fits documents without a label (core/em/unlabelled.h). */
struct nb_refining {
    pthread_mutex_t lock; /* taken last and held briefly */
    pthread_cond_t filled;
    bool is_asked, stops;
    bool runs;                         /* a model is being fitted: one at a time, to bound memory */
    pthread_cond_t turn;               /* signalled when it is done */
    struct nb_refining_worker *worker; /* NULL: not started */
};

/* Memory that is kept from one change to the next (core/writer/submit_features.h). */
struct nb_spares {
    _Atomic(struct nb_features_coder *) coder; /* NULL: in use */
    _Atomic(struct nb_foreseen *) foreseen;    /* an empty one, or NULL */
    atomic_bool foresees; /* the new features of the last change were foreseen correctly */
};

/* The memory of the models. */
struct nb_memory_use {
    atomic_uint_fast64_t used; /* sum of the models' `bytes`, if the setting `memory` is set */
    atomic_uint_fast64_t tail; /* sum of the models' `tail` */
    /* The setting `memory` that the largest model needs to stay in memory, if it alone exceeds the
     * present setting; 0: no model does. Such a model is loaded again at each use. */
    atomic_uint_fast64_t needed;
};

/* Whether the store takes changes. */
struct nb_health {
    pthread_mutex_t lock;
    struct nb_error error; /* code 0: the last commit succeeded */
    /* The writer's, while the store fails: the time of the next try, the pause before it, and about
     * how many bytes the last failed transaction would have written. */
    uint64_t not_before, pause, refused_bytes;
};

/* Models that an older version has stored, and that are computed anew (core/writer/upgrade.h). */
struct nb_upgrades {
    atomic_uint_fast64_t models, left;  /* models at the start, and of these not ready yet */
    atomic_uint_fast64_t entries, done; /* entries of the ledger: of all of them, and applied */
};

struct nb_engine {
    struct nb_engine_settings settings;
    char *directory;
    struct nb_store *store;
    struct nb_key key; /* the store's key */
    /* Borrowed; by stream; NULL: none, or not yet (core/model/relayed.h). */
    const struct nb_relay *_Atomic relays[NB_STREAMS_MOST];
    struct nb_registry registry;
    struct nb_work_queue queue;
    struct nb_refining refining;
    struct nb_spares spares;
    struct nb_memory_use memory;
    struct nb_health health;
    struct nb_counters counters;
    struct nb_traffic traffic;
    struct nb_upgrades upgrades;
    atomic_uint_fast64_t superseded_seconds; /* as in the settings, until it is changed */
    bool writer_started;
    pthread_t writer;

    /* The writer's. */
    struct nb_stream_states stream_states;  /* positions in the streams that nodes share */
    struct nb_serials serials;              /* as committed, or as of the open transaction */
    struct nb_importing *importing;         /* imports under way */
    struct nb_upgrading *upgrading;         /* under way (core/writer/upgrade.h), or NULL */
    struct nb_unused_pass unused;           /* under way */
    struct nb_ageing *ageing;               /* NULL: not there yet */
    struct nb_recalibration *recalibration; /* under way (core/writer/recalibrate.h), or NULL */
    struct nb_remembering *remembering;     /* verdicts for the history (core/writer/remember.h) */
    bool purge;                             /* there may be data of deleted models */
    size_t freed_after; /* documents since freed memory was returned to the kernel */
    struct {
        struct nb_live *first, *last; /* models that a start would replay, oldest first */
    } unsaved;
    struct nb_buffer scratch;
    struct nb_features_coder *coder;
    struct nb_learner *learner;
};

#endif
