/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether two columns are independent given others: the G-squared test, the likelihood ratio test
 * of conditional independence (Spirtes, Glymour and Scheines 2000, section 5.5; Neapolitan 2004).
 * Pure functions; any thread.
 */
#ifndef NB_CORE_NETWORKS_NETWORK_INDEPENDENCE_H
#define NB_CORE_NETWORKS_NETWORK_INDEPENDENCE_H

#include "core/networks/network/columns.h"

/* P(X >= x) of the chi-squared distribution with `degrees` degrees of freedom: the regularized
 * upper incomplete gamma function Q(degrees / 2, x / 2), by its series or its continued fraction
 * (Abramowitz and Stegun 1964, 26.4.19, 6.5.29 and 6.5.31). `degrees` is above 0, x at least 0. */
double nb_chi_squared_tail(double x, double degrees);

struct nb_independence {
    double g_squared, degrees;
    double p; /* probability of data at least as dependent as these, if there is no dependence */
};

/* Tests columns a and b given the columns `given`:
 *
 *     G^2 = 2 sum N_abs ln (N_abs N_s / (N_as N_bs))
 *
 * with degrees of freedom (states of a that occur - 1) (states of b that occur - 1) summed over the
 * combinations s of the given columns' states. A state whose margin is 0 cannot differ, so it adds
 * no degree (Bishop, Fienberg and Holland 1975, section 3.8). Rows in which one of these columns is
 * missing are skipped. With 0 degrees p is 1.
 *
 * Returns 0; NB_TOO_LARGE, without a text: more than `most_cells` counts would be needed;
 * NB_NO_MEMORY. */
int nb_independence_test(const struct nb_columns *columns, size_t a, size_t b,
                         const uint32_t *given, size_t given_count, size_t most_cells,
                         struct nb_independence *result);

#endif
