/* SPDX-License-Identifier: Apache-2.0
 *
 * Losses of log scores at the temperature that fits them best. The target probability of a
 * document's label is 1 - e, and the other labels share e = 1 / (n + 2), with n documents, as in
 * Platt (1999). Without e, if all documents are predicted right, larger scores would always have a
 * smaller loss, and comparing two losses would say nothing. Pure functions; for core/em
 * alone.
 */
#ifndef NB_CORE_EM_LOSSES_H
#define NB_CORE_EM_LOSSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Log scores of documents; all borrowed. */
struct nb_loss_scores {
    size_t count;
    uint32_t labels;
    const uint32_t *truths; /* of each document, a label */
    const double *scores;   /* at document * labels + label; -INFINITY: impossible */
};

struct nb_losses {
    double temperature; /* 1e-4 to 4, at which the mean is least */
    double mean, accuracy;
    double *each; /* of each document; owned */
    bool *right;  /* whether it is predicted right; owned */
};

/* Allocates room for `count` documents. The caller deinits *losses, after an error too. Returns 0
 * or NB_NO_MEMORY. */
int nb_losses_init(struct nb_losses *losses, size_t count);
void nb_losses_deinit(struct nb_losses *losses);
/* Computes mean and accuracy from `each` and `right`. */
void nb_losses_sum(struct nb_losses *losses, size_t count);

/* Computes the losses -ln P of the scores as they are: at the temperature 1, with e = 0. There must
 * be at least one document. On success the caller deinits *losses. Returns 0 or NB_NO_MEMORY. */
int nb_losses_as_they_are(const struct nb_loss_scores *scores, struct nb_losses *losses);

/* Computes the losses at the best temperature. There must be at least one document. On success the
 * caller deinits *losses. Returns 0 or NB_NO_MEMORY. */
int nb_losses_of(const struct nb_loss_scores *scores, struct nb_losses *losses);

/* Whether the scores of `b` are better than those of `a`, of the same documents. The mean loss must
 * not be larger and the accuracy not lower, and one of them must be clearly better: the loss by
 * more than three standard errors of the difference (three, because the best of many candidates is
 * tested), or the accuracy by more than two. The accuracy is tested as well because the differences
 * of the losses vary widely: if EM is wrong about a label, it is wrong about many documents, with
 * high probability. If all documents are right with `a`, nothing helps: then a smaller loss only
 * means higher probabilities, and few documents cannot tell whether these are justified. */
bool nb_losses_help(const struct nb_losses *a, const struct nb_losses *b, size_t count);

#endif
