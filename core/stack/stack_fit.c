/* SPDX-License-Identifier: Apache-2.0 */
#include "core/stack/stack_fit.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/system.h"
#include "core/stack/stack_attributes.h"
#include "core/stack/stack_private.h"

/* ---- samples --------------------------------------------------------------------------------- */

_Static_assert((int)NB_STACK_GROUPS <= 32, "a bit for each group");
_Static_assert((int)NB_ATTRIBUTES_MOST <= UINT8_MAX + 1, "a byte for the number of an attribute");

/* The leave-one-out inputs of many documents, kept until the fit has learned from them: about 20
 * bytes for each label and each field of a document.
 *
 * For each document: the inputs of the groups that it has, [group][expert][column], then those of
 * its attributes in the same layout. With two labels the second column is the negative of the first
 * and is left out. */
struct sample {
    size_t first; /* index in `values` */
    uint32_t label;
    uint32_t groups;        /* bits 1u << group: groups that it has */
    size_t first_attribute; /* index in `attributes` */
    uint32_t attributes;    /* number of attributes that it has */
};

struct samples {
    struct nb_stack_inputs inputs; /* of the current sample; `labels` is the same for all samples */
    uint32_t *places;    /* owned; for each of these labels, its place in the inputs being added */
    struct sample *list; /* owned */
    size_t size, room;
    double *values; /* owned; of all samples */
    size_t value_count, value_room;
    uint8_t *attributes; /* owned; of all samples: attribute numbers */
    size_t attribute_count, attribute_room;
};

static void samples_init(struct samples *s)
{
    *s = (struct samples){.size = 0};
    nb_stack_inputs_init(&s->inputs);
}

static void samples_deinit(struct samples *s)
{
    nb_stack_inputs_deinit(&s->inputs);
    free(s->list);
    free(s->values);
    free(s->attributes);
    free(s->places);
}

static size_t samples_memory(const struct samples *s)
{
    return s->room * sizeof *s->list + s->value_room * sizeof *s->values + s->attribute_room;
}

/* Returns the number of experts in the inputs; 0: there are no inputs yet. */
static unsigned samples_experts(const struct samples *s)
{
    return s->inputs.count / NB_STACK_GROUPS;
}

static uint32_t columns_of(const struct samples *s)
{
    return s->inputs.size == 2 ? 1 : s->inputs.size;
}

static int begin_labels(struct samples *s, const struct nb_stack_inputs *inputs)
{
    struct nb_stack_inputs *own = &s->inputs;
    if (nb_stack_inputs_room(own, inputs->size) != 0 ||
        nb_array_resize(&s->places, inputs->size, sizeof *s->places) != 0)
        return NB_NO_MEMORY;
    own->size = inputs->size;
    own->count = inputs->count;
    memcpy(own->labels, inputs->labels, own->size * sizeof *own->labels);
    for (uint32_t v = 0; v < own->size; v++)
        s->places[v] = v;
    return 0;
}

/* The first document determines the labels. With more than two, later documents may have further
 * labels, which are ignored. */
static int take_labels(struct samples *s, const struct nb_stack_inputs *inputs)
{
    const struct nb_stack_inputs *own = &s->inputs;
    uint32_t at = 0;
    if (s->size == 0)
        return begin_labels(s, inputs);
    if (own->count != inputs->count || (own->size <= 2 && inputs->size != own->size))
        return NB_CONFLICT;
    for (uint32_t v = 0; v < own->size; v++) {
        while (at < inputs->size && inputs->labels[at] != own->labels[v])
            at++;
        if (at == inputs->size)
            return NB_CONFLICT;
        s->places[v] = at++;
    }
    return 0;
}

/* Appends one input of the samples' labels to `values`. */
static void put_input(struct samples *s, const double *x)
{
    uint32_t columns = columns_of(s);
    double *to = s->values + s->value_count;
    for (uint32_t v = 0; v < columns; v++)
        to[v] = x[s->places[v]];
    s->value_count += columns;
}

static void put_attributes(struct samples *s, const struct nb_stack_inputs *inputs,
                           struct sample *sample)
{
    sample->first_attribute = s->attribute_count;
    sample->attributes = nb_stack_attribute_count(inputs);
    for (uint32_t place = 0; place < sample->attributes; place++) {
        uint32_t number = inputs->attributes->present.list[place].number;
        s->attributes[s->attribute_count++] = (uint8_t)number;
        for (unsigned e = 0; e < samples_experts(s); e++)
            put_input(s, nb_stack_attribute_x(inputs, place, e));
    }
}

static void put_values(struct samples *s, const struct nb_stack_inputs *inputs,
                       struct sample *sample)
{
    for (uint32_t g = 0; g < NB_STACK_GROUPS; g++) {
        if (inputs->features[g] == 0)
            continue;
        sample->groups |= 1u << g;
        for (unsigned e = 0; e < samples_experts(s); e++)
            put_input(s, inputs->x + (size_t)(e * NB_STACK_GROUPS + g) * inputs->size);
    }
    put_attributes(s, inputs, sample);
    assert(s->value_count <= s->value_room);
}

/* Copies the inputs of a document, as nb_stack_fit_add. */
static int samples_add(struct samples *s, const struct nb_stack_inputs *inputs, uint32_t label)
{
    int rc = take_labels(s, inputs);
    if (rc != 0)
        return rc;
    uint32_t attributes = nb_stack_attribute_count(inputs);
    size_t each = (size_t)columns_of(s) * samples_experts(s);
    size_t most = s->value_count + each * (NB_STACK_GROUPS + attributes);
    if (nb_array_reserve(&s->attributes, &s->attribute_room, s->attribute_count + attributes,
                         sizeof *s->attributes) != 0 ||
        nb_array_reserve(&s->list, &s->room, s->size + 1, sizeof *s->list) != 0 ||
        nb_array_reserve(&s->values, &s->value_room, most, sizeof *s->values) != 0)
        return NB_NO_MEMORY;
    struct sample *sample = &s->list[s->size++];
    *sample = (struct sample){.first = s->value_count, .label = label};
    put_values(s, inputs, sample);
    return 0;
}

/* Sets the attributes of the inputs from a sample; their values begin at `from`. */
static int take_attributes(struct samples *s, const struct sample *sample, const double *from)
{
    struct nb_stack_inputs *in = &s->inputs;
    uint32_t columns = columns_of(s);
    nb_stack_attributes_empty(in);
    if (nb_stack_attributes_room(in, sample->attributes, samples_experts(s)) != 0)
        return NB_NO_MEMORY;
    for (uint32_t place = 0; place < sample->attributes; place++) {
        uint32_t number = s->attributes[sample->first_attribute + place];
        in->attributes->present.list[in->attributes->present.count++] =
            (struct nb_present_attribute){.number = number, .features = 1};
        for (unsigned e = 0; e < samples_experts(s); e++, from += columns) {
            double *x = nb_stack_attribute_x(in, place, e);
            memcpy(x, from, columns * sizeof *x);
            if (in->size == 2)
                x[1] = -x[0];
        }
    }
    return 0;
}

/* Puts a sample into s->inputs. Returns 0 or NB_NO_MEMORY. */
static int samples_take(struct samples *s, const struct sample *sample)
{
    struct nb_stack_inputs *in = &s->inputs;
    const double *from = s->values + sample->first;
    uint32_t columns = columns_of(s);
    for (uint32_t g = 0; g < NB_STACK_GROUPS; g++) {
        in->features[g] = sample->groups >> g & 1u;
        for (unsigned e = 0; e < samples_experts(s); e++) {
            double *x = in->x + (size_t)(e * NB_STACK_GROUPS + g) * in->size;
            if (in->features[g] == 0) {
                memset(x, 0, in->size * sizeof *x);
                continue;
            }
            memcpy(x, from, columns * sizeof *x);
            from += columns;
            if (in->size == 2)
                x[1] = -x[0];
        }
    }
    return take_attributes(s, sample, from);
}

/* Frees the samples, but keeps their number and their labels. */
static void samples_drop(struct samples *s)
{
    free(s->list);
    free(s->values);
    free(s->attributes);
    s->list = NULL;
    s->values = NULL;
    s->attributes = NULL;
    s->room = s->value_count = s->value_room = 0;
    s->attribute_count = s->attribute_room = 0;
}

/* ---- the fit --------------------------------------------------------------------------------- */

struct nb_stack_fit {
    struct nb_stack_settings settings;
    double fingerprint;
    uint64_t *numbers; /* owned; numbers of the wanted documents */
    uint32_t wanted, next;
    struct nb_stack_weights *weights; /* owned; the weights that learn */
    struct samples samples;
    struct nb_random random;
    uint32_t *turns; /* owned; the samples in the order of the current pass */
    uint32_t at;     /* position in the pass */
    unsigned pass;
};

struct nb_stack_fit *nb_stack_fit_new(const struct nb_stack *stack, struct nb_random random,
                                      const uint64_t *numbers, uint32_t size)
{
    struct nb_stack_fit *fit = calloc(1, sizeof *fit);
    if (fit == NULL)
        return NULL;
    fit->settings = stack->settings;
    fit->fingerprint = nb_stack_fingerprint(stack, stack->settings.twin);
    fit->random = random;
    fit->wanted = size;
    samples_init(&fit->samples);
    fit->weights = nb_stack_weights_new(&stack->settings);
    fit->numbers = calloc(size + (size_t)1, sizeof *fit->numbers);
    fit->turns = calloc(size + (size_t)1, sizeof *fit->turns);
    if (fit->weights == NULL || fit->numbers == NULL || fit->turns == NULL) {
        nb_stack_fit_free(&fit);
        return NULL;
    }
    for (uint32_t i = 0; i < size; i++)
        fit->numbers[i] = numbers[i];
    return fit;
}

void nb_stack_fit_free(struct nb_stack_fit **fit)
{
    struct nb_stack_fit *f = *fit;
    *fit = NULL;
    if (f == NULL)
        return;
    nb_stack_weights_free(&f->weights);
    samples_deinit(&f->samples);
    free(f->numbers);
    free(f->turns);
    free(f);
}

size_t nb_stack_fit_memory(const struct nb_stack_fit *f)
{
    if (f == NULL)
        return 0;
    return sizeof *f + nb_stack_weights_memory(f->weights) + samples_memory(&f->samples) +
           (f->wanted + (size_t)1) * (sizeof *f->numbers + sizeof *f->turns);
}

bool nb_stack_fit_next(struct nb_stack_fit *fit, uint64_t *number)
{
    if (fit->next == fit->wanted)
        return false;
    *number = fit->numbers[fit->next++];
    return true;
}

void nb_stack_fit_return(struct nb_stack_fit *fit, size_t count)
{
    assert(count <= fit->next - fit->samples.size);
    fit->next -= (uint32_t)count;
}

int nb_stack_fit_add(struct nb_stack_fit *fit, const struct nb_stack_inputs *inputs, uint32_t label)
{
    return samples_add(&fit->samples, inputs, label);
}

/* ---- learning -------------------------------------------------------------------------------- */

/* Fisher and Yates. */
static void shuffle(struct nb_stack_fit *fit)
{
    uint32_t size = (uint32_t)fit->samples.size;
    for (uint32_t i = 0; i < size; i++)
        fit->turns[i] = i;
    for (uint32_t i = size; i > 1; i--) {
        uint32_t j = (uint32_t)nb_random_below(&fit->random, i);
        uint32_t last = fit->turns[i - 1];
        fit->turns[i - 1] = fit->turns[j];
        fit->turns[j] = last;
    }
}

static void begin_pass(struct nb_stack_fit *fit)
{
    shuffle(fit);
    if (fit->pass + 1 < NB_STACK_FIT_PASSES)
        return;
    for (unsigned set = 0; set < NB_STACK_SETS; set++)
        fit->weights->shared.values[nb_stack_place(set, NB_STACK_LOSS)] = 0;
}

static uint64_t step_cost(const struct nb_stack_fit *fit, const struct sample *sample)
{
    enum { BASE = 300, PER_INPUT = 8, PER_VALUE = 2 };
    uint64_t inputs =
        fit->samples.inputs.count + sample->attributes * (uint64_t)samples_experts(&fit->samples);
    return BASE + inputs * (PER_INPUT + (uint64_t)PER_VALUE * fit->samples.inputs.size);
}

int nb_stack_fit_step(struct nb_stack_fit *fit, uint64_t *cost)
{
    int rc = 0;
    assert(fit->next == fit->wanted && fit->samples.size <= fit->wanted);
    *cost = 0;
    if (nb_stack_fit_is_done(fit))
        return 0;
    if (fit->at == 0)
        begin_pass(fit);
    if (fit->at < fit->samples.size) {
        const struct sample *sample = &fit->samples.list[fit->turns[fit->at++]];
        rc = samples_take(&fit->samples, sample);
        if (rc == 0)
            rc = nb_stack_learn(fit->weights, &fit->samples.inputs, sample->label, 1);
        *cost = step_cost(fit, sample);
    }
    if (fit->at == fit->samples.size) {
        fit->at = 0;
        fit->pass++;
    }
    return rc;
}

bool nb_stack_fit_is_done(const struct nb_stack_fit *fit)
{
    return fit->pass == NB_STACK_FIT_PASSES;
}

/* ---- closing --------------------------------------------------------------------------------- */

/* Returns M(k) of stack_fit.h. */
static double faded_sum(const struct nb_stack_settings *settings, double k)
{
    return settings->memory * (1 - pow(1 - 1 / settings->memory, k));
}

/* Divides the sum of squares of each weight from `first` to `end` by the number of passes. */
static void divide_squares(struct nb_weights *w, size_t first, size_t end)
{
    for (size_t place = first; place < end; place += 2)
        w->values[place + 1] /= NB_STACK_FIT_PASSES;
}

void nb_stack_fit_close(struct nb_stack_fit *fit, uint64_t documents)
{
    double foretold = faded_sum(&fit->settings, (double)fit->samples.size);
    double more =
        fit->samples.size == 0 ? 0 : faded_sum(&fit->settings, (double)documents) / foretold;
    struct nb_stack_weights *w = fit->weights;
    assert(nb_stack_fit_is_done(fit));
    for (unsigned set = 0; set < NB_STACK_SETS; set++) {
        size_t loss = nb_stack_place(set, NB_STACK_LOSS);
        divide_squares(&w->shared, nb_stack_place(set, 0), loss);
        w->shared.values[loss] *= more;
    }
    for (unsigned e = 0; e < NB_STACK_EXPERTS; e++)
        divide_squares(&w->biases[e], 0, nb_weights_places(&w->biases[e]));
    divide_squares(&w->attributes, 0, nb_weights_places(&w->attributes));
    nb_stack_weights_commit(w);
    samples_drop(&fit->samples);
}

struct nb_stack_weights *nb_stack_fit_weights(struct nb_stack_fit *fit)
{
    return fit->weights;
}

/* ---- what was learned ------------------------------------------------------------------------ */

/* Whether a set belongs to the experts that learned. Without documents every set does. */
static bool has_learned(const struct nb_stack_fit *fit, unsigned set)
{
    uint32_t labels = fit->samples.inputs.size;
    return fit->samples.size == 0 || (set >= nb_stack_set(labels, 0) &&
                                      set < nb_stack_set(labels, samples_experts(&fit->samples)));
}

static int make_attributes_room(const struct nb_stack_fit *fit, struct nb_stack_weights *weights)
{
    struct nb_weights *w = &weights->attributes;
    int rc = nb_weights_grow(w, nb_weights_places(&fit->weights->attributes), weights->lock);
    return rc != 0 ? rc : nb_weights_reserve(w, nb_weights_places(w));
}

static int make_room(const struct nb_stack_fit *fit, struct nb_stack_weights *weights)
{
    int rc = nb_weights_reserve(&weights->shared, NB_STACK_SHARED);
    if (rc == 0)
        rc = make_attributes_room(fit, weights);
    for (unsigned e = 0; rc == 0 && e < NB_STACK_EXPERTS; e++) {
        rc = nb_weights_grow(&weights->biases[e], nb_weights_places(&fit->weights->biases[e]),
                             weights->lock);
        if (rc == 0)
            rc = nb_weights_reserve(&weights->biases[e], nb_weights_places(&weights->biases[e]));
    }
    return rc != 0 ? rc : nb_stack_twin_room(weights, fit->weights);
}

static void put(struct nb_weights *to, const struct nb_weights *from, size_t first, size_t end)
{
    for (size_t place = first; place < end; place++)
        nb_weights_set(to, place, nb_weights_at(from, place));
}

static void put_set(const struct nb_stack_fit *fit, struct nb_stack_weights *weights, unsigned set)
{
    size_t places = nb_weights_places(&weights->attributes);
    put(&weights->shared, &fit->weights->shared, nb_stack_place(set, 0),
        nb_stack_place(set, NB_STACK_COLUMNS));
    for (size_t at = nb_stack_attribute_place(0, set); at < places; at += NB_STACK_ATTRIBUTE_PLACES)
        put(&weights->attributes, &fit->weights->attributes, at, at + 2);
}

static void put_stack(const struct nb_stack_fit *fit, struct nb_stack_weights *weights)
{
    for (unsigned set = 0; set < NB_STACK_SETS; set++)
        if (has_learned(fit, set))
            put_set(fit, weights, set);
    for (unsigned e = 0; e < NB_STACK_EXPERTS; e++)
        if (fit->samples.size == 0 || e < samples_experts(&fit->samples))
            put(&weights->biases[e], &fit->weights->biases[e], 0,
                nb_weights_places(&weights->biases[e]));
}

int nb_stack_fit_finish(struct nb_stack_fit *fit, bool with_twin, struct nb_stack_weights *weights)
{
    if (make_room(fit, weights) != 0)
        return NB_NO_MEMORY;
    nb_lock_write(weights->lock);
    int rc = with_twin ? nb_stack_twin_take(weights, fit->weights) : 0;
    if (rc == 0)
        put_stack(fit, weights);
    nb_lock_release(weights->lock);
    return rc;
}

/* ---- constants ------------------------------------------------------------------------------- */

static void mix(struct nb_random *random, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    random->state ^= bits;
    random->state = nb_random_next(random);
}

static void mix_bank(struct nb_random *random, const struct nb_stack_bank *bank)
{
    for (unsigned e = 0; e < bank->size; e++) {
        const struct nb_stack_expert *x = &bank->experts[e];
        mix(random, x->smoothing);
        mix(random, x->share);
        mix(random, x->power);
        mix(random, x->start_field);
        mix(random, x->start_ngram);
        mix(random, x->start_total);
    }
}

double nb_stack_fit_fingerprint(const struct nb_stack_fit *fit)
{
    return fit->fingerprint;
}

double nb_stack_fingerprint(const struct nb_stack *stack, bool with_twin)
{
    enum { BITS = 48 };
    const struct nb_stack_settings *s = &stack->settings;
    struct nb_random random = {NB_FIELDS};
    mix_bank(&random, &s->two);
    mix_bank(&random, &s->many);
    mix(&random, s->length);
    mix(&random, s->scale);
    mix(&random, s->rate);
    mix(&random, s->mixing);
    mix(&random, s->memory);
    if (!with_twin)
        mix(&random, 1);
    if (stack->cutting != NULL)
        mix(&random, 1 + stack->cutting->number);
    return (double)(random.state >> (64 - BITS) | 1);
}
