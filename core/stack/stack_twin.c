/* SPDX-License-Identifier: Apache-2.0
 *
 * How the twin learns. core/stack/stack_weights.c has what it adds to the scores.
 *
 * With two labels there is one column, for the second label's score minus the first's: t and d of
 * the first are 0, and the formulas are those of logistic regression.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/system.h"
#include "core/stack/stack_attributes.h"
#include "core/stack/stack_private.h"

/* Measured on 20 Newsgroups, R8, SpamAssassin's corpus, Enron 1 and 2, and SMS. */
static const double RATE = 0.35;           /* step of u */
static const double ROOT = 0.01;           /* added to the root of u's squares: large first steps */
static const double RATE_BIAS = 0.05;      /* step of d */
static const double RATE_SHARPNESS = 0.03; /* step of c, which stays within these bounds: */
static const double RATE_SURENESS = 0.1;   /* step of h */
static const double LEAST_SHARPNESS = 0.2, MOST_SHARPNESS = 3;
static const double NOISE = 0.1;     /* share of labels that may be wrong: the loss is bounded */
static const double SETTLED = 0.005; /* 1 - P(label) below which a document teaches nothing */

/* ---- one step -------------------------------------------------------------------------------- */

struct step {
    struct nb_stack_weights *weights;
    const struct nb_stack_inputs *inputs;
    uint32_t place; /* of the label */
    double weight;
};

static double loss_of(const struct step *s, double probability)
{
    return -log((1 - NOISE) * probability + NOISE / s->inputs->size);
}

static void fade_in(const struct step *s, size_t place, double loss)
{
    struct nb_weights *w = &s->weights->twin;
    double before = w->values[place];
    nb_weights_set(w, place,
                   (1 - s->weight / s->weights->settings.memory) * before + s->weight * loss);
}

/* Sets `scores` to the stack's scores; with two labels the second gets their difference. */
static void take_scores(const struct step *s, double *scores)
{
    uint32_t size = s->inputs->size;
    nb_stack_base_scores(s->weights, s->inputs, scores, s->weights->scratch.probabilities);
    if (size == 2) {
        scores[1] -= scores[0];
        scores[0] = 0;
    }
}

/* More than two labels: learns h (core/bayes/scorer.h) from the stack's scores, by AdaGrad on
 * -ln P(winner) if the label is the winner, else -ln(1 - P(winner)). `scores` are overwritten. With
 * `far` the mean score of the others below the winner's, by their probabilities, and `clarity` as
 * nb_scores_clarity, the gradients are (P(winner) - [winner is the label]) k far (1, clarity). */
static void learn_sureness(const struct step *s, struct nb_scores *scores)
{
    struct nb_stack_twin_part part = nb_stack_twin_part(s->weights);
    struct nb_weights *w = &s->weights->twin;
    double h[2] = {nb_stack_sureness(s->weights, 0), nb_stack_sureness(s->weights, 1)};
    double others = 0, far = 0;
    for (uint32_t v = 0; v < s->inputs->size; v++)
        scores->log_scores[v] =
            part.stack * scores->log_scores[v] +
            part.twin * (s->inputs->t[v] +
                         nb_stack_twin_bias(s->weights, s->inputs->labels, s->inputs->size, v));
    nb_scores_rank(scores);
    double clarity = nb_scores_clarity(scores);
    double factor = exp(h[0] + h[1] * clarity);
    for (uint32_t v = 0; v < s->inputs->size; v++)
        scores->log_scores[v] *= factor;
    nb_scores_rank(scores);
    for (uint32_t v = 0; v < s->inputs->size; v++) {
        double below = scores->log_scores[scores->best] - scores->log_scores[v];
        others += v != scores->best ? scores->probabilities[v] : 0;
        far += scores->probabilities[v] * below;
    }
    if (!(others > 0))
        return; /* the probabilities of all others were rounded to 0 */
    double error = scores->best == s->place ? -others : 1 - others;
    for (size_t i = 0; i < 2; i++) {
        size_t at = NB_STACK_SURENESS + 2 * i;
        double gradient = s->weight * error * far / others * (i == 0 ? 1 : clarity);
        double squares = w->values[at + 1] + gradient * gradient;
        nb_weights_set(w, at + 1, squares);
        nb_weights_set(w, at, h[i] - RATE_SURENESS * gradient / (1 + sqrt(squares)));
    }
}

/* Turns the stack's scores into those with the twin; updates both losses and c. */
static void learn_mixture(const struct step *s)
{
    struct nb_weights *w = &s->weights->twin;
    struct nb_scores *scores = &s->weights->scratch;
    double c = w->values[NB_STACK_SHARPNESS];
    double q = 0;
    nb_scores_rank(scores);
    fade_in(s, NB_STACK_BASE_LOSS, loss_of(s, scores->probabilities[s->place]));
    for (uint32_t v = 0; v < s->inputs->size; v++) {
        scores->log_scores[v] +=
            s->inputs->t[v] + nb_stack_twin_bias(s->weights, s->inputs->labels, scores->size, v);
        scores->log_scores[v] *= c;
    }
    nb_scores_rank(scores);
    fade_in(s, NB_STACK_TWIN_LOSS, loss_of(s, scores->probabilities[s->place]));
    for (uint32_t v = 0; v < s->inputs->size; v++) {
        scores->log_scores[v] /= c;
        q += (scores->probabilities[v] - (v == s->place)) * scores->log_scores[v];
    }
    q *= s->weight;
    double squares = w->values[NB_STACK_SHARPNESS_SQUARES] + q * q;
    c -= RATE_SHARPNESS * q / (1 + sqrt(squares));
    nb_weights_set(w, NB_STACK_SHARPNESS_SQUARES, squares);
    nb_weights_set(w, NB_STACK_SHARPNESS, fmin(fmax(c, LEAST_SHARPNESS), MOST_SHARPNESS));
}

/* Sets the errors e_v by column; with two labels only that of the second. */
static void put_errors(const struct step *s, double *errors)
{
    const struct nb_stack_evidence *evidence = s->inputs->evidence;
    const double *p = s->weights->scratch.probabilities;
    double right = (1 - NOISE) * p[s->place];
    double factor = s->weight * right / (right + NOISE / s->inputs->size);
    for (uint32_t v = 0; v < evidence->columns; v++)
        errors[v] = 0;
    for (uint32_t v = 0; v < s->inputs->size; v++) {
        uint32_t column = evidence->columns == 1 ? 0 : s->inputs->labels[v];
        errors[column] = (p[v] - (v == s->place)) * factor;
    }
}

/* Sums the errors for evidence that every label has: the sum of e_v, and for each field that of e_v
 * times the offset. */
static void sum_errors(const struct step *s, double *sum, double by_field[NB_FIELDS])
{
    const struct nb_stack_evidence *evidence = s->inputs->evidence;
    *sum = 0;
    for (uint32_t v = 0; v < evidence->columns; v++)
        *sum += evidence->errors[v];
    for (unsigned field = 0; field < NB_FIELDS; field++) {
        const double *offsets = evidence->offsets + (size_t)field * evidence->columns;
        by_field[field] = 0;
        if (evidence->columns == 1 || (evidence->fields >> field & 1u) == 0)
            continue;
        for (uint32_t v = 0; v < evidence->columns; v++)
            by_field[field] += evidence->errors[v] * offsets[v];
    }
}

static inline __attribute__((always_inline)) void learn_slot(struct nb_slots *slots, uint32_t key,
                                                             double gradient)
{
    uint32_t slot = nb_slots_of(slots, key);
    double squares = (double)slots->table.squares[slot] + gradient * gradient;
    double u = (double)slots->table.values[slot] - RATE * gradient / (ROOT + sqrt(squares));
    nb_slots_set(slots, slot, (float)u, (float)squares);
}

/* The inverse of learn_slot, if the gradient is that of the slots before it. */
static void unlearn_slot(struct nb_slots *slots, uint32_t key, double gradient)
{
    uint32_t slot = nb_slots_of(slots, key);
    double squares = (double)slots->table.squares[slot];
    double u = (double)slots->table.values[slot] + RATE * gradient / (ROOT + sqrt(squares));
    nb_slots_set(slots, slot, (float)u, (float)fmax(0, squares - gradient * gradient));
}

static inline __attribute__((always_inline)) void learn_features(const struct step *s, bool back)
{
    enum { AHEAD = 16 }; /* prefetch distance: slots are scattered */
    const struct nb_stack_evidence *evidence = s->inputs->evidence;
    const struct nb_slots *slots = &s->weights->slots;
    double shares[NB_FIELDS], by_field[NB_FIELDS], sum;
    size_t cell = 0;
    nb_stack_evidence_shares(s->inputs->features, nb_stack_attribute_count(s->inputs), shares);
    sum_errors(s, &sum, by_field);
    for (size_t i = 0; i < AHEAD && i < evidence->term_count; i++)
        nb_slots_expect(slots, evidence->terms[i].key);
    for (size_t i = 0; i < evidence->term_count; i++) {
        const struct nb_stack_term *term = &evidence->terms[i];
        if (i + AHEAD < evidence->term_count)
            nb_slots_expect(slots, term[AHEAD].key);
        double gradient = sum * term->gain - by_field[term->field];
        if (cell < term->end)
            gradient += nb_stack_evidence_gradient(evidence, term, cell);
        cell = term->end;
        if (back)
            unlearn_slot(&s->weights->slots, term->key, shares[term->field] * gradient);
        else
            learn_slot(&s->weights->slots, term->key, shares[term->field] * gradient);
    }
}

static void learn_values(const struct step *s, bool back)
{
    const struct nb_stack_attributes *a = s->inputs->attributes;
    for (size_t i = 0; a != NULL && i < a->size; i++) {
        const struct nb_stack_value *value = &a->values[i];
        if (!value->says || nb_feature_is_number(value->id))
            continue;
        double share = nb_stack_attribute_share(s->inputs, value->place);
        (back ? unlearn_slot : learn_slot)(&s->weights->slots, (uint32_t)value->id,
                                           share * nb_stack_value_gradient(s->inputs, i));
    }
}

static void learn_biases(const struct step *s)
{
    struct nb_weights *w = &s->weights->twin_biases;
    for (uint32_t v = s->inputs->size == 2 ? 1 : 0; v < s->inputs->size; v++) {
        uint32_t label = s->inputs->labels[v];
        size_t at = nb_stack_bias_place(label);
        double e = s->inputs->evidence->errors[s->inputs->size == 2 ? 0 : label];
        double squares = w->values[at + 1] + e * e;
        nb_weights_set(w, at + 1, squares);
        nb_weights_set(w, at, w->values[at] - RATE_BIAS * e / (1 + sqrt(squares)));
    }
}

/* Allocates all memory that the first part of the step needs, so that it cannot fail half way. */
static int make_room(struct nb_stack_weights *weights, const struct nb_stack_inputs *inputs)
{
    int rc = nb_scores_grow(&weights->scratch, inputs->size);
    weights->scratch.size = inputs->size;
    return rc != 0 ? rc : nb_weights_reserve(&weights->twin, NB_STACK_TWIN_PLACES);
}

/* As make_room, for the part that learns features. */
static int make_features_room(struct nb_stack_weights *weights,
                              const struct nb_stack_inputs *inputs)
{
    const struct nb_stack_evidence *evidence = inputs->evidence;
    size_t slots = evidence->term_count;
    size_t places = 0;
    if (inputs->attributes != NULL)
        slots += inputs->attributes->size;
    for (uint32_t v = 0; v < inputs->size; v++) {
        size_t end = nb_stack_bias_place(inputs->labels[v] + 1);
        places = end > places ? end : places;
    }
    int rc = nb_weights_grow(&weights->twin_biases, places, weights->lock);
    if (rc == 0)
        rc = nb_weights_reserve(&weights->twin_biases, (size_t)inputs->size * 2);
    if (rc == 0)
        rc = nb_slots_grow(&weights->slots, evidence->features, weights->lock);
    return rc != 0 ? rc : nb_slots_reserve(&weights->slots, slots);
}

/* Does the first part of a step, under the weights' lock. Returns whether the document teaches
 * features. */
static bool weigh(const struct step *s)
{
    struct nb_scores *scores = &s->weights->scratch;
    if (s->inputs->size > 2) {
        take_scores(s, scores->log_scores);
        learn_sureness(s, scores);
    }
    take_scores(s, scores->log_scores);
    learn_mixture(s);
    nb_scores_rank(scores);
    return 1 - scores->probabilities[s->place] >= SETTLED;
}

/* Does the second part of a step, under the weights' lock, with the probabilities from weigh. */
static void learn(const struct step *s)
{
    put_errors(s, s->inputs->evidence->errors);
    learn_features(s, false);
    learn_values(s, false);
    learn_biases(s);
}

/* Prepares a step. Returns whether there is a step to do. */
static bool begin(struct step *s, struct nb_stack_weights *weights,
                  const struct nb_stack_inputs *inputs, uint32_t label, double weight)
{
    *s = (struct step){.weights = weights, .inputs = inputs, .weight = weight};
    assert(weight > 0 && weight <= 1);
    while (s->place < inputs->size && inputs->labels[s->place] != label)
        s->place++;
    return inputs->size >= 2 && s->place < inputs->size;
}

int nb_stack_twin_weigh(struct nb_stack_weights *weights, const struct nb_stack_inputs *inputs,
                        uint32_t label, double weight, bool *teaches)
{
    struct step s;
    *teaches = false;
    if (!begin(&s, weights, inputs, label, weight) || !inputs->has_twin)
        return 0;
    if (nb_stack_is_of_other_settings(weights, inputs))
        return NB_CORRUPT;
    if (make_room(weights, inputs) != 0)
        return NB_NO_MEMORY;
    nb_lock_write(weights->lock);
    *teaches = weigh(&s);
    nb_lock_release(weights->lock);
    return 0;
}

int nb_stack_twin_learn_features(struct nb_stack_weights *weights,
                                 const struct nb_stack_inputs *inputs, uint32_t label,
                                 double weight)
{
    struct step s;
    bool is_step = begin(&s, weights, inputs, label, weight);
    assert(is_step && inputs->is_kept && weights->scratch.size == inputs->size);
    if (!is_step || make_features_room(weights, inputs) != 0)
        return NB_NO_MEMORY;
    nb_lock_write(weights->lock);
    learn(&s);
    nb_lock_release(weights->lock);
    return 0;
}

int nb_stack_twin_learn(struct nb_stack_weights *weights, const struct nb_stack_inputs *inputs,
                        uint32_t label, double weight)
{
    bool teaches;
    if (!inputs->is_kept)
        return 0;
    if (make_features_room(weights, inputs) != 0)
        return NB_NO_MEMORY;
    int rc = nb_stack_twin_weigh(weights, inputs, label, weight, &teaches);
    return rc != 0 || !teaches ? rc : nb_stack_twin_learn_features(weights, inputs, label, weight);
}

bool nb_stack_twin_keeps(const struct nb_stack_weights *weights, uint32_t labels,
                         uint64_t documents)
{
    enum { FEW_LABELS = 32 };
    const double most = 0.2; /* mean loss of a document; that of a certain, right verdict is .105 */
    double memory = weights->settings.memory;
    double all = memory * (1 - pow(1 - 1 / memory, (double)documents));
    return labels <= FEW_LABELS || nb_weights_at(&weights->twin, NB_STACK_TWIN_LOSS) > most * all;
}

/* ---- a step back ----------------------------------------------------------------------------- */

/* Adds to `t`, by the label's place, what the values of attributes took from it. */
static void add_values(const struct step *s, double *t)
{
    const struct nb_stack_attributes *a = s->inputs->attributes;
    uint32_t columns = s->inputs->evidence->columns;
    for (size_t i = 0; a != NULL && i < a->size; i++) {
        const struct nb_stack_value *value = &a->values[i];
        if (!value->says || nb_feature_is_number(value->id))
            continue;
        const struct nb_slots *slots = &s->weights->slots;
        double share = nb_stack_attribute_share(s->inputs, value->place);
        double squares = (double)slots->table.squares[nb_slots_of(slots, value->id)];
        double change =
            share * RATE * share * nb_stack_value_gradient(s->inputs, i) / (ROOT + sqrt(squares));
        for (uint32_t v = columns == 1; v < s->inputs->size; v++)
            t[v] += change * (columns == 1 ? -a->r[i] : a->r[i * columns + s->inputs->labels[v]]);
    }
}

/* Adds to `t`, by the label's place, what a step with the errors of the evidence took from it.
 * `columns` has room for a number for each column of the evidence. */
static void add_step(const struct step *s, double *t, double *columns)
{
    const struct nb_stack_evidence *e = s->inputs->evidence;
    const struct nb_slots *slots = &s->weights->slots;
    double shares[NB_FIELDS], by_field[NB_FIELDS], changes[NB_FIELDS] = {0}, sum, common = 0;
    size_t cell = 0;
    nb_stack_evidence_shares(s->inputs->features, nb_stack_attribute_count(s->inputs), shares);
    sum_errors(s, &sum, by_field);
    memset(columns, 0, e->columns * sizeof *columns);
    for (size_t i = 0; i < e->term_count; i++) {
        const struct nb_stack_term *term = &e->terms[i];
        double gradient = sum * term->gain - by_field[term->field];
        if (cell < term->end)
            gradient += nb_stack_evidence_gradient(e, term, cell);
        double squares = (double)slots->table.squares[nb_slots_of(slots, term->key)];
        double share = shares[term->field];
        double change = share * RATE * share * gradient / (ROOT + sqrt(squares));
        changes[term->field] += change;
        common += change * term->gain;
        for (size_t at = cell; at < term->end; at++)
            columns[term->is_dense ? at - cell : e->cell_labels[at]] +=
                change * (e->cell_gains[at] - (term->is_dense ? term->gain : 0));
        cell = term->end;
    }
    for (uint32_t v = 0; v < s->inputs->size; v++) {
        uint32_t column = e->columns == 1 ? 0 : s->inputs->labels[v];
        if (e->columns == 1 && v == 0)
            continue;
        t[v] += common + columns[column];
        for (unsigned field = 0; e->columns > 1 && field < NB_FIELDS; field++)
            if ((e->fields >> field & 1u) != 0)
                t[v] -= changes[field] * e->offsets[(size_t)field * e->columns + column];
        size_t bias = nb_stack_bias_place(s->inputs->labels[v]) + 1;
        t[v] += RATE_BIAS * e->errors[column] /
                (1 + sqrt(nb_weights_at(&s->weights->twin_biases, bias)));
    }
    add_values(s, t);
}

static void unlearn_biases(const struct step *s)
{
    struct nb_weights *w = &s->weights->twin_biases;
    for (uint32_t v = s->inputs->size == 2 ? 1 : 0; v < s->inputs->size; v++) {
        uint32_t label = s->inputs->labels[v];
        size_t at = nb_stack_bias_place(label);
        double e = s->inputs->evidence->errors[s->inputs->size == 2 ? 0 : label];
        double squares = w->values[at + 1];
        nb_weights_set(w, at, w->values[at] + RATE_BIAS * e / (1 + sqrt(squares)));
        nb_weights_set(w, at + 1, fmax(0, squares - e * e));
    }
}

static void fade_out(const struct step *s, size_t place, double loss)
{
    double before = s->weights->twin.values[place] - s->weight * loss;
    nb_weights_set(&s->weights->twin, place,
                   fmax(0, before / (1 - s->weight / s->weights->settings.memory)));
}

/* The inverse of learn_mixture. `scores`: with the twin, before the step; `base`: of the stack. */
static void unlearn_mixture(const struct step *s, const double *base, const double *both)
{
    struct nb_weights *w = &s->weights->twin;
    struct nb_scores *scores = &s->weights->scratch;
    double after = w->values[NB_STACK_SHARPNESS], c = after, q = 0;
    double squares = w->values[NB_STACK_SHARPNESS_SQUARES];
    memcpy(scores->log_scores, base, s->inputs->size * sizeof *base);
    nb_scores_rank(scores);
    fade_out(s, NB_STACK_BASE_LOSS, loss_of(s, scores->probabilities[s->place]));
    for (unsigned round = nb_stack_rounds(s->inputs->size); round > 0; round--) {
        for (uint32_t v = 0; v < s->inputs->size; v++)
            scores->log_scores[v] = c * both[v];
        nb_scores_rank(scores);
        q = 0;
        for (uint32_t v = 0; v < s->inputs->size; v++)
            q += (scores->probabilities[v] - (v == s->place)) * both[v];
        q *= s->weight;
        c = fmin(fmax(after + RATE_SHARPNESS * q / (1 + sqrt(squares)), LEAST_SHARPNESS),
                 MOST_SHARPNESS);
    }
    fade_out(s, NB_STACK_TWIN_LOSS, loss_of(s, scores->probabilities[s->place]));
    nb_weights_set(w, NB_STACK_SHARPNESS, c);
    nb_weights_set(w, NB_STACK_SHARPNESS_SQUARES, fmax(0, squares - q * q));
}

static int make_unlearning_room(struct nb_stack_weights *weights,
                                const struct nb_stack_inputs *inputs)
{
    int rc = inputs->is_kept ? make_room(weights, inputs) : 0;
    return rc != 0 || !inputs->is_kept ? rc : make_features_room(weights, inputs);
}

/* Takes the twin's step back, after those of the stack, under the lock. `room` has place for three
 * numbers for each label, and one for each column of the evidence. */
static void unlearn(const struct step *s, double *room)
{
    const struct nb_stack_inputs *inputs = s->inputs;
    struct nb_scores *scores = &s->weights->scratch;
    uint32_t size = inputs->size;
    double *base = room, *now = room + size, *then = room + (size_t)2 * size;
    double *columns = then + size, slope = 0;
    bool is_line = inputs->evidence->columns == 1;
    if (is_line) { /* the changes are proportional to the one error */
        inputs->evidence->errors[0] = 1;
        then[1] = 0;
        add_step(s, then, columns);
        slope = then[1];
    }
    take_scores(s, scores->log_scores);
    memcpy(base, scores->log_scores, size * sizeof *base);
    for (uint32_t v = 0; v < size; v++)
        now[v] = scores->log_scores[v] +=
            inputs->t[v] + nb_stack_twin_bias(s->weights, inputs->labels, size, v);
    for (unsigned round = nb_stack_rounds(size); round > 0; round--) {
        nb_scores_rank(scores);
        put_errors(s, inputs->evidence->errors);
        memcpy(then, now, size * sizeof *then);
        if (is_line)
            then[1] += slope * inputs->evidence->errors[0];
        else
            add_step(s, then, columns);
        for (uint32_t v = 0; v < size; v++)
            scores->log_scores[v] = (scores->log_scores[v] + then[v]) / 2;
    }
    nb_scores_rank(scores);
    bool taught = 1 - scores->probabilities[s->place] >= SETTLED;
    memcpy(then, taught ? scores->log_scores : now, size * sizeof *then);
    unlearn_mixture(s, base, then);
    if (!taught)
        return;
    learn_features(s, true);
    learn_values(s, true);
    unlearn_biases(s);
}

int nb_stack_unlearn(struct nb_stack_weights *weights, const struct nb_stack_inputs *inputs,
                     uint32_t label, double weight)
{
    struct step s;
    if (!begin(&s, weights, inputs, label, weight))
        return 0;
    if (nb_stack_is_of_other_settings(weights, inputs))
        return NB_CORRUPT;
    size_t columns = inputs->is_kept ? inputs->evidence->columns : 0;
    double *room = malloc(((size_t)3 * inputs->size + columns) * sizeof *room);
    int rc = room == NULL ? NB_NO_MEMORY : nb_stack_experts_unlearn_room(weights, inputs);
    if (rc == 0)
        rc = make_unlearning_room(weights, inputs);
    if (rc == 0) {
        nb_lock_write(weights->lock);
        nb_stack_experts_unlearn(weights, inputs, s.place, weight, room);
        if (inputs->is_kept)
            unlearn(&s, room);
        nb_lock_release(weights->lock);
    }
    free(room);
    return rc;
}

/* ---- from other weights ---------------------------------------------------------------------- */

static int copy_places(struct nb_weights *to, const struct nb_weights *from)
{
    int rc = nb_weights_grow(to, nb_weights_places(from), NULL);
    if (rc == 0 && from->ranges != 0)
        memcpy(to->values, from->values, nb_weights_places(from) * sizeof *to->values);
    return rc;
}

struct nb_stack_weights *nb_stack_weights_with_new_twin(const struct nb_stack_weights *weights)
{
    struct nb_stack_weights *copy = nb_stack_weights_new(&weights->settings);
    int rc = copy == NULL ? NB_NO_MEMORY : copy_places(&copy->shared, &weights->shared);
    for (unsigned e = 0; rc == 0 && e < NB_STACK_EXPERTS; e++)
        rc = copy_places(&copy->biases[e], &weights->biases[e]);
    if (rc == 0)
        rc = copy_places(&copy->attributes, &weights->attributes);
    for (size_t i = NB_STACK_SURENESS; rc == 0 && i < NB_STACK_TWIN_PLACES; i++)
        copy->twin.values[i] = nb_weights_at(&weights->twin, i);
    if (rc != 0 && copy != NULL)
        nb_stack_weights_free(&copy);
    return copy;
}

int nb_stack_twin_room(struct nb_stack_weights *weights, const struct nb_stack_weights *from)
{
    size_t places = nb_weights_places(&from->twin_biases);
    int rc = nb_weights_reserve(&weights->twin, NB_STACK_TWIN_PLACES);
    if (rc == 0)
        rc = nb_weights_grow(&weights->twin_biases, places, weights->lock);
    return rc != 0 ? rc
                   : nb_weights_reserve(&weights->twin_biases,
                                        nb_weights_places(&weights->twin_biases));
}

int nb_stack_twin_take(struct nb_stack_weights *weights, struct nb_stack_weights *from)
{
    int rc = nb_slots_take(&weights->slots, &from->slots);
    for (size_t i = 0; rc == 0 && i < NB_STACK_TWIN_PLACES; i++)
        nb_weights_set(&weights->twin, i, from->twin.values[i]);
    for (size_t i = 0; rc == 0 && i < nb_weights_places(&weights->twin_biases); i++)
        nb_weights_set(&weights->twin_biases, i, nb_weights_at(&from->twin_biases, i));
    return rc;
}
