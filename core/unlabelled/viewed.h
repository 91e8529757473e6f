/* SPDX-License-Identifier: Apache-2.0
 *
 * What EM reads of the view of a model and its parents (core/blend/blend.h): labels, their priors,
 * and counts. For core/unlabelled alone.
 */
#ifndef NB_CORE_UNLABELLED_VIEWED_H
#define NB_CORE_UNLABELLED_VIEWED_H

#include "core/family/family.h"

/* Labels of the view, by name; all arrays are owned. */
struct nb_viewed {
    uint32_t count;    /* 0: the model has no documents */
    char **names;      /* owned, too */
    uint32_t *numbers; /* in the model; NB_BLEND_NO_LABEL: a parent's alone */
    double *documents; /* of the model itself */
    double *shares;    /* the priors */
};
void nb_viewed_deinit(struct nb_viewed *viewed);

/* Takes the family's locks. The caller deinits *viewed in any case. Returns 0 or NB_NO_MEMORY. */
int nb_viewed_read(struct nb_viewed *viewed, struct nb_family *family);

/* The place here of a label of the view, from *at on, which is brought forward: names ascend in
 * both. UINT32_MAX: it came later. */
uint32_t nb_viewed_label(const struct nb_viewed *viewed, const struct nb_blend *blend,
                         uint32_t place, uint32_t *at);

/* Puts the view's counts of words, of these ids, into counts[word * viewed->count + label], some
 * thousand words at a time under the family's locks. Returns 0 or NB_NO_MEMORY. */
int nb_viewed_counts(const struct nb_viewed *viewed, struct nb_family *family, bool is_binary,
                     const uint64_t *ids, uint32_t words, double *counts);

#endif
