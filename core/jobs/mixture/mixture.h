/* SPDX-License-Identifier: Apache-2.0
 *
 * Mixtures of naive Bayes over documents: group similar documents without any labels. Words are
 * multinomial, categories categorical, numbers Gaussian:
 *
 *     P(d) = sum over k of pi_k * product over the words of d of theta_kw ^ n_dw
 *                               * product over its categories c of theta_kc,d
 *                               * product over its numbers g of N(x_dg; mu_kg, sigma_kg ^ 2)
 *
 * Missing values are left out. Fitted by EM (Dempster, Laird and Rubin 1977; for text Nigam,
 * McCallum, Thrun and Mitchell 2000; for Gaussians Mitchell 1997, section 6.12.1, Bishop 2006,
 * section 9.2.2):
 *
 *     E   r_dk = pi_k * product ..., divided by its sum over k
 *     M   pi_k = (1 + sum_d r_dk) / (clusters + documents)
 *         theta_kw = (alpha + sum_d r_dk n_dw) / (alpha * words + sum over w of that sum);
 *             of a category alike, over its values
 *         mu_kg = sum_d r_dk x_dg / n_kg, n_kg = sum_d r_dk, both over documents that have g
 *         sigma_kg ^ 2 = (s_g ^ 2 + sum_d r_dk (x_dg - mu_kg) ^ 2) / (1 + n_kg)
 *
 * so each M step maximizes the posterior under Dirichlet priors and a prior of variances. The
 * latter acts as one more document at the distance s_g from the mean: it keeps variances above 0,
 * where the likelihood would have no bound. s_g ^ 2 is the variance of all numbers divided by
 * clusters ^ (2 / numbers), the size of the parts into which so many clusters divide the space
 * (Fraley and Raftery 2007). ln P(documents, parameters) never falls.
 *
 * From a random start EM ends in the next local maximum. So with words it begins hot: r uses the
 * likelihood to the power beta, which grows from HEAT to 1 (deterministic annealing EM, Ueda and
 * Nakano 1998). Measured on the training part of 20 Newsgroups, 20 clusters, presence of words that
 * at least 5 documents and at most a tenth of all have: normalized mutual information with the
 * newsgroups .54 to .58 annealed, .36 to .38 not; tests/bench/clusters.py compares with k-means on
 * tf-idf. Without words it begins cold: of four starts on five Gaussians in the plane, three
 * samples of 150 points, the likeliest end was at -294.8, -291.4, -317.6 cold and at -301.2,
 * -291.4, -317.7 hot. Means of numbers begin at documents that are far from each other (Arthur and
 * Vassilvitskii 2007).
 *
 * Pure functions of their arguments: the same seed gives the same result. Any thread.
 */
#ifndef NB_CORE_JOBS_MIXTURE_MIXTURE_H
#define NB_CORE_JOBS_MIXTURE_MIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Documents as a sparse matrix, and a full one of numbers; all borrowed. The columns of document d
 * are columns[begin[d]] ... */
struct nb_mixture_documents {
    size_t count;
    uint32_t words;          /* number of all columns; those of categories come last */
    const size_t *begin;     /* count + 1 */
    const uint32_t *columns; /* below `words`, each once in a document */
    const float *counts;     /* above 0; of a category's value 1 */
    uint32_t categories;
    const uint32_t *category; /* first column of each category: the end of the one before */
    uint32_t numbers;
    const double *values;    /* number g of document d at d * numbers + g; NAN: it has none. Each g
                                with mean 0 and variance 1 over the documents that have it */
    const double *variances; /* known variance of each number, or 0; NULL: none is known */
    bool has_equal_shares;   /* pi_k = 1 / clusters */
};

struct nb_mixture {
    uint32_t clusters, words, numbers;
    double *log_share; /* ln pi_k */
    double *log_word;  /* ln theta_kw, at w * clusters + k; the theta of a category sum to 1 */
    double *mean;      /* mu_kg, at g * clusters + k */
    double *variance;  /* sigma_kg ^ 2, alike */
    uint32_t *cluster; /* of each document, the most probable one; of equal ones the first */
    double *margin; /* ln of the odds of each document's cluster against the next one, per value */
    double log_likelihood;
    double parameters; /* number of parameters: shares; words that a cluster has in at least half a
                          document (of a category, one less); means, and variances that are not
                          known */
    unsigned iterations;
};

void nb_mixture_deinit(struct nb_mixture *mixture);

/* Fits `clusters` (at least 1) to at least one document. `stop` (NULL: never) is asked in each
 * iteration. On success the caller deinits *mixture. Returns 0, NB_STOPPING or NB_NO_MEMORY. */
int nb_mixture_fit(const struct nb_mixture_documents *documents, uint32_t clusters, uint64_t seed,
                   bool (*stop)(void *user), void *user, struct nb_mixture *mixture);

/* The Bayesian information criterion (Schwarz 1978), -2 ln L + parameters * ln documents: less is
 * better. */
double nb_mixture_bic(const struct nb_mixture *mixture, size_t documents);

#endif
