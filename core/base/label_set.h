/* SPDX-License-Identifier: Apache-2.0
 *
 * Sets of labels as text. In a model whose documents have several labels
 * (the setting label_set), the model counts a document once, under the set of its labels; the
 * counts of a label are the sums over the sets that have it. A set is written as one text: for each
 * label U+001F and its name, the names ascending (bytewise) and without repetition; the empty set
 * is U+001F alone. No label contains a control character, so no label looks like a set. Pure
 * functions; any thread.
 */
#ifndef NB_CORE_BASE_LABEL_SET_H
#define NB_CORE_BASE_LABEL_SET_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/base/names.h"
#include "core/base/string.h"

#define NB_LABEL_SET_MARK '\x1f'
enum {
    NB_LABEL_SET_MOST = 100,   /* labels of one document */
    NB_LABEL_SET_BYTES = 4096, /* of the text of a set */
};

/* Whether the text is that of a set, not that of one label. A text that is absent is not. */
static inline bool nb_label_is_set(struct nb_string text)
{
    return text.bytes != NULL && text.length > 0 && *text.bytes == NB_LABEL_SET_MARK;
}

/* Writes the set of these labels, in any order and possibly repeated, to `out`, which is emptied
 * first. The array is sorted. Returns 0; NB_UNUSABLE, with a text for the client: a label is not
 * valid (nb_check_label), or there are too many; or NB_NO_MEMORY. */
int nb_label_set_write(struct nb_string *labels, size_t count, struct nb_buffer *out,
                       struct nb_error *error);

/* Checks a set that came from elsewhere. Returns 0 or NB_UNUSABLE. */
int nb_label_set_check(struct nb_string set, struct nb_error *error);
/* Checks a set or a label (nb_check_label). Returns 0 or NB_UNUSABLE. */
static inline int nb_check_label_or_set(struct nb_string label, struct nb_error *error)
{
    return nb_label_is_set(label) ? nb_label_set_check(label, error) : nb_check_label(label, error);
}

/* Takes the first label from *rest, which is a set or what the last call left of it. Returns false
 * if there is none. */
bool nb_label_set_next(struct nb_string *rest, struct nb_string *label);

/* The number of labels. */
size_t nb_label_set_size(struct nb_string set);
bool nb_label_set_has(struct nb_string set, struct nb_string label);

/* Lists the labels of a set; `labels` has room for NB_LABEL_SET_MOST. Returns their number. */
size_t nb_label_set_list(struct nb_string set, struct nb_string labels[NB_LABEL_SET_MOST]);

/* Writes the set with all labels of `add` (NULL: none) and without those of `remove`, which are
 * sets, too. A label in both is removed. `out` is emptied first, and must not hold an argument.
 * Returns as nb_label_set_write. */
int nb_label_set_change(struct nb_string set, const struct nb_string *add,
                        const struct nb_string *remove, struct nb_buffer *out,
                        struct nb_error *error);

/* Writes the set with the label `from` replaced by `to` (length 0: removed). Returns as
 * nb_label_set_write. */
int nb_label_set_replace(struct nb_string set, struct nb_string from, struct nb_string to,
                         struct nb_buffer *out, struct nb_error *error);

#endif
