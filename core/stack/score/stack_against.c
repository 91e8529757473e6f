/* SPDX-License-Identifier: Apache-2.0
 *
 * One label against all others together, with the weights of two labels. The evidence of the stack
 * is for a label against all others in any case: only which labels there are is another matter.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/stack/score/stack_attributes.h"
#include "core/stack/score/stack_private.h"

/* Of each expert for two labels: the evidence for the label, by field, and the offsets. */
struct against {
    struct nb_stack *stack;
    const struct nb_model *model;
    uint32_t label;
    unsigned experts;
    double offsets[NB_STACK_EXPERTS][NB_FIELDS];
    double x[NB_STACK_EXPERTS][NB_STACK_GROUPS];
    const struct nb_slots *slots; /* of the twin, or NULL */
    double twin[NB_FIELDS];       /* sums of u times r */
    double twin_of_attributes;    /* the same, times x_w */
    uint32_t features[NB_STACK_GROUPS];
    struct nb_stack_inputs inputs; /* of the attributes alone: of one column, the label's */
};

static void put_offsets(struct against *a, const struct nb_stack_view *view)
{
    const struct nb_stack_bank *bank = &a->stack->settings.two;
    for (unsigned field = 0; field < NB_FIELDS; field++) {
        uint64_t all = 0;
        uint64_t own = nb_model_presences(a->model, a->label, field);
        for (uint32_t v = 0; v < view->size; v++)
            all += nb_model_presences(a->model, view->labels[v], field);
        for (unsigned e = 0; e < a->experts; e++) {
            double more =
                bank->experts[e].smoothing * ((double)nb_model_vocabulary(a->model, field) + 1);
            a->offsets[e][field] = log((double)own + more) - log((double)(all - own) + more);
        }
    }
}

/* The twin reads the counts as the last expert does. */
static void add_row(struct against *a, unsigned field, struct nb_row row)
{
    uint64_t all = nb_counts_documents(a->model, row);
    uint64_t own = nb_counts_of(a->model, row, a->label).documents;
    double r = 0;
    for (unsigned e = 0; e < a->experts && all > 0; e++) {
        const struct nb_stack_reading *reading = &a->stack->two[e];
        r = nb_stack_gain(reading, own, all) - a->offsets[e][field];
        a->x[e][field] += nb_stack_power(reading, r);
    }
    if (a->slots != NULL)
        a->twin[field] += (double)nb_slots_at(a->slots, row.id) * r;
}

static void add_features(struct against *a, const struct nb_feature *features, size_t size)
{
    uint32_t rows[NB_MODEL_STEP];
    for (size_t start = 0; start < size; start += NB_MODEL_STEP) {
        size_t step = size - start < NB_MODEL_STEP ? size - start : NB_MODEL_STEP;
        nb_model_find_all(a->model, features + start, step, rows);
        for (size_t i = 0; i < step; i++) {
            unsigned field = nb_feature_field(features[start + i].id);
            if (field >= NB_FIELDS) {
                nb_stack_attributes_note(&a->inputs, features[start + i].id, rows[i], false);
                continue;
            }
            a->features[field]++;
            a->features[NB_STACK_TOTAL] += field != NB_FIELD_NGRAM;
            if (rows[i] != NB_NO_ROW)
                add_row(a, field, nb_model_row(a->model, rows[i]));
        }
    }
}

/* Those of the attributes, as if the label came first of two, and the second were all others. */
static int put_attributes(struct against *a, const struct nb_stack_view *view)
{
    struct nb_stack_view own = {.size = view->size, .columns = 1};
    struct nb_stack_evidence twin = {.slots = a->slots};
    double t[2] = {0};
    if (nb_stack_attribute_count(&a->inputs) == 0)
        return a->inputs.failed ? NB_NO_MEMORY : 0;
    own.labels = malloc((view->size + (size_t)1) * sizeof *own.labels);
    if (own.labels == NULL)
        return NB_NO_MEMORY;
    own.labels[0] = a->label;
    for (uint32_t v = 0, next = 1; v < view->size; v++)
        if (view->labels[v] != a->label)
            own.labels[next++] = view->labels[v];
    a->inputs.size = 1;
    a->inputs.t = t;
    memcpy(a->inputs.features, a->features, sizeof a->features);
    int rc = nb_stack_attributes_put(&(struct nb_stack_pass){.stack = a->stack,
                                                             .model = a->model,
                                                             .view = &own,
                                                             .readings = a->stack->two,
                                                             .experts = a->experts,
                                                             .inputs = &a->inputs,
                                                             .twin = a->slots ? &twin : NULL});
    a->twin_of_attributes = -t[1]; /* t is the second's */
    a->inputs.t = NULL;
    free(own.labels);
    return rc;
}

/* What an expert says, without the biases. */
static double sum_of(struct against *a, const struct nb_stack_weights *weights, unsigned e)
{
    const double *w = weights->shared.values + nb_stack_place(nb_stack_set(2, e), 0);
    double *x = a->x[e];
    double sum = 0;
    for (unsigned field = 0; field < NB_FIELDS; field++)
        x[NB_STACK_TOTAL] += field != NB_FIELD_NGRAM ? x[field] : 0;
    for (unsigned g = 0; g < NB_STACK_GROUPS; g++)
        sum += w[nb_stack_place(0, g)] * x[g] * nb_stack_share(&a->stack->settings, a->features[g]);
    for (uint32_t place = 0; place < nb_stack_attribute_count(&a->inputs); place++)
        sum += nb_stack_attribute_weight(weights, a->inputs.attributes->present.list[place].number,
                                         2, e) *
               nb_stack_attribute_x(&a->inputs, place, e)[0];
    return sum;
}

/* d of a label. Where there are two, the column is the second's. */
static double twin_bias(const struct nb_stack_view *view, const struct nb_stack_weights *weights,
                        uint32_t label)
{
    bool is_first = view->size == 2 && view->labels[0] == label;
    return is_first ? 0 : nb_stack_twin_bias_of(weights, label);
}

/* The log-odds with the twin, of those without it. */
static double with_twin(const struct against *a, const struct nb_stack_view *view,
                        const struct nb_stack_weights *weights, uint32_t other, double log_odds)
{
    struct nb_stack_twin_part part = nb_stack_twin_part(weights);
    double shares[NB_FIELDS];
    double t = twin_bias(view, weights, a->label) - twin_bias(view, weights, other);
    nb_stack_evidence_shares(a->features, nb_stack_attribute_count(&a->inputs), shares);
    for (unsigned field = 0; field < NB_FIELDS; field++)
        t += shares[field] * a->twin[field];
    t += a->twin_of_attributes;
    return part.stack * log_odds + part.twin * t;
}

int nb_stack_against(struct nb_stack *stack, const struct nb_model *model,
                     const struct nb_stack_weights *weights, const struct nb_feature *features,
                     size_t size, uint32_t label, uint32_t other, double *log_odds)
{
    const struct nb_stack_view *view;
    struct against a = {
        .stack = stack, .model = model, .label = label, .experts = stack->settings.two.size};
    double trust[NB_STACK_EXPERTS] = {0};
    if (nb_stack_view(stack, model, &view) != 0)
        return NB_NO_MEMORY;
    a.slots = weights->settings.twin ? &weights->slots : NULL;
    put_offsets(&a, view);
    nb_stack_inputs_init(&a.inputs);
    add_features(&a, features, size);
    int rc = put_attributes(&a, view);
    nb_stack_trust(weights, 2, trust);
    *log_odds = 0;
    for (unsigned e = 0; rc == 0 && e < a.experts; e++)
        *log_odds += trust[e] * (nb_stack_bias(weights, label, e) -
                                 nb_stack_bias(weights, other, e) + sum_of(&a, weights, e));
    if (a.slots != NULL)
        *log_odds = with_twin(&a, view, weights, other, *log_odds);
    nb_stack_inputs_deinit(&a.inputs);
    return rc;
}
