/* SPDX-License-Identifier: Apache-2.0
 *
 * How a label differs from another one, where one of them is probably a slip for the other: the
 * rule by which the daemon warns and the client asks. Pure functions; any thread.
 */
#ifndef NB_CORE_BASE_LABEL_DIFFERENCE_H
#define NB_CORE_BASE_LABEL_DIFFERENCE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/string.h"

/* A higher value means that the two labels are more probably meant to be one. */
enum nb_label_difference {
    NB_LABEL_OTHER,   /* they are the same, or not similar */
    NB_LABEL_NEAR,    /* by a slip of the fingers (core/base/label/difference.h) */
    NB_LABEL_UNSEEN,  /* only by what does not show (core/base/label/label.h) */
    NB_LABEL_CAPITALS /* only by case */
};

enum nb_label_difference nb_label_difference_of(struct nb_string a, struct nb_string b);

enum { NB_LABEL_WARNING = 256 /* bytes of the sentence, with its NUL, of labels of 64 bytes */ };

/* "the label 'Spam' is new and differs from 'spam' only by capitals"; not of NB_LABEL_OTHER. */
void nb_label_difference_say(struct nb_string label, struct nb_string old,
                             enum nb_label_difference difference, char text[NB_LABEL_WARNING]);

/* Whether a word is probably a typing error for another word. Pure functions; any thread. */
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
