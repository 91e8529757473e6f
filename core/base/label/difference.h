/* SPDX-License-Identifier: Apache-2.0
 *
 * How a label differs from another one, where one of them is probably a slip for the other: the
 * rule by which the daemon warns and the client asks. Pure functions; any thread.
 */
#ifndef NB_CORE_BASE_LABEL_DIFFERENCE_H
#define NB_CORE_BASE_LABEL_DIFFERENCE_H

#include "core/base/string.h"

/* The higher, the more probably they are meant to be one. */
enum nb_label_difference {
    NB_LABEL_OTHER,   /* they are the same, or nobody takes one for the other */
    NB_LABEL_NEAR,    /* by a slip of the fingers (core/base/label/near.h) */
    NB_LABEL_UNSEEN,  /* only by what does not show (core/base/label/label.h) */
    NB_LABEL_CAPITALS /* only by case */
};

enum nb_label_difference nb_label_difference_of(struct nb_string a, struct nb_string b);

enum { NB_LABEL_WARNING = 256 /* bytes of the sentence, with its NUL, of labels of 64 bytes */ };

/* "the label 'Spam' is new and differs from 'spam' only by capitals"; not of NB_LABEL_OTHER. */
void nb_label_difference_say(struct nb_string label, struct nb_string old,
                             enum nb_label_difference difference, char text[NB_LABEL_WARNING]);

#endif
