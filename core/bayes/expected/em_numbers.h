/* SPDX-License-Identifier: Apache-2.0
 *
 * The numbers of the documents in EM (em.h), whose lambda weighs them, too: a Gaussian of each
 * field and label. Of the N numbers of a label, those of labelled documents and those of others by
 * weight and share together, and with a prior like one document more at the variance of all
 * numbers, which are 1 (numbers are distances from their mean in deviations):
 *
 *     mu = sum x / (N + s)          sigma^2 = (1 + sum (x - mu)^2 + s mu^2) / (N + 1)
 *
 * the mode of a normal-inverse-gamma posterior (Fraley and Raftery 2007, with s for its kappa), so
 * that no variance is 0, and a label without numbers has those of all. Missing values are passed
 * over. The functions are for core/bayes/expected alone.
 */
#ifndef NB_CORE_BAYES_EXPECTED_EM_NUMBERS_H
#define NB_CORE_BAYES_EXPECTED_EM_NUMBERS_H

#include <stddef.h>

#include "core/bayes/expected/normal.h"

/* The documents' numbers, as distances from the mean of all in deviations; all borrowed. */
struct nb_em_numbers {
    uint32_t count;                   /* of fields; above 0 */
    const double *values;             /* of field g, at d * count + g; NAN: the document has none */
    const struct nb_normal *labelled; /* those of labelled documents, at g * labels + v */
};

struct nb_em_gaussian {
    double mean, variance, log_height;
    double members, sum, squares; /* of documents without a label: weights, and x less the mean */
};

struct nb_em_gaussians {
    const struct nb_em_numbers *numbers; /* borrowed */
    uint32_t count, labels;              /* of fields: 0 without numbers */
    double weight, smoothing;            /* lambda and s */
    struct nb_em_gaussian *list;         /* owned; at g * labels + v; NULL: there are no numbers */
};

/* `numbers`: NULL if there are none. On success the caller deinits *gaussians. Returns 0 or
 * NB_NO_MEMORY. */
int nb_em_gaussians_init(struct nb_em_gaussians *gaussians, const struct nb_em_numbers *numbers,
                         uint32_t labels, double weight, double smoothing);
void nb_em_gaussians_deinit(struct nb_em_gaussians *gaussians);

/* Before an E step: forgets what the last one has added. */
void nb_em_gaussians_begin(struct nb_em_gaussians *gaussians);
/* Adds beta times ln of the densities of a document's numbers to r, by label. */
void nb_em_gaussians_score(const struct nb_em_gaussians *gaussians, size_t document, double beta,
                           double *r);
/* Adds a document whose labels have the shares r. */
void nb_em_gaussians_expect(const struct nb_em_gaussians *gaussians, size_t document,
                            const double *r);
/* The M step. Returns the part of the objective that comes from labelled documents and the prior.
 */
double nb_em_gaussians_maximize(struct nb_em_gaussians *gaussians);

#endif
