/* SPDX-License-Identifier: Apache-2.0
 *
 * Labels, priors and counts of a model and its parents together (their view,
 * core/stack/blend.h), as input of EM. For core/em alone.
 */
#ifndef NB_CORE_EM_VIEWED_H
#define NB_CORE_EM_VIEWED_H

#include "core/model/parents/parent_chain.h"

/* Labels of the view, sorted by name; all arrays are owned. */
struct nb_viewed {
    uint32_t count;    /* 0: the model has no documents */
    char **names;      /* owned, too */
    uint32_t *numbers; /* in the model; NB_BLEND_NO_LABEL: only a parent has the label */
    double *documents; /* of the model itself */
    double *shares;    /* the priors */
};
void nb_viewed_deinit(struct nb_viewed *viewed);

/* Reads the labels and priors, under the chain's locks. The caller deinits *viewed in
 * any case. Returns 0 or NB_NO_MEMORY. */
int nb_viewed_read(struct nb_viewed *viewed, struct nb_parent_chain *chain);

/* Index here of label `place` of the view; UINT32_MAX: the label was added since nb_viewed_read.
 * The search starts at *at and moves it forward, because both lists are sorted by name: begin with
 * 0 and call with ascending places. */
uint32_t nb_viewed_label(const struct nb_viewed *viewed, const struct nb_blend *blend,
                         uint32_t place, uint32_t *at);

/* Writes the view's counts of the words `ids` to counts[word * viewed->count + label], a few
 * thousand words at a time under the chain's locks. Returns 0 or NB_NO_MEMORY. */
int nb_viewed_counts(const struct nb_viewed *viewed, struct nb_parent_chain *chain, bool is_binary,
                     const uint64_t *ids, uint32_t words, double *counts);

#endif
