/* SPDX-License-Identifier: Apache-2.0
 *
 * One label against all others together, as core/stack/stack_explain.c does it.
 */
#include <assert.h>

#include "core/stack/blend_attributes.h"
#include "core/stack/blend_private.h"

struct against {
    struct nb_blend *blend;
    uint32_t label;
    struct nb_stack_against sums;
};

/* ln((label's + more) / (others' + more)). */
static double log_ratio(double own, double all, double more)
{
    return log(own + more) - log(fmax(all - own, 0) + more);
}

static void put_offsets(struct against *a)
{
    const struct nb_blend *b = a->blend;
    for (unsigned field = 0; field < NB_FIELDS; field++) {
        double words = nb_blend_vocabulary(b, field), all = 0;
        for (uint32_t v = 0; v < b->size; v++)
            all += nb_blend_sum(b, v, field, true);
        for (unsigned e = 0; e < b->stack.two.size; e++)
            a->sums.offsets[e][field] =
                log_ratio(nb_blend_sum(b, a->label, field, true), all,
                          b->stack.two.experts[e].smoothing * b->smoothing * (words + 1));
    }
}

static int add_feature(struct against *a, uint64_t id)
{
    struct nb_blend *b = a->blend;
    unsigned field = nb_feature_field(id);
    uint32_t rows[NB_BLEND_MOST] = {0};
    nb_blend_find(b, id, rows);
    if (field == NB_FIELD_VALUE)
        return nb_blend_attributes_note(b, id, rows);
    assert(field < NB_FIELDS);
    a->sums.features[field]++;
    a->sums.features[NB_STACK_TOTAL] += field != NB_FIELD_NGRAM;
    double r = 0;
    if (!nb_blend_read(b, rows))
        return 0;
    for (unsigned e = 0; e < b->stack.two.size; e++) {
        const struct nb_stack_expert *x = &b->stack.two.experts[e];
        r = log_ratio(b->documents[a->label], b->all_documents, x->smoothing * b->smoothing) -
            a->sums.offsets[e][field];
        a->sums.x[e][field] += nb_blend_power(x->power, r);
    }
    if (nb_blend_has_twin(b))
        a->sums.twin[field] += nb_blend_slot(b, id) * r;
    return 0;
}

int nb_blend_against(struct nb_blend *b, const struct nb_feature *features, size_t size,
                     uint32_t label, uint32_t other, double *log_odds)
{
    struct against a = {.blend = b, .label = label};
    struct nb_stack_mix mix;
    double bias = 0, twin_bias = 0;
    int rc = 0;
    assert(b->is_stacked && label < b->size && other < b->size);
    nb_blend_put_weights(b, 2, &mix);
    put_offsets(&a);
    nb_blend_attributes_empty(b);
    for (size_t i = 0; rc == 0 && i < size; i++)
        rc = add_feature(&a, features[i].id);
    if (rc == 0)
        rc = nb_blend_attributes_against(b, &mix, a.sums.features, label, &a.sums.attributes,
                                         &a.sums.twin_of_attributes);
    a.sums.attribute_count = nb_blend_attribute_count(b);
    for (unsigned e = 0; e < b->stack.two.size; e++)
        bias += mix.trust[e] * (nb_blend_bias(b, e, label) - nb_blend_bias(b, e, other));
    if (nb_blend_has_twin(b))
        twin_bias = nb_blend_twin_bias(b, label) - nb_blend_twin_bias(b, other);
    *log_odds = nb_stack_against_odds(&a.sums, &mix, &b->stack, bias, twin_bias);
    return rc;
}
