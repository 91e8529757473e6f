/* SPDX-License-Identifier: Apache-2.0
 *
 * The Beta distribution: what is known about a probability after `a` cases for and `b` cases
 * against it. Pure functions; any thread.
 */
#ifndef NB_CORE_JOBS_GENERATE_BETA_H
#define NB_CORE_JOBS_GENERATE_BETA_H

#include <stdbool.h>

/* The regularized incomplete beta function I_x(a, b) = P(X <= x), and 1 - I_x(a, b) without loss;
 * `a` and `b` above 0, x from 0 to 1. By the continued fraction of DiDonato and Morris (1992,
 * Algorithm 708, section 2), in which nothing cancels where `a` and `b` are far apart, evaluated by
 * Lentz's method; the power before it by Loader's saddle-point expansion (2000, Fast and accurate
 * computation of binomial probabilities), because differences of ln Gamma lose all digits when
 * a + b is large. */
struct nb_beta_tails {
    double lower, upper;
};
struct nb_beta_tails nb_beta_tails(double a, double b, double x);

/* The x at which P(X <= x) is `tail`, or with `upper` P(X >= x) is; `tail` above 0 and at most 1/2.
 * Found by Newton's method on ln tail over ln x, kept within bounds by bisection. 0 if x is below
 * 1e-300. */
double nb_beta_quantile(double a, double b, double tail, bool upper);

/* The equal-tailed interval that has `mass` (above 0, below 1) of the distribution. */
struct nb_interval {
    double low, high;
};
struct nb_interval nb_beta_interval(double a, double b, double mass);

/* The interval for a share, after `of` of `all` cases: Jeffreys' interval, Beta(of + 1/2, all - of
 * + 1/2), which at 0 and at `all` reaches to the end (Brown, Cai and DasGupta 2001, section 4.1.2).
 * `all` is above 0. */
struct nb_interval nb_share_interval(double of, double all, double mass);

#endif
