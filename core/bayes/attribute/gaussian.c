/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bayes/attribute/gaussian.h"

#include <assert.h>
#include <math.h>

struct nb_gaussian nb_gaussian_of(const struct nb_moments *own, const struct nb_moments *all,
                                  double added)
{
    static const double two_pi = 6.283185307179586;
    struct nb_gaussian g = {.moments = own->count > 0 ? *own : *all};
    assert(all->count > 0 && added > 0);
    g.variance = nb_moments_variance(own->count > 1 ? own : all) + added;
    g.log_height = -log(two_pi * g.variance) / 2;
    return g;
}

double nb_gaussian_log(const struct nb_gaussian *gaussian, nb_int128 fixed)
{
    double deviation = nb_moments_deviation(&gaussian->moments, fixed);
    return gaussian->log_height - deviation * deviation / (2 * gaussian->variance);
}
