/* SPDX-License-Identifier: Apache-2.0
 *
 * Chooses the weight of documents without a label by cross-validation, so that they do no harm. A
 * sample of the documents with a label is cut into folds. For each fold, EM runs without the fold's
 * documents. These are then scored by the counts without them plus the counts that EM expects
 * (core/stack/blend.h). Up to 50 documents are each a fold of their own (leave-one-out), more are
 * cut into ten folds. If EM over all folds would take longer than some seconds, there are fewer
 * folds, but at least three. For core/em alone.
 *
 * By the book, log scores are far too large, and grow with the number of documents, so that -ln P
 * would measure their size and not whether they are right. Therefore P for each loss comes from t
 * times the log scores, with the t that makes the loss smallest (one t for all documents:
 * temperature scaling, Guo, Pleiss, Sun and Weinberger 2017). In a stacked model P is calibrated.
 * Its scores with expected counts do not replace the scores without: the two are pooled
 * (nb_pool_fit). Then the guard compares the loss of the verdicts without expected counts with the
 * loss of the pools, each pool fitted to the other folds.
 *
 * A weight above 0 is chosen only if it helps (nb_losses_help). Of several weights that help, the
 * one with the smallest loss is chosen.
 */
#ifndef NB_CORE_EM_EM_GUARD_H
#define NB_CORE_EM_EM_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/em/em_guard_trial.h"
#include "core/model/live.h"

/* Losses of log scores at the temperature that fits them best. The target probability of a
 * document's label is 1 - e, and the other labels share e = 1 / (n + 2), with n documents, as in
 * Platt (1999). Without e, if all documents are predicted right, larger scores would always have a
 * smaller loss, and comparing two losses would say nothing. Pure functions. */

/* Log scores of documents; all borrowed. */
struct nb_loss_scores {
    size_t count;
    uint32_t labels;
    const uint32_t *truths; /* index of each document's true label */
    const double *scores;   /* at document * labels + label; -INFINITY: impossible */
};

struct nb_losses {
    double temperature; /* 1e-4 to 4, at which the mean is least */
    double mean, accuracy;
    double *each; /* loss of each document; owned */
    bool *right;  /* whether it is predicted right; owned */
};

void nb_losses_deinit(struct nb_losses *losses);

/* Computes the losses -ln P of the scores as they are: at the temperature 1, with e = 0. There must
 * be at least one document. On success the caller deinits *losses. Returns 0 or NB_NO_MEMORY. */
int nb_losses_as_they_are(const struct nb_loss_scores *scores, struct nb_losses *losses);

/* Computes the losses at the best temperature. There must be at least one document. On success the
 * caller deinits *losses. Returns 0 or NB_NO_MEMORY. */
int nb_losses_of(const struct nb_loss_scores *scores, struct nb_losses *losses);

/* Whether the scores of `b` are better than the scores of `a` for the same documents. The mean loss
 * must not be larger and the accuracy not lower, and one of them must be clearly better: the loss
 * by more than three standard errors of the difference (three, because the best of many candidates
 * is tested), or the accuracy by more than two. The accuracy is tested as well because the
 * differences of the losses vary widely: if EM is wrong about a label, it is wrong about many
 * documents, with high probability. If all documents are right with `a`, nothing helps: then a
 * smaller loss only means higher probabilities, and few documents cannot tell whether these are
 * justified. */
bool nb_losses_help(const struct nb_losses *a, const struct nb_losses *b, size_t count);

/* Sets weight, smoothing, is_pooled, share, temperature, measured, folds, without and with of
 * *refined. If the setting unlabelled_weight is a number, that is the weight. With too few
 * documents to measure, `measured` is 0, a weight that would be chosen is 0, and the share of a
 * pool is one half. Returns 0, NB_STOPPING or NB_NO_MEMORY. */
int nb_guard_choose(const struct nb_guard *guard, struct nb_refined *refined);

/* A linear opinion pool of scores without expected counts and scores with them:
 *
 *     P(v) = (1 - share) P_own(v) + share P_with(v)       P_with: soft-max of temperature * scores
 *
 * Share and temperature minimize the sum of -ln P(y) over documents that were left out, y being
 * their labels. One more document with P_own(y) = 1 and P_with(y) = 0 is added, so that the share
 * stays below 1 even if few documents were left out and all are right. The weight of documents
 * without a label sets their effect inside EM; the share sets the effect of its scores on the
 * verdict. Pure functions. */

/* All borrowed. */
struct nb_pool_question {
    struct nb_loss_scores own; /* log scores without expected counts, as verdicts have them */
    const double *with;        /* log scores with expected counts, in the layout of own.scores */
    const uint32_t *folds;     /* fold of each document, below fold_count */
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
