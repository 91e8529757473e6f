/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bayes/estimate/rising.h"

#include <assert.h>
#include <math.h>

/* From here on Stirling's series has an error below 2e-14 (its next term: 1 / (1188 z^9)). */
#define LARGE 16.0

/* The series of ln Gamma(z) after its closed part (Abramowitz and Stegun 1964, 6.1.41). */
static double series(double z)
{
    double r = 1 / (z * z);
    return (1. / 12 - r * (1. / 360 - r * (1. / 1260 - r / 1680))) / z;
}

double nb_log_rising(double x, uint64_t n)
{
    double sum = 0;
    assert(x > 0);
    for (; n > 0 && (x < LARGE || n <= 2); n--, x++)
        sum += log(x);
    if (n == 0)
        return sum;
    /* ln Gamma(x + n) - ln Gamma(x), where what is large cancels before it is rounded */
    double count = (double)n;
    return sum + count * log(x + count) + (x - 0.5) * log1p(count / x) - count + series(x + count) -
           series(x);
}
