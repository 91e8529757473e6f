/* SPDX-License-Identifier: Apache-2.0
 *
 * A Gaussian of the numbers that the documents of a label have of an attribute: the naive Bayes
 * classifier of Mitchell 1997, section 6.9, with a density for each continuous attribute (John and
 * Langley 1995). Pure functions; any thread.
 *
 * Mean and variance are those of the label's numbers, the variance with the count below it (the
 * maximum of the likelihood). As in scikit-learn's GaussianNB a small number is added to every
 * variance, 1e-9 of the largest variance that any attribute has over all labels, so that none is 0.
 * What GaussianNB leaves open: a label with one number has its mean, and the variance of the
 * numbers of all labels; one without any has the mean and the variance of all.
 */
#ifndef NB_CORE_BAYES_ATTRIBUTE_GAUSSIAN_H
#define NB_CORE_BAYES_ATTRIBUTE_GAUSSIAN_H

#include "core/base/decimal.h"

#define NB_VARIANCE_SMOOTHING 1e-9

struct nb_gaussian {
    struct nb_moments moments; /* of the numbers that the mean is of: at least one */
    double variance;           /* with what is added to it: above 0 */
    double log_height;         /* ln of the density at the mean */
};

/* That of the numbers `own`, among `all`, of which there is at least one. `added`, above 0, is
 * added to the variance. */
struct nb_gaussian nb_gaussian_of(const struct nb_moments *own, const struct nb_moments *all,
                                  double added);

/* ln of the density at a number (nb_decimal_fixed). */
double nb_gaussian_log(const struct nb_gaussian *gaussian, nb_int128 fixed);

#endif
