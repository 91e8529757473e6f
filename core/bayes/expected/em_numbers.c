/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bayes/expected/em_numbers.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "core/base/error.h"

int nb_em_gaussians_init(struct nb_em_gaussians *g, const struct nb_em_numbers *numbers,
                         uint32_t labels, double weight, double smoothing)
{
    *g = (struct nb_em_gaussians){.numbers = numbers,
                                  .count = numbers != NULL ? numbers->count : 0,
                                  .labels = labels,
                                  .weight = weight,
                                  .smoothing = smoothing};
    if (g->count == 0)
        return 0;
    g->list = calloc((size_t)g->count * labels, sizeof *g->list);
    return g->list != NULL ? 0 : NB_NO_MEMORY;
}

void nb_em_gaussians_deinit(struct nb_em_gaussians *g)
{
    free(g->list);
    g->list = NULL;
}

void nb_em_gaussians_begin(struct nb_em_gaussians *g)
{
    for (size_t i = 0; i < (size_t)g->count * g->labels; i++)
        g->list[i].members = g->list[i].sum = g->list[i].squares = 0;
}

/* NAN: the document has none. */
static double value_of(const struct nb_em_gaussians *g, size_t document, uint32_t field)
{
    return g->numbers->values[document * g->count + field];
}

void nb_em_gaussians_score(const struct nb_em_gaussians *g, size_t document, double beta, double *r)
{
    uint32_t labels = g->labels;
    for (uint32_t field = 0; field < g->count; field++) {
        double value = value_of(g, document, field);
        const struct nb_em_gaussian *of = &g->list[(size_t)field * labels];
        for (uint32_t v = 0; v < labels && !isnan(value); v++) {
            double far = value - of[v].mean;
            r[v] += beta * (of[v].log_height - far * far / (2 * of[v].variance));
        }
    }
}

/* Distances from the old mean, which is near to the new one at the end: so the squares lose nothing
 * to the square of their mean. */
void nb_em_gaussians_expect(const struct nb_em_gaussians *g, size_t document, const double *r)
{
    uint32_t labels = g->labels;
    for (uint32_t field = 0; field < g->count; field++) {
        double value = value_of(g, document, field);
        struct nb_em_gaussian *of = &g->list[(size_t)field * labels];
        for (uint32_t v = 0; v < labels && !isnan(value); v++) {
            double far = value - of[v].mean, share = g->weight * r[v];
            of[v].members += share;
            of[v].sum += share * far;
            of[v].squares += share * far * far;
        }
    }
}

/* Of one field and label. */
static double maximize(struct nb_em_gaussian *of, const struct nb_normal *labelled,
                       double smoothing)
{
    static const double two_pi = 6.283185307179586;
    double all = labelled->count + of->members;
    double sum = labelled->count * labelled->mean + of->members * of->mean + of->sum;
    double mean = sum / (all + smoothing);
    double shift = mean - of->mean, far = labelled->mean - mean;
    double own = labelled->count * (labelled->variance + far * far);
    double others = fmax(of->squares - 2 * shift * of->sum + of->members * shift * shift, 0);
    double prior = 1 + smoothing * mean * mean;
    of->mean = mean;
    of->variance = (prior + own + others) / (1 + all);
    of->log_height = -log(two_pi * of->variance) / 2;
    assert(of->variance > 0);
    return labelled->count * of->log_height - own / (2 * of->variance) -
           (log(of->variance) + prior / of->variance) / 2;
}

double nb_em_gaussians_maximize(struct nb_em_gaussians *g)
{
    double objective = 0;
    for (size_t i = 0; i < (size_t)g->count * g->labels; i++)
        objective += maximize(&g->list[i], &g->numbers->labelled[i], g->smoothing);
    return objective;
}
