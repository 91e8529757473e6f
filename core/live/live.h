/* SPDX-License-Identifier: Apache-2.0
 *
 * A model as it lives in memory: its name, and while it is in use its settings, counts and weights.
 * For core/live and core/engine alone.
 *
 * Threads: a model belongs to whoever holds a reference. The counts and weights have locks of their
 * own (core/model/model.h, core/score/stack.h); `loading` is held by whoever loads the model or
 * keeps others from loading it, `lock` protects `published`, `refined` and `damage` for moments,
 * also within a transaction. The checkpoint and everything marked "the writer's" belong to the
 * writer's thread.
 */
#ifndef NB_CORE_LIVE_LIVE_H
#define NB_CORE_LIVE_LIVE_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/base/key.h"
#include "core/model/model.h"
#include "core/model/settings.h"
#include "core/score/score.h"
#include "core/score/stack_fit.h"
#include "core/store/record.h"
#include "tokenizer/bag/tokenizing.h"

struct nb_drift;
struct nb_living;
struct nb_refined;
struct nb_twins;

/* Settings as published: immutable, shared by reference count, swapped whole; and with them what
 * scores by them. The writer changes the stack's weights, under their own lock. */
struct nb_published {
    atomic_uint references;
    struct nb_settings settings;
    struct nb_scorer *scorer;
    struct nb_stack *stack;
    struct nb_stack_weights *weights;
};

/* The constants of the stack that the settings give. */
void nb_stack_settings_of(const struct nb_settings *settings, struct nb_stack_settings *stack);

/* `key`: under which the model's features are hashed. NULL: out of memory. */
struct nb_published *nb_published_new(const struct nb_settings *settings, const struct nb_key *key);
/* The same, with a copy of the weights that `old` has learned. */
struct nb_published *nb_published_next(const struct nb_settings *settings, const struct nb_key *key,
                                       const struct nb_published *old);
void nb_published_release(struct nb_published **published);

static inline bool nb_published_is_stacked(const struct nb_published *published)
{
    return published->settings.decision == NB_DECISION_STACKED;
}

/* How the model sees documents. Borrows from `published`. */
static inline struct nb_tokenizer_settings
nb_published_tokenizer(const struct nb_published *published)
{
    const struct nb_settings *settings = &published->settings;
    return (struct nb_tokenizer_settings){.fields = settings->tokenizer_fields,
                                          .max_count = (uint32_t)settings->max_term_count,
                                          .attributes = nb_settings_attributes(settings),
                                          .mail_server = settings->mail_server};
}

/* The log of the twin, and how far the running sweep over the ranges of its slots has come. */
struct nb_twin_log {
    struct nb_twin_stored stored;
    uint64_t bytes; /* of the log from stored.first on */
    bool sweeping;
    uint32_t sweep_next;               /* range that is written next */
    uint64_t sweep_first, sweep_bytes; /* what first and bytes will be when it ends */
};

/* Which stored ranges are behind the counts, and how far the running sweep over them has come. */
struct nb_checkpoint {
    uint64_t last;        /* number of the model's newest committed entry */
    uint64_t replay;      /* entries below it are in every stored range */
    unsigned char *dirty; /* a byte per range, owned */
    size_t room;          /* bytes of `dirty` */
    bool sweeping;
    bool garbage;            /* superfluous entries from before `replay` may be there */
    uint32_t sweep_next;     /* range that the sweep looks at next */
    uint32_t sweep_end;      /* ranges that there were when it began */
    uint64_t sweep_start;    /* what `replay` will be when it has passed them all */
    uint64_t tail;           /* feature changes that a start would replay, and one per entry */
    uint64_t sweep_features; /* those of them since the sweep began */
    uint32_t weights;        /* stored records of weights */
    struct nb_twin_log twin;
    struct nb_ledger_totals totals;
};

struct nb_live {
    char *name;      /* owned */
    char *parent;    /* owned; NULL: none; changed by the writer, under the registry's lock */
    uint32_t number; /* 0: not given yet; the writer's until `persisted` */
    struct nb_own_key *own;      /* owned; NULL: the model has no key of its own */
    const struct nb_key *key;    /* under which features are hashed: the store's, or `own_key` */
    const struct nb_key *id_key; /* under which ids are made from content */
    struct nb_key *own_key;      /* owned; NULL: none */
    atomic_uint references;      /* one of the registry, one of each user */
    atomic_bool persisted;       /* the store knows it; until then only trainers see it */
    atomic_bool removed;         /* deleted or replaced; changes that wait are refused */
    atomic_bool loaded;          /* `published` and `counts` are there */
    atomic_bool is_damaged;
    char *damage;               /* owned; why; set once, before `is_damaged` */
    atomic_uint_fast64_t bytes; /* of the model that are in the engine\'s sum of memory */
    atomic_uint_fast64_t used;  /* nb_clock_monotonic of the last use */
    pthread_mutex_t loading, lock;
    struct nb_published *published;
    struct nb_model *counts;
    struct nb_checkpoint checkpoint; /* the writer's */
    atomic_uint_fast64_t tail;       /* checkpoint.tail, for whoever asks; also of cold models */
    atomic_uint_fast64_t unlabelled; /* documents without a label, for whoever asks */
    uint64_t aged_to;                /* the writer's: no entry below it is living */
    uint64_t aged_at;                /* the writer's: when to look for old documents again */
    uint64_t history_at;             /* the same, for old verdicts (core/remember/remember.h) */
    /* The writer's, while it looks for rows to drop (core/live/unused.h): a bit for each of the
     * first `unused_rows` rows that were without counts when it began, and were not touched since.
     */
    unsigned char *unused; /* owned; NULL: it does not look */
    uint32_t unused_rows;
    uint64_t unused_tried; /* newest entry of all when it began to look last */
    /* Rows without counts that documents without a label had when it looked last. */
    uint32_t unused_held;
    /* Batches that may hold numbers of rows, by the epoch in which they began to look rows up. */
    atomic_uint epoch, pins[2];
    uint32_t labels_stored; /* the writer's: labels with a record in the store */
    /* Owned; of the verdicts so far (core/evaluate/drift.h); NULL: none was given yet. */
    struct nb_drift *_Atomic drift;
    struct nb_twins *twins; /* owned; the writer's; NULL: not made yet (core/store/twins.h) */
    /* What `twins`, `living`, `fit` and `pass` take, for whoever asks. */
    atomic_size_t writers_bytes;
    /* Owned; the writer's; NULL: not made yet (core/store/living.h). */
    struct nb_living *living;
    struct nb_stack_fit *fit; /* owned; the writer's: of a refit under way, or NULL */
    struct nb_pass *pass;     /* owned; the same: of the new twin, behind the fit */
    /* Set by nb_refit_note (core/live/refit.h): the weights are wrong until a refit ends; a refit
     * is under way, or should begin; the model was trained label by label. */
    atomic_bool is_stale, wants_refit, is_skewed;
    /* What documents without a label have given (core/unlabelled/unlabelled.h), of which nothing is
     * stored; referenced, under `lock`; NULL: nothing. */
    struct nb_refined *refined;
    atomic_bool is_refined;          /* `refined` is there */
    atomic_bool wants_refining;      /* it may have to be found anew ... */
    atomic_bool is_refining;         /* ... or somebody does: */
    atomic_uint refining, refinings; /* with so many fits of so many done */
    atomic_size_t refined_bytes;
    atomic_uint_fast64_t refine_at; /* not before that, on nb_clock_monotonic */
    atomic_uint_fast64_t replaced;  /* documents that were forgotten, or are others now */
    uint64_t changed; /* the writer's: nb_clock_monotonic of the last change of a document */
    atomic_bool makes_labels; /* a request gives documents labels whose names it has chosen */
    /* The writer's: the list of models that a start would replay, oldest first. */
    struct nb_live *unsaved_before, *unsaved_after;
    bool is_unsaved;
};

/* Documents from which the twin learns anew (core/live/refit.h). */
struct nb_pass {
    uint32_t size, next;
    uint64_t numbers[]; /* of their entries */
};

/* Makes a model that is not loaded, with one reference, which is the caller's. `own` is copied
 * (NULL: it has no key of its own); `store_key` is borrowed and must live as long. NULL: out of
 * memory. */
struct nb_live *nb_live_new(struct nb_string name, uint32_t number, const struct nb_own_key *own,
                            const struct nb_key *store_key);
/* Gives a model that is not loaded settings and empty counts; then it is loaded. Returns 0 or
 * NB_NO_MEMORY. */
int nb_live_begin(struct nb_live *live, const struct nb_settings *settings);
/* Writes the key that the model has of its own (nb_own_key_write), nothing if it has none. Returns
 * 0 or NB_NO_MEMORY. */
int nb_live_write_key(const struct nb_live *live, struct nb_buffer *out);
/* Frees the model, which nobody uses and which is in no list. */
void nb_live_free(struct nb_live *live);

/* The settings in force, with a reference for the caller. */
struct nb_published *nb_live_settings(struct nb_live *live);
/* The same, with what documents without a label have given under these settings: sets *refined, a
 * reference for the caller; NULL: nothing. */
struct nb_published *nb_live_settings_refined(struct nb_live *live, struct nb_refined **refined);
/* Publishes settings under which what documents without a label have given still holds (takes
 * `published` over). */
void nb_live_publish(struct nb_live *live, struct nb_published *published);
/* Publishes others: what documents without a label have given is dropped at the same moment. */
void nb_live_publish_others(struct nb_live *live, struct nb_published *published);

/* With a reference for the caller; NULL: there is nothing. */
struct nb_refined *nb_live_refined(struct nb_live *live);
/* Takes the reference of `refined` (NULL: nothing is left), unless the model has other settings
 * than `published` by now. Returns whether it has. */
bool nb_live_refine(struct nb_live *live, const struct nb_published *published,
                    struct nb_refined *refined);

/* Bytes that the model takes while it is loaded; 0 if it is not. */
size_t nb_live_memory(struct nb_live *live);

/* The writer's: its lists (`twins`, `living`) or a refit may be larger or smaller now, or gone. */
void nb_live_note_memory(struct nb_live *live);

/* Marks the model damaged until it is deleted or replaced. The first reason is kept. */
void nb_live_set_damaged(struct nb_live *live, const struct nb_error *why);
/* 0, or NB_DAMAGED with the reason. */
int nb_live_check(struct nb_live *live, struct nb_error *error);
/* What reading the model's data came to: returns `rc`, and copies `why` to `error`. NB_CORRUPT
 * marks the model damaged and becomes NB_DAMAGED; of a model that is gone, whose data are being
 * removed, it becomes NB_NOT_FOUND. */
int nb_live_note(struct nb_live *live, int rc, const struct nb_error *why, struct nb_error *error);

static inline void nb_unused_clear(struct nb_live *live, uint32_t row)
{
    live->unused[row / 8] = (unsigned char)(live->unused[row / 8] & ~(1u << row % 8));
}
static inline bool nb_unused_has(const struct nb_live *live, uint32_t row)
{
    return (live->unused[row / 8] >> row % 8 & 1) != 0;
}

static inline struct nb_string nb_live_name(const struct nb_live *live)
{
    return (struct nb_string){live->name, strlen(live->name)};
}

#endif
