/* SPDX-License-Identifier: Apache-2.0
 *
 * Likelihoods of counts whose probabilities are integrated out. Under a Dirichlet prior with the
 * parameters a_w, sum A, after n_w of N counts, the probability of further counts c_w of C, in a
 * given order, is (Murphy 2012, Machine Learning, section 3.4; the urn of Polya)
 *
 *     product of Gamma(n_w + a_w + c_w) / Gamma(n_w + a_w)  over  Gamma(N + A + C) / Gamma(N + A)
 *
 * so the second occurrence of a word is more probable than the first. Pure functions; any thread.
 */
#ifndef NB_CORE_BAYES_ESTIMATE_RISING_H
#define NB_CORE_BAYES_ESTIMATE_RISING_H

#include <stdint.h>

/* ln of Gamma(x + n) / Gamma(x) = x (x + 1) ... (x + n - 1), for x above 0, with an error of 1e-13
 * or n 1e-15, whichever is more; in time that n does not matter for. */
double nb_log_rising(double x, uint64_t n);

#endif
