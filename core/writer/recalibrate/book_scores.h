/* SPDX-License-Identifier: Apache-2.0
 *
 * Leave-one-out scores of models by the book: what the model's formulas say of a document that it
 * has learned, with its counts taken out, exactly. Of a sample of its documents, some at a time, so
 * that the model goes on learning meanwhile. On the writer's thread: between two calls anything may
 * happen to the model, during one nothing.
 */
#ifndef NB_CORE_WRITER_RECALIBRATE_BOOK_SCORES_H
#define NB_CORE_WRITER_RECALIBRATE_BOOK_SCORES_H

#include "core/bayes/book/scorer.h"
#include "core/bayes/calibrate/calibration.h"
#include "core/ledger/coding/rows_coding.h"
#include "core/ledger/entries/ledger.h"
#include "core/model/live/state.h"

/* Zero-initialize it. */
struct nb_book_scores {
    struct nb_live *live;           /* borrowed: loaded, and referenced by the caller */
    struct nb_published *published; /* referenced: whose formulas score */
    struct nb_scorer *scorer;       /* owned */
    uint64_t *numbers;              /* owned; of the entries of the sample, ascending */
    uint32_t size, next;
    uint32_t label_count;
    uint32_t *labels; /* owned; those with documents, in the order of their names */
    uint32_t *truths; /* owned; of each score the place of its label */
    double *scores;   /* owned; [document][label] */
    size_t count;     /* documents that were scored */
    /* One document, reused. */
    struct nb_entry entry;
    struct nb_rows rows;
    struct nb_feature *features; /* owned */
    size_t feature_room;
    struct nb_scores said;
    int code; /* of nb_score */
};
void nb_book_scores_deinit(struct nb_book_scores *s);

/* How many documents are drawn: all, if there are no more; fewer where each score is a walk over
 * the vocabulary. */
struct nb_book_sample {
    uint64_t documents_most;
    uint64_t scores_most; /* documents times labels */
};
/* Draws the documents of a model that is loaded and by the book. The sample is the same as long as
 * `random` and the documents are. Returns 0, NB_CONFLICT (no label has a document), NB_NO_MEMORY,
 * or what reading the store can return. */
int nb_book_scores_begin(struct nb_book_scores *s, struct nb_live *live, const struct nb_view *view,
                         struct nb_book_sample sample, struct nb_random random);

/* Whether the labels that have documents are still those that it began with, in the same order, and
 * the settings, too: else the scores would not be of one model, or not in one order. */
bool nb_book_scores_go_on(const struct nb_book_scores *s);

/* Scores a millisecond's documents, oldest first; none is left when next == size. Those that were
 * forgotten meanwhile, and the only one of a label, have no score. Returns 0, NB_NO_MEMORY, or what
 * reading the store can return. */
int nb_book_scores_some(struct nb_book_scores *s, const struct nb_view *view);

/* What there is so far, for the map of a calibration; borrowed. */
struct nb_calibration_scores nb_book_scores_of(const struct nb_book_scores *s);

/* Whether so few documents are calibrated: 20, of which two labels have 5 each. */
bool nb_book_scores_are_enough(const struct nb_model *counts);

#endif
