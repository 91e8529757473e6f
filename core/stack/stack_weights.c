/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/system.h"
#include "core/stack/stack_attributes.h"
#include "core/stack/stack_private.h"

/* The most that one document adds to a loss: the cost of a probability of 10^-6. Without this limit
 * one document with a wrong label would decide which expert is trusted. */
#define NB_STACK_LOSS_MOST 13.8

static void put_starts(const struct nb_stack_bank *bank, double *sets)
{
    for (unsigned e = 0; e < bank->size; e++) {
        const struct nb_stack_expert *x = &bank->experts[e];
        double *w = sets + nb_stack_place(e, 0);
        for (unsigned g = 0; g < NB_FIELDS; g++)
            w[nb_stack_place(0, g)] = g == NB_FIELD_NGRAM ? x->start_ngram : x->start_field;
        w[nb_stack_place(0, NB_STACK_TOTAL)] = x->start_total;
    }
}

struct nb_stack_weights *nb_stack_weights_new(const struct nb_stack_settings *settings)
{
    struct nb_stack_weights *w = calloc(1, sizeof *w);
    if (w == NULL)
        return NULL;
    if (nb_weights_grow(&w->shared, NB_STACK_SHARED, NULL) != 0 ||
        nb_weights_grow(&w->twin, NB_STACK_TWIN_PLACES, NULL) != 0 ||
        pthread_rwlock_init(&w->lock_storage, NULL) != 0) {
        nb_weights_deinit(&w->shared);
        nb_weights_deinit(&w->twin);
        free(w);
        return NULL;
    }
    w->lock = &w->lock_storage;
    w->settings = *settings;
    w->head_changed = true;
    w->twin.values[NB_STACK_SHARPNESS] = 1;
    put_starts(&settings->two, w->shared.values);
    put_starts(&settings->many, w->shared.values + nb_stack_place(NB_STACK_EXPERTS, 0));
    nb_scores_init(&w->scratch);
    return w;
}

void nb_stack_weights_free(struct nb_stack_weights **weights)
{
    struct nb_stack_weights *w = *weights;
    *weights = NULL;
    if (w == NULL)
        return;
    pthread_rwlock_destroy(w->lock);
    nb_scores_deinit(&w->scratch);
    for (unsigned v = 0; v < NB_STACK_VECTORS; v++)
        nb_weights_deinit(nb_stack_vector(w, v));
    nb_slots_deinit(&w->slots);
    nb_buffer_deinit(&w->lesson.kept);
    nb_buffer_deinit(&w->lesson.next);
    free(w->layout.set_of);
    free(w->layout.column_of);
    free(w);
}

size_t nb_stack_weights_memory(const struct nb_stack_weights *weights)
{
    size_t bytes =
        sizeof *weights + nb_slots_memory(&weights->slots) + atomic_load(&weights->lesson.bytes);
    for (unsigned v = 0; v < NB_STACK_VECTORS; v++)
        bytes += nb_weights_memory(nb_stack_vector_of(weights, v));
    return bytes;
}

struct nb_slots *nb_stack_twin_slots(struct nb_stack_weights *weights)
{
    return &weights->slots;
}

struct nb_weights *nb_stack_weights_order(struct nb_stack_weights *weights)
{
    return &weights->order;
}

struct nb_weights *nb_stack_weights_known(struct nb_stack_weights *weights)
{
    return &weights->known;
}

void nb_stack_weights_lock(struct nb_stack_weights *weights)
{
    nb_lock_write(weights->lock);
}

void nb_stack_weights_raise(struct nb_stack_weights *weights, uint32_t fields, double field_factor,
                            double total_factor)
{
    for (unsigned e = 0; e < weights->settings.two.size; e++) {
        double *w = weights->shared.values + nb_stack_place(nb_stack_set(2, e), 0);
        for (unsigned g = 0; g < NB_FIELDS; g++)
            w[nb_stack_place(0, g)] *= (fields >> g & 1u) != 0 ? field_factor : 1;
        w[nb_stack_place(0, NB_STACK_TOTAL)] *= total_factor;
    }
    nb_weights_change_all(&weights->shared);
}

void nb_stack_weights_read_lock(const struct nb_stack_weights *weights)
{
    nb_lock_read(weights->lock);
}

void nb_stack_weights_unlock(const struct nb_stack_weights *weights)
{
    nb_lock_release(weights->lock);
}

void nb_stack_trust(const struct nb_stack_weights *weights, uint32_t labels,
                    double trust[NB_STACK_EXPERTS])
{
    unsigned experts = nb_stack_bank(&weights->settings, labels)->size;
    double losses[NB_STACK_EXPERTS];
    double least = INFINITY;
    double sum = 0;
    for (unsigned e = 0; e < experts; e++) {
        losses[e] = weights->shared.values[nb_stack_place(nb_stack_set(labels, e), NB_STACK_LOSS)];
        least = fmin(least, losses[e]);
    }
    for (unsigned e = 0; e < experts; e++)
        sum += trust[e] = exp(weights->settings.mixing * (least - losses[e]));
    for (unsigned e = 0; e < experts; e++)
        trust[e] /= sum;
}

static void add_attributes(const struct nb_stack_weights *weights,
                           const struct nb_stack_inputs *inputs, unsigned e, double *scores)
{
    for (uint32_t place = 0; place < inputs->attributes->present.count; place++) {
        const double *x = nb_stack_attribute_x(inputs, place, e);
        double w = nb_stack_attribute_weight(
            weights, inputs->attributes->present.list[place].number, inputs->size, e);
        for (uint32_t v = 0; v < inputs->size; v++)
            scores[v] += w * x[v];
    }
}

/* Computes one expert's score of each label. Groups that the document lacks add nothing. */
static void score_expert(const struct nb_stack_weights *weights,
                         const struct nb_stack_inputs *inputs, unsigned e, double *scores)
{
    uint32_t size = inputs->size;
    const double *w = weights->shared.values + nb_stack_place(nb_stack_set(size, e), 0);
    for (uint32_t v = 0; v < size; v++)
        scores[v] = 0;
    for (uint32_t g = 0; g < NB_STACK_GROUPS; g++) {
        const double *x = inputs->x + ((size_t)e * NB_STACK_GROUPS + g) * size;
        for (uint32_t v = 0; v < size && inputs->features[g] != 0; v++)
            scores[v] += w[nb_stack_place(0, g)] * x[v];
    }
    if (inputs->attributes != NULL)
        add_attributes(weights, inputs, e, scores);
    for (uint32_t v = 0; v < size; v++)
        scores[v] = nb_stack_bias(weights, inputs->labels[v], e) + nb_stack_half(size) * scores[v];
}

bool nb_stack_is_of_other_settings(const struct nb_stack_weights *weights,
                                   const struct nb_stack_inputs *inputs)
{
    return inputs->count != nb_stack_bank(&weights->settings, inputs->size)->size * NB_STACK_GROUPS;
}

void nb_stack_base_scores(const struct nb_stack_weights *weights,
                          const struct nb_stack_inputs *inputs, double *scores, double *one)
{
    uint32_t size = inputs->size;
    double trust[NB_STACK_EXPERTS] = {0};
    nb_stack_trust(weights, size, trust);
    for (uint32_t v = 0; v < size; v++)
        scores[v] = 0;
    for (unsigned e = 0; e < inputs->count / NB_STACK_GROUPS; e++) {
        score_expert(weights, inputs, e, one);
        for (uint32_t v = 0; v < size; v++)
            scores[v] += trust[e] * one[v];
    }
}

/* Adds the twin to the stack's scores. */
static void add_twin(const struct nb_stack_weights *weights, const struct nb_stack_inputs *inputs,
                     double *scores)
{
    struct nb_stack_twin_part part = nb_stack_twin_part(weights);
    uint32_t size = inputs->size;
    for (uint32_t v = 0; v < size; v++) {
        double t = inputs->t[v] + nb_stack_twin_bias(weights, inputs->labels, size, v);
        scores[v] = part.stack * scores[v] + part.twin * t;
    }
    if (size != 2)
        return;
    /* The column is the difference of the scores: each label gets half, as in the stack. */
    double t = inputs->t[1] + nb_stack_twin_bias(weights, inputs->labels, size, 1);
    scores[1] -= 0.5 * part.twin * t;
    scores[0] -= 0.5 * part.twin * t;
}

int nb_stack_score(const struct nb_stack_weights *weights, const struct nb_stack_inputs *inputs,
                   struct nb_scores *scores)
{
    uint32_t size = inputs->size;
    if (nb_stack_is_of_other_settings(weights, inputs))
        return NB_CORRUPT;
    if (nb_scores_grow(scores, size) != 0)
        return NB_NO_MEMORY;
    scores->size = size;
    scores->total = scores->known = scores->weighed = 0;
    for (size_t i = 0; i < 2; i++)
        scores->sureness[i] = inputs->has_twin ? nb_stack_sureness(weights, i) : 0;
    for (uint32_t v = 0; v < size; v++)
        scores->labels[v] = inputs->labels[v];
    /* `probabilities` is unused so far, and serves as scratch. */
    nb_stack_base_scores(weights, inputs, scores->log_scores, scores->probabilities);
    if (inputs->has_twin && size > 1)
        add_twin(weights, inputs, scores->log_scores);
    nb_scores_rank(scores);
    return 0;
}

/* ---- weights of several models --------------------------------------------------------------- */

void nb_stack_mix_add(struct nb_stack_mix *mix, const struct nb_stack_weights *weights,
                      double share, uint32_t labels, bool has_twin)
{
    struct nb_stack_twin_part part = {.stack = 1};
    double trust[NB_STACK_EXPERTS] = {0};
    nb_stack_trust(weights, labels, trust);
    if (has_twin)
        part = nb_stack_twin_part(weights);
    mix->stack += share * part.stack;
    mix->twin += share * part.twin;
    for (size_t i = 0; i < 2; i++)
        mix->sureness[i] += has_twin ? share * nb_stack_sureness(weights, i) : 0;
    for (unsigned e = 0; e < nb_stack_bank(&weights->settings, labels)->size; e++) {
        const double *groups = weights->shared.values + nb_stack_place(nb_stack_set(labels, e), 0);
        mix->trust[e] += share * trust[e];
        for (unsigned g = 0; g < NB_STACK_GROUPS; g++)
            mix->groups[e][g] += share * groups[nb_stack_place(0, g)];
    }
}

void nb_stack_put_worth(const struct nb_stack_mix *mix, const struct nb_stack_settings *settings,
                        const uint32_t features[NB_STACK_GROUPS], uint32_t attributes,
                        uint32_t labels, struct nb_stack_worth *worth)
{
    double total = nb_stack_share(settings, features[NB_STACK_TOTAL]);
    double half = nb_stack_half(labels);
    nb_stack_evidence_shares(features, attributes, worth->twin);
    for (unsigned f = 0; f < NB_FIELDS; f++) {
        worth->twin[f] *= mix->twin * half;
        for (unsigned e = 0; e < NB_STACK_EXPERTS; e++) {
            double sum = mix->groups[e][f] * nb_stack_share(settings, features[f]);
            if (f != NB_FIELD_NGRAM)
                sum += mix->groups[e][NB_STACK_TOTAL] * total;
            worth->stack[e][f] = mix->stack * mix->trust[e] * half * sum;
        }
    }
}

double nb_stack_against_odds(const struct nb_stack_against *a, const struct nb_stack_mix *mix,
                             const struct nb_stack_settings *settings, double bias,
                             double twin_bias)
{
    double stack = bias + a->attributes, t = twin_bias + a->twin_of_attributes;
    double shares[NB_FIELDS];
    nb_stack_evidence_shares(a->features, a->attribute_count, shares);
    for (unsigned field = 0; field < NB_FIELDS; field++)
        t += shares[field] * a->twin[field];
    for (unsigned e = 0; e < settings->two.size; e++) {
        double sum = 0, total = 0;
        for (unsigned field = 0; field < NB_FIELDS; field++) {
            total += field != NB_FIELD_NGRAM ? a->x[e][field] : 0;
            sum += mix->groups[e][field] * a->x[e][field] *
                   nb_stack_share(settings, a->features[field]);
        }
        sum += mix->groups[e][NB_STACK_TOTAL] * total *
               nb_stack_share(settings, a->features[NB_STACK_TOTAL]);
        stack += mix->trust[e] * sum;
    }
    return mix->stack * stack + mix->twin * t;
}

/* ---- learning -------------------------------------------------------------------------------- */

/* Allocates all memory that learning needs, so that it cannot fail half way. */
static int make_attributes_room(struct nb_stack_weights *weights,
                                const struct nb_stack_inputs *inputs, size_t experts)
{
    uint32_t end = 0, count = nb_stack_attribute_count(inputs);
    for (uint32_t place = 0; place < count; place++)
        if (inputs->attributes->present.list[place].number >= end)
            end = inputs->attributes->present.list[place].number + 1;
    if (count == 0)
        return 0;
    int rc = nb_weights_grow(&weights->attributes, (size_t)end * NB_STACK_ATTRIBUTE_PLACES,
                             weights->lock);
    return rc != 0 ? rc : nb_weights_reserve(&weights->attributes, count * experts * 2);
}

static int make_room(struct nb_stack_weights *weights, const struct nb_stack_inputs *inputs)
{
    size_t experts = inputs->count / NB_STACK_GROUPS;
    size_t need = 0;
    assert(experts >= 1 && experts <= NB_STACK_EXPERTS);
    for (uint32_t v = 0; v < inputs->size; v++) {
        size_t end = nb_stack_bias_place(inputs->labels[v] + 1);
        need = end > need ? end : need;
    }
    int rc = nb_scores_grow(&weights->scratch, inputs->size);
    weights->scratch.size = inputs->size;
    if (rc == 0)
        rc = nb_weights_reserve(&weights->shared, experts * NB_STACK_COLUMNS * 2);
    for (unsigned e = 0; rc == 0 && e < experts; e++) {
        rc = nb_weights_grow(&weights->biases[e], need, weights->lock);
        if (rc == 0)
            rc = nb_weights_reserve(&weights->biases[e], (size_t)inputs->size * 2);
    }
    return rc != 0 ? rc : make_attributes_room(weights, inputs, experts);
}

/* Does a step of AdaGrad, with 1 added to the root, so that the first step is no larger than the
 * rate times the gradient. */
static void step(struct nb_weights *w, size_t place, double gradient, double rate)
{
    double squares = w->values[place + 1] + gradient * gradient;
    nb_weights_set(w, place + 1, squares);
    nb_weights_set(w, place, w->values[place] - rate * gradient / (1 + sqrt(squares)));
}

static void learn_attributes(struct nb_stack_weights *weights, const struct nb_stack_inputs *inputs,
                             unsigned e, const double *errors)
{
    unsigned set = nb_stack_set(inputs->size, e);
    uint32_t count = nb_stack_attribute_count(inputs);
    for (uint32_t place = 0; place < count; place++) {
        const double *x = nb_stack_attribute_x(inputs, place, e);
        double gradient = 0;
        for (uint32_t v = 0; v < inputs->size; v++)
            gradient += errors[v] * x[v];
        step(&weights->attributes,
             nb_stack_attribute_place(inputs->attributes->present.list[place].number, set),
             nb_stack_half(inputs->size) * gradient, weights->settings.rate);
    }
}

/* Does an expert's step. `errors` is the gradient of -ln P(label) by s_v, which is P(v), minus 1
 * for the label itself; times the weight of the step. */
static void learn_expert(struct nb_stack_weights *weights, const struct nb_stack_inputs *inputs,
                         unsigned e, const double *errors)
{
    uint32_t size = inputs->size;
    unsigned set = nb_stack_set(size, e);
    assert(set < NB_STACK_SETS);
    const double *x = inputs->x + (size_t)e * NB_STACK_GROUPS * size;
    for (uint32_t g = 0; g < NB_STACK_GROUPS; g++) {
        double gradient = 0;
        if (inputs->features[g] == 0)
            continue;
        for (uint32_t v = 0; v < size; v++)
            gradient += errors[v] * x[(size_t)g * size + v];
        step(&weights->shared, nb_stack_place(set, g), nb_stack_half(size) * gradient,
             weights->settings.rate);
    }
    learn_attributes(weights, inputs, e, errors);
    for (uint32_t v = 0; v < size; v++)
        step(&weights->biases[e], nb_stack_bias_place(inputs->labels[v]), errors[v],
             weights->settings.rate);
}

/* Each expert learns from its own error, as if alone, so that its loss shows its quality. */
static void learn(struct nb_stack_weights *weights, const struct nb_stack_inputs *inputs,
                  uint32_t place, double weight)
{
    double fading = weight / weights->settings.memory;
    struct nb_scores *scratch = &weights->scratch;
    for (unsigned e = 0; e < inputs->count / NB_STACK_GROUPS; e++) {
        score_expert(weights, inputs, e, scratch->log_scores);
        nb_scores_rank(scratch);
        double loss = fmin(-log(scratch->probabilities[place]), NB_STACK_LOSS_MOST);
        size_t at = nb_stack_place(nb_stack_set(inputs->size, e), NB_STACK_LOSS);
        double before = weights->shared.values[at];
        nb_weights_set(&weights->shared, at, (1 - fading) * before + weight * loss);
        scratch->probabilities[place] -= 1;
        for (uint32_t v = 0; v < inputs->size; v++)
            scratch->probabilities[v] *= weight;
        learn_expert(weights, inputs, e, scratch->probabilities);
    }
}

int nb_stack_learn(struct nb_stack_weights *weights, const struct nb_stack_inputs *inputs,
                   uint32_t label, double weight)
{
    assert(inputs->size <= inputs->room);
    assert(weight > 0 && weight <= 1);
    uint32_t place = 0;
    while (place < inputs->size && inputs->labels[place] != label)
        place++;
    if (inputs->size < 2 || place == inputs->size)
        return 0;
    if (nb_stack_is_of_other_settings(weights, inputs))
        return NB_CORRUPT;
    if (make_room(weights, inputs) != 0)
        return NB_NO_MEMORY;
    nb_lock_write(weights->lock);
    learn(weights, inputs, place, weight);
    nb_lock_release(weights->lock);
    return 0;
}

/* ---- taking a step back ---------------------------------------------------------------------- */

/* The inverse of `step`, if the gradient is that of the weights before it. */
static void step_back(struct nb_weights *w, size_t place, double gradient, double rate)
{
    double squares = w->values[place + 1];
    nb_weights_set(w, place, w->values[place] + rate * gradient / (1 + sqrt(squares)));
    nb_weights_set(w, place + 1, fmax(0, squares - gradient * gradient));
}

/* One input of a document: where its weight is, and its value for each label. */
struct input {
    struct nb_weights *weights;
    size_t place;
    const double *x;
};

/* Lists the groups and attributes of a document for an expert. Returns their number. */
static size_t list_inputs(struct nb_stack_weights *weights, const struct nb_stack_inputs *inputs,
                          unsigned e, struct input list[NB_STACK_GROUPS + NB_ATTRIBUTES_MOST])
{
    unsigned set = nb_stack_set(inputs->size, e);
    uint32_t attributes = nb_stack_attribute_count(inputs);
    size_t count = 0;
    for (uint32_t g = 0; g < NB_STACK_GROUPS; g++)
        if (inputs->features[g] != 0)
            list[count++] =
                (struct input){&weights->shared, nb_stack_place(set, g),
                               inputs->x + ((size_t)e * NB_STACK_GROUPS + g) * inputs->size};
    for (uint32_t i = 0; i < attributes; i++)
        list[count++] = (struct input){
            &weights->attributes,
            nb_stack_attribute_place(inputs->attributes->present.list[i].number, set),
            nb_stack_attribute_x(inputs, i, e)};
    return count;
}

static double gradient_of(const struct nb_stack_inputs *inputs, const struct input *input,
                          const double *errors)
{
    double sum = 0;
    for (uint32_t v = 0; v < inputs->size; v++)
        sum += errors[v] * input->x[v];
    return nb_stack_half(inputs->size) * sum;
}

/* Adds to `scores` what a step with these errors took from them. */
static void add_step(const struct nb_stack_weights *weights, const struct nb_stack_inputs *inputs,
                     unsigned e, const struct input *list, size_t count, const double *errors,
                     double *scores)
{
    double rate = weights->settings.rate;
    for (size_t i = 0; i < count; i++) {
        double squares = list[i].weights->values[list[i].place + 1];
        double change = rate * gradient_of(inputs, &list[i], errors) / (1 + sqrt(squares));
        for (uint32_t v = 0; v < inputs->size; v++)
            scores[v] += nb_stack_half(inputs->size) * change * list[i].x[v];
    }
    for (uint32_t v = 0; v < inputs->size; v++) {
        double squares = weights->biases[e].values[nb_stack_bias_place(inputs->labels[v]) + 1];
        scores[v] += rate * errors[v] / (1 + sqrt(squares));
    }
}

/* Takes an expert's step back. `room` has place for three numbers for each label. */
static void unlearn_expert(struct nb_stack_weights *weights, const struct nb_stack_inputs *inputs,
                           unsigned e, uint32_t place, double weight, double *room)
{
    uint32_t size = inputs->size;
    struct nb_scores *scratch = &weights->scratch;
    double *now = room, *then = room + size, *errors = room + (size_t)2 * size;
    struct input list[NB_STACK_GROUPS + NB_ATTRIBUTES_MOST];
    size_t count = list_inputs(weights, inputs, e, list);
    double loss = 0;
    score_expert(weights, inputs, e, now);
    memcpy(scratch->log_scores, now, size * sizeof *now);
    for (unsigned round = nb_stack_rounds(size); round > 0; round--) {
        nb_scores_rank(scratch);
        loss = fmin(-log(scratch->probabilities[place]), NB_STACK_LOSS_MOST);
        for (uint32_t v = 0; v < size; v++)
            errors[v] = weight * (scratch->probabilities[v] - (v == place));
        memcpy(then, now, size * sizeof *then);
        add_step(weights, inputs, e, list, count, errors, then);
        for (uint32_t v = 0; v < size; v++)
            scratch->log_scores[v] = (scratch->log_scores[v] + then[v]) / 2;
    }
    for (size_t i = 0; i < count; i++)
        step_back(list[i].weights, list[i].place, gradient_of(inputs, &list[i], errors),
                  weights->settings.rate);
    for (uint32_t v = 0; v < size; v++)
        step_back(&weights->biases[e], nb_stack_bias_place(inputs->labels[v]), errors[v],
                  weights->settings.rate);
    size_t at = nb_stack_place(nb_stack_set(size, e), NB_STACK_LOSS);
    double fading = weight / weights->settings.memory;
    nb_weights_set(&weights->shared, at,
                   fmax(0, (weights->shared.values[at] - weight * loss) / (1 - fading)));
}

int nb_stack_experts_unlearn_room(struct nb_stack_weights *weights,
                                  const struct nb_stack_inputs *inputs)
{
    return make_room(weights, inputs);
}

void nb_stack_experts_unlearn(struct nb_stack_weights *weights,
                              const struct nb_stack_inputs *inputs, uint32_t place, double weight,
                              double *room)
{
    for (unsigned e = 0; e < inputs->count / NB_STACK_GROUPS; e++)
        unlearn_expert(weights, inputs, e, place, weight, room);
}
