/* SPDX-License-Identifier: Apache-2.0
 *
 * The thresholds of labels, as the setting `thresholds` says them: a number, a precision that is
 * wished (the number is chosen on documents: core/model/wishes.h), or the costs of both kinds of
 * error. Pure functions; any thread.
 */
#ifndef NB_CORE_BAYES_THRESHOLDS_H
#define NB_CORE_BAYES_THRESHOLDS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buffer.h"

enum nb_threshold_kind { NB_THRESHOLD_NUMBER, NB_THRESHOLD_PRECISION, NB_THRESHOLD_COSTS };

struct nb_label_threshold {
    char *label;             /* owned, UTF-8, NUL-terminated */
    int kind;                /* enum nb_threshold_kind */
    double number;           /* NUMBER: the threshold; PRECISION: the share; else 0 */
    double cost_fp, cost_fn; /* COSTS; else 0 */
};

/* Frees a list and its labels; NULL does nothing. */
void nb_label_thresholds_free(struct nb_label_threshold *list, size_t count);
/* Sets *to to a copy of a list, which the caller owns; NULL for an empty list. Returns 0, or
 * NB_NO_MEMORY with *to unchanged. */
int nb_label_thresholds_copy(const struct nb_label_threshold *list, size_t count,
                             struct nb_label_threshold **to);
/* Whether some threshold of the list is of this kind. */
bool nb_label_thresholds_have(const struct nb_label_threshold *list, size_t count,
                              enum nb_threshold_kind kind);

/* Writes the stored form: how many there are, then name, kind and numbers of each. A list of
 * numbers alone is written without the kinds, as before there were any (`has_kinds` false). */
void nb_label_thresholds_write(struct nb_packer *w, const struct nb_label_threshold *list,
                               size_t count, bool has_kinds);
/* Reads it back into *list and *count, which are empty before and the caller's to free, also after
 * a failure. Returns 0, NB_CORRUPT, NB_VERSION (a kind that this program does not know) or
 * NB_NO_MEMORY. Neither order nor range is checked. */
int nb_label_thresholds_read(struct nb_unpacker *r, bool has_kinds,
                             struct nb_label_threshold **list, size_t *count);

#endif
