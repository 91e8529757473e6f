/* SPDX-License-Identifier: Apache-2.0
 *
 * Labels as text: their stored form, which is the same for all spellings of one label (without
 * white space around it, with composed characters: Unicode normalization form C), and how likely
 * two labels are meant to be one. Pure functions; any thread.
 */
#ifndef NB_CORE_BASE_LABEL_H
#define NB_CORE_BASE_LABEL_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buffer.h"
#include "core/base/string.h"

/* Normalizes a label. Sets *label to a part of itself where that is enough, else to bytes in
 * `room`, which is emptied first and must outlive the label. Leaves invalid UTF-8 unchanged: the
 * check of labels refuses it. Returns 0 or NB_NO_MEMORY. */
int nb_label_normalize(struct nb_string *label, struct nb_buffer *room);

/* Whether two different labels look the same: they differ in case, in characters that are not seen
 * (zero width, soft hyphen), or in compatible forms of a character only. */
bool nb_label_looks_same(struct nb_string a, struct nb_string b);

/* Whether a label has U+FFFD, which stands for bytes that were lost in a wrong charset. */
bool nb_label_is_lossy(struct nb_string label);

/* How a label differs from another one, where one of them is probably a slip for the other: the
 * rule by which the daemon warns and the client asks. A higher value means that the two labels are
 * more probably meant to be one. */
enum nb_label_difference {
    NB_LABEL_OTHER,   /* they are the same, or not similar */
    NB_LABEL_NEAR,    /* by a slip of the fingers (nb_near_is) */
    NB_LABEL_UNSEEN,  /* only by what does not show (nb_label_looks_same) */
    NB_LABEL_CAPITALS /* only by case */
};

enum nb_label_difference nb_label_difference_of(struct nb_string a, struct nb_string b);

enum { NB_LABEL_WARNING = 256 /* bytes of the sentence, with its NUL, of labels of 64 bytes */ };

/* "the label 'Spam' is new and differs from 'spam' only by capitals"; not of NB_LABEL_OTHER. */
void nb_label_difference_say(struct nb_string label, struct nb_string old,
                             enum nb_label_difference difference, char text[NB_LABEL_WARNING]);

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

/* A hint for an error about a missing label, where labels are hierarchical: "sci" is a level of
 * "sci/space", or "sci/space" is a label below "sci". */
enum { NB_LEVEL_HINT = 288 /* bytes of a hint with its NUL: longer labels are cut */ };

struct nb_level_hint {
    bool is_below; /* private: the text is of a label of which the wanted one is a level */
    char text[NB_LEVEL_HINT]; /* follows what says that the label is not there; empty if no label
                                 that was given is above or below it */
};

/* Compares one existing label with the wanted one. The hint is all zero before the first, and names
 * the first label below, or else the first above. */
void nb_level_hint_add(struct nb_level_hint *hint, struct nb_string wanted, struct nb_string label);

#endif
