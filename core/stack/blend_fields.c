/* SPDX-License-Identifier: Apache-2.0 */
#include "core/stack/blend_fields.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/bayes/attribute_scores.h"
#include "core/bayes/bins.h"
#include "core/bayes/estimate.h"
#include "core/stack/blend_private.h"

/* The target of a source's counts of one feature. */
struct reading {
    struct nb_blend *blend;
    unsigned source;
};

static inline void add_cell(void *user, struct nb_cell cell)
{
    const struct reading *r = user;
    struct nb_blend *b = r->blend;
    uint32_t place = b->places[r->source][cell.label];
    if (place == NB_BLEND_NO_LABEL)
        return;
    double occurrences = b->scale[r->source] * (double)cell.occurrences;
    double documents = b->scale[r->source] * (double)cell.documents;
    b->occurrences[place] += occurrences;
    b->documents[place] += documents;
    b->all_occurrences += occurrences;
    b->all_documents += documents;
}

/* Adds the counts beside those of the first source for the feature in `row`. Negative weights come
 * last, and the result is at least 0. */
static void add_beside(struct nb_blend *b, uint32_t row)
{
    uint64_t id = nb_model_row_id(b->sources[0].counts, row);
    for (unsigned i = 0; i < b->besides.count; i++) {
        const struct nb_expected_cell *cells;
        double weight = b->besides.list[i].weight;
        size_t size = nb_expected_find(b->besides.list[i].counts, row, id, &cells);
        for (size_t k = 0; k < size; k++) {
            bool is_there = cells[k].label < nb_model_label_count(b->sources[0].counts);
            uint32_t place = is_there ? b->places[0][cells[k].label] : NB_BLEND_NO_LABEL;
            if (place == NB_BLEND_NO_LABEL)
                continue;
            double occurrences = fmax(weight * cells[k].occurrences, -b->occurrences[place]);
            double documents = fmax(weight * cells[k].documents, -b->documents[place]);
            b->occurrences[place] += occurrences;
            b->documents[place] += documents;
            b->all_occurrences += occurrences;
            b->all_documents += documents;
        }
    }
}

bool nb_blend_read(struct nb_blend *b, const uint32_t rows[NB_BLEND_MOST])
{
    memset(b->occurrences, 0, b->size * sizeof *b->occurrences);
    memset(b->documents, 0, b->size * sizeof *b->documents);
    b->all_occurrences = b->all_documents = 0;
    for (unsigned i = 0; i < b->count; i++) {
        struct reading reading = {.blend = b, .source = i};
        const struct nb_model *counts = b->sources[i].counts;
        if (rows[i] != NB_NO_ROW)
            nb_counts_each(counts, nb_model_row(counts, rows[i]), add_cell, &reading);
    }
    if (b->besides.count > 0 && rows[0] != NB_NO_ROW)
        add_beside(b, rows[0]);
    if (b->without.is_set) {
        double *own = &b->documents[b->places[0][b->without.label]];
        *own = fmax(*own - 1, 0);
        b->all_documents -= 1;
    }
    return b->all_documents > 0;
}

void nb_blend_find(const struct nb_blend *b, uint64_t id, uint32_t rows[NB_BLEND_MOST])
{
    for (unsigned i = 0; i < b->count; i++)
        rows[i] = nb_model_find(b->sources[i].counts, id);
}

/* A difference within the rounding error of the sums counts as 0. */
static const double ROUNDING = 1e-9;

/* Whether the settings' fields are read from the view. */
static bool blend_has_fields(const struct nb_blend *b)
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

static struct nb_normal blend_numbers_all(const struct nb_blend *b, unsigned field)
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

/* Returns what is added to the variances of all fields; 0: all numbers of each field are equal. */
static double added_variance(const struct nb_blend *b)
{
    double largest = 0;
    for (unsigned field = 0; field < b->settings->attribute_count; field++)
        if (b->settings->attributes[field].kind == NB_FIELD_KIND_NUMBER)
            largest = fmax(largest, blend_numbers_all(b, field).variance);
    return NB_VARIANCE_SMOOTHING * largest;
}

static bool multiply_density(const struct nb_blend *b, uint64_t id, struct nb_log_product *products)
{
    struct nb_normal all = blend_numbers_all(b, field_of(id));
    double added = added_variance(b);
    double number = nb_int128_double(nb_decimal_fixed(id)) * NB_FIXED_UNIT;
    if (!(all.count > 0) || !(added > 0))
        return false;
    for (uint32_t v = 0; v < b->size; v++)
        products[v].log +=
            nb_blend_numbers_log(nb_blend_numbers_of(b, field_of(id), v, NULL), all, added, number);
    return true;
}

/* ---- sets ------------------------------------------------------------------------------------ */

/* Multiplies the product by the estimate (count + addend) / (of + 2 addend) to the power `times`:
 * `count` of the `of` documents with a set have the value (or lack it). */
static void multiply_share(double count, double of, double addend, double times,
                           struct nb_log_product *product)
{
    double above = fmax(count, 0) < ROUNDING * of ? 0 : count;
    if (above + addend > 0)
        product->log += times * (log(above + addend) - log(of + 2 * addend));
    else
        product->zeros += times > 0 ? 1 : -1;
}

/* Multiplies each label's product by the estimate that a document lacks the value read last. */
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

/* Multiplies by the factors of a document whose set has none of the values that the sources have
 * seen. */
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

/* Multiplies by the estimate of having the value read last, divided by that of lacking it. */
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

/* Multiplies by the factor of the value read last, which the document has `count` times. */
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

/* By the book: adds a feature of NB_FIELD_VALUE to products[place] of each label. Returns whether
 * the feature is evidence. */
static bool blend_field_products(struct nb_blend *b, const struct nb_feature *feature,
                                 struct nb_log_product *products)
{
    unsigned field = field_of(feature->id);
    uint32_t rows[NB_BLEND_MOST] = {0};
    if (field >= b->settings->attribute_count) /* the field is newer than these settings */
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

/* The values of fields in a blend either belong to the view of all sources (blend_fields.h), or are
 * attributes of the first source alone, with p from its parent. */
int nb_blend_put_values(struct nb_blend *b)
{
    if (b->values != NULL)
        nb_attribute_scores_deinit(b->values);
    if (b->settings->attribute_count == 0)
        return 0;
    if (nb_array_reserve(&b->products, &b->product_room, b->size, sizeof *b->products) != 0)
        return NB_NO_MEMORY;
    memset(b->products, 0, b->size * sizeof *b->products);
    if (blend_has_fields(b))
        return 0;
    if (b->values == NULL && (b->values = calloc(1, sizeof *b->values)) == NULL)
        return NB_NO_MEMORY;
    int rc = nb_attribute_scores_make(b->values, b->settings, b->sources[0].counts, b->pool);
    /* Both have the labels with documents, in the order of their names. */
    assert(rc != 0 || b->values->size == b->size);
    return rc;
}

/* Sets *row, and returns whether the feature is evidence. *row may be without counts: for a number
 * that no document has. */
static bool find(const struct nb_blend *b, const struct nb_feature *feature, struct nb_row *row)
{
    uint32_t number = nb_model_find(b->sources[0].counts, feature->id);
    *row = nb_model_row_or_none(b->sources[0].counts, number);
    return b->values != NULL && nb_attribute_says(b->values, feature, *row);
}

static void add_factor(const struct nb_blend *b, const struct nb_feature *feature,
                       struct nb_row row, uint32_t place, struct nb_log_product *product)
{
    nb_attribute_add(b->values, b->sources[0].counts, feature, row, place, product);
}

/* Returns ln of the factor of a value. A model with a parent has no probability of 0, and so no
 * factor of 0. */
static double log_factor(const struct nb_blend *b, const struct nb_feature *feature,
                         struct nb_row row, uint32_t place)
{
    struct nb_log_product product = {0, 0};
    add_factor(b, feature, row, place, &product);
    return nb_log_product_value(product);
}

void nb_blend_add_value(struct nb_blend *b, const struct nb_feature *feature,
                        struct nb_scores *book)
{
    struct nb_row row;
    bool is_token = nb_feature_is_token(feature->id);
    if (book == NULL)
        return;
    book->total += is_token ? feature->count : 0;
    if (blend_has_fields(b)) {
        bool says = blend_field_products(b, feature, b->products);
        book->known += says && is_token ? feature->count : 0;
        return;
    }
    if (!find(b, feature, &row))
        return;
    book->known += is_token ? feature->count : 0;
    for (uint32_t v = 0; v < b->size; v++)
        add_factor(b, feature, row, v, &b->products[v]);
}

void nb_blend_end_values(struct nb_blend *b)
{
    bool has = b->settings->attribute_count > 0;
    for (uint32_t v = 0; has && v < b->size; v++) {
        b->scores[v] += nb_log_product_value(b->products[v]);
        b->products[v] = (struct nb_log_product){0, 0};
    }
}

/* Explains a value in the view. No products are in use meanwhile, so they serve as scratch. */
static bool explain_in_view(struct nb_blend *b, const struct nb_feature *feature, uint32_t best,
                            uint32_t second, double *evidence)
{
    memset(b->products, 0, b->size * sizeof *b->products);
    bool says = blend_field_products(b, feature, b->products);
    if (says)
        *evidence = nb_log_evidence(nb_log_product_value(b->products[best]),
                                    nb_log_product_value(b->products[second]));
    memset(b->products, 0, b->size * sizeof *b->products);
    return says;
}

bool nb_blend_explain_value(struct nb_blend *b, const struct nb_feature *feature, uint32_t best,
                            uint32_t second, double *evidence)
{
    struct nb_row row;
    if (blend_has_fields(b))
        return explain_in_view(b, feature, best, second, evidence);
    if (!find(b, feature, &row))
        return false;
    *evidence = log_factor(b, feature, row, best) - log_factor(b, feature, row, second);
    return true;
}
