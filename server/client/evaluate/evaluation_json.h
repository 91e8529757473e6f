/* SPDX-License-Identifier: Apache-2.0
 *
 * The figures of an evaluation as JSON, in the form in which the daemon gives its own: so both can
 * be printed and drawn by the same code. Any thread.
 */
#ifndef NB_CLIENT_EVALUATION_JSON_H
#define NB_CLIENT_EVALUATION_JSON_H

#include <jansson.h>

#include "core/model/evaluate/evaluate.h"

/* Makes an object like those in the daemon's `windows`. `labels` has the name of each label by its
 * number. The caller owns the object; NULL without memory. */
json_t *nb_evaluation_json(const struct nb_evaluation *evaluation, char *const *labels);

#endif
