/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the engine share: models as they live in memory, batches, the writer's queue.
 * For core/ alone.
 */
#ifndef NB_CORE_ENGINE_PRIVATE_H
#define NB_CORE_ENGINE_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/engine.h"
#include "core/ledger.h"
#include "core/model.h"
#include "core/score.h"
#include "core/stack.h"
#include "core/store.h"

/* ---- models ---------------------------------------------------------------------------------- */

/* Settings as published: immutable, shared by reference count, swapped whole; and with them what
 * scores by them. The weights of the stack are changed by the writer, under their own lock. */
struct nb_published {
    atomic_uint references;
    struct nb_settings settings;
    struct nb_scorer *scorer;
    struct nb_stack *stack;
    struct nb_stack_weights *weights;
};

/* Which stored ranges are behind the counts, and how far the running sweep over them has come. All
 * of it belongs to the writer's thread (and to the loader before the model is visible). */
struct nb_checkpoint {
    uint64_t last;        /* greatest ledger number given out and committed */
    uint64_t replay;      /* entries below it are in every stored range */
    unsigned char *dirty; /* a byte per range, owned */
    size_t room;          /* bytes of `dirty` */
    bool sweeping;
    uint32_t sweep_next;     /* range that the sweep looks at next */
    uint32_t sweep_end;      /* ranges that there were when it began */
    uint64_t sweep_start;    /* what `replay` will be when it has passed them all */
    bool garbage;            /* entries before `replay` may be there that nothing needs any more */
    uint64_t tail_features;  /* feature changes that a start would replay, and one per entry */
    uint64_t sweep_features; /* those of them since the sweep began */
};

/* A model of the registry. `references`: one of the registry, one of each user. */
struct nb_live {
    char *name;
    uint32_t number;
    struct nb_key key;
    atomic_uint references;
    atomic_bool persisted;     /* the store knows it; until then only trainers see it */
    atomic_bool removed;       /* deleted or replaced; changes that wait fail */
    atomic_bool loaded;        /* `counts` may be used by whoever holds a reference */
    atomic_uint_fast64_t used; /* nb_clock_monotonic of the last use */
    pthread_mutex_t lock;      /* `published`, and loading */
    struct nb_published *published;
    struct nb_model *counts;
    struct nb_checkpoint checkpoint;
    atomic_uint_fast64_t tail; /* checkpoint.tail_features, for whoever asks */
    uint32_t labels_stored;    /* labels with a record in the store (writer) */
};

struct nb_published *nb_published_new(const struct nb_settings *settings);
/* The same, with the weights that `old` has learned. */
struct nb_published *nb_published_next(const struct nb_settings *settings,
                                       const struct nb_published *old);
void nb_published_release(struct nb_published **published);

struct nb_live *nb_live_new(struct nb_string name, uint32_t number, const struct nb_key *key,
                            const struct nb_settings *settings);
void nb_live_free(struct nb_live *live);
/* The settings in force, with a reference for the caller. */
struct nb_published *nb_live_settings(struct nb_live *live);
/* Publishes other settings (takes `published` over). */
void nb_live_publish(struct nb_live *live, struct nb_published *published);

/* ---- the writer's queue ---------------------------------------------------------------------- */

/* A feature on its way into the counts. */
struct nb_pending {
    uint64_t id;
    uint32_t count;
    uint32_t row;         /* as found on the trainer's thread, or NB_NO_ROW: a hint */
    uint32_t text_offset; /* of features without a row: into the change's texts */
    uint32_t text_length;
};

struct nb_change {
    bool untrain;
    struct nb_buffer id;
    struct nb_buffer label;
    uint32_t fields;             /* tokenizer fields that the bag was made with */
    struct nb_pending *features; /* owned; by row, those without one last in order of appearance */
    size_t feature_count;
    struct nb_buffer texts;
    uint64_t positions;
    bool truncated;
    struct nb_receipt receipt;
    /* The writer's, until the commit. */
    bool staged;  /* its entry is written */
    bool applied; /* and the counts are changed */
    uint64_t sequence;
    uint32_t label_number;
    uint32_t old_label;      /* UINT32_MAX: no old entry */
    struct nb_rows rows;     /* to be added */
    struct nb_rows old_rows; /* to be taken out */
};

/* What waits for the writer: a batch, or a task that runs on its thread. */
struct nb_job {
    struct nb_job *next;
    struct nb_batch *batch;
    nb_batch_done *done;
    void *user;
    int (*task)(struct nb_engine *engine, void *argument, struct nb_error *error);
    void *argument;
    struct nb_error *error;
    int code;
    bool finished; /* of a task, under the queue's lock */
};

struct nb_batch {
    struct nb_job job;
    struct nb_engine *engine;
    struct nb_live *live; /* NULL until the first change */
    struct nb_buffer name;
    bool single;
    struct nb_change *changes;
    size_t size, room;
    size_t memory;
    struct nb_bag scratch;
    size_t written; /* the writer's: changes that are done */
};

struct nb_counters {
    atomic_uint_fast64_t learned, unchanged, relabelled, updated, forgotten, failed;
    atomic_uint_fast64_t tokens_learned, commits, commit_nanoseconds, commit_changes;
    atomic_uint_fast64_t commit_failures, queued;
};

struct nb_engine {
    struct nb_engine_settings settings;
    char *directory;
    struct nb_store *store;

    pthread_rwlock_t registry; /* `models`, and who may come and go in them */
    struct nb_live **models;   /* sorted by name */
    size_t model_count, model_room;
    atomic_uint_fast32_t next_number;
    uint32_t next_stored; /* the writer's: what META says */

    pthread_mutex_t queue_lock;
    pthread_cond_t queue_filled;
    pthread_cond_t task_finished;
    struct nb_job *first, *last;
    size_t waiting;        /* from first to last */
    size_t expected;       /* so many waiting ones and the next commit begins */
    uint64_t gather_until; /* or now, on nb_clock_monotonic; the writer's */
    uint64_t sync_time;    /* nanoseconds that the last commit waited for the disk; the writer's */
    bool closing;
    struct nb_import *importing; /* the writer's: imports under way */
    bool purge;                  /* the writer's: there may be orphans to delete */
    pthread_t writer;
    bool writer_started;

    pthread_mutex_t health_lock;
    struct nb_error health; /* code 0: the last commit succeeded */
    struct nb_counters counters;
    struct nb_buffer scratch;           /* the writer's */
    struct nb_prequential *prequential; /* the writer's */
};

/* ---- registry.c ------------------------------------------------------------------------------ */

/* The model of that name with a reference for the caller, its counts loaded. `unborn` says
 * whether one that the store does not know yet will do. NB_UNUSABLE, NB_NOT_FOUND,
 * NB_CORRUPT ... */
int nb_registry_acquire(struct nb_engine *engine, struct nb_string name, bool unborn,
                        struct nb_live **live, struct nb_error *error);
/* The same, making an unborn one with the preset if there is none. */
int nb_registry_make(struct nb_engine *engine, struct nb_string name, enum nb_preset preset,
                     struct nb_live **live, struct nb_error *error);
void nb_registry_release(struct nb_engine *engine, struct nb_live **live);
/* Adds a model; takes the caller's reference over as the registry's. NB_EXISTS. */
int nb_registry_insert(struct nb_engine *engine, struct nb_live *live, struct nb_error *error);
/* Puts `live` in the place of what has its name, which is returned removed but referenced. */
struct nb_live *nb_registry_replace(struct nb_engine *engine, struct nb_live *live);
/* Takes a model out of the registry and drops the registry's reference. */
void nb_registry_remove(struct nb_engine *engine, struct nb_live *live);
/* Drops the counts of models that nobody uses, least recently used first, until the rest fits
 * the memory setting. On the writer's thread; they must be checkpointed first: `save` does it.
 */
void nb_registry_trim(struct nb_engine *engine,
                      int (*save)(struct nb_engine *engine, struct nb_live *live));

/* ---- load.c ---------------------------------------------------------------------------------- */

/* Reads the models' records at start (not their counts). */
int nb_load_models(struct nb_engine *engine, struct nb_error *error);
/* Reads a model's counts and replays what the rows do not have. */
int nb_load_counts(struct nb_engine *engine, struct nb_live *live, struct nb_error *error);
/* The stored form of a model's record. */
int nb_model_record_write(const struct nb_live *live, const struct nb_settings *settings,
                          struct nb_buffer *out);

/* ---- checkpoint.c: on the writer's thread
 * -------------------------------------------------------- */

/* Notes that the ranges of these rows changed. */
int nb_checkpoint_touch(struct nb_checkpoint *checkpoint, const struct nb_rows *rows,
                        uint32_t model_rows);
/* Writes up to `most` ranges of the running sweep (or begins one) into the transaction. If that
 * is not committed, nb_checkpoint_restore brings back `saved`, a copy from before. */
int nb_checkpoint_slice(struct nb_engine *engine, struct nb_view *view, struct nb_live *live,
                        uint32_t most, struct nb_error *error);
void nb_checkpoint_restore(struct nb_live *live, const struct nb_checkpoint *saved);
/* Drops up to `most` of the entries that no replay needs any more. */
int nb_checkpoint_drop(struct nb_view *view, struct nb_live *live, size_t most,
                       struct nb_error *error);
/* How many ranges the next commit should write so that the tail keeps its bound. */
uint32_t nb_checkpoint_due(const struct nb_engine *engine, const struct nb_live *live,
                           uint64_t features);
/* Writes everything, in transactions of bounded size. */
int nb_checkpoint_all(struct nb_engine *engine, struct nb_live *live, struct nb_error *error);

/* ---- writer.c -------------------------------------------------------------------------------- */

int nb_writer_start(struct nb_engine *engine, struct nb_error *error);
void nb_writer_stop(struct nb_engine *engine);
/* Runs `task` on the writer's thread and waits for it. */
int nb_writer_run(struct nb_engine *engine,
                  int (*task)(struct nb_engine *engine, void *argument, struct nb_error *error),
                  void *argument, struct nb_error *error);
/* Runs `work` in one transaction, again from the start if the map had to grow. For tasks. */
int nb_writer_transaction(struct nb_engine *engine, uint64_t expected,
                          int (*work)(struct nb_engine *engine, struct nb_view *view,
                                      void *argument, struct nb_error *error),
                          void *argument, struct nb_error *error);
/* Puts the state record of a model, as it will be with `state`. */
int nb_writer_put_state(struct nb_engine *engine, const struct nb_view *view,
                        const struct nb_live *live, const struct nb_state_record *state,
                        struct nb_error *error);
/* Puts the weights of a model's stack. */
int nb_writer_put_stack(struct nb_engine *engine, const struct nb_view *view,
                        const struct nb_live *live, struct nb_error *error);
/* Puts the model's own record and takes care of next_model. */
int nb_writer_put_model(struct nb_engine *engine, const struct nb_view *view,
                        const struct nb_live *live, const struct nb_settings *settings,
                        struct nb_error *error);

/* Notes that the model's record is committed, and its number used up. */
void nb_writer_number_stored(struct nb_engine *engine, const struct nb_live *live);

/* ---- administration.c ------------------------------------------------------------------------ */

/* Marks a model's data for deletion. */
int nb_writer_put_orphan(const struct nb_view *view, uint32_t number, struct nb_error *error);

/* ---- vocabulary.c ---------------------------------------------------------------------------- */

/* The text of the feature in a row, owned by the caller and NUL-terminated; '#' and the id in
 * hexadecimal if words are not kept. */
int nb_word_of_row(const struct nb_view *view, const struct nb_live *live, uint32_t row,
                   char **text, size_t *length, struct nb_error *error);

/* ---- engine.c -------------------------------------------------------------------------------- */

/* Opens without a writer: nothing is changed. */
int nb_engine_open_reading(const struct nb_engine_settings *settings, struct nb_engine **engine,
                           struct nb_error *error);

/* ---- import.c -------------------------------------------------------------------------------- */

/* Whether an import under way owns the number: then its data are no orphans to be deleted. */
bool nb_import_is_running(const struct nb_engine *engine, uint32_t number);

/* ---- batch.c --------------------------------------------------------------------------------- */

void nb_change_deinit(struct nb_change *change);

#endif
