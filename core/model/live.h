/* SPDX-License-Identifier: Apache-2.0
 *
 * A model in memory: its name, and while it is loaded its settings, counts and weights. For
 * core/model/live and core/engine alone.
 *
 * Threads: a model exists as long as somebody holds a reference. The counts and weights have locks
 * of their own (core/counts/model.h, core/stack/stack.h). `loading` is held while the model is
 * being loaded, or to prevent loading. `lock` protects `published`, `refined` and `damage`; it is
 * held only briefly, also within a transaction. The checkpoint and everything marked "the writer's"
 * belong to the writer's thread.
 */
#ifndef NB_CORE_MODEL_LIVE_H
#define NB_CORE_MODEL_LIVE_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/base/key.h"
#include "core/bayes/expected.h"
#include "core/bayes/scorer.h"
#include "core/bayes/settings.h"
#include "core/counts/model.h"
#include "core/ledger/record.h"
#include "core/model/wishes.h"
#include "core/stack/multilabel.h"
#include "core/stack/stack_fit.h"
#include "tokenizer/bag.h"

struct nb_current_entries;
struct nb_drift;
struct nb_near_duplicate_list;
struct nb_refined;

/* The current settings, with the scorer, the stack and the weights that they need. Immutable,
 * shared by reference count, and replaced as a whole; only the weights are changed, by the writer,
 * under their own lock. */
struct nb_published {
    atomic_uint references;
    uint64_t edition; /* number of changes of the settings since the model was loaded, not counting
                         new maps of probabilities */
    struct nb_settings settings;
    struct nb_scorer *scorer;
    struct nb_stack *stack;
    struct nb_stack_weights *weights;
    struct nb_multilabel *multilabel; /* NULL: a document has one label */
    struct nb_wishes *wishes;         /* NULL: no threshold is a wished precision */
};

/* Sets the constants of the stack from the settings. */
void nb_stack_settings_of(const struct nb_settings *settings, struct nb_stack_settings *stack);

/* `key`: the key that the model's features are hashed with. NULL: out of memory. */
struct nb_published *nb_published_new(const struct nb_settings *settings, const struct nb_key *key);
/* As nb_published_new, with a copy of the weights that `old` has learned. */
struct nb_published *nb_published_next(const struct nb_settings *settings, const struct nb_key *key,
                                       const struct nb_published *old);
void nb_published_release(struct nb_published **published);

static inline bool nb_published_is_stacked(const struct nb_published *published)
{
    return published->settings.decision == NB_DECISION_STACKED &&
           !nb_settings_are_several(&published->settings);
}

/* Whether documents have several labels. Such a model is not stacked: its weights are a fit. */
static inline bool nb_published_is_several(const struct nb_published *published)
{
    return nb_settings_are_several(&published->settings);
}

/* The tokenizer settings of the model. Borrows from `published`. */
static inline struct nb_tokenizer_settings
nb_published_tokenizer(const struct nb_published *published)
{
    const struct nb_settings *settings = &published->settings;
    return (struct nb_tokenizer_settings){.fields = settings->tokenizer_fields,
                                          .max_count = (uint32_t)settings->max_term_count,
                                          .attributes = nb_settings_attributes(settings),
                                          .mail_server = settings->mail_server};
}

/* The log of the twin, and the progress of the running sweep over the ranges of its slots. */
struct nb_twin_log {
    struct nb_twin_stored stored;
    uint64_t bytes; /* bytes of the log from the record stored.first on */
    bool sweeping;
    uint32_t sweep_next;               /* range that is written next */
    uint64_t sweep_first, sweep_bytes; /* stored.first and bytes after the sweep */
};

/* Marks of the stored ranges that are older than the counts, and the progress of the running sweep.
 */
struct nb_checkpoint {
    uint64_t last;        /* number of the model's newest committed entry */
    uint64_t replay;      /* every stored range contains all entries below it */
    unsigned char *dirty; /* a byte per range, owned */
    size_t room;          /* bytes of `dirty` */
    bool sweeping;
    bool garbage;            /* entries before `replay` may be superfluous */
    uint32_t sweep_next;     /* next range of the sweep */
    uint32_t sweep_end;      /* number of ranges when the sweep began */
    uint64_t sweep_start;    /* `replay` after the sweep */
    uint64_t tail;           /* feature changes that a start would replay, plus one per entry */
    uint64_t sweep_features; /* part of `tail` since the sweep began */
    uint32_t weights;        /* stored records of weights */
    struct nb_twin_log twin;
    struct nb_ledger_totals totals;
};

/* Why a model cannot be used. */
enum nb_live_unusable {
    NB_LIVE_USABLE = 0,
    NB_LIVE_DAMAGED,  /* its stored bytes are damaged */
    NB_LIVE_UPGRADING /* its counts are of an older version (core/writer/upgrade.h) */
};

struct nb_live {
    char *name;      /* owned */
    char *parent;    /* owned; NULL: none; changed by the writer, under the registry's lock */
    uint32_t number; /* 0: none yet; the writer's until `persisted` */
    /* Number of the model's first entry (relayed.h); 0: not looked up yet. */
    atomic_uint_fast64_t first_entry;
    struct nb_own_key *own;      /* owned; NULL: the model has no key of its own */
    const struct nb_key *key;    /* key for features: the store's, or `own_key` */
    const struct nb_key *id_key; /* key for ids made from content */
    struct nb_key *own_key;      /* owned; NULL: none */
    atomic_uint references;      /* one for the registry, one for each user */
    atomic_bool persisted;       /* it is in the store; until then only trainers see it */
    atomic_bool removed;         /* deleted or replaced; waiting changes are refused */
    atomic_bool loaded;          /* `published` and `counts` are set */
    atomic_int unusable;         /* enum nb_live_unusable: other than 0, every use is refused */
    char *damage;                /* owned; set once, before NB_LIVE_DAMAGED */
    atomic_uint_fast64_t bytes;  /* the model's part of the engine's sum of memory */
    atomic_uint_fast64_t used;   /* nb_clock_monotonic of the last use */
    pthread_mutex_t loading, lock;
    struct nb_published *published;
    struct nb_model *counts;
    struct nb_checkpoint checkpoint; /* the writer's */
    atomic_uint_fast64_t tail;       /* checkpoint.tail, for any thread; also if not loaded */
    atomic_uint_fast64_t unlabelled; /* documents without a label, for any thread */
    /* The writer's. */
    struct {
        uint64_t to;     /* no entry below it is current */
        uint64_t at;     /* when to look for old documents again */
        uint64_t resume; /* where the last look ended; 0: at the last entry */
    } ageing;
    struct {
        uint64_t
            at; /* the writer's: when to look for old verdicts again (core/writer/remember.h) */
        /* A damaged verdict was found: the next verdict that is written begins a new history. */
        atomic_bool is_damaged;
    } history;
    /* The writer's, for passes that drop rows (core/writer/unused.h). */
    struct {
        /* A bit for each of the first `count` rows, set if the row had no counts when the pass
         * began and was not changed since. Owned; NULL: no pass. */
        unsigned char *rows;
        uint32_t count;
        uint64_t tried; /* newest entry of all models when the last pass began */
        uint32_t held;  /* rows without counts that documents without a label had at that pass */
    } unused;
    /* Number of batches that may hold row numbers, by the parity of the epoch in which they began.
     */
    struct {
        atomic_uint now, pins[2];
    } epoch;
    uint32_t labels_stored; /* the writer's: labels with a record in the store */
    /* Owned; statistics of the verdicts (core/model/drift.h); NULL: no verdict yet. */
    struct nb_drift *_Atomic drift;
    struct nb_near_duplicate_list *near_duplicate_list; /* owned; the writer's; NULL: not made yet
                                                           (core/ledger/document_lists.h) */
    /* Bytes of `near_duplicate_list`, `current`, `fit` and `pass`, for any thread. */
    atomic_size_t writers_bytes;
    /* Owned; the writer's; NULL: not made yet (core/ledger/document_lists.h). */
    struct nb_current_entries *current;
    struct nb_stack_fit *fit; /* owned; the writer's; state of a refit under way, or NULL */
    struct nb_pass *pass;     /* owned; the writer's; the new twin's pass after the fit, or NULL */
    /* Set by nb_refit_note (core/model/refit.h). is_stale: the weights are wrong until
     * a refit ends. wants_refit: a refit is under way, or should begin. is_skewed: the model was
     * trained label by label. */
    atomic_bool is_stale, wants_refit, is_skewed;
    /* The fit of documents without a label (core/em/unlabelled.h), which is not stored. */
    struct {
        struct nb_refined *refined; /* referenced, under `lock`; NULL: none */
        atomic_bool is_refined;     /* `refined` is set */
        atomic_bool is_wanted;      /* a new fit may be due ... */
        atomic_bool is_under_way;   /* ... or is under way: */
        atomic_uint done, total;    /* fits done, and fits in total */
        atomic_size_t bytes;
        /* The next fit begins at this time on nb_clock_monotonic, or with so many documents. */
        atomic_uint_fast64_t due_at, due_from;
    } em;
    atomic_uint_fast64_t replaced; /* documents that were forgotten, relabelled or replaced */
    uint64_t changed; /* the writer's: nb_clock_monotonic of the last change of a document */
    /* The writer's: the model as it was when no map of probabilities could be fitted
     * (core/writer/recalibrate.h). */
    struct {
        uint64_t documents; /* 0: none has failed */
        uint64_t edition;   /* edition of the settings */
        uint32_t labels;    /* labels with documents */
    } unfitted;
    /* One more than the number of labels that are probably wrong, as last counted
       (core/jobs/suspects/suspects.h); 0: never counted. */
    atomic_uint_fast64_t suspected;
    atomic_bool makes_labels; /* a request that creates labels is under way */
    /* The writer's: the list of models that a start would replay, oldest first. */
    struct {
        struct nb_live *before, *after;
        bool is_listed;
    } unsaved;
};

/* The documents of a pass in which a new twin learns (core/model/refit.h). */
struct nb_pass {
    uint32_t size, next;
    uint64_t numbers[]; /* numbers of their entries */
};

/* Makes a model that is not loaded; the caller gets its one reference. `own` is copied (NULL: the
 * model has no key of its own); `store_key` is borrowed and must outlive the model. NULL: out of
 * memory. */
struct nb_live *nb_live_new(struct nb_string name, uint32_t number, const struct nb_own_key *own,
                            const struct nb_key *store_key);
/* Gives a model settings and empty counts; it is loaded afterwards. It must not be loaded before.
 * Returns 0 or NB_NO_MEMORY. */
int nb_live_begin(struct nb_live *live, const struct nb_settings *settings);
/* Writes the model's own key (nb_own_key_write); nothing if it has none. Returns 0 or NB_NO_MEMORY.
 */
int nb_live_write_key(const struct nb_live *live, struct nb_buffer *out);
/* Frees a model that has no references and is in no list. */
void nb_live_free(struct nb_live *live);

/* The current settings, with a reference for the caller. */
struct nb_published *nb_live_settings(struct nb_live *live);
/* As nb_live_settings; also sets *refined to the fit of documents without a label under these
 * settings, with a reference for the caller, or NULL if there is none. */
struct nb_published *nb_live_settings_refined(struct nb_live *live, struct nb_refined **refined);
/* Publishes settings that differ in the map of probabilities alone, and keeps the fit of documents
 * without a label. Takes the caller's reference of `published`. */
void nb_live_publish(struct nb_live *live, struct nb_published *published);
/* Publishes new settings, and drops the fit of documents without a label in the same step. */
void nb_live_publish_others(struct nb_live *live, struct nb_published *published);
/* Drops only the fit of documents without a label: for a model that is not loaded and whose
 * settings in the store have changed. */
void nb_live_drop_refined(struct nb_live *live);

/* The fit of documents without a label, with a reference for the caller; NULL: none. */
struct nb_refined *nb_live_refined(struct nb_live *live);
/* Sets the fit of documents without a label (NULL: removes it). Does nothing if the model's
 * settings now differ from `published` in more than the map of probabilities. Returns whether it
 * has set the fit; if so, it has taken the caller's reference. */
bool nb_live_refine(struct nb_live *live, const struct nb_published *published,
                    struct nb_refined *refined);

/* Bytes of memory of a loaded model; 0 if it is not loaded. */
size_t nb_live_memory(struct nb_live *live);

/* On the writer's thread: updates `writers_bytes` after its lists (`near_duplicate_list`,
 * `current`) or a refit have changed. */
void nb_live_note_memory(struct nb_live *live);

/* Marks the model damaged until it is deleted or replaced. The first reason is kept. */
void nb_live_set_damaged(struct nb_live *live, const struct nb_error *why);
/* 0, or NB_DAMAGED with the reason why the model cannot be used: damage, or an upgrade. */
int nb_live_check(struct nb_live *live, struct nb_error *error);
/* Handles the result of reading the model's data: returns `rc`, and copies `why` to `error`.
 * NB_CORRUPT marks the model as damaged and becomes NB_DAMAGED; if the model was deleted, and its
 * data are being removed, it becomes NB_NOT_FOUND. */
int nb_live_note(struct nb_live *live, int rc, const struct nb_error *why, struct nb_error *error);

static inline void nb_unused_clear(struct nb_live *live, uint32_t row)
{
    live->unused.rows[row / 8] = (unsigned char)(live->unused.rows[row / 8] & ~(1u << row % 8));
}
static inline bool nb_unused_has(const struct nb_live *live, uint32_t row)
{
    return (live->unused.rows[row / 8] >> row % 8 & 1) != 0;
}

static inline struct nb_string nb_live_name(const struct nb_live *live)
{
    return (struct nb_string){live->name, strlen(live->name)};
}

/* Returns NB_UNUSABLE, with a text for the client, if the documents of the loaded model have
 * several labels; else 0. */
int nb_live_refuse_several(const struct nb_live *live, struct nb_error *error);
/* Sets *number to the number of the label that a request names. Any thread that holds the lock of
 * the counts, at least for reading. Returns 0, or NB_NOT_FOUND; the message tells if the name is
 * that of a level of labels. */
int nb_live_label(const struct nb_live *live, struct nb_string name, uint32_t *number,
                  struct nb_error *error);

/* ---- documents without a label --------------------------------------------------------------- */

/* The result of fitting a model's documents without a label: their expected counts, their weight,
 * and how the weight was measured. Immutable, shared by reference count; any thread. */

/* How well a model predicts the documents of a sample that it has not learned. */
struct nb_refined_loss {
    double log_loss; /* mean of -ln P(label); by the book, at the best temperature */
    double accuracy;
};

struct nb_refined {
    atomic_uint references;
    struct nb_expected *expected; /* NULL: the weight is 0 */
    /* The fit of a model whose documents have several labels, referenced; then the members of
     * documents without a label are not set, but `labelled`, `replaced`, `seconds` and `reason`. */
    struct nb_multilabel_fit *several;
    struct nb_scorer *scorer; /* owned; by the book, adds these counts; NULL if `expected` is */
    double weight;            /* weight of a document without a label */
    double smoothing;         /* inside EM */
    /* A stacked model pools the scores without and with expected counts. The scores with them have
     * the share `share`, below 1, and are multiplied by `temperature`. */
    bool is_pooled;
    double share, temperature;
    uint64_t documents; /* unlabelled documents that the fit has read */
    uint64_t labelled;  /* documents with a label at that time */
    uint64_t replaced;  /* nb_live.replaced at that time */
    unsigned iterations;
    double log_likelihood,
        first;         /* the log-likelihood that EM maximizes, at its end and at its beginning */
    uint64_t measured; /* documents of the sample; 0: too few to measure anything */
    uint32_t folds;    /* folds of the cross-validation; equal to `measured`: leave-one-out */
    struct nb_refined_loss without, with;
    double seconds;  /* duration of the fit */
    char reason[96]; /* why the weight is 0 without a measurement; else "" */
};
/* Creates `scorer` for its counts and the model's settings. Returns 0 or NB_NO_MEMORY. */
int nb_refined_make_scorer(struct nb_refined *refined, const struct nb_settings *settings);
/* Releases a reference and sets *refined to NULL; *refined may be NULL already. */
void nb_refined_release(struct nb_refined **refined);

/* The place of the label spam among the labels with documents, if passages are judged
 * (core/stack/passages.h): the model is stacked, has documents of spam and of another label, no
 * parent, and the setting `passages`. UINT32_MAX if they are not. Under the model's read lock. */
uint32_t nb_published_judged_place(const struct nb_published *published,
                                   const struct nb_model *counts);
/* Learns how the document of an entry was judged (`judged`: struct nb_change; 0: it was not), for
 * the margins of passages; or takes that back when about `later` documents were learned since. On
 * the thread that changes the model. Returns 0 or NB_NO_MEMORY. */
int nb_live_judged_learn(struct nb_live *live, uint32_t label, uint64_t judged);
int nb_live_judged_unlearn(struct nb_live *live, uint32_t label, uint64_t judged, uint64_t later);

#endif
