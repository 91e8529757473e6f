/* SPDX-License-Identifier: Apache-2.0
 *
 * Count, mean and variance of numbers that may weigh less than one each, unlike those of struct
 * nb_moments (core/base/decimal.h), which are exact. Pure functions; any thread.
 */
#ifndef NB_CORE_BAYES_EXPECTED_NORMAL_H
#define NB_CORE_BAYES_EXPECTED_NORMAL_H

#include "core/base/decimal.h"

struct nb_normal {
    double count, mean, variance; /* count: the sum of the weights */
    uint64_t documents;           /* how many numbers there are, whatever they weigh */
};

/* Those of `moments`, each with the weight given, which is above 0. */
static inline struct nb_normal nb_normal_of(const struct nb_moments *moments, double weight)
{
    return (struct nb_normal){.count = weight * (double)moments->count,
                              .mean = nb_moments_mean(moments),
                              .variance = nb_moments_variance(moments),
                              .documents = moments->count};
}

/* Both together: without the cancellation that sums of squares have. */
static inline struct nb_normal nb_normal_merge(struct nb_normal a, struct nb_normal b)
{
    if (!(a.count > 0) || !(b.count > 0))
        return a.count > 0 ? a : b;
    double count = a.count + b.count, share = b.count / count, far = b.mean - a.mean;
    return (struct nb_normal){.count = count,
                              .mean = a.mean + share * far,
                              .variance = a.variance + share * (b.variance - a.variance) +
                                          share * (1 - share) * far * far,
                              .documents = a.documents + b.documents};
}

#endif
