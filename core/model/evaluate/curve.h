/* SPDX-License-Identifier: Apache-2.0
 *
 * Figures from the order of documents by the positive label's probability: the area under the ROC
 * curve, the curve, and the threshold for a false-positive rate. Threads as in
 * core/model/evaluate/evaluate.h.
 */
#ifndef NB_CORE_MODEL_EVALUATE_CURVE_H
#define NB_CORE_MODEL_EVALUATE_CURVE_H

#include "core/base/error.h"
#include "core/model/evaluate/evaluation.h"
#include "core/model/evaluate/evaluator.h"

struct nb_evaluator_window;

/* Fills one_minus_roca and the points of the curve. Returns 0 or NB_NO_MEMORY. */
int nb_evaluation_fill_curve(const struct nb_evaluator *e, const struct nb_evaluator_window *w,
                             struct nb_evaluation *evaluation);

/* Sets *threshold to the lowest threshold on the positive label's probability at which its
 * false-positive rate over the last `window` documents would have been at most `rate`, and
 * *achieved to that rate. The threshold is 0 if every threshold would do, and just above 1 if even
 * documents of probability 1 must be rejected. NB_CONFLICT: no document of another label. */
int nb_evaluator_threshold(struct nb_evaluator *evaluator, uint64_t window, double rate,
                           double *threshold, double *achieved, struct nb_error *error);

#endif
