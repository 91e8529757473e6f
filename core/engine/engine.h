/* SPDX-License-Identifier: Apache-2.0
 *
 * The engine: named models that learn, forget, classify and explain texts. Changes are durable
 * through core/ledger. START READING HERE.
 *
 * Threads: every function may be called by any thread, except where it says otherwise. Tokenizing
 * and scoring run on the caller's thread; the engine's single writer thread makes all changes: it
 * takes everything that waits, appends it to the ledger with one fsync, updates the counts, and
 * then reports. Locks, in the order in which they are taken: registry, model, store.
 */
#ifndef NB_CORE_ENGINE_ENGINE_H
#define NB_CORE_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/names.h"
#include "core/base/string.h"
#include "core/bayes/settings.h"
#include "core/em/unlabelled.h"
#include "core/model/drift.h"
#include "core/model/engine_settings.h"
#include "core/model/evaluation.h"
#include "core/model/verdict.h"
#include "core/writer/model_changes.h"
#include "core/writer/submit.h"
#include "core/writer/writer.h"
#include "tokenizer/document.h"

struct nb_batch;
struct nb_engine;
struct nb_settings;

/* Opens the store, reads the names of its models, spends at most a second on loading them if they
 * are few, and starts the writer. nb_tokenizer_setup must have been called. On success the caller
 * owns *engine. NB_LOCKED: another process has the store. NB_VERSION, NB_CORRUPT, NB_IO ...: as
 * nb_store_open. */
int nb_engine_open(const struct nb_engine_settings *settings, struct nb_engine **engine,
                   struct nb_error *error);
/* Finishes the submitted changes, spends at most 1.5 s on saving models, closes the engine, and
 * sets *engine to NULL. The next start replays what was not saved. No other thread may use the
 * engine any more. */
void nb_engine_close(struct nb_engine **engine);
/* Sets for how many seconds an undo can find the earlier labels of documents (0: some seconds at
 * most). Labels that are kept already follow the new value with the next changes of their model. */
void nb_engine_keep_superseded(struct nb_engine *engine, uint64_t seconds);

/* Whether the store takes changes: 0, or the reason why the last commit failed (NB_DISK_FULL ...);
 * a commit that succeeds later clears it. */
int nb_engine_ready(struct nb_engine *engine, struct nb_error *error);

/* ---- reading --------------------------------------------------------------------------------- */

/* Classifies; never writes. `explain` is the greatest number of tokens to explain (0: no
 * explanation). Returns 0, NB_UNUSABLE (name), NB_NOT_FOUND (model), NB_CONFLICT (neither the model
 * nor its parents have learned anything, or a parent is gone), NB_DAMAGED (the model or a parent),
 * NB_NO_MEMORY. */
int nb_engine_classify(struct nb_engine *engine, struct nb_string model,
                       const struct nb_document *document, size_t explain,
                       struct nb_verdict *verdict, struct nb_error *error);

/* Classifies with another model the document that `verdict` was last used for. The document is
 * tokenized again only if this model sees documents differently (other settings or a key of its
 * own), or if the texts of features are needed for the first time (for an explanation or a
 * history). */
int nb_engine_classify_again(struct nb_engine *engine, struct nb_string model,
                             const struct nb_document *document, size_t explain,
                             struct nb_verdict *verdict, struct nb_error *error);

/* Classifies a document by its bag, made for this model. As nb_engine_classify. */
int nb_engine_classify_bag(struct nb_engine *engine, struct nb_string model,
                           const struct nb_bag *bag, size_t explain, struct nb_verdict *verdict,
                           struct nb_error *error);

/* Data to keep with a verdict; all borrowed. */
struct nb_remembered {
    struct nb_string id;         /* id of the document; length 0: it is made from the content */
    struct nb_string message_id; /* Message-ID of a mail; may be empty, like the next two */
    struct nb_string subject, sender;
    struct nb_string source; /* the client that asks */
};
/* Notes the verdict and the bag of the document for the model's history. The verdict is that of the
 * model that was asked last, about `document`. It is written about a second later, so a crash may
 * lose it. Appends the document's id to `id`, and sets *kept to whether there was room. Returns 0,
 * NB_CONFLICT (the model keeps no history), NB_UNUSABLE (id, source) or NB_NO_MEMORY. */
int nb_engine_remember(struct nb_engine *engine, const struct nb_verdict *verdict,
                       const struct nb_document *document, const struct nb_remembered *about,
                       struct nb_buffer *id, bool *kept, struct nb_error *error);

/* Whether the store has a model of the name, damaged or not. */
bool nb_engine_has_model(struct nb_engine *engine, struct nb_string model);

/* Loads the counts if they are not in memory. Returns 0, NB_UNUSABLE (name), NB_NOT_FOUND (model),
 * NB_DAMAGED or NB_NO_MEMORY; the next call that needs the model returns the same. */
int nb_engine_load(struct nb_engine *engine, struct nb_string model, struct nb_error *error);

/* Fills `bag` (the caller's, reused) with the features that the model sees in the document. Returns
 * 0, NB_UNUSABLE (name), NB_NOT_FOUND (model), NB_DAMAGED or NB_NO_MEMORY. */
int nb_engine_tokenize(struct nb_engine *engine, struct nb_string model,
                       const struct nb_document *document, struct nb_bag *bag,
                       struct nb_error *error);

struct nb_label_info {
    char *label;
    uint64_t documents;
    uint64_t tokens; /* token occurrences */
};
struct nb_model_info {
    char *name;
    bool is_damaged;              /* it cannot be used: it is damaged, or ... */
    bool is_upgrading;            /* ... an older version has stored it, and it is computed anew */
    char *damage;                 /* why; NULL if it can be used. Else only the name is known */
    uint64_t documents;           /* documents with a label */
    uint64_t unlabelled;          /* documents stored without a label */
    uint64_t vocabulary;          /* distinct tokens with a count above 0 */
    struct nb_label_info *labels; /* those with documents, sorted by name */
    size_t label_count;
    struct nb_settings settings;
    bool has_drift; /* enough verdicts were given since the start: */
    struct nb_drift_figures drift;
    uint64_t quarantine_dropped; /* waiting changes that an import dropped when it replaced the
                                    model; else 0 */
    const char *warning;         /* borrowed: warning about the change that is answered; or NULL */
};
void nb_model_info_deinit(struct nb_model_info *info);
/* Fills `info`, which the caller deinits, with the state after the last commit; loads nothing. A
 * damaged model is not an error. Returns 0, NB_UNUSABLE (name), NB_NOT_FOUND (model), NB_IO or
 * NB_NO_MEMORY. */
int nb_engine_model(struct nb_engine *engine, struct nb_string model, struct nb_model_info *info,
                    struct nb_error *error);
/* Lists up to `limit` models by name, beginning after the name `after` (length 0: from the first),
 * as their last commits left them; loads none. Sets *more to whether there are more: then at least
 * one is listed, and the caller continues after the last name. The caller deinits each and frees
 * the array. Returns 0, NB_IO or NB_NO_MEMORY. */
int nb_engine_models(struct nb_engine *engine, struct nb_string after, size_t limit,
                     struct nb_model_info **infos, size_t *count, bool *more,
                     struct nb_error *error);

/* Measures how much recent verdicts differ from earlier ones. The earlier ones begin with the
 * start, the last change of the settings, or the last change of the number of labels. Returns false
 * if there is no such model, or too few verdicts. */
bool nb_engine_drift(struct nb_engine *engine, struct nb_string model,
                     struct nb_drift_figures *figures);

/* Sets *count to the number of documents whose labels were probably wrong when nb_engine_suspects
 * (core/jobs/suspects/suspects.h) was last called since the model was loaded. Returns false if it
 * was not, or if there is no such model. */
bool nb_engine_suspected(struct nb_engine *engine, struct nb_string model, uint64_t *count);

/* Whether there is a model of this name that is the challenger of another one
 * (core/jobs/challenger/challenger.h). */
bool nb_engine_is_challenger(struct nb_engine *engine, struct nb_string model);

/* Returns a number that distinguishes the model from earlier and later models of its name: no two
 * models of a store have the same identity. 0: there is no such model. */
uint32_t nb_engine_model_identity(struct nb_engine *engine, struct nb_string model);

/* Whether there is such a model and its documents have several labels. */
bool nb_engine_is_several(struct nb_engine *engine, struct nb_string model);

struct nb_document_info {
    char *label;     /* NULL: it has none */
    char *source;    /* the client that taught it; empty: not known */
    int64_t learned; /* milliseconds since 1970 */
    uint64_t tokens;
    uint64_t entry; /* number of its current entry (nb_batch_label_entry) */
};
void nb_document_info_deinit(struct nb_document_info *info);
/* Fills `info`, which the caller deinits after success, with the data of a learned document.
 * Returns 0, NB_UNUSABLE (id, name), NB_NOT_FOUND (no such model, or no document of this id is
 * learned), NB_DAMAGED, NB_IO or NB_NO_MEMORY. */
int nb_engine_document(struct nb_engine *engine, struct nb_string model, struct nb_string id,
                       struct nb_document_info *info, struct nb_error *error);

struct nb_telling_token {
    struct nb_string token; /* the id in hexadecimal after '#' when words are not kept */
    const uint64_t *counts; /* occurrences per label, in the order of the header's labels */
    double evidence;
};
/* Receives a listing piece by piece; everything is borrowed for the call. Returns 0 to go on; other
 * values end the listing, which returns them. */
struct nb_vocabulary_sink {
    int (*header)(void *user, uint64_t vocabulary, const char *const *labels, size_t label_count);
    int (*token)(void *user, const struct nb_telling_token *token);
    void *user;
};
/* Hands the `limit` tokens with the most evidence for `label` to `sink`, strongest first: the
 * header once, then each token. `cells` bounds tokens times labels: the listing ends before the
 * token that would exceed the bound, but has at least one token. It needs the memory of one token,
 * and 16 bytes for each token. Returns 0, what the sink returns, NB_NOT_FOUND (model, label),
 * NB_DAMAGED, NB_IO or NB_NO_MEMORY. */
int nb_engine_vocabulary(struct nb_engine *engine, struct nb_string model, struct nb_string label,
                         size_t limit, size_t cells, const struct nb_vocabulary_sink *sink,
                         struct nb_error *error);
/* Calls `found` for each value of a field that the model's smoothing names and no document has.
 * Returns as nb_engine_vocabulary does. */
int nb_engine_unseen_values(struct nb_engine *engine, struct nb_string model,
                            void (*found)(void *user, const char *field, const char *value),
                            void *user, struct nb_error *error);

/* ---- evaluation ------------------------------------------------------------------------------ */

enum { NB_EVALUATION_WINDOWS = 3 };

/* An evaluation tells how good the verdicts were, over the last `evaluation_short` and
 * `evaluation_long` documents and over all, by the scores of the current documents. */

/* The scores that an evaluation uses. */
enum nb_score_kind {
    NB_SCORES_BEFORE_LEARNING, /* the score that each document got before it was learned */
    /* The score that each document of a sample would get now from the model without this document.
     * These scores do not depend on the order of training. */
    NB_SCORES_LEAVE_ONE_OUT,
    NB_SCORE_KINDS
};
/* "before-learning", "leave-one-out". */
const char *nb_score_kind_name(enum nb_score_kind kind);

/* Returns the kind of scores for finding a threshold that holds a rate. In general these are the
 * scores before learning, because a document that is left out may have a near-duplicate that is
 * not. For a stacked model that was trained label by label (nb_order_is_skewed) it is
 * NB_SCORES_LEAVE_ONE_OUT: most of its documents were judged by a model that did not know their
 * label yet. For a model that cannot be read: before learning. */
enum nb_score_kind nb_engine_threshold_scores(struct nb_engine *engine, struct nb_string model);

/* The threshold of a label by the model's setting. */
struct nb_told_threshold {
    char *label;      /* owned */
    double threshold; /* INFINITY: no verdict for it is sure enough */
    /* Chosen for this precision, on verdicts of which `given` reached it, `right` of them rightly;
     * by leave-one-out scores, or by those before learning. 0: the setting says the number, or
     * costs. */
    double wished;
    uint64_t given, right;
    enum nb_score_kind scores;
};

struct nb_evaluation_report {
    enum nb_score_kind scores;
    uint64_t windows[NB_EVALUATION_WINDOWS]; /* documents; 0: all */
    struct nb_evaluation evaluations[NB_EVALUATION_WINDOWS];
    size_t window_count;
    char **labels; /* of the model, by name; evaluations[i].labels are in the same order */
    size_t label_count;
    size_t positive;    /* index of the label that is judged against all others */
    bool is_calibrated; /* a map was fitted to leave-one-out scores: */
    struct nb_report_calibration {
        const char *method; /* as in the settings */
        uint64_t scores;
        double before, after; /* expected calibration error */
    } calibration;
    struct nb_unlabelled_report unlabelled; /* the fit of documents without a label */
    struct nb_told_threshold *thresholds;   /* owned; by label (nb_engine_tell_thresholds) */
    size_t threshold_count;
    bool has_threshold;
    double target_rate, threshold, achieved; /* over the long window */
    /* Over all documents; empty with NB_SCORES_LEAVE_ONE_OUT, which have no order. */
    struct nb_progress_stretch progress[NB_PROGRESS_STRETCHES];
    size_t progress_count;
};
void nb_evaluation_report_deinit(struct nb_evaluation_report *report);

/* Evaluates a model; the caller deinits `report` after success. `positive`: the label that is
 * judged against all others; if its length is 0, "spam" if there is such a label, else the last by
 * name. `target_rate`: the false-positive rate to find a threshold for; below 0: none. Returns 0,
 * NB_NOT_FOUND (model, label), NB_CONFLICT (no document was scored yet; or a threshold is wanted
 * and all documents are of the positive label; or NB_SCORES_LEAVE_ONE_OUT, and the model is by the
 * book and has a parent), NB_DAMAGED, NB_IO, NB_STOPPING or NB_NO_MEMORY. The sample of
 * NB_SCORES_LEAVE_ONE_OUT has 5,000 documents, or fewer with more than 200 labels or where a score
 * is a walk over the vocabulary; the same documents give the same sample. For a model by the book
 * the writer's thread scores it, between its other work. */
int nb_engine_evaluation(struct nb_engine *engine, struct nb_string model,
                         struct nb_string positive, double target_rate, enum nb_score_kind scores,
                         struct nb_evaluation_report *report, struct nb_error *error);

/* Adds the thresholds of the model's setting to its report, chosen anew if that is due. Returns 0,
 * NB_NOT_FOUND, NB_DAMAGED, NB_IO, NB_STOPPING or NB_NO_MEMORY. */
int nb_engine_tell_thresholds(struct nb_engine *engine, struct nb_string model,
                              struct nb_evaluation_report *report, struct nb_error *error);

/* For a model whose documents have several labels: sets *fit to the fit of its present documents,
 * whose figures are its evaluation; the caller releases it. Returns 0, NB_NOT_FOUND (model),
 * NB_CONFLICT (no document has a label, or their labels are not several), NB_DAMAGED, NB_IO or
 * NB_NO_MEMORY. */
int nb_engine_fit(struct nb_engine *engine, struct nb_string model, struct nb_multilabel_fit **fit,
                  struct nb_error *error);

/* A document whose stored score is changed for an evaluation. */
struct nb_evaluation_change {
    uint64_t first; /* number of the entry that learned it first */
    uint32_t label; /* its true label; NB_EVALUATION_LEFT_OUT: it is left out */
};
#define NB_EVALUATION_LEFT_OUT UINT32_MAX
/* As nb_engine_evaluation without a threshold, after `changes` (sorted by `first`, each once) to
 * the stored scores: the figures as if these documents did not exist or had other labels. The
 * probabilities stay those of the original verdicts. */
int nb_engine_evaluation_without(struct nb_engine *engine, struct nb_string model,
                                 const struct nb_evaluation_change *changes, size_t count,
                                 struct nb_evaluation_report *report, struct nb_error *error);

/* As nb_engine_evaluation without a threshold, with further scores as if they had come last: `more`
 * has their stored forms (core/model/learner.h), each as a string. Scores with labels that no
 * document has are left out. */
int nb_engine_evaluation_with(struct nb_engine *engine, struct nb_string model,
                              struct nb_string more, struct nb_evaluation_report *report,
                              struct nb_error *error);

/* ---- what the opening met ----------------------------------------------------------
 */

/* Whether damaged entries were found when the store was opened; fills `what` with a sentence that
 * says where, how many, and how many of their keys were replaced. */
bool nb_engine_met_damage(struct nb_engine *engine, struct nb_error *what);
/* Whether changes were read from the store's journal when the store was opened, as after a crash.
 * See nb_store_met_journal. */
bool nb_engine_met_journal(struct nb_engine *engine, struct nb_error *what, bool *is_cut);

/* ---- traffic --------------------------------------------------------------------------------- */

/* Counts a verdict that a client got, for the figures of the last day. Any thread. */
void nb_engine_count_verdict(struct nb_engine *engine);

/* The verdicts of the last day, in slots of `seconds`. */
struct nb_engine_traffic {
    int64_t from;        /* when the first slot begins, in milliseconds since 1970 */
    uint32_t seconds;    /* of a slot */
    uint32_t count;      /* slots; the last one is still counted */
    uint32_t slots[144]; /* verdicts, the oldest first */
};
void nb_engine_traffic(struct nb_engine *engine, struct nb_engine_traffic *traffic);

/* ---- numbers for /metrics -------------------------------------------------------------------- */

struct nb_engine_statistics {
    uint64_t models, models_loaded, models_damaged, models_with_parent;
    /* Models that an older version has stored: how many there were at the start, how many are not
     * ready yet; entries of the ledger of all of them, and how many are applied. */
    uint64_t upgraded_models, upgrades_left, upgrade_entries, upgrade_done;
    uint64_t documents;  /* current documents of loaded models */
    uint64_t vocabulary; /* tokens with a count above 0, in all loaded models */
    uint64_t memory;     /* bytes of loaded models */
    uint64_t learned, unchanged, relabelled, updated, forgotten, aged, failed; /* since start */
    uint64_t quarantined, near_duplicates, stored;                             /* since start */
    /* Verdicts for histories: noted, and dropped for lack of room, since start; not written yet. */
    uint64_t remembered, remember_dropped, remember_waiting;
    uint64_t unlabelled;                                  /* stored documents of loaded models */
    uint64_t tokens_learned;                              /* since start */
    uint64_t commits, commit_nanoseconds, commit_changes; /* since start */
    uint64_t commit_failures;
    uint64_t refits; /* loaded models whose weights are being fitted anew, or wait for it */
    uint64_t features_dropped; /* because no document had them any more; since start */
    uint64_t queued;           /* changes that wait */
    uint64_t replay_features;  /* feature changes that a start would replay */
    uint64_t store_bytes;      /* used bytes of the data file, ... */
    uint64_t store_free;       /* ... including these, which can be reused */
    uint64_t map_bytes;
    uint64_t disk_bytes, disk_left; /* of the file system of the data directory; 0: not known */
};
/* Whether models of an older version are still computed anew. Any thread. */
bool nb_engine_is_upgrading(struct nb_engine *engine);
void nb_engine_statistics(struct nb_engine *engine, struct nb_engine_statistics *statistics);

/* Lists the names of the loaded models, by name, `most` at most; the caller frees each and the
 * array. Returns 0 or NB_NO_MEMORY. */
int nb_engine_loaded_models(struct nb_engine *engine, size_t most, char ***names, size_t *count);

/* Lists the names of up to `most` damaged models; the caller frees each and the array. Returns 0 or
 * NB_NO_MEMORY. */
int nb_engine_damaged_models(struct nb_engine *engine, size_t most, char ***names, size_t *count);

#endif
