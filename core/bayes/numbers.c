/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bayes/numbers.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "core/base/array.h"
#include "core/base/random.h"
#include "core/bayes/bins.h"

/* One case of leave-one-out: a number of the label at `place` is left out. */
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

/* Returns ln of the label's share of the other numbers, up to a constant summand. */
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
    if (own.count < 2) /* otherwise the numbers of all labels are not used */
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

/* Returns -ln P(label | number). */
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

/* Returns the loss in bins, cached in `losses` by bin and place; 0: not computed, or no loss. */
static double bin_loss(const struct case_of *c, double *scores, double *losses)
{
    double *one = &losses[c->bin * c->field->size + c->place];
    if (!(*one > 0))
        *one = loss(c, bin_score, scores);
    return *one;
}

/* ---- the numbers that are left out ----------------------------------------------------------- */

/* Whether a document still has the number: unused ones stay in the list until their rows are
 * reused. */
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

/* Returns which of `current` numbers stands for a group of them. */
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

static struct nb_gaussian *gaussian_at(const struct nb_numbers *n, size_t attribute, uint32_t place)
{
    return &n->gaussians[attribute * n->size + place];
}

static size_t attribute_of(uint64_t id)
{
    return nb_feature_part(id) / 2;
}

static struct nb_moments moments_at(const struct nb_numbers *n, const struct nb_model *model,
                                    size_t attribute, uint32_t place)
{
    return nb_model_moments(model, n->names[place], (unsigned)attribute);
}

/* ---- making ---------------------------------------------------------------------------------- */

static bool has_numbers(const struct nb_settings *settings)
{
    bool has = false;
    for (size_t i = 0; i < settings->attribute_count; i++)
        has = has || settings->attributes[i].kind == NB_FIELD_KIND_NUMBER;
    return has;
}

bool nb_numbers_may_be_cut(const struct nb_settings *settings)
{
    return settings->number != NB_NUMBER_GAUSSIAN && has_numbers(settings);
}

static int make_room(struct nb_numbers *n, const struct nb_settings *settings, uint32_t size)
{
    n->count = settings->attribute_count;
    if (n->counts == NULL)
        n->counts = calloc(n->count, sizeof *n->counts);
    if (n->counts == NULL)
        return NB_NO_MEMORY;
    for (size_t i = 0; i < n->count; i++)
        n->counts[i].is_number = settings->attributes[i].kind == NB_FIELD_KIND_NUMBER;
    return nb_array_reserve(&n->gaussians, &n->room, n->count * size + 1, sizeof *n->gaussians);
}

/* Sets the sums of all labels, and what is added to variances. */
static void put_sums(struct nb_numbers *n, const struct nb_model *model)
{
    double largest = 0;
    for (size_t attribute = 0; attribute < n->count; attribute++) {
        struct nb_number_counts *c = &n->counts[attribute];
        c->all = (struct nb_moments){0};
        for (uint32_t i = 0; c->is_number && i < n->size; i++) {
            struct nb_moments own = moments_at(n, model, attribute, i);
            nb_moments_merge(&c->all, &own, 1);
        }
        double variance = nb_moments_variance(&c->all);
        largest = variance > largest ? variance : largest;
    }
    n->added = NB_VARIANCE_SMOOTHING * largest;
}

/* Whether the numbers of an attribute are evidence at all. */
static bool varies(const struct nb_numbers *n, size_t attribute)
{
    return n->counts[attribute].all.count > 0 && n->added > 0;
}

static bool speaks(const struct nb_numbers *n, size_t attribute)
{
    return n->counts[attribute].is_cut || varies(n, attribute);
}

static void put_gaussians(struct nb_numbers *n, const struct nb_model *model, size_t attribute)
{
    for (uint32_t i = 0; varies(n, attribute) && i < n->size; i++) {
        struct nb_moments own = moments_at(n, model, attribute, i);
        *gaussian_at(n, attribute, i) = nb_gaussian_of(&own, &n->counts[attribute].all, n->added);
    }
}

/* Cuts an attribute's numbers into bins, and decides whether bins or Gaussians are used. */
static int cut(struct nb_numbers *n, const struct nb_model *model, size_t attribute,
               const struct nb_number_span *numbers)
{
    struct nb_number_counts *c = &n->counts[attribute];
    int rc = nb_bins_make(&c->bins, n->size, numbers);
    c->is_cut = rc == 0 && c->bins.sum > 0;
    if (rc == 0 && c->is_cut && n->settings->number == NB_NUMBER_AUTO) {
        c->is_cut = false;
        const struct nb_number_field field = {n->settings,
                                              n->names,
                                              n->size,
                                              attribute,
                                              &c->bins,
                                              &c->all,
                                              &n->gaussians[attribute * n->size],
                                              n->added};
        if (varies(n, attribute))
            rc = nb_number_compare(&field, model, numbers, &c->is_cut);
    }
    return rc;
}

static int put_bins(struct nb_numbers *n, const struct nb_model *model)
{
    int rc = nb_number_list_make(&n->list, model, n->names, n->size);
    for (size_t i = 0; rc == 0 && i < n->count; i++) {
        if (!n->counts[i].is_number)
            continue;
        struct nb_number_span numbers = nb_number_list_span(&n->list, i);
        rc = cut(n, model, i, &numbers);
    }
    return rc;
}

int nb_numbers_make(struct nb_numbers *numbers, const struct nb_settings *settings,
                    const struct nb_model *model, const uint32_t *names, uint32_t size)
{
    struct nb_numbers *n = numbers;
    if (!has_numbers(settings))
        return 0;
    n->settings = settings;
    n->names = names;
    n->size = size;
    if (make_room(n, settings, size) != 0)
        return NB_NO_MEMORY;
    put_sums(n, model);
    for (size_t attribute = 0; attribute < n->count; attribute++)
        put_gaussians(n, model, attribute);
    return nb_numbers_may_be_cut(settings) ? put_bins(n, model) : 0;
}

void nb_numbers_deinit(struct nb_numbers *numbers)
{
    for (size_t i = 0; i < numbers->count; i++)
        nb_bins_deinit(&numbers->counts[i].bins);
    nb_number_list_deinit(&numbers->list);
    free(numbers->counts);
    free(numbers->gaussians);
    *numbers = (struct nb_numbers){0};
}

size_t nb_numbers_memory(const struct nb_numbers *numbers)
{
    size_t bytes =
        numbers->room * sizeof *numbers->gaussians + nb_number_list_memory(&numbers->list);
    for (size_t i = 0; i < numbers->count; i++)
        bytes += sizeof *numbers->counts + nb_bins_memory(&numbers->counts[i].bins);
    return bytes;
}

/* ---- numbers --------------------------------------------------------------------------------- */

const struct nb_gaussian *nb_numbers_gaussian(const struct nb_numbers *numbers, size_t attribute,
                                              uint32_t place)
{
    return varies(numbers, attribute) ? gaussian_at(numbers, attribute, place) : NULL;
}

bool nb_numbers_say(const struct nb_numbers *numbers, uint64_t id)
{
    return nb_feature_is_number(id) && speaks(numbers, attribute_of(id));
}

struct nb_factor nb_numbers_factor(const struct nb_numbers *numbers, const struct nb_model *model,
                                   uint64_t id, uint32_t place)
{
    size_t attribute = attribute_of(id);
    const struct nb_bins *bins = &numbers->counts[attribute].bins;
    if (numbers->counts[attribute].is_cut)
        return nb_bin_factor(
            numbers->settings, nb_model_label_name(model, numbers->names[place]).bytes,
            nb_bin_counts_of(bins, nb_bins_find(bins, nb_decimal_fixed(id)), place));
    const struct nb_gaussian *gaussian = gaussian_at(numbers, attribute, place);
    return (struct nb_factor){.log = nb_gaussian_log(gaussian, nb_decimal_fixed(id))};
}

/* Returns the evidence of a bin, as for a category. */
static double bin_evidence(const struct nb_numbers *numbers, const struct nb_model *model,
                           uint64_t id, uint32_t place)
{
    const struct nb_bins *bins = &numbers->counts[attribute_of(id)].bins;
    const char *label = nb_model_label_name(model, numbers->names[place]).bytes;
    struct nb_bin_counts own =
        nb_bin_counts_of(bins, nb_bins_find(bins, nb_decimal_fixed(id)), place);
    struct nb_bin_counts others = own;
    others.own = own.all - own.own;
    others.own_sum = own.all_sum - own.own_sum;
    return nb_log_evidence(nb_bin_log(numbers->settings, label, own),
                           nb_bin_log(numbers->settings, label, others));
}

double nb_numbers_evidence(const struct nb_numbers *numbers, const struct nb_model *model,
                           uint64_t id, uint32_t place)
{
    size_t attribute = attribute_of(id);
    if (!nb_numbers_say(numbers, id))
        return 0;
    if (numbers->counts[attribute].is_cut)
        return bin_evidence(numbers, model, id, place);
    const struct nb_moments *all = &numbers->counts[attribute].all;
    struct nb_moments own = moments_at(numbers, model, attribute, place), others = *all;
    nb_moments_merge(&others, &own, -1);
    struct nb_gaussian rest = nb_gaussian_of(&others, all, numbers->added);
    nb_int128 fixed = nb_decimal_fixed(id);
    return nb_gaussian_log(gaussian_at(numbers, attribute, place), fixed) -
           nb_gaussian_log(&rest, fixed);
}

/* ---- Gaussians ------------------------------------------------------------------------------- */

/* The moments of a label, without the left-out document. */
static struct nb_moments number_reading_moments_of(const struct nb_number_reading *r,
                                                   uint32_t label)
{
    struct nb_moments moments = nb_model_moments(r->model, label, r->attribute);
    if (label == r->without && moments.count > 0)
        nb_moments_add(&moments, r->fixed, 1, -1);
    return moments;
}

static double log_density(const struct nb_number_reading *r, const struct nb_moments *own,
                          double smoothing)
{
    double count = own->count > 0 ? (double)own->count : 1;
    double added = r->variance * (smoothing / count + NB_VARIANCE_SMOOTHING);
    struct nb_gaussian gaussian = nb_gaussian_of(own, &r->all, added);
    return nb_gaussian_log(&gaussian, r->fixed);
}

static double gaussian_reading(const struct nb_number_reading *r, uint32_t label, double smoothing)
{
    struct nb_moments own = number_reading_moments_of(r, label), others = r->all;
    assert(r->variance > 0 && smoothing > 0);
    nb_moments_merge(&others, &own, -1);
    double reading = log_density(r, &own, smoothing) - log_density(r, &others, smoothing);
    return fmax(fmin(reading, NB_NUMBER_READING_MOST), -NB_NUMBER_READING_MOST);
}

/* ---- bins ------------------------------------------------------------------------------------ */

static const struct nb_bins *bins_of(const struct nb_number_reading *r)
{
    return &r->numbers->counts[r->attribute].bins;
}

/* The difference of two counts, at least 0. It could be below 0 only if the counts no longer
 * contain the document. */
static uint64_t less(uint64_t count, bool is_out)
{
    return count > 0 ? count - is_out : 0;
}

/* Returns the place of a label among the labels of the bins, mostly the same place. */
static uint32_t place_in_bins(const struct nb_number_reading *r, uint32_t place)
{
    const struct nb_numbers *n = r->numbers;
    uint32_t label = r->labels[place];
    if (place < n->size && n->names[place] == label)
        return place;
    for (place = 0; place < n->size && n->names[place] != label;)
        place++;
    assert(place < n->size);
    return place;
}

/* The counts of the bin, without the left-out document. */
static struct nb_bin_counts counts_of(const struct nb_number_reading *r, uint32_t place)
{
    place = place_in_bins(r, place);
    struct nb_bin_counts counts = nb_bin_counts_of(bins_of(r), r->bin, place);
    bool is_out = r->without != NB_NUMBER_OF_ALL;
    bool is_own = is_out && r->numbers->names[place] == r->without;
    counts.bins -= is_out && counts.all == 1;
    counts.own = less(counts.own, is_own);
    counts.own_sum = less(counts.own_sum, is_own);
    counts.all = less(counts.all, is_out);
    counts.all_sum = less(counts.all_sum, is_out);
    return counts;
}

static double bin_reading(const struct nb_number_reading *r, uint32_t place, double smoothing)
{
    const struct nb_bin_counts c = counts_of(r, place);
    double more = smoothing * ((double)c.bins + 1);
    double others = (double)(c.all - (c.own < c.all ? c.own : c.all));
    double other_sum = (double)(c.all_sum - (c.own_sum < c.all_sum ? c.own_sum : c.all_sum));
    return log((double)c.own + smoothing) - log(others + smoothing) -
           log((double)c.own_sum + more) + log(other_sum + more);
}

/* ---- both ------------------------------------------------------------------------------------ */

static bool is_cut(const struct nb_number_reading *r)
{
    return r->numbers != NULL && r->attribute < r->numbers->count &&
           r->numbers->counts[r->attribute].is_cut;
}

struct nb_number_reading nb_number_reading(const struct nb_model *model,
                                           const struct nb_numbers *numbers, uint64_t id,
                                           const uint32_t *labels, uint32_t size, uint32_t without)
{
    struct nb_number_reading r = {.model = model,
                                  .labels = labels,
                                  .attribute = nb_feature_part(id) / 2,
                                  .fixed = nb_decimal_fixed(id),
                                  .without = without,
                                  .numbers = numbers};
    assert(nb_feature_is_number(id));
    if (is_cut(&r)) {
        r.bin = nb_bins_find(bins_of(&r), r.fixed);
        return r;
    }
    r.numbers = NULL;
    for (uint32_t i = 0; i < size; i++) {
        struct nb_moments own = number_reading_moments_of(&r, labels[i]);
        nb_moments_merge(&r.all, &own, 1);
    }
    r.variance = nb_moments_variance(&r.all);
    return r;
}

bool nb_number_reading_says(const struct nb_number_reading *r)
{
    return r->numbers != NULL ? counts_of(r, 0).all > 0 : r->variance > 0;
}

double nb_number_reading_of(const struct nb_number_reading *r, uint32_t place, double smoothing)
{
    return r->numbers != NULL ? bin_reading(r, place, smoothing)
                              : gaussian_reading(r, r->labels[place], smoothing);
}
