/* SPDX-License-Identifier: Apache-2.0
 *
 * The documents that an evaluation has collected, one by one, and the figures that come from their
 * order by the positive label's probability. For core/model/evaluate.c and evaluator.c alone, which
 * define the functions of core/model/evaluation.h.
 */
#ifndef NB_CORE_MODEL_EVALUATOR_H
#define NB_CORE_MODEL_EVALUATOR_H

#include "core/model/evaluation.h"

/* The data kept for a document. */
struct nb_evaluator_row {
    double probability; /* probability of the positive label */
    /* Sort key for this probability: with two labels the log-odds, which still differ between
     * documents whose probabilities round to 0 or 1. */
    double rank;
    uint32_t label, predicted; /* indices of the labels */
};

/* Further data, kept unless there are two labels. */
struct nb_evaluator_extra {
    double truth;  /* probability of the true label */
    double winner; /* probability of the predicted label */
    double brier;
};

struct nb_evaluator {
    size_t label_count, positive;
    uint32_t *labels;
    uint32_t *indices; /* by label number; UINT32_MAX: not among `labels` */
    size_t index_count;
    struct nb_evaluator_row *rows;
    struct nb_evaluator_extra *extras; /* NULL with two labels */
    size_t size, room;
};

/* A window: a part of the evaluator's documents. */
struct nb_evaluator_window {
    const struct nb_evaluator_row *rows;
    const struct nb_evaluator_extra *extras;
    size_t size;
    size_t positives, negatives; /* documents of the positive label, and of all others */
};

/* Returns the last `most` documents (0: all); borrowed until the next document is added. */
struct nb_evaluator_window nb_evaluator_window(const struct nb_evaluator *e, uint64_t most);

/* Fills one_minus_roca and the points of the curve. Returns 0 or NB_NO_MEMORY. */
int nb_evaluation_fill_curve(const struct nb_evaluator *e, const struct nb_evaluator_window *w,
                             struct nb_evaluation *evaluation);

#endif
