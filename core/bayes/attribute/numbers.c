/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bayes/attribute/numbers.h"

#include <stdlib.h>

#include "core/base/array.h"
#include "core/bayes/attribute/number_loss.h"

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

/* The sums of all labels, and what is added to variances. */
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

/* Whether the numbers of an attribute are evidence by Gaussians, or at all. */
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

/* Cuts, and chooses. */
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
