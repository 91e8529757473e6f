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

int nb_number_compare(const struct nb_number_field *field, const struct nb_model *model,
                      const struct nb_number_row *rows, size_t count, bool *bins_are_better)
{
    double *scores = malloc((field->size + 1) * sizeof *scores);
    double gaussian = 0, binned = 0;
    if (scores == NULL)
        return NB_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        for (uint32_t place = 0; place < field->size; place++) {
            uint32_t documents = nb_counts_of(model, rows[i].row, field->names[place]).documents;
            if (documents == 0 || field->bins->sums[place] < 2)
                continue;
            size_t bin = nb_bins_find(field->bins, rows[i].fixed);
            const struct case_of c = {field, model, rows[i].fixed, bin, place};
            gaussian += documents * loss(&c, gaussian_score, scores);
            binned += documents * loss(&c, bin_score, scores);
        }
    free(scores);
    *bins_are_better = binned < gaussian;
    return 0;
}
