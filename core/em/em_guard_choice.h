/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NB_CORE_EM_EM_GUARD_CHOICE_H
#define NB_CORE_EM_EM_GUARD_CHOICE_H

#include "core/em/losses.h"

/* A linear opinion pool of scores without expected counts and scores with them:
 *
 *     P(v) = (1 - share) P_own(v) + share P_with(v)       P_with: soft-max of temperature * scores
 *
 * Share and temperature minimize the sum of -ln P(y) over documents that were left out, y being
 * their labels. One more document with P_own(y) = 1 and P_with(y) = 0 is added, so that the share
 * stays below 1 even if few documents were left out and all are right. The weight of documents
 * without a label sets their effect inside EM; the share sets the effect of its scores on the
 * verdict. Pure functions; for core/em alone. */

/* All borrowed. */
struct nb_pool_question {
    struct nb_loss_scores own; /* log scores without expected counts, as verdicts have them */
    const double *with;        /* log scores with them, in the layout of own.scores */
    const uint32_t *folds;     /* of each document, below fold_count */
    uint32_t fold_count;
};
struct nb_pool {
    double share;       /* 0 or above, below 1 */
    double temperature; /* above 0, 4 at most */
};

/* Fits the pool to all documents, and sets *losses by cross-validation: each fold's losses come
 * from a pool fitted to the other folds. losses->temperature is 1. There must be at least one
 * document. On success the caller deinits *losses. Returns 0 or NB_NO_MEMORY. */
int nb_pool_fit(const struct nb_pool_question *question, struct nb_pool *pool,
                struct nb_losses *losses);

#endif
