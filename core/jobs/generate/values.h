/* SPDX-License-Identifier: Apache-2.0
 *
 * The fields of a label's documents and their values, for core/jobs/generate/distribution.c. One
 * thread.
 */
#ifndef NB_CORE_JOBS_GENERATE_VALUES_H
#define NB_CORE_JOBS_GENERATE_VALUES_H

#include "core/jobs/generate/generate.h"
#include "core/jobs/generate/label_walk.h"

/* The end of nb_generate_distribution, of a sink that wants fields. */
int nb_list_values(const struct nb_label_walk *walk, size_t limit, double mass,
                   const struct nb_distribution_sink *sink, struct nb_error *error);

/* The value in the text of a feature of a field, as in `country=DE`. */
struct nb_string nb_value_of_text(struct nb_string text, struct nb_string field);

#endif
