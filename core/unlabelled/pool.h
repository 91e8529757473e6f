/* SPDX-License-Identifier: Apache-2.0
 *
 * What scores with expected counts are worth beside those without, in a linear opinion pool:
 *
 *     P(v) = (1 - share) P_own(v) + share P_with(v)       P_with: soft-max of temperature * scores
 *
 * Share and temperature are those with the least mean of -ln P(y) over documents that were left
 * out, y their labels. One document more is counted, of which P_with(y) is 0: so the own scores
 * keep a part where few documents were left out and all are right. The weight of documents without
 * a label says how far EM believes in them, the share how far its scores are believed. Pure
 * functions; for core/unlabelled alone.
 */
#ifndef NB_CORE_UNLABELLED_POOL_H
#define NB_CORE_UNLABELLED_POOL_H

#include "core/unlabelled/losses.h"

/* All borrowed. */
struct nb_pool_question {
    struct nb_loss_scores own; /* log scores without expected counts, as verdicts have them */
    const double *with;        /* those with them, as own.scores lie */
    const uint32_t *folds;     /* of each document, below fold_count */
    uint32_t fold_count;
};
struct nb_pool {
    double share;       /* 0 or above, below 1 */
    double temperature; /* above 0, 4 at most */
};

/* Fits the pool to all documents, and sets *losses to those of pools that were fitted to the other
 * folds' documents; its temperature is 1. On success the caller deinits *losses. Of at least one
 * document. Returns 0 or NB_NO_MEMORY. */
int nb_pool_fit(const struct nb_pool_question *question, struct nb_pool *pool,
                struct nb_losses *losses);

#endif
