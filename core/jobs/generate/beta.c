/* SPDX-License-Identifier: Apache-2.0 */
#include "core/jobs/generate/beta.h"

#include <assert.h>
#include <float.h>
#include <math.h>

/* ---- the power before the fraction ----------------------------------------------------------- */

static double log_gamma(double z)
{
    int sign; /* sign of Gamma, always positive here; lgamma would write it to a global variable */
    return lgamma_r(z, &sign);
}

/* ln Gamma(z + 1) minus Stirling's formula. From z = 15 on this is the beginning of its series:
 * there the first term that is left out is below 1e-16. */
static double stirling_error(double z)
{
    const double half_log_2_pi = 0.91893853320467274178;
    if (z < 15)
        return log_gamma(z + 1) - (z + 0.5) * log(z) + z - half_log_2_pi;
    double s = 1 / (z * z);
    return (1. / 12 -
            s * (1. / 360 -
                 s * (1. / 1260 -
                      s * (1. / 1680 - s * (1. / 1188 - s * (691. / 360360 - s * (1. / 156))))))) /
           z;
}

/* x ln(x / m) + m - x, without loss where x is near m. */
static double deviance(double x, double m)
{
    double v = (x - m) / (x + m);
    if (fabs(v) > 0.1)
        return x * log(x / m) + m - x;
    double sum = (x - m) * v, term = 2 * x * v;
    for (int k = 3; k < 1000; k += 2) {
        term *= v * v;
        double next = sum + term / k;
        if (next == sum) // NOLINT(clang-analyzer-core.FloatLoopCounter): the sum stands still
            break;
        sum = next;
    }
    return sum;
}

/* x^a y^b / B(a, b), y = 1 - x. */
static double power(double a, double b, double x, double y)
{
    const double log_2_pi = 1.83787706640934548356;
    double n = a + b;
    double log_power = stirling_error(n) - stirling_error(a) - stirling_error(b) -
                       deviance(a, n * x) - deviance(b, n * y);
    return exp(log_power - 0.5 * (log_2_pi - log(a) - log(b / n)));
}

/* ---- the continued fraction ------------------------------------------------------------------ */

static double away_from_zero(double value)
{
    return fabs(value) < DBL_MIN ? DBL_MIN : value;
}

/* 1 / (beta_1 + alpha_2 / (beta_2 + alpha_3 / (beta_3 + ...))), which gives I_x(a, b) when
 * multiplied by the power; lambda = a - (a + b) x. About the square root of the lesser of `a` and
 * `b` steps. */
static double fraction(double a, double b, double x, double lambda)
{
    enum { STEPS_MOST = 10000000 };
    double value = away_from_zero(a / (a + 1) * (lambda + 1)), c = value, d = 0;
    for (int n = 1; n < STEPS_MOST; n++) {
        double between = a + 2. * n - 1;
        double alpha = (a + n - 1) / between * ((a + b + n - 1) / between) * (n * (b - n) * x * x);
        double beta =
            n + n * (b - n) * x / between + (a + n) / (a + 2. * n + 1) * (lambda + 1 + n * (2 - x));
        d = 1 / away_from_zero(beta + alpha * d);
        c = away_from_zero(beta + alpha / c);
        value *= c * d;
        if (fabs(c * d - 1) <= DBL_EPSILON)
            break;
    }
    return 1 / value;
}

/* Takes y = 1 - x, too, which may be smaller than the spacing of numbers near 1. */
static struct nb_beta_tails tails(double a, double b, double x, double y)
{
    if (x <= 0)
        return (struct nb_beta_tails){0, 1};
    if (y <= 0)
        return (struct nb_beta_tails){1, 0};
    double lambda = x < y ? a - (a + b) * x : (a + b) * y - b;
    double whole = power(a, b, x, y);
    if (lambda > 0) {
        double lower = whole * fraction(a, b, x, lambda);
        return (struct nb_beta_tails){lower, 1 - lower};
    }
    double upper = whole * fraction(b, a, y, -lambda);
    return (struct nb_beta_tails){1 - upper, upper};
}

struct nb_beta_tails nb_beta_tails(double a, double b, double x)
{
    assert(a > 0 && b > 0 && x >= 0 && x <= 1);
    return tails(a, b, x, 1 - x);
}

/* ---- its inverse ----------------------------------------------------------------------------- */

/* ln(tail at e^u / wanted), and its derivative. */
static double miss(double a, double b, double u, bool upper, double wanted, double *slope)
{
    double x = exp(u), y = -expm1(u);
    struct nb_beta_tails both = tails(a, b, x, y);
    double tail = upper ? both.upper : both.lower;
    *slope = power(a, b, x, y) / y / tail; /* the density times x */
    if (upper)
        *slope = -*slope;
    return log(tail / wanted);
}

double nb_beta_quantile(double a, double b, double tail, bool upper)
{
    enum { STEPS_MOST = 1000 };
    double low = -690, high = -DBL_MIN, slope, u = log(a / (a + b));
    assert(a > 0 && b > 0 && tail > 0 && tail <= 0.5);
    double above = miss(a, b, low, upper, tail, &slope);
    if (upper ? above <= 0 : above >= 0)
        return 0;
    for (int i = 0; i < STEPS_MOST; i++) {
        above = miss(a, b, u, upper, tail, &slope);
        *((above > 0) == upper ? &low : &high) = u;
        double next = u - above / slope;
        if (!(next > low && next < high))
            next = low + (high - low) / 2;
        bool stands = fabs(next - u) <= 4 * DBL_EPSILON * fabs(u);
        u = next;
        if (stands)
            break;
    }
    return exp(u);
}

struct nb_interval nb_beta_interval(double a, double b, double mass)
{
    double tail = (1 - mass) / 2;
    assert(mass > 0 && mass < 1);
    return (struct nb_interval){nb_beta_quantile(a, b, tail, false),
                                nb_beta_quantile(a, b, tail, true)};
}

struct nb_interval nb_share_interval(double of, double all, double mass)
{
    assert(of >= 0 && all >= of && all > 0);
    struct nb_interval interval = nb_beta_interval(of + 0.5, all - of + 0.5, mass);
    if (of <= 0)
        interval.low = 0;
    if (of >= all)
        interval.high = 1;
    return interval;
}
