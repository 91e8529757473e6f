/* SPDX-License-Identifier: Apache-2.0 */
#include "core/attribute/numbers.h"

#include <stdlib.h>

#include "core/base/array.h"

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

/* Whether the numbers of an attribute say anything. */
static bool speaks(const struct nb_numbers *n, size_t attribute)
{
    return n->counts[attribute].all.count > 0 && n->added > 0;
}

int nb_numbers_make(struct nb_numbers *numbers, const struct nb_settings *settings,
                    const struct nb_model *model, const uint32_t *names, uint32_t size)
{
    struct nb_numbers *n = numbers;
    if (!has_numbers(settings))
        return 0;
    n->names = names;
    n->size = size;
    if (make_room(n, settings, size) != 0)
        return NB_NO_MEMORY;
    put_sums(n, model);
    for (size_t attribute = 0; attribute < n->count; attribute++)
        for (uint32_t i = 0; speaks(n, attribute) && i < size; i++) {
            struct nb_moments own = moments_at(n, model, attribute, i);
            *gaussian_at(n, attribute, i) =
                nb_gaussian_of(&own, &n->counts[attribute].all, n->added);
        }
    return 0;
}

void nb_numbers_deinit(struct nb_numbers *numbers)
{
    free(numbers->counts);
    free(numbers->gaussians);
    *numbers = (struct nb_numbers){0};
}

size_t nb_numbers_memory(const struct nb_numbers *numbers)
{
    return numbers->count * sizeof *numbers->counts + numbers->room * sizeof *numbers->gaussians;
}

/* ---- numbers --------------------------------------------------------------------------------- */

bool nb_numbers_say(const struct nb_numbers *numbers, uint64_t id)
{
    return nb_feature_is_number(id) && speaks(numbers, attribute_of(id));
}

struct nb_factor nb_numbers_factor(const struct nb_numbers *numbers, uint64_t id, uint32_t place)
{
    const struct nb_gaussian *gaussian = gaussian_at(numbers, attribute_of(id), place);
    return (struct nb_factor){.log = nb_gaussian_log(gaussian, nb_decimal_fixed(id))};
}

double nb_numbers_evidence(const struct nb_numbers *numbers, const struct nb_model *model,
                           uint64_t id, uint32_t place)
{
    size_t attribute = attribute_of(id);
    if (!nb_numbers_say(numbers, id))
        return 0;
    const struct nb_moments *all = &numbers->counts[attribute].all;
    struct nb_moments own = moments_at(numbers, model, attribute, place), others = *all;
    nb_moments_merge(&others, &own, -1);
    struct nb_gaussian rest = nb_gaussian_of(&others, all, numbers->added);
    nb_int128 fixed = nb_decimal_fixed(id);
    return nb_gaussian_log(gaussian_at(numbers, attribute, place), fixed) -
           nb_gaussian_log(&rest, fixed);
}
