/* SPDX-License-Identifier: Apache-2.0 */
#include "core/attribute/number_loss.h"

#include <math.h>
#include <stdlib.h>

/* A number of the label at `place` is left out. */
struct case_of {
    const struct nb_number_field *field;
    const struct nb_model *model;
    nb_int128 fixed;
    size_t bin;
    uint32_t place;
};

static struct nb_moments moments_of(const struct case_of *c, uint32_t place)
{
    struct nb_moments own =
        nb_model_moments(c->model, c->field->names[place], (unsigned)c->field->attribute);
    if (place == c->place)
        nb_moments_add(&own, c->fixed, 1, -1);
    return own;
}

/* ln of the share of the other numbers that are the label's, but for a summand. */
static double log_prior(const struct case_of *c, uint32_t place)
{
    uint64_t count = c->field->bins->sums[place] - (place == c->place);
    return count > 0 ? log((double)count) : -(double)INFINITY;
}

static double gaussian_score(const struct case_of *c, uint32_t place)
{
    const struct nb_number_field *n = c->field;
    struct nb_moments own = moments_of(c, place), all = *n->all;
    if (own.count > 1 && place != c->place)
        return nb_gaussian_log(&n->gaussians[place], c->fixed);
    nb_moments_add(&all, c->fixed, 1, -1);
    struct nb_gaussian gaussian = nb_gaussian_of(&own, &all, n->added);
    return nb_gaussian_log(&gaussian, c->fixed);
}

static double bin_score(const struct case_of *c, uint32_t place)
{
    const struct nb_number_field *n = c->field;
    struct nb_bin_counts counts = nb_bin_counts_of(n->bins, c->bin, place);
    bool is_own = place == c->place;
    counts.own -= is_own;
    counts.own_sum -= is_own;
    counts.all--;
    counts.all_sum--;
    struct nb_factor f =
        nb_bin_factor(n->settings, nb_model_label_name(c->model, n->names[place]).bytes, counts);
    return f.is_zero ? -(double)INFINITY : f.log;
}

/* -ln P(label | number). */
static double loss(const struct case_of *c, double (*score)(const struct case_of *, uint32_t),
                   double *scores)
{
    double most = -(double)INFINITY, sum = 0;
    for (uint32_t i = 0; i < c->field->size; i++) {
        double prior = log_prior(c, i);
        scores[i] = isinf(prior) ? prior : prior + score(c, i);
        most = scores[i] > most ? scores[i] : most;
    }
    if (isinf(scores[c->place]))
        return INFINITY;
    for (uint32_t i = 0; i < c->field->size; i++)
        sum += exp(scores[i] - most);
    return log(sum) + most - scores[c->place];
}

/* The losses in bins, by bin and place; below 0: not computed yet. */
static double bin_loss(const struct case_of *c, double *scores, double *losses)
{
    double *one = &losses[c->bin * c->field->size + c->place];
    if (*one < 0)
        *one = loss(c, bin_score, scores);
    return *one;
}

static bool are_better(const struct nb_number_field *field, const struct nb_model *model,
                       const struct nb_number_span *numbers, double *scores, double *losses)
{
    double gaussian = 0, binned = 0;
    for (size_t i = 0; i < field->bins->count * field->size; i++)
        losses[i] = -1;
    for (size_t i = 0; i < numbers->count; i++)
        for (size_t k = numbers->begin[i]; k < numbers->begin[i + 1]; k++) {
            const struct nb_number_cell *cell = &numbers->cells[k];
            nb_int128 fixed = numbers->rows[i].fixed;
            if (field->bins->sums[cell->place] < 2)
                continue;
            size_t bin = nb_bins_find(field->bins, fixed);
            const struct case_of c = {field, model, fixed, bin, cell->place};
            gaussian += cell->documents * loss(&c, gaussian_score, scores);
            binned += cell->documents * bin_loss(&c, scores, losses);
        }
    return binned < gaussian;
}

int nb_number_compare(const struct nb_number_field *field, const struct nb_model *model,
                      const struct nb_number_span *numbers, bool *bins_are_better)
{
    double *scores = malloc((field->size + (size_t)1) * sizeof *scores);
    double *losses = malloc((field->bins->count * field->size + 1) * sizeof *losses);
    bool good = scores != NULL && losses != NULL;
    if (good)
        *bins_are_better = are_better(field, model, numbers, scores, losses);
    free(scores);
    free(losses);
    return good ? 0 : NB_NO_MEMORY;
}
