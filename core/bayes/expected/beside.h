/* SPDX-License-Identifier: Apache-2.0
 *
 * Weighted sums of expected counts, which formulas add to a model's own counts. Label numbers and
 * rows are those of the model. A weight below 0 takes documents that the model has learned out of
 * its counts. Any thread.
 */
#ifndef NB_CORE_BAYES_EXPECTED_BESIDE_H
#define NB_CORE_BAYES_EXPECTED_BESIDE_H

#include "core/bayes/expected/expected.h"

struct nb_beside {
    struct nb_expected *counts; /* borrowed */
    double weight;              /* weight of each document */
};
enum { NB_BESIDE_MOST = 2 };
struct nb_besides {
    struct nb_beside list[NB_BESIDE_MOST];
    unsigned count; /* 0: only the model's own counts are used */
};

/* The weighted sum of the cells of a row, whose feature is `id`, for one label. */
struct nb_expected_cell nb_besides_cell(const struct nb_besides *besides, uint32_t row, uint64_t id,
                                        uint32_t label);
/* The same summed over all labels below `labels` whose place is not UINT32_MAX. */
struct nb_expected_cell nb_besides_row(const struct nb_besides *besides, uint32_t row, uint64_t id,
                                       const uint32_t *places, uint32_t labels);
/* Occurrences of the feature of a row in their documents, without weights: a whole number. Counts
 * with a weight below 0 are subtracted. */
int64_t nb_besides_occurrences(const struct nb_besides *besides, uint32_t row, uint64_t id);

/* Weighted sums of D_v; and of n_v, or with `presences` of d_wv, over a field, as
 * nb_expected_sum. */
double nb_besides_documents(const struct nb_besides *besides, uint32_t label);
double nb_besides_sum(const struct nb_besides *besides, uint32_t label, unsigned field,
                      bool presences);
/* The numbers of an attribute and a label, given those that the model has (`own`): exact where
 * documents that have the label for sure are taken out, which are among the model's. */
struct nb_normal nb_besides_numbers(const struct nb_besides *besides, uint32_t label,
                                    unsigned attribute, struct nb_moments own);
/* The vocabulary of a field or a part, given that of the model (`own`): the largest of all. */
uint64_t nb_besides_vocabulary(const struct nb_besides *besides, unsigned field, uint64_t own);

#endif
