/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts beside those of a model, each with a weight, as one. What label numbers and rows mean is
 * as in the model. With a weight below 0 the documents are ones that the model has learned, and
 * that are left out. Any thread.
 */
#ifndef NB_CORE_EXPECTED_BESIDE_H
#define NB_CORE_EXPECTED_BESIDE_H

#include "core/expected/expected.h"

struct nb_beside {
    struct nb_expected *counts; /* borrowed */
    double weight;              /* of each document */
};
enum { NB_BESIDE_MOST = 2 };
struct nb_besides {
    struct nb_beside list[NB_BESIDE_MOST];
    unsigned count; /* 0: nothing stands beside the model's counts */
};

/* What they have of a row, whose feature is `id`, for a label. */
struct nb_expected_cell nb_besides_cell(const struct nb_besides *besides, uint32_t row, uint64_t id,
                                        uint32_t label);
/* The same over all labels below `labels` whose place is not UINT32_MAX. */
struct nb_expected_cell nb_besides_row(const struct nb_besides *besides, uint32_t row, uint64_t id,
                                       const uint32_t *places, uint32_t labels);
/* How often their documents have the feature of a row, whatever they weigh: a whole number, below 0
 * where documents are left out. */
int64_t nb_besides_occurrences(const struct nb_besides *besides, uint32_t row, uint64_t id);

/* D_v; and n_v, or with `presences` the sum of d_wv, over a field (NB_FIELDS: all that are tokens).
 */
double nb_besides_documents(const struct nb_besides *besides, uint32_t label);
double nb_besides_sum(const struct nb_besides *besides, uint32_t label, unsigned field,
                      bool presences);
/* The vocabulary of a field with them, given that of the model: the largest. */
uint64_t nb_besides_vocabulary(const struct nb_besides *besides, unsigned field, uint64_t own);

#endif
