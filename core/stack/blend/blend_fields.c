/* SPDX-License-Identifier: Apache-2.0 */
#include "core/stack/blend/blend_fields.h"

#include <assert.h>
#include <string.h>

#include "core/bayes/attribute/gaussian.h"
#include "core/bayes/estimate/estimate.h"

/* A difference of sums that are equal but for rounding is none. */
static const double ROUNDING = 1e-9;

bool nb_blend_has_fields(const struct nb_blend *b)
{
    return b->settings->attribute_count > 0 && b->pool == NULL &&
           (b->count > 1 || b->besides.count > 0);
}

static unsigned field_of(uint64_t id)
{
    return nb_feature_part(id) / 2;
}

static unsigned values_of(unsigned field)
{
    return NB_FIRST_PART + field * 2;
}

static unsigned presence_of(unsigned field)
{
    return values_of(field) + 1;
}

/* ---- numbers --------------------------------------------------------------------------------- */

struct nb_normal nb_blend_numbers_of(const struct nb_blend *b, unsigned field, uint32_t place,
                                     const nb_int128 *out)
{
    struct nb_normal sum = {.count = 0};
    for (unsigned i = 0; i < b->count; i++) {
        uint32_t number = b->labels[place].numbers[i];
        if (number == NB_BLEND_NO_LABEL)
            continue;
        struct nb_moments own = nb_model_moments(b->sources[i].counts, number, field);
        if (i == 0 && out != NULL && own.count > 0)
            nb_moments_add(&own, *out, 1, -1);
        struct nb_normal normal = i == 0 ? nb_besides_numbers(&b->besides, number, field, own)
                                         : nb_normal_of(&own, b->scale[i]);
        sum = nb_normal_merge(sum, normal);
    }
    return sum;
}

struct nb_normal nb_blend_numbers_all(const struct nb_blend *b, unsigned field)
{
    struct nb_normal sum = {.count = 0};
    for (uint32_t v = 0; v < b->size; v++)
        sum = nb_normal_merge(sum, nb_blend_numbers_of(b, field, v, NULL));
    return sum;
}

double nb_blend_numbers_log(struct nb_normal own, struct nb_normal all, double added, double number)
{
    static const double two_pi = 6.283185307179586;
    double variance = (own.documents > 1 ? own.variance : all.variance) + added;
    double far = number - (own.documents > 0 ? own.mean : all.mean);
    assert(all.count > 0 && variance > 0);
    return -log(two_pi * variance) / 2 - far * far / (2 * variance);
}

/* What is added to the variances of all fields; 0: all numbers of each are equal. */
static double added_variance(const struct nb_blend *b)
{
    double largest = 0;
    for (unsigned field = 0; field < b->settings->attribute_count; field++)
        if (b->settings->attributes[field].kind == NB_FIELD_KIND_NUMBER)
            largest = fmax(largest, nb_blend_numbers_all(b, field).variance);
    return NB_VARIANCE_SMOOTHING * largest;
}

static bool multiply_density(const struct nb_blend *b, uint64_t id, struct nb_log_product *products)
{
    struct nb_normal all = nb_blend_numbers_all(b, field_of(id));
    double added = added_variance(b);
    double number = (double)nb_decimal_fixed(id) * NB_FIXED_UNIT;
    if (!(all.count > 0) || !(added > 0))
        return false;
    for (uint32_t v = 0; v < b->size; v++)
        products[v].log +=
            nb_blend_numbers_log(nb_blend_numbers_of(b, field_of(id), v, NULL), all, added, number);
    return true;
}

/* ---- sets ------------------------------------------------------------------------------------ */

/* Of so many documents with a set that many have the value, and more is added to each: what it is
 * worth that a document has it, or has it not. */
static void multiply_share(double count, double of, double addend, double times,
                           struct nb_log_product *product)
{
    double above = fmax(count, 0) < ROUNDING * of ? 0 : count;
    if (above + addend > 0)
        product->log += times * (log(above + addend) - log(of + 2 * addend));
    else
        product->zeros += times > 0 ? 1 : -1;
}

/* The value that was read last: of a document that lacks it. */
static void multiply_lack(const struct nb_blend *b, unsigned field, double times,
                          struct nb_log_product *products)
{
    for (uint32_t v = 0; v < b->size; v++) {
        double documents = nb_blend_sum(b, v, presence_of(field), false);
        multiply_share(documents - b->documents[v], documents, b->smoothing * b->addend, times,
                       &products[v]);
    }
}

/* Whether documents of a source, or those beside the first one, have the feature of a row. */
static bool has_row(const struct nb_blend *b, unsigned source, uint32_t row)
{
    const struct nb_expected_cell *cells;
    const struct nb_model *counts = b->sources[source].counts;
    bool has = row != NB_NO_ROW && nb_counts_any(nb_model_row(counts, row));
    for (unsigned i = 0; source == 0 && row != NB_NO_ROW && i < b->besides.count; i++)
        has = has || nb_expected_find(b->besides.list[i].counts, row, nb_model_row_id(counts, row),
                                      &cells) > 0;
    return has;
}

static bool is_value_of(const struct nb_blend *b, unsigned source, uint32_t number, unsigned field)
{
    uint64_t id = nb_model_row_id(b->sources[source].counts, number);
    return nb_feature_field(id) == NB_FIELD_VALUE && nb_feature_is_token(id) &&
           field_of(id) == field && has_row(b, source, number);
}

/* Whether a source before this one has the value, too. */
static bool was_seen(const struct nb_blend *b, unsigned source, const uint32_t rows[NB_BLEND_MOST])
{
    bool seen = false;
    for (unsigned i = 0; i < source; i++)
        seen = seen || has_row(b, i, rows[i]);
    return seen;
}

/* A document that has a set with none of the values that the sources have seen. */
static bool multiply_none(struct nb_blend *b, unsigned field, struct nb_log_product *products)
{
    for (unsigned i = 0; i < b->count; i++) {
        const struct nb_model *counts = b->sources[i].counts;
        for (uint32_t number = 0; number < nb_model_rows(counts); number++) {
            uint32_t rows[NB_BLEND_MOST] = {0};
            if (!is_value_of(b, i, number, field))
                continue;
            nb_blend_find(b, nb_model_row_id(counts, number), rows);
            if (!was_seen(b, i, rows) && nb_blend_read(b, rows))
                multiply_lack(b, field, 1, products);
        }
    }
    return true;
}

/* Over what it is worth that the value is not there. */
static void multiply_member(const struct nb_blend *b, unsigned field,
                            struct nb_log_product *products)
{
    multiply_lack(b, field, -1, products);
    for (uint32_t v = 0; v < b->size; v++) {
        double documents = nb_blend_sum(b, v, presence_of(field), false);
        multiply_share(b->documents[v], documents, b->smoothing * b->addend, 1, &products[v]);
    }
}

/* ---- categories and texts -------------------------------------------------------------------- */

/* The value that was read last, `count` times in the document. */
static void multiply_value(const struct nb_blend *b, unsigned field, uint32_t count,
                           struct nb_log_product *products)
{
    bool is_text = b->settings->attributes[field].kind == NB_FIELD_KIND_TEXT;
    bool is_binary = is_text && nb_blend_is_binary(b);
    bool is_complement = b->settings->event_model == NB_EVENT_COMPLEMENT;
    double addend = b->smoothing * b->addend, all = 0;
    double added = addend * nb_blend_vocabulary(b, values_of(field));
    double times = is_text && !is_binary ? count : 1;
    for (uint32_t v = 0; v < b->size; v++)
        all += nb_blend_sum(b, v, values_of(field), is_binary);
    for (uint32_t v = 0; v < b->size; v++) {
        double own = is_binary ? b->documents[v] : b->occurrences[v];
        double sum = nb_blend_sum(b, v, values_of(field), is_binary);
        if (is_complement)
            products[v].log += times * (log(fmax(all - sum, 0) + added) -
                                        log(fmax(b->all_occurrences - own, 0) + addend));
        else if (own + addend > 0)
            products[v].log += times * (log(own + addend) - log(sum + added));
        else
            products[v].zeros++;
    }
}

bool nb_blend_field_products(struct nb_blend *b, const struct nb_feature *feature,
                             struct nb_log_product *products)
{
    unsigned field = field_of(feature->id);
    uint32_t rows[NB_BLEND_MOST] = {0};
    if (field >= b->settings->attribute_count) /* named after these settings */
        return false;
    bool is_set = b->settings->attributes[field].kind == NB_FIELD_KIND_SET;
    if (nb_part_is_presence(nb_feature_part(feature->id)))
        return is_set && multiply_none(b, field, products);
    if (nb_feature_is_number(feature->id))
        return multiply_density(b, feature->id, products);
    nb_blend_find(b, feature->id, rows);
    if (!nb_blend_read(b, rows))
        return false;
    if (is_set)
        multiply_member(b, field, products);
    else
        multiply_value(b, field, feature->count, products);
    return true;
}
