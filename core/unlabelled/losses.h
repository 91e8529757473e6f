/* SPDX-License-Identifier: Apache-2.0
 *
 * Losses of log scores at the temperature that fits them best. Of n documents each is taken to be
 * of its label with 1 - e and of one of the others with e = 1 / (n + 2), as in Platt (1999): else
 * scores that order twenty documents rightly would be the better the larger they are, and the
 * difference of two such losses would say nothing. Pure functions; for core/unlabelled alone.
 */
#ifndef NB_CORE_UNLABELLED_LOSSES_H
#define NB_CORE_UNLABELLED_LOSSES_H

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

/* Room for so many documents. The caller deinits *losses, after an error too. Returns 0 or
 * NB_NO_MEMORY. */
int nb_losses_init(struct nb_losses *losses, size_t count);
void nb_losses_deinit(struct nb_losses *losses);
/* Sets mean and accuracy from what there is of each document. */
void nb_losses_sum(struct nb_losses *losses, size_t count);

/* The losses -ln P of the scores as they are: at the temperature 1, without the e above. On success
 * the caller deinits *losses. Of at least one document. Returns 0 or NB_NO_MEMORY. */
int nb_losses_as_they_are(const struct nb_loss_scores *scores, struct nb_losses *losses);

/* On success the caller deinits *losses. Of at least one document. Returns 0 or NB_NO_MEMORY. */
int nb_losses_of(const struct nb_loss_scores *scores, struct nb_losses *losses);

/* Whether what gave `b` is better than what gave `a`; both are of the same documents. The mean loss
 * must not be larger, nor fewer documents right, and one of both must be clearly better: the loss
 * by more than three standard errors of the difference, because the best of many candidates is
 * asked about, or the documents that are right by more than two. The second is there because EM
 * that is wrong about a label is wrong about many documents at once, and sure, so that the
 * differences of the losses are spread far. Where all are right with `a` nothing helps: of
 * documents that are all right a smaller loss says only how sure one is, which few documents cannot
 * tell. */
bool nb_losses_help(const struct nb_losses *a, const struct nb_losses *b, size_t count);

#endif
