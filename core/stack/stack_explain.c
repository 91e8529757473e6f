/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/stack/stack_attributes.h"
#include "core/stack/stack_private.h"

/* The two labels whose scores are compared, and the factor of each field's evidence. */
struct comparison {
    struct nb_stack *stack;
    const struct nb_model *model;
    const struct nb_stack_view *view;
    const struct nb_stack_reading *readings;
    unsigned experts;
    const struct nb_stack_weights *weights;
    struct nb_stack_inputs *inputs; /* read only */
    uint32_t best, second;          /* positions */
    struct nb_stack_mix mix;
    struct nb_stack_worth worth;
    const struct nb_slots *slots; /* of the twin; NULL: no twin */
};

static uint64_t documents_of(const struct comparison *c, struct nb_row row, uint32_t position)
{
    return nb_counts_of(c->model, row, c->view->labels[position]).documents;
}

/* Returns the offset of a label; with two labels only the first's is stored. */
static double offset_of(const struct comparison *c, unsigned e, unsigned field, uint32_t position)
{
    const double *offsets = nb_stack_offsets(c->stack, c->model, e, field);
    if (c->view->columns == 1)
        return position == 0 ? offsets[0] : -offsets[0];
    return offsets[c->view->labels[position]];
}

static double evidence_of(const struct comparison *c, struct nb_row row)
{
    unsigned field = nb_feature_field(row.id);
    uint64_t all = nb_counts_documents(c->model, row);
    uint64_t best = documents_of(c, row, c->best);
    uint64_t second = documents_of(c, row, c->second);
    double sum = 0;
    for (unsigned e = 0; e < c->experts && all != 0; e++) {
        const struct nb_stack_reading *r = &c->readings[e];
        double for_best = nb_stack_gain(r, best, all) - offset_of(c, e, field, c->best);
        double for_second = nb_stack_gain(r, second, all) - offset_of(c, e, field, c->second);
        double difference = nb_stack_power(r, for_best) - nb_stack_power(r, for_second);
        sum += c->worth.stack[e][field] * difference;
        if (c->slots != NULL && e == c->experts - 1)
            sum += (double)nb_slots_at(c->slots, row.id) * c->worth.twin[field] *
                   (for_best - for_second);
    }
    return sum;
}

/* Explains two labels from the evidence that the inputs keep, without reading rows again. r and e
 * of the second label are the negatives of the first's, to the bit, so the difference is twice one
 * of them. Factors of 2 and -1 are exact anywhere in a product. */
static size_t explain_said(const struct comparison *c, const struct nb_feature *features,
                           struct nb_evidence_sums *sums, struct nb_evidence *rows)
{
    struct nb_evidence_sums of = *sums; /* a copy that stores to rows cannot change */
    const struct nb_stack_said *said = c->inputs->said;
    const struct nb_slots_values slots = nb_slots_values(c->slots);
    size_t count = c->inputs->said_count;
    double both = c->best == 0 ? 2 : -2;
    double worth[NB_FIELDS][NB_STACK_EXPERTS], shares[NB_FIELDS];
    for (unsigned f = 0; f < NB_FIELDS; f++) {
        shares[f] = both * c->worth.twin[f];
        for (unsigned e = 0; e < NB_STACK_EXPERTS; e++)
            worth[f][e] = e < c->experts ? both * c->worth.stack[e][f] : 0;
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t id = features[said[i].place].id;
        unsigned field = nb_feature_field(id);
        double sum = 0;
        for (unsigned e = 0; e < NB_STACK_EXPERTS; e++)
            sum += worth[field][e] * said[i].e[e];
        sum += (double)slots.values[(uint32_t)id & slots.mask] * shares[field] * said[i].r;
        sum *= of.factor;
        of.fields[field] += sum;
        rows[i] = (struct nb_evidence){.feature = (uint32_t)said[i].place, .evidence = sum};
    }
    *sums = of;
    return count;
}

/* The factor of the evidence of the attribute at a place. */
static double worth_of_value(const struct comparison *c, uint32_t place, unsigned e)
{
    const struct nb_present_attribute *a = &c->inputs->attributes->present.list[place];
    uint32_t labels = c->inputs->size;
    return c->mix.stack * c->mix.trust[e] * nb_stack_half(labels) *
           nb_stack_attribute_weight(c->weights, a->number, labels, e) *
           nb_stack_share(&c->weights->settings, a->features);
}

/* Returns the evidence of a value of an attribute that the inputs have noted. */
static double evidence_of_value(const struct comparison *c, const struct nb_stack_value *value)
{
    const struct nb_stack_pass pass = {.stack = c->stack,
                                       .model = c->model,
                                       .view = c->view,
                                       .readings = c->readings,
                                       .experts = c->experts,
                                       .inputs = c->inputs};
    bool has_twin = c->slots != NULL && !nb_feature_is_number(value->id);
    double sum = 0;
    for (unsigned e = 0; e < c->experts; e++) {
        double for_best = nb_stack_value_reading(&pass, value, e, c->best);
        double for_second = nb_stack_value_reading(&pass, value, e, c->second);
        sum += worth_of_value(c, value->place, e) * (nb_stack_power(&c->readings[e], for_best) -
                                                     nb_stack_power(&c->readings[e], for_second));
        if (has_twin && e == c->experts - 1)
            sum += (double)nb_slots_at(c->slots, value->id) * c->mix.twin *
                   nb_stack_half(c->inputs->size) *
                   nb_stack_attribute_share(c->inputs, value->place) * (for_best - for_second);
    }
    return sum;
}

/* Explains the feature at place `at` of the bag; *value noted values come before it. */
static void explain_value(const struct comparison *c, const struct nb_feature *features, size_t at,
                          size_t *value, struct nb_evidence *rows, size_t *filled)
{
    const struct nb_stack_attributes *a = c->inputs->attributes;
    if (nb_part_is_presence(nb_feature_part(features[at].id)))
        return;
    assert(*value < a->size && a->values[*value].id == features[at].id);
    const struct nb_stack_value *mine = &a->values[(*value)++];
    if (mine->says)
        rows[(*filled)++] =
            (struct nb_evidence){.feature = (uint32_t)at, .evidence = evidence_of_value(c, mine)};
}

static size_t explain_features(const struct comparison *c, const struct nb_feature *features,
                               size_t size, const uint32_t *found, struct nb_evidence *rows)
{
    size_t filled = 0, value = 0;
    uint32_t looked_up[NB_MODEL_STEP];
    const uint32_t *numbers = looked_up;
    for (size_t i = 0; i < size; i++) {
        if (i % NB_MODEL_STEP == 0)
            numbers = nb_model_step(c->model, features, i,
                                    size - i < NB_MODEL_STEP ? size - i : NB_MODEL_STEP, found,
                                    looked_up);
        uint32_t number = numbers[i % NB_MODEL_STEP];
        if (nb_feature_field(features[i].id) == NB_FIELD_VALUE) {
            explain_value(c, features, i, &value, rows, &filled);
            continue;
        }
        if (number == NB_NO_ROW || !nb_counts_any(nb_model_row(c->model, number)))
            continue;
        double evidence = evidence_of(c, nb_model_row(c->model, number));
        rows[filled++] = (struct nb_evidence){.feature = (uint32_t)i, .evidence = evidence};
    }
    return filled;
}

/* Returns the evidence of the row that belongs to no feature: the difference of the biases. */
static double bias_evidence(const struct comparison *c, const struct nb_scores *scores)
{
    const struct nb_stack_weights *weights = c->weights;
    double sum = 0;
    for (unsigned e = 0; e < c->experts; e++)
        sum += c->mix.trust[e] * (nb_stack_bias(weights, scores->labels[scores->best], e) -
                                  nb_stack_bias(weights, scores->labels[scores->second], e));
    return c->mix.stack * sum +
           c->mix.twin *
               (nb_stack_twin_bias(weights, scores->labels, scores->size, scores->best) -
                nb_stack_twin_bias(weights, scores->labels, scores->size, scores->second));
}

int nb_stack_explain(struct nb_stack *stack, const struct nb_model *model,
                     const struct nb_stack_weights *weights, const struct nb_feature *features,
                     size_t size, const uint32_t *found, const struct nb_stack_inputs *inputs,
                     const struct nb_scores *scores, struct nb_evidence_sums *sums,
                     struct nb_evidence *rows, size_t *count)
{
    struct comparison c = {.stack = stack,
                           .model = model,
                           .readings = nb_stack_readings(stack, inputs->size),
                           .experts = nb_stack_bank(&stack->settings, inputs->size)->size,
                           .weights = weights,
                           .inputs = (struct nb_stack_inputs *)(uintptr_t)inputs,
                           .best = (uint32_t)scores->best,
                           .second = (uint32_t)scores->second};
    int rc = nb_stack_view(stack, model, &c.view);
    if (rc != 0)
        return rc;
    assert(inputs->size == c.view->size && scores->size == inputs->size && !inputs->is_brief);
    assert(scores->best < scores->size && scores->second < scores->size);
    bool has_twin = inputs->has_twin && inputs->size > 1;
    c.slots = has_twin ? &weights->slots : NULL;
    nb_stack_mix_add(&c.mix, weights, 1, inputs->size, has_twin);
    nb_stack_put_worth(&c.mix, &weights->settings, inputs->features,
                       nb_stack_attribute_count(inputs), inputs->size, &c.worth);
    bool has_values = inputs->attributes != NULL && inputs->attributes->size > 0;
    struct nb_evidence_sums unwanted = {.factor = 1};
    sums = sums == NULL ? &unwanted : sums;
    size_t filled = 0;
    if (scores->size == 2 && !has_values) {
        filled = explain_said(&c, features, sums, rows);
    } else if (scores->size > 1) {
        filled = explain_features(&c, features, size, found, rows);
        nb_evidence_sum(features, rows, filled, sums);
    }
    rows[filled++] = (struct nb_evidence){.feature = NB_NO_FEATURE,
                                          .evidence = bias_evidence(&c, scores) * sums->factor};
    *count = filled;
    return 0;
}

/* One label against all others together, with the weights for two labels. The evidence of the stack
 * is always that for a label against all others. */
struct against {
    struct nb_stack *stack;
    const struct nb_model *model;
    uint32_t label;
    const struct nb_slots *slots; /* of the twin, or NULL */
    struct nb_stack_against sums;
    struct nb_stack_inputs inputs; /* of the attributes alone, with one column for the label */
};

static void put_offsets(struct against *a, const struct nb_stack_view *view)
{
    const struct nb_stack_bank *bank = &a->stack->settings.two;
    for (unsigned field = 0; field < NB_FIELDS; field++) {
        uint64_t all = 0;
        uint64_t own = nb_model_presences(a->model, a->label, field);
        for (uint32_t v = 0; v < view->size; v++)
            all += nb_model_presences(a->model, view->labels[v], field);
        for (unsigned e = 0; e < a->stack->settings.two.size; e++) {
            double more = nb_stack_added(&bank->experts[e]) *
                          ((double)nb_model_vocabulary(a->model, field) + 1);
            a->sums.offsets[e][field] = log((double)own + more) - log((double)(all - own) + more);
        }
    }
}

/* The twin reads the counts as the last expert does. */
static void add_row(struct against *a, unsigned field, struct nb_row row)
{
    uint64_t all = nb_counts_documents(a->model, row);
    uint64_t own = nb_counts_of(a->model, row, a->label).documents;
    double r = 0;
    for (unsigned e = 0; e < a->stack->settings.two.size && all > 0; e++) {
        const struct nb_stack_reading *reading = &a->stack->two[e];
        r = nb_stack_gain(reading, own, all) - a->sums.offsets[e][field];
        a->sums.x[e][field] += nb_stack_power(reading, r);
    }
    if (a->slots != NULL)
        a->sums.twin[field] += (double)nb_slots_at(a->slots, row.id) * r;
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
            a->sums.features[field]++;
            a->sums.features[NB_STACK_TOTAL] += field != NB_FIELD_NGRAM;
            if (rows[i] != NB_NO_ROW)
                add_row(a, field, nb_model_row(a->model, rows[i]));
        }
    }
}

/* Computes the inputs of the attributes as if there were two labels: first the label, then all
 * others together. */
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
    memcpy(a->inputs.features, a->sums.features, sizeof a->sums.features);
    int rc = nb_stack_attributes_put(&(struct nb_stack_pass){.stack = a->stack,
                                                             .model = a->model,
                                                             .view = &own,
                                                             .readings = a->stack->two,
                                                             .experts = a->stack->settings.two.size,
                                                             .inputs = &a->inputs,
                                                             .twin = a->slots ? &twin : NULL});
    a->sums.twin_of_attributes = -t[1]; /* t belongs to the second label */
    a->inputs.t = NULL;
    free(own.labels);
    return rc;
}

/* What the attributes add to the sum of the experts. */
static double sum_attributes(const struct against *a, const struct nb_stack_weights *weights,
                             const struct nb_stack_mix *mix)
{
    double all = 0;
    for (unsigned e = 0; e < a->stack->settings.two.size; e++) {
        double sum = 0;
        for (uint32_t place = 0; place < a->sums.attribute_count; place++)
            sum += nb_stack_attribute_weight(
                       weights, a->inputs.attributes->present.list[place].number, 2, e) *
                   nb_stack_attribute_x(&a->inputs, place, e)[0];
        all += mix->trust[e] * sum;
    }
    return all;
}

/* Returns d of a label. With two labels, the one column belongs to the second. */
static double twin_bias(const struct nb_stack_view *view, const struct nb_stack_weights *weights,
                        uint32_t label)
{
    bool is_first = view->size == 2 && view->labels[0] == label;
    return is_first ? 0 : nb_stack_twin_bias_of(weights, label);
}

int nb_stack_against(struct nb_stack *stack, const struct nb_model *model,
                     const struct nb_stack_weights *weights, const struct nb_feature *features,
                     size_t size, uint32_t label, uint32_t other, double *log_odds)
{
    const struct nb_stack_view *view;
    struct against a = {.stack = stack, .model = model, .label = label};
    struct nb_stack_mix mix = {.stack = 0};
    if (nb_stack_view(stack, model, &view) != 0)
        return NB_NO_MEMORY;
    a.slots = weights->settings.twin ? &weights->slots : NULL;
    nb_stack_mix_add(&mix, weights, 1, 2, a.slots != NULL);
    put_offsets(&a, view);
    nb_stack_inputs_init(&a.inputs);
    add_features(&a, features, size);
    int rc = put_attributes(&a, view);
    if (rc == 0) {
        double bias = 0;
        a.sums.attribute_count = nb_stack_attribute_count(&a.inputs);
        a.sums.attributes = sum_attributes(&a, weights, &mix);
        for (unsigned e = 0; e < stack->settings.two.size; e++)
            bias += mix.trust[e] *
                    (nb_stack_bias(weights, label, e) - nb_stack_bias(weights, other, e));
        *log_odds = nb_stack_against_odds(&a.sums, &mix, &stack->settings, bias,
                                          twin_bias(view, weights, label) -
                                              twin_bias(view, weights, other));
    }
    nb_stack_inputs_deinit(&a.inputs);
    return rc;
}
