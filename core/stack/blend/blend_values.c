/* SPDX-License-Identifier: Apache-2.0
 *
 * Values of fields in a blend: of the view of all sources (blend_fields.h), or attributes of the
 * first source alone, with p from its parent.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/bayes/attribute/attribute_scores.h"
#include "core/stack/blend/blend_fields.h"
#include "core/stack/blend/blend_private.h"

int nb_blend_put_values(struct nb_blend *b)
{
    if (b->values != NULL)
        nb_attribute_scores_deinit(b->values);
    if (b->settings->attribute_count == 0)
        return 0;
    if (nb_array_reserve(&b->products, &b->product_room, b->size, sizeof *b->products) != 0)
        return NB_NO_MEMORY;
    memset(b->products, 0, b->size * sizeof *b->products);
    if (nb_blend_has_fields(b))
        return 0;
    if (b->values == NULL && (b->values = calloc(1, sizeof *b->values)) == NULL)
        return NB_NO_MEMORY;
    int rc = nb_attribute_scores_make(b->values, b->settings, b->sources[0].counts, b->pool);
    /* both have the labels with documents, in the order of their names */
    assert(rc != 0 || b->values->size == b->size);
    return rc;
}

/* The row of a feature that says anything may be that of none: a number that nobody has. */
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

/* With a parent no p is 0, and so no factor. */
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
    if (nb_blend_has_fields(b)) {
        bool says = nb_blend_field_products(b, feature, b->products);
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

/* The same in the view. Of the products none is under way. */
static bool explain_in_view(struct nb_blend *b, const struct nb_feature *feature, uint32_t best,
                            uint32_t second, double *evidence)
{
    memset(b->products, 0, b->size * sizeof *b->products);
    bool says = nb_blend_field_products(b, feature, b->products);
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
    if (nb_blend_has_fields(b))
        return explain_in_view(b, feature, best, second, evidence);
    if (!find(b, feature, &row))
        return false;
    *evidence = log_factor(b, feature, row, best) - log_factor(b, feature, row, second);
    return true;
}
