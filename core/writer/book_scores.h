/* SPDX-License-Identifier: Apache-2.0
 *
 * Leave-one-out scores of models by the book: the model's formulas score a document that the model
 * has learned, with the document's counts taken out exactly. A sample of the documents is scored,
 * some at a time, so that the model goes on learning meanwhile. On the writer's thread: the model
 * may change between two calls, but not during one.
 */
#ifndef NB_CORE_WRITER_BOOK_SCORES_H
#define NB_CORE_WRITER_BOOK_SCORES_H

#include "core/bayes/calibration.h"
#include "core/bayes/scorer.h"
#include "core/ledger/bag_coding.h"
#include "core/ledger/ledger.h"
#include "core/model/live/state.h"

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

#endif
