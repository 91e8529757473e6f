/* SPDX-License-Identifier: Apache-2.0
 *
 * Names that clients give: what names of models, labels, document ids and sources may be, and
 * labels as text. The stored form is the same for all spellings of a label: without white space
 * around it, and with composed characters (Unicode normalization form C). Other functions estimate
 * how likely two labels are meant to be the same. Pure functions; any thread.
 */
#ifndef NB_CORE_BASE_NAMES_H
#define NB_CORE_BASE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/base/string.h"

/* ---- what names may be ----------------------------------------------------------------------- */

/* The longest name of a model and of a source, in bytes. */
enum { NB_MODEL_NAME_MOST = 128, NB_SOURCE_MOST = 64 };

/* The name of a model's challenger (core/jobs/challenger/challenger.h) is the name of the model
 * with this suffix. */
#define NB_CHALLENGER_SUFFIX ".challenger"
static inline bool nb_may_be_challenger(struct nb_string name)
{
    static const size_t suffix = sizeof NB_CHALLENGER_SUFFIX - 1;
    return name.length > suffix &&
           memcmp(name.bytes + name.length - suffix, NB_CHALLENGER_SUFFIX, suffix) == 0;
}

/* Each of these returns 0, or NB_UNUSABLE with an error text that names the member. */

/* [A-Za-z0-9][A-Za-z0-9._@+-]{0,127} */
int nb_check_model_name(struct nb_string name, struct nb_error *error);
/* 1 to 64 bytes of UTF-8 without control characters. */
int nb_check_label(struct nb_string label, struct nb_error *error);
/* 1 to 256 bytes of UTF-8. */
int nb_check_id(struct nb_string id, struct nb_error *error);
/* 0 to 64 bytes of UTF-8 without control characters. */
int nb_check_source(struct nb_string source, struct nb_error *error);

/* ---- labels as text -------------------------------------------------------------------------- */

/* Normalizes a label. Sets *label to a part of itself if removing white space is enough, else to
 * bytes in `room`, which is emptied first and must outlive the label. Leaves invalid UTF-8
 * unchanged: the check of labels refuses it. Returns 0 or NB_NO_MEMORY. */
int nb_label_normalize(struct nb_string *label, struct nb_buffer *room);

/* Whether two different labels look the same: they differ only in case, in invisible characters
 * (zero width, soft hyphen), or in compatible forms of a character. */
bool nb_label_looks_same(struct nb_string a, struct nb_string b);

/* Whether a label has U+FFFD, which stands for bytes that were lost in a wrong charset. */
bool nb_label_is_lossy(struct nb_string label);

/* How a label differs from another one that was probably meant. By this the daemon warns and the
 * client asks. A higher value means that both labels are more probably meant to be the same. */
enum nb_label_difference {
    NB_LABEL_OTHER,   /* they are equal, or not similar */
    NB_LABEL_NEAR,    /* by a typing error (nb_near_is) */
    NB_LABEL_UNSEEN,  /* only in ways that a reader hardly sees (nb_label_looks_same) */
    NB_LABEL_CAPITALS /* only in case */
};

enum nb_label_difference nb_label_difference_of(struct nb_string a, struct nb_string b);

enum { NB_LABEL_WARNING = 256 /* bytes of the sentence for labels of 64 bytes, with its NUL */ };

/* Writes "the label 'Spam' is new and differs from 'spam' only by capitals". `difference` must not
 * be NB_LABEL_OTHER. */
void nb_label_difference_say(struct nb_string label, struct nb_string old,
                             enum nb_label_difference difference, char text[NB_LABEL_WARNING]);

enum { NB_NEAR_MOST = 64 /* bytes of a word that are compared: the longest label */ };

/* Returns the Damerau-Levenshtein distance of two words in its restricted form (optimal string
 * alignment: Boytsov 2011, section 2.1): the least number of edits, each of which changes, removes
 * or inserts a byte or swaps two neighbours, where no byte is edited twice. Ignores the case of
 * ASCII letters. Compares at most NB_NEAR_MOST bytes of each word. */
size_t nb_near_distance(struct nb_string a, struct nb_string b);

/* Whether two different words are near: at distance 1, at distance 2 if both have 6 bytes or more,
 * or different in case alone. Words of one or two bytes are never near, nor are words that differ
 * only in their numbers, like numbered names. */
bool nb_near_is(struct nb_string a, struct nb_string b);

/* A hint for an error about a missing label if labels are hierarchical: that the wanted "sci" is
 * only a level of the label "sci/space", or that the wanted "sci/space" is below the label "sci".
 */
enum { NB_LEVEL_HINT = 288 /* bytes of a hint with its NUL: longer labels are cut */ };

struct nb_level_hint {
    bool is_below;            /* private: `text` names a label below the wanted one */
    char text[NB_LEVEL_HINT]; /* to be appended to the error; empty if no existing label is above or
                                 below the wanted one */
};

/* Compares one existing label with the wanted one. The hint must be all zero before the first call.
 * It names the first label below the wanted one, or else the first one above it. */
void nb_level_hint_add(struct nb_level_hint *hint, struct nb_string wanted, struct nb_string label);

#endif
