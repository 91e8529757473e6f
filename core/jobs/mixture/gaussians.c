/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "core/jobs/mixture/fit.h"

static const double two_pi = 6.283185307179586;

uint32_t nb_mixture_number_count(const struct nb_mixture_documents *documents, size_t document)
{
    uint32_t count = 0;
    for (uint32_t g = 0; g < documents->numbers; g++)
        count += isnan(documents->values[document * documents->numbers + g]) ? 0 : 1;
    return count;
}

void nb_mixture_gaussians_ready(struct nb_mixture_run *run)
{
    const struct nb_mixture *m = run->mixture;
    for (size_t i = 0; i < (size_t)m->numbers * m->clusters; i++) {
        assert(m->variance[i] > 0);
        run->gaussians.log_height[i] = -log(two_pi * m->variance[i]) / 2;
    }
}

void nb_mixture_gaussians_score(const struct nb_mixture_run *run, size_t document)
{
    const struct nb_mixture *m = run->mixture;
    for (uint32_t g = 0; g < m->numbers; g++) {
        double value = run->documents->values[document * m->numbers + g];
        const size_t at = (size_t)g * m->clusters;
        for (uint32_t k = 0; k < m->clusters && !isnan(value); k++) {
            double distance = value - m->mean[at + k];
            run->scores[k] +=
                run->gaussians.log_height[at + k] - distance * distance / (2 * m->variance[at + k]);
        }
    }
}

void nb_mixture_gaussians_clear(struct nb_mixture_run *run)
{
    size_t size = (size_t)run->mixture->numbers * run->mixture->clusters * sizeof(double);
    memset(run->gaussians.members, 0, size);
    memset(run->gaussians.sums, 0, size);
    memset(run->gaussians.squares, 0, size);
}

/* Distances from the old means, which are near to the new ones at the end: the squares then lose
 * nothing to the square of their mean. */
void nb_mixture_gaussians_expect(struct nb_mixture_run *run, size_t document)
{
    const struct nb_mixture *m = run->mixture;
    const struct nb_mixture_gaussians *s = &run->gaussians;
    for (uint32_t g = 0; g < m->numbers; g++) {
        double value = run->documents->values[document * m->numbers + g];
        const size_t at = (size_t)g * m->clusters;
        for (uint32_t k = 0; k < m->clusters && !isnan(value); k++) {
            double distance = value - m->mean[at + k];
            s->members[at + k] += run->scores[k];
            s->sums[at + k] += run->scores[k] * distance;
            s->squares[at + k] += run->scores[k] * distance * distance;
        }
    }
}

double nb_mixture_gaussians_maximize(struct nb_mixture_run *run)
{
    struct nb_mixture *m = run->mixture;
    const struct nb_mixture_gaussians *s = &run->gaussians;
    double prior = 0;
    for (size_t i = 0; i < (size_t)m->numbers * m->clusters; i++) {
        bool is_known =
            run->documents->variances != NULL && run->documents->variances[i / m->clusters] > 0;
        double shift = s->members[i] > 0 ? s->sums[i] / s->members[i] : 0;
        double spread = fmax(0, s->squares[i] - shift * s->sums[i]);
        m->mean[i] += shift;
        run->parameters += is_known ? 1 : 2;
        if (is_known)
            continue;
        m->variance[i] = (s->prior + spread) / (1 + s->members[i]);
        prior -= (log(m->variance[i]) + s->prior / m->variance[i]) / 2;
    }
    nb_mixture_gaussians_ready(run);
    return prior;
}
