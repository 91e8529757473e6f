/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a word is probably another one with a slip of the fingers. Pure functions; any thread.
 */
#ifndef NB_CORE_BASE_LABEL_NEAR_H
#define NB_CORE_BASE_LABEL_NEAR_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/string.h"

enum { NB_NEAR_MOST = 64 /* bytes of a word, as of a label */ };

/* The Damerau-Levenshtein distance of two words in its restricted form (optimal string alignment:
 * Boytsov 2011, section 2.1): the least number of bytes that are changed, left out or put in, and
 * of neighbours that change places, where nothing is edited twice. ASCII letters count as equal in
 * both cases. Of each word at most NB_NEAR_MOST bytes are compared. */
size_t nb_near_distance(struct nb_string a, struct nb_string b);

/* Whether two different words are near: at distance 1, or 2 if both have 6 bytes or more, or
 * different in case alone. Words of one or two bytes, and words that differ in their digits alone,
 * as names that somebody counts up do, are not. */
bool nb_near_is(struct nb_string a, struct nb_string b);

#endif
