/* SPDX-License-Identifier: Apache-2.0
 *
 * What the estimate adds to the counts of values that have a smoothing of their own: a Dirichlet
 * prior with one parameter for each value of a category, or Beta(a, a) with an a of each value of a
 * set (core/bayes/settings/smoothing.h). Pure functions, under the model's read lock.
 */
#ifndef NB_CORE_BAYES_ATTRIBUTE_VALUE_ADDENDS_H
#define NB_CORE_BAYES_ATTRIBUTE_VALUE_ADDENDS_H

#include "core/bayes/estimate/estimate.h"
#include "core/counts/counts.h"

/* Whether the settings give values of an attribute numbers of their own. */
bool nb_value_addends_has(const struct nb_settings *settings, size_t attribute);

/* What is added to the counts of the value that is the feature `id`. */
struct nb_addends nb_value_addends_of(const struct nb_settings *settings, uint64_t id);

/* The sum of what is added to the counts of an attribute's values: of `vocabulary` values, those
 * that documents have. */
double nb_value_addends_sum(const struct nb_settings *settings, const struct nb_model *model,
                            size_t attribute, uint64_t vocabulary);

#endif
