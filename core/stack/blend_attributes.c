/* SPDX-License-Identifier: Apache-2.0 */
#include "core/stack/blend_attributes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/bayes/numbers.h"

/* Means of equal numbers may differ by rounding. A variance that results from such a difference
 * counts as 0. */
static const double ROUNDING = 1e-14;

/* ---- a document's values --------------------------------------------------------------------- */

void nb_blend_attributes_empty(struct nb_blend *b)
{
    struct nb_blend_attributes *a = b->attributes;
    if (a == NULL)
        return;
    nb_present_attributes_empty(&a->present);
    a->size = 0;
}

uint32_t nb_blend_attribute_count(const struct nb_blend *b)
{
    return b->attributes == NULL ? 0 : b->attributes->present.count;
}

/* Whether the left-out document is the only one of the first source with the feature in `row`. */
static bool is_unique(const struct nb_blend *b, uint32_t row)
{
    const struct nb_model *counts = b->sources[0].counts;
    return b->without.is_set && row != NB_NO_ROW &&
           nb_counts_documents(counts, nb_model_row(counts, row)) == 1;
}

int nb_blend_attributes_note(struct nb_blend *b, uint64_t id, const uint32_t rows[NB_BLEND_MOST])
{
    assert(nb_feature_field(id) == NB_FIELD_VALUE);
    if (nb_part_is_presence(nb_feature_part(id)))
        return 0;
    if (b->attributes == NULL)
        b->attributes = calloc(1, sizeof *b->attributes);
    struct nb_blend_attributes *a = b->attributes;
    if (a == NULL || nb_array_reserve(&a->values, &a->room, a->size + 1, sizeof *a->values) != 0)
        return NB_NO_MEMORY;
    struct nb_blend_value *value = &a->values[a->size++];
    uint32_t place =
        nb_present_attributes_add(&a->present, nb_feature_part(id), is_unique(b, rows[0]));
    *value = (struct nb_blend_value){.id = id, .place = place};
    memcpy(value->rows, rows, sizeof value->rows);
    return 0;
}

static int make_room(const struct nb_blend *b)
{
    struct nb_blend_attributes *a = b->attributes;
    size_t offsets = (size_t)a->present.count * NB_STACK_EXPERTS * b->size;
    int rc = nb_array_reserve(&a->offsets, &a->offset_room, offsets, sizeof *a->offsets);
    if (rc == 0)
        rc = nb_array_reserve(&a->work, &a->work_room, (size_t)3 * b->size, sizeof *a->work);
    if (rc == 0)
        rc = nb_array_reserve(&a->own, &a->own_room, b->size, sizeof *a->own);
    if (rc == 0)
        rc = nb_array_reserve(&a->rest, &a->rest_room, b->size, sizeof *a->rest);
    if (rc != 0)
        return rc;
    a->sums = a->work;
    a->stack = a->sums + b->size;
    a->twin = a->stack + b->size;
    memset(a->work, 0, (size_t)3 * b->size * sizeof *a->work);
    return 0;
}

/* ---- offsets --------------------------------------------------------------------------------- */

static double *offsets_of(const struct nb_blend *b, uint32_t place, unsigned e)
{
    return b->attributes->offsets + ((size_t)place * NB_STACK_EXPERTS + e) * b->size;
}

/* Sets `sums` to T_v of an attribute. Returns T. */
static double put_sums(const struct nb_blend *b, const struct nb_present_attribute *one)
{
    double all = 0;
    for (uint32_t v = 0; v < b->size; v++) {
        bool is_out = b->without.is_set && b->without.label == b->labels[v].numbers[0];
        double sum = nb_blend_sum(b, v, NB_FIRST_PART + one->number * 2, true);
        all += b->attributes->sums[v] = fmax(sum - (is_out ? one->features : 0), 0);
    }
    return all;
}

/* Returns V of an attribute: the largest of all sources; the left-out document is not counted. */
static double vocabulary_of(const struct nb_blend *b, const struct nb_present_attribute *one)
{
    unsigned part = NB_FIRST_PART + one->number * 2;
    uint64_t most = 0;
    for (unsigned i = 0; i < b->count; i++) {
        uint64_t values = nb_model_vocabulary(b->sources[i].counts, part);
        values -= i == 0 ? one->unique : 0;
        most = values > most ? values : most;
    }
    return (double)nb_besides_vocabulary(&b->besides, part, most);
}

/* Computes the offsets with the bank for `labels` labels. */
static void put_offsets(const struct nb_blend *b, uint32_t labels)
{
    const struct nb_stack_bank *bank = nb_stack_bank(&b->stack, labels);
    for (uint32_t place = 0; place < b->attributes->present.count; place++) {
        const struct nb_present_attribute *one = &b->attributes->present.list[place];
        double all = put_sums(b, one), values = vocabulary_of(b, one);
        for (unsigned e = 0; e < bank->size; e++) {
            double more = bank->experts[e].smoothing * b->smoothing * (values + 1);
            for (uint32_t v = 0; v < b->size; v++) {
                double own = b->attributes->sums[v];
                offsets_of(b, place, e)[v] = log(own + more) - log(fmax(all - own, 0) + more);
            }
        }
    }
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* Sets the numbers of each label, and of all labels but this one. The latter are merged from the
 * labels before and behind it, because subtracting fractional sums would cause cancellation. */
static void read_number(const struct nb_blend *b, uint64_t id)
{
    struct nb_blend_attributes *a = b->attributes;
    struct nb_normal behind = {.count = 0};
    unsigned field = nb_feature_part(id) / 2;
    nb_int128 fixed = nb_decimal_fixed(id);
    a->all = (struct nb_normal){.count = 0};
    for (uint32_t v = 0; v < b->size; v++) {
        bool is_out = b->without.is_set && b->without.label == b->labels[v].numbers[0];
        a->own[v] = nb_blend_numbers_of(b, field, v, is_out ? &fixed : NULL);
        a->rest[v] = a->all;
        a->all = nb_normal_merge(a->all, a->own[v]);
    }
    for (uint32_t v = b->size; v-- > 0;) {
        a->rest[v] = nb_normal_merge(a->rest[v], behind);
        behind = nb_normal_merge(behind, a->own[v]);
    }
}

static bool numbers_differ(struct nb_normal all)
{
    double rounding = ROUNDING * all.mean;
    return all.variance > rounding * rounding;
}

static double log_density(const struct nb_blend *b, struct nb_normal own, double smoothing,
                          double number)
{
    struct nb_normal all = b->attributes->all;
    double share = own.count > 0 ? b->smoothing * smoothing / own.count : smoothing;
    return nb_blend_numbers_log(own, all, all.variance * (share + NB_VARIANCE_SMOOTHING), number);
}

static double number_reading(const struct nb_blend *b, uint64_t id, double smoothing, uint32_t v)
{
    const struct nb_blend_attributes *a = b->attributes;
    double number = nb_int128_double(nb_decimal_fixed(id)) * NB_FIXED_UNIT;
    double reading = log_density(b, a->own[v], smoothing, number) -
                     log_density(b, a->rest[v], smoothing, number);
    return fmax(fmin(reading, NB_NUMBER_READING_MOST), -NB_NUMBER_READING_MOST);
}

/* ---- readings -------------------------------------------------------------------------------- */

/* Reads the view's counts of a value. Returns whether the value is evidence. */
static bool read_value(struct nb_blend *b, const struct nb_blend_value *value)
{
    if (!nb_feature_is_number(value->id))
        return nb_blend_read(b, value->rows);
    read_number(b, value->id);
    return numbers_differ(b->attributes->all);
}

/* Returns r_v of the value that was read last, by expert `e` of the bank for `labels` labels. With
 * two labels, the evidence for one is the negative of that for the other. */
static double reading_of(const struct nb_blend *b, const struct nb_blend_value *value,
                         uint32_t labels, unsigned e, uint32_t v)
{
    double smoothing = nb_stack_bank(&b->stack, labels)->experts[e].smoothing;
    if (b->size == 2 && v == 1)
        return -reading_of(b, value, labels, e, 0);
    if (nb_feature_is_number(value->id))
        return number_reading(b, value->id, smoothing, v);
    double own = b->documents[v], more = b->smoothing * smoothing;
    return log(own + more) - log(fmax(b->all_documents - own, 0) + more) -
           offsets_of(b, value->place, e)[v];
}

static double power_of(const struct nb_blend *b, uint32_t labels, unsigned e, double r)
{
    return nb_blend_power(nb_stack_bank(&b->stack, labels)->experts[e].power, r);
}

/* ---- weights --------------------------------------------------------------------------------- */

/* The sources' joint weight of an attribute, times its share. */
static double weight_of(const struct nb_blend *b, const struct nb_present_attribute *one,
                        uint32_t labels, unsigned e)
{
    double sum = 0;
    for (unsigned i = 0; i < b->count; i++)
        sum +=
            b->share[i] * nb_stack_attribute_weight(b->sources[i].weights, one->number, labels, e);
    return sum * nb_stack_share(&b->stack, one->features);
}

/* u_w x_w of the twin; numbers have none. */
static double twin_weight(const struct nb_blend *b, const struct nb_blend_value *value,
                          const uint32_t features[NB_STACK_GROUPS])
{
    uint32_t fields = b->attributes->present.count;
    if (!nb_blend_has_twin(b) || nb_feature_is_number(value->id))
        return 0;
    for (unsigned field = 0; field < NB_FIELDS; field++)
        fields += features[field] != 0;
    double own = b->attributes->present.list[value->place].features;
    return nb_blend_slot(b, value->id) / sqrt(own * fields);
}

static void add_value(struct nb_blend *b, const struct nb_blend_value *value)
{
    struct nb_blend_attributes *a = b->attributes;
    unsigned experts = nb_blend_bank(b)->size;
    double u = twin_weight(b, value, b->features);
    for (unsigned e = 0; e < experts; e++) {
        double worth = b->weights.trust[e] * nb_stack_half(b->size) *
                       weight_of(b, &a->present.list[value->place], b->size, e);
        for (uint32_t v = 0; v < b->size; v++) {
            double r = reading_of(b, value, b->size, e, v);
            a->stack[v] += worth * power_of(b, b->size, e, r);
            a->twin[v] += e + 1 == experts ? u * r : 0;
        }
    }
}

int nb_blend_attributes_put(struct nb_blend *b)
{
    if (nb_blend_attribute_count(b) == 0)
        return 0;
    if (make_room(b) != 0)
        return NB_NO_MEMORY;
    if (b->size < 2)
        return 0; /* a single label has no evidence against it */
    put_offsets(b, b->size);
    for (size_t i = 0; i < b->attributes->size; i++)
        if (read_value(b, &b->attributes->values[i]))
            add_value(b, &b->attributes->values[i]);
    return 0;
}

bool nb_blend_attributes_explain(struct nb_blend *b, size_t place, uint32_t best, uint32_t second,
                                 double *evidence)
{
    const struct nb_blend_value *value = &b->attributes->values[place];
    unsigned experts = nb_blend_bank(b)->size;
    double half = nb_stack_half(b->size), sum = 0, difference = 0;
    assert(place < b->attributes->size && b->size > 1);
    if (!read_value(b, value))
        return false;
    for (unsigned e = 0; e < experts; e++) {
        double one = reading_of(b, value, b->size, e, best);
        double other = reading_of(b, value, b->size, e, second);
        sum += b->weights.trust[e] *
               weight_of(b, &b->attributes->present.list[value->place], b->size, e) *
               (power_of(b, b->size, e, one) - power_of(b, b->size, e, other));
        difference = one - other;
    }
    *evidence = half * (b->weights.stack * sum +
                        b->weights.twin * twin_weight(b, value, b->features) * difference);
    return true;
}

int nb_blend_attributes_against(struct nb_blend *b, const struct nb_stack_mix *weights,
                                const uint32_t features[NB_STACK_GROUPS], uint32_t label,
                                double *stack, double *twin)
{
    *stack = *twin = 0;
    if (nb_blend_attribute_count(b) == 0)
        return 0;
    if (make_room(b) != 0)
        return NB_NO_MEMORY;
    put_offsets(b, 2);
    for (size_t i = 0; i < b->attributes->size; i++) {
        const struct nb_blend_value *value = &b->attributes->values[i];
        double r = 0;
        if (!read_value(b, value))
            continue;
        for (unsigned e = 0; e < b->stack.two.size; e++) {
            r = reading_of(b, value, 2, e, label);
            *stack += weights->trust[e] *
                      weight_of(b, &b->attributes->present.list[value->place], 2, e) *
                      power_of(b, 2, e, r);
        }
        *twin += twin_weight(b, value, features) * r;
    }
    return 0;
}
