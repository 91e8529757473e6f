/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/verdict/decide.h"

#include <math.h>

enum nb_decided nb_decide(double probability, double threshold, double band)
{
    if (fabs(probability - threshold) < band)
        return NB_DECIDED_UNSURE;
    return probability >= threshold ? NB_DECIDED_POSITIVE : NB_DECIDED_OTHER;
}

double nb_decide_threshold(double false_positive, double false_negative)
{
    /* Divided first: the sum of two large costs need not be a number any more. */
    double most = fmax(false_positive, false_negative);
    false_positive /= most;
    false_negative /= most;
    return false_positive / (false_positive + false_negative);
}

size_t nb_decide_other(const double *probabilities, size_t size, size_t positive)
{
    size_t best = size;
    for (size_t i = 0; i < size; i++)
        if (i != positive && (best == size || probabilities[i] > probabilities[best]))
            best = i;
    return best;
}
