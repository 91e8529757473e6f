/* SPDX-License-Identifier: Apache-2.0
 *
 * The one form in which a label is kept, so that it is one label however it was written: without
 * white space around it, its characters composed (Unicode normalization form C). Pure functions;
 * any thread.
 */
#ifndef NB_CORE_BASE_LABEL_LABEL_H
#define NB_CORE_BASE_LABEL_LABEL_H

#include <stdbool.h>

#include "core/base/buffer.h"

/* Brings a label into its form. *label is set to a part of itself where that is enough, else to
 * bytes in `room`, which is emptied first and must outlive the label. What is not UTF-8 is left as
 * it is: the check of labels refuses it. Returns 0 or NB_NO_MEMORY. */
int nb_label_normalize(struct nb_string *label, struct nb_buffer *room);

/* Whether two different labels look the same: they differ in case, in characters that are not seen
 * (zero width, soft hyphen), or in compatible forms of a character only. */
bool nb_label_looks_same(struct nb_string a, struct nb_string b);

/* Whether a label has U+FFFD, which stands for bytes that were lost in a wrong charset. */
bool nb_label_is_lossy(struct nb_string label);

#endif
