/* SPDX-License-Identifier: Apache-2.0
 *
 * The patterns of the models that a token covers: "user-*,mail". In a pattern * stands for any
 * bytes, also none, and ? for one byte; patterns are separated by commas, and one of them must
 * match. Pure functions; any thread.
 */
#ifndef NB_SERVER_ACCESS_ALLOWED_MODELS_H
#define NB_SERVER_ACCESS_ALLOWED_MODELS_H

#include <stdbool.h>

#include "core/base/error.h"
#include "core/base/string.h"

/* Whether a text is a list of patterns: of the bytes of model names (API: 1 to 128 letters, digits
 * and "._@+-"), with * and ?. */
bool nb_models_are_patterns(struct nb_string text);

/* Whether the patterns cover every possible model: one of them is "*". */
bool nb_models_are_all(const char *patterns);

/* Whether one of the patterns matches the name. Takes time at most proportional to the product of
 * the lengths. */
bool nb_models_match(const char *patterns, struct nb_string name);

/* Like nb_models_match, as an error code: 0 or NB_FORBIDDEN. */
int nb_models_check(const char *patterns, struct nb_string name, struct nb_error *error);

#endif
