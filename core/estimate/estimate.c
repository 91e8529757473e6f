/* SPDX-License-Identifier: Apache-2.0 */
#include "core/estimate/estimate.h"

#include <assert.h>
#include <math.h>

double nb_estimate_addend(enum nb_estimate estimate, double smoothing)
{
    switch (estimate) {
    case NB_ESTIMATE_MAP:
        return smoothing - 1;
    case NB_ESTIMATE_MLE:
        return 0;
    case NB_ESTIMATE_MEAN:
        break;
    }
    return smoothing;
}

bool nb_estimate_is_plain(const struct nb_settings *settings)
{
    return nb_estimate_addend((enum nb_estimate)settings->estimate, settings->smoothing) > 0;
}

/* ln of a part of a fraction; of 0 it says so, and the logarithm is that of 1. */
static double log_part(double part, bool *is_zero)
{
    *is_zero = !(part > 0);
    return *is_zero ? 0 : log(part);
}

struct nb_factor nb_estimate_word(enum nb_event_model event_model, double addend,
                                  uint64_t documents, struct nb_cell cell, uint32_t count)
{
    struct nb_factor f = {.is_pole = false};
    assert(event_model != NB_EVENT_COMPLEMENT && addend >= 0);
    if (event_model == NB_EVENT_MULTINOMIAL) {
        f.log = count * log_part((double)cell.occurrences + addend, &f.is_zero);
        return f;
    }
    f.log = log_part((double)cell.documents + addend, &f.is_zero);
    if (event_model == NB_EVENT_BERNOULLI) {
        uint64_t absent = documents > cell.documents ? documents - cell.documents : 0;
        (void)log_part((double)absent + addend, &f.is_pole);
        f.log -= log((double)(f.is_pole ? documents : absent) + addend * (f.is_pole ? 2 : 1));
    }
    return f;
}

double nb_log_product_value(struct nb_log_product p)
{
    return p.zeros > 0 ? -(double)INFINITY : p.log;
}

double nb_log_evidence(double first, double second)
{
    bool is_neither = isinf(first) && isinf(second);
    return is_neither ? 0 : first - second;
}

double nb_factor_evidence(struct nb_factor first, struct nb_factor second)
{
    if (first.is_zero && second.is_zero)
        return 0;
    if (first.is_zero == second.is_zero)
        return first.log - second.log;
    return first.is_zero ? -(double)INFINITY : (double)INFINITY;
}
