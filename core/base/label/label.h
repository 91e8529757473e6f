/* SPDX-License-Identifier: Apache-2.0
 *
 * The stored form of a label, which is the same for all spellings of one label: without white space
 * around it, with composed characters (Unicode normalization form C). Pure functions; any thread.
 */
#ifndef NB_CORE_BASE_LABEL_LABEL_H
#define NB_CORE_BASE_LABEL_LABEL_H

#include <stdbool.h>

#include "core/base/buffer.h"

/* Normalizes a label. Sets *label to a part of itself where that is enough, else to bytes in
 * `room`, which is emptied first and must outlive the label. Leaves invalid UTF-8 unchanged: the
 * check of labels refuses it. Returns 0 or NB_NO_MEMORY. */
int nb_label_normalize(struct nb_string *label, struct nb_buffer *room);

/* Whether two different labels look the same: they differ in case, in characters that are not seen
 * (zero width, soft hyphen), or in compatible forms of a character only. */
bool nb_label_looks_same(struct nb_string a, struct nb_string b);

/* Whether a label has U+FFFD, which stands for bytes that were lost in a wrong charset. */
bool nb_label_is_lossy(struct nb_string label);

#endif
