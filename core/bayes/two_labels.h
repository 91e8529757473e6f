/* SPDX-License-Identifier: Apache-2.0
 *
 * A fast path of core/bayes/score.c for the usual case: what words add to the scores of two
 * labels, by the multinomial model with the whole vocabulary. Its sums equal those of score.c to
 * the bit. Any thread, under the model's read lock.
 */
#ifndef NB_CORE_BAYES_TWO_LABELS_H
#define NB_CORE_BAYES_TWO_LABELS_H

#include <stdbool.h>

#include "core/base/feature.h"
#include "core/bayes/estimate.h"
#include "core/counts/model.h"

/* The sums over the features of a document. */
struct nb_two_labels {
    double sums[2]; /* of each label, by number: count * (ln(n_wv + addend) - ln(addend)) */
    uint64_t total; /* positions */
    uint64_t known; /* positions of words that a label has */
};

/* Adds `step` features, at most NB_MODEL_STEP, whose rows and cells have been looked up. The model
 * has two labels, both with documents. Returns false, and adds nothing, if any feature is the value
 * of an attribute. */
bool nb_two_labels_add(struct nb_two_labels *two, const struct nb_log_table *logs,
                       const struct nb_model *model, const struct nb_feature *features, size_t step,
                       const struct nb_found *found);

#endif
