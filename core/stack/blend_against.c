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
    double offsets[NB_STACK_EXPERTS][NB_FIELDS];
    double x[NB_STACK_EXPERTS][NB_STACK_GROUPS];
    double twin[NB_FIELDS]; /* sums of u times r */
    double attributes,
        twin_of_attributes; /* what these bring to the sum of the experts, and to t */
    uint32_t features[NB_STACK_GROUPS];
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
            a->offsets[e][field] =
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
    a->features[field]++;
    a->features[NB_STACK_TOTAL] += field != NB_FIELD_NGRAM;
    double r = 0;
    if (!nb_blend_read(b, rows))
        return 0;
    for (unsigned e = 0; e < b->stack.two.size; e++) {
        const struct nb_stack_expert *x = &b->stack.two.experts[e];
        r = log_ratio(b->documents[a->label], b->all_documents, x->smoothing * b->smoothing) -
            a->offsets[e][field];
        a->x[e][field] += nb_blend_power(x->power, r);
    }
    if (nb_blend_has_twin(b))
        a->twin[field] += nb_blend_slot(b, id) * r;
    return 0;
}

/* What an expert says, without the biases. */
static double sum_of(struct against *a, const struct nb_blend_weights *weights, unsigned e)
{
    double *x = a->x[e];
    double sum = 0;
    for (unsigned field = 0; field < NB_FIELDS; field++)
        x[NB_STACK_TOTAL] += field != NB_FIELD_NGRAM ? x[field] : 0;
    for (unsigned g = 0; g < NB_STACK_GROUPS; g++)
        sum += weights->groups[e][g] * x[g] * nb_stack_share(&a->blend->stack, a->features[g]);
    return sum;
}

/* What the twin says. */
static double score_twin(const struct against *a, uint32_t other)
{
    double shares[NB_FIELDS];
    double t = nb_blend_twin_bias(a->blend, a->label) - nb_blend_twin_bias(a->blend, other);
    nb_stack_evidence_shares(a->features, nb_blend_attribute_count(a->blend), shares);
    for (unsigned field = 0; field < NB_FIELDS; field++)
        t += shares[field] * a->twin[field];
    return t + a->twin_of_attributes;
}

int nb_blend_against(struct nb_blend *b, const struct nb_feature *features, size_t size,
                     uint32_t label, uint32_t other, double *log_odds)
{
    struct against a = {.blend = b, .label = label};
    struct nb_blend_weights weights;
    int rc = 0;
    assert(b->is_stacked && label < b->size && other < b->size);
    nb_blend_put_weights(b, 2, &weights);
    put_offsets(&a);
    nb_blend_attributes_empty(b);
    for (size_t i = 0; rc == 0 && i < size; i++)
        rc = add_feature(&a, features[i].id);
    if (rc == 0)
        rc = nb_blend_attributes_against(b, &weights, a.features, label, &a.attributes,
                                         &a.twin_of_attributes);
    *log_odds = a.attributes;
    for (unsigned e = 0; e < b->stack.two.size; e++)
        *log_odds += weights.trust[e] * (nb_blend_bias(b, e, label) - nb_blend_bias(b, e, other) +
                                         sum_of(&a, &weights, e));
    *log_odds *= weights.stack;
    if (nb_blend_has_twin(b))
        *log_odds += weights.twin * score_twin(&a, other);
    return rc;
}
