/* SPDX-License-Identifier: Apache-2.0
 *
 * The pairs of values that a model counts beside its features, if its settings have a structure
 * (core/counts/pairs.h). Threads: as in core/counts/model.h.
 */
#ifndef NB_CORE_COUNTS_MODEL_PAIRS_H
#define NB_CORE_COUNTS_MODEL_PAIRS_H

#include "core/counts/model.h"
#include "core/counts/pairs.h"

/* The model's table, kept up to date with its counts; NULL: it has none. */
const struct nb_pairs *nb_model_pairs(const struct nb_model *model);
/* Gives the model another table, which has all of its documents (NULL: none), takes it over and
 * frees the one before. */
void nb_model_put_pairs(struct nb_model *model, struct nb_pairs **pairs);

/* Collects the values of categories among the rows of a document. */
void nb_model_pair_values(const struct nb_model *model, const struct nb_pairs *pairs,
                          const struct nb_row_count *counts, size_t size,
                          struct nb_pair_values *values);

/* Whether a document of these rows fits into the model's table: nb_pairs_fit. */
bool nb_model_pairs_fit(const struct nb_model *model, const struct nb_row_count *counts,
                        size_t size);

/* For core/counts alone, under the write lock: makes room for a document, returning as
 * nb_pairs_reserve, and then adds it (or takes it out). Without a table they do nothing. */
int nb_model_reserve_pairs(struct nb_model *model, const struct nb_row_count *counts, size_t size);
void nb_model_add_pairs(struct nb_model *model, uint32_t label, const struct nb_row_count *counts,
                        size_t size, int sign);

#endif
