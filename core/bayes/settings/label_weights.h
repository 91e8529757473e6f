/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers given to labels by name, in the order of the names: a prior's weights, or smoothings.
 * Pure functions; any thread.
 */
#ifndef NB_CORE_BAYES_SETTINGS_LABEL_WEIGHTS_H
#define NB_CORE_BAYES_SETTINGS_LABEL_WEIGHTS_H

#include <stddef.h>

#include "core/base/pack.h"

struct nb_prior_weight {
    char *label; /* owned, UTF-8, NUL-terminated (labels hold no control characters) */
    double weight;
};

/* Frees a list and its labels; NULL does nothing. */
void nb_label_weights_free(struct nb_prior_weight *list, size_t count);
/* Copies a list into *to, which the caller owns; NULL of an empty one. Returns 0 or NB_NO_MEMORY,
 * with which *to is not changed. */
int nb_label_weights_copy(const struct nb_prior_weight *list, size_t count,
                          struct nb_prior_weight **to);

/* The number of a label; that of a label without one is the mean of all. */
double nb_label_weights_find(const struct nb_prior_weight *list, size_t count, const char *label);

/* The stored form: how many there are, then names and numbers. */
void nb_label_weights_write(struct nb_packer *w, const struct nb_prior_weight *list, size_t count);
/* Reads it back into *list and *count, which are empty before and the caller's to free, also after
 * a failure. Returns 0, NB_CORRUPT or NB_NO_MEMORY. Neither order nor range is checked. */
int nb_label_weights_read(struct nb_unpacker *r, struct nb_prior_weight **list, size_t *count);

#endif
