/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NB_CORE_JOBS_GENERATE_DISTRIBUTION_H
#define NB_CORE_JOBS_GENERATE_DISTRIBUTION_H

#include "core/jobs/generate/generate.h"
#include "core/jobs/generate/label_walk.h"

/* The fields of a label's documents and their values, for core/jobs/generate/distribution.c. One
 * thread. */

/* The value in the text of a feature of a field, as in `country=DE`. */
struct nb_string nb_value_of_text(struct nb_string text, struct nb_string field);

#endif
