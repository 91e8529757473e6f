/* SPDX-License-Identifier: Apache-2.0
 *
 * Calibrations of models by the book: fitted on leave-one-out scores of their documents. On the
 * writer's thread.
 *
 * A score comes from the model's formulas, with the document's counts taken out exactly. 2,000
 * documents are drawn, fewer with many labels or where each score is a walk over the vocabulary,
 * and scored some at a time while the model goes on learning. The fitted map becomes a part of the
 * model's settings, and so an entry of the ledger: a replay restores the map without fitting. After
 * an import or a change of the settings there is no map at first.
 *
 * A model is calibrated once it has 20 documents and two labels with 5 documents each. It is
 * calibrated again when the number of its documents has changed by a fifth, or when other labels
 * have documents. The same rule holds after a calibration that failed because no label has two
 * documents in the sample: otherwise it would be tried again and again, and other models would
 * wait.
 */
#ifndef NB_CORE_WRITER_RECALIBRATE_H
#define NB_CORE_WRITER_RECALIBRATE_H

#include "core/bayes/calibration.h"
#include "core/bayes/scorer.h"
#include "core/ledger/bag_coding.h"
#include "core/ledger/ledger.h"
#include "core/model/state.h"

/* ---- scores ---------------------------------------------------------------------------------- */

/* Leave-one-out scores of models by the book: the model's formulas score a document that the model
 * has learned, with the document's counts taken out exactly. A sample of the documents is scored,
 * some at a time, so that the model goes on learning meanwhile. On the writer's thread: the model
 * may change between two calls, but not during one. */

/* Zero-initialize it. */
struct nb_book_scores {
    struct nb_live *live;           /* borrowed: loaded, and referenced by the caller */
    struct nb_published *published; /* referenced: its formulas score */
    struct nb_scorer *scorer;       /* owned */
    /* Owned; entry numbers of the sample, ascending: first the `count` that were scored; from
     * `next` on those that are left. */
    uint64_t *numbers;
    uint32_t size, next;
    uint32_t label_count;
    uint32_t *labels; /* owned; labels with documents, in the order of their names */
    uint32_t *truths; /* owned; index of the true label, for each score */
    double *scores;   /* owned; [document][label] */
    size_t count;     /* documents that were scored */
    /* One document, reused. */
    struct nb_entry entry;
    struct nb_rows rows;
    struct nb_feature *features; /* owned */
    size_t feature_room;
    struct nb_scores said;
    int code; /* result of nb_score */
};
void nb_book_scores_deinit(struct nb_book_scores *s);

/* Limits of the sample. If the model has fewer documents, all are drawn. If each score is a walk
 * over the vocabulary, fewer are drawn. */
struct nb_book_sample {
    uint64_t documents_most;
    uint64_t scores_most; /* documents times labels */
};
/* Draws the sample of a loaded model by the book. The same `random` and the same documents give the
 * same sample. Returns 0, NB_CONFLICT (no label has a document), NB_NO_MEMORY, or what reading the
 * store can return. */
int nb_book_scores_begin(struct nb_book_scores *s, struct nb_live *live, const struct nb_view *view,
                         struct nb_book_sample sample, struct nb_random random);

/* Whether the scoring can continue: the settings, the labels that have documents, and their order
 * are the same as at the beginning. Otherwise the scores would come from different models, or would
 * not have the same order. */
bool nb_book_scores_go_on(const struct nb_book_scores *s);

/* Scores documents for about a millisecond, oldest first; none is left when next == size. A
 * document that was forgotten meanwhile, and the only document of a label, get no score. Returns 0,
 * NB_NO_MEMORY, or what reading the store can return. */
int nb_book_scores_some(struct nb_book_scores *s, const struct nb_view *view);

/* Returns the scores so far, for fitting the map of a calibration; borrowed. */
struct nb_calibration_scores nb_book_scores_of(const struct nb_book_scores *s);

/* Whether the model has enough documents for a calibration: 20, and two labels with 5 each. */
bool nb_book_scores_are_enough(const struct nb_model *counts);

/* Judges how well the probabilities are calibrated, before and after a calibration. Pure
 * computation; any thread. */

/* Called with the scores of a document (borrowed) and its label. A result other than 0 ends the
 * calls. */
typedef int nb_calibration_visit(void *user, const struct nb_scores *said, uint32_t label);

/* Computes the scores that a calibrated model would give to documents that its map was not fitted
 * to. The documents of each label are dealt to two halves in turn, and each half is judged by the
 * map fitted to the other. With NB_CALIBRATION_NONE the result is the soft-max of the scores. Calls
 * `visit` for each document in turn. Returns 0, what `visit` returned, NB_CONFLICT (with a method:
 * no label has two documents) or NB_NO_MEMORY. */
int nb_calibration_judge(enum nb_calibration_method method,
                         const struct nb_calibration_scores *scores, nb_calibration_visit *visit,
                         void *user);

/* Makes a fitted map a part of the model, with one SETTINGS entry. On the writer's thread. */

/* Stores and publishes `settings`, which are the model's settings with the fitted map. They are
 * copied. The model is persisted and loaded, and has no parent. Returns 0, or a code with nothing
 * changed. */
int nb_put_fitted(struct nb_engine *engine, struct nb_live *live,
                  const struct nb_settings *settings);

/* Whether the model, which is loaded, is to be calibrated. */
bool nb_recalibrate_is_wanted(const struct nb_live *live);

/* Continues the calibration of the model, or begins one in place of another model's: scores some
 * documents. When all have scores, fits the map, sets *done, and fills `settings` with the model's
 * settings and the new map; the caller stores, publishes and deinits them. Returns 0, or a code;
 * after an error no calibration is under way. */
int nb_recalibrate_some(struct nb_engine *engine, struct nb_live *live, bool *done,
                        struct nb_settings *settings);

/* Drops the calibration that is under way, if any. */
void nb_recalibrate_end(struct nb_engine *engine);

#endif
