/* SPDX-License-Identifier: Apache-2.0
 *
 * The patterns of models that a token is for: "user-*,mail". A pattern is a name in which * stands
 * for any bytes, also none, and ? for one byte; several are separated by commas, and one of them
 * must match. Pure functions; any thread.
 */
#ifndef NB_SERVER_ACCESS_ALLOWED_MODELS_H
#define NB_SERVER_ACCESS_ALLOWED_MODELS_H

#include <stdbool.h>

#include "core/base/error.h"
#include "core/base/string.h"

/* Whether a text is a list of patterns: of the bytes of models' names (API: 1 to 128 letters,
 * digits and "._@+-"), with * and ?. */
bool nb_models_are_patterns(struct nb_string text);

/* Whether the patterns are for every model there may be: "*" is one of them. */
bool nb_models_are_all(const char *patterns);

/* Whether one of the patterns matches the name. Takes time in proportion to the product of the
 * lengths at most. */
bool nb_models_match(const char *patterns, struct nb_string name);

/* The same as an error code, for what a token's patterns allow: 0 or NB_FORBIDDEN. */
int nb_models_check(const char *patterns, struct nb_string name, struct nb_error *error);

#endif
