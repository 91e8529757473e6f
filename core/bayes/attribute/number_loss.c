/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bayes/attribute/number_loss.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/random.h"

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
    if (place != c->place && n->bins->sums[place] > 1)
        return nb_gaussian_log(&n->gaussians[place], c->fixed);
    struct nb_moments own = moments_of(c, place), all = *n->all;
    if (own.count < 2) /* else nothing is taken from those of all */
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

/* The losses in bins, by bin and place; 0: not computed yet, or certain. */
static double bin_loss(const struct case_of *c, double *scores, double *losses)
{
    double *one = &losses[c->bin * c->field->size + c->place];
    if (!(*one > 0))
        *one = loss(c, bin_score, scores);
    return *one;
}

/* ---- the numbers that are left out ----------------------------------------------------------- */

/* Numbers that no document has any more stand in the list until their rows are used again. */
static bool is_current(const struct nb_number_span *numbers, size_t at)
{
    return numbers->begin[at + 1] > numbers->begin[at];
}

static size_t count_current(const struct nb_number_span *numbers)
{
    size_t count = 0;
    for (size_t i = 0; i < numbers->count; i++)
        count += is_current(numbers, i);
    return count;
}

/* Which of `current` numbers stands for a group of them. */
static size_t choose(size_t group, size_t groups, size_t current)
{
    size_t first = group * current / groups, end = (group + 1) * current / groups;
    struct nb_random random = nb_random_of(group, current);
    return first + (size_t)nb_random_below(&random, end - first);
}

struct comparing {
    const struct nb_number_field *field;
    const struct nb_model *model;
    const struct nb_number_span *numbers;
    double *scores, *losses;
    double gaussian, binned; /* sums so far */
};

/* Leaves each document with a number out in turn. */
static void add_number(struct comparing *c, size_t at)
{
    const struct nb_number_field *field = c->field;
    nb_int128 fixed = c->numbers->rows[at].fixed;
    size_t bin = nb_bins_find(field->bins, fixed);
    for (size_t k = c->numbers->begin[at]; k < c->numbers->begin[at + 1]; k++) {
        const struct nb_number_cell *cell = &c->numbers->cells[k];
        if (field->bins->sums[cell->place] < 2)
            continue;
        const struct case_of one = {field, c->model, fixed, bin, cell->place};
        c->gaussian += cell->documents * loss(&one, gaussian_score, c->scores);
        c->binned += cell->documents * bin_loss(&one, c->scores, c->losses);
    }
}

static bool are_better(struct comparing *c)
{
    size_t current = count_current(c->numbers), seen = 0;
    size_t groups = current < NB_NUMBERS_COMPARED ? current : NB_NUMBERS_COMPARED;
    size_t group = 0, chosen = groups > 0 ? choose(group, groups, current) : 0;
    for (size_t i = 0; i < c->numbers->count && group < groups; i++) {
        if (!is_current(c->numbers, i) || seen++ != chosen)
            continue;
        add_number(c, i);
        if (++group < groups)
            chosen = choose(group, groups, current);
    }
    return c->binned < c->gaussian;
}

int nb_number_compare(const struct nb_number_field *field, const struct nb_model *model,
                      const struct nb_number_span *numbers, bool *bins_are_better)
{
    struct comparing c = {.field = field, .model = model, .numbers = numbers};
    c.scores = malloc((field->size + (size_t)1) * sizeof *c.scores);
    c.losses = calloc(field->bins->count * field->size + 1, sizeof *c.losses);
    bool good = c.scores != NULL && c.losses != NULL;
    if (good)
        *bins_are_better = are_better(&c);
    free(c.scores);
    free(c.losses);
    return good ? 0 : NB_NO_MEMORY;
}
