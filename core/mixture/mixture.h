/* SPDX-License-Identifier: Apache-2.0
 *
 * Mixtures of multinomials over documents: which documents are of one kind, without any label.
 *
 *     P(d) = sum over k of pi_k * product over the words of d of theta_kw ^ n_dw
 *
 * Fitted by EM (Dempster, Laird and Rubin 1977; for text Nigam, McCallum, Thrun and Mitchell 2000):
 *
 *     E   r_dk = pi_k * product theta_kw ^ n_dw, divided by its sum over k
 *     M   pi_k = (1 + sum_d r_dk) / (clusters + documents)
 *         theta_kw = (alpha + sum_d r_dk n_dw) / (alpha * words + sum over w of that sum)
 *
 * so each M step finds the greatest posterior under Dirichlet priors, and ln P(documents,
 * parameters) never falls. From a random start EM ends in the next local maximum. So it begins hot:
 * r is made of the likelihood to the power beta, which grows from HEAT to 1 (deterministic
 * annealing EM, Ueda and Nakano 1998). Measured on the training part of 20 Newsgroups, 20 clusters,
 * presence of words that 5 documents to a tenth of all have: normalized mutual information with the
 * newsgroups .54 to .58 annealed, .36 to .38 not; k-means on tf-idf is beside it in
 * tests/bench/clusters.py.
 *
 * Pure functions of their arguments: the same seed gives the same result. Any thread.
 */
#ifndef NB_CORE_MIXTURE_MIXTURE_H
#define NB_CORE_MIXTURE_MIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Documents as a sparse matrix; all borrowed. Those of document d are columns[begin[d]] ... */
struct nb_mixture_documents {
    size_t count;
    uint32_t words;          /* columns that there are */
    const size_t *begin;     /* count + 1 */
    const uint32_t *columns; /* below `words`, each once in a document */
    const float *counts;     /* above 0 */
};

struct nb_mixture {
    uint32_t clusters, words;
    double *log_share; /* ln pi_k */
    double *log_word;  /* ln theta_kw, at w * clusters + k */
    uint32_t *cluster; /* of each document, the most probable one; of equal ones the first */
    double *margin;    /* of each document: ln of its odds against the next one, for each word */
    double log_likelihood;
    double parameters; /* shares, and words that a cluster has in at least half a document */
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
