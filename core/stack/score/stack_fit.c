/* SPDX-License-Identifier: Apache-2.0 */
#include "core/stack/score/stack_fit.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/lock.h"
#include "core/stack/score/stack_attributes.h"
#include "core/stack/score/stack_private.h"
#include "core/stack/score/stack_samples.h"

struct nb_stack_fit {
    struct nb_stack_settings settings;
    double fingerprint;
    uint64_t *numbers; /* owned; of the documents that are wanted */
    uint32_t wanted, next;
    struct nb_stack_weights *weights; /* owned; that learn */
    struct nb_stack_samples samples;
    struct nb_random random;
    uint32_t *turns; /* owned; the samples, in the order of the pass under way */
    uint32_t at;     /* in the pass */
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
    nb_stack_samples_init(&fit->samples);
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
    nb_stack_samples_deinit(&f->samples);
    free(f->numbers);
    free(f->turns);
    free(f);
}

size_t nb_stack_fit_memory(const struct nb_stack_fit *f)
{
    if (f == NULL)
        return 0;
    return sizeof *f + nb_stack_weights_memory(f->weights) + nb_stack_samples_memory(&f->samples) +
           (f->wanted + (size_t)1) * (sizeof *f->numbers + sizeof *f->turns);
}

/* ---- samples --------------------------------------------------------------------------------- */

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
    return nb_stack_samples_add(&fit->samples, inputs, label);
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

static uint64_t step_cost(const struct nb_stack_fit *fit, const struct nb_stack_sample *sample)
{
    enum { BASE = 300, PER_INPUT = 8, PER_VALUE = 2 };
    uint64_t inputs = fit->samples.inputs.count +
                      sample->attributes * (uint64_t)nb_stack_samples_experts(&fit->samples);
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
        const struct nb_stack_sample *sample = &fit->samples.list[fit->turns[fit->at++]];
        rc = nb_stack_samples_take(&fit->samples, sample);
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

/* M(k). */
static double faded_sum(const struct nb_stack_settings *settings, double k)
{
    return settings->memory * (1 - pow(1 - 1 / settings->memory, k));
}

/* The sum of squares of each of these weights. */
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
    nb_stack_samples_drop(&fit->samples);
}

struct nb_stack_weights *nb_stack_fit_weights(struct nb_stack_fit *fit)
{
    return fit->weights;
}

/* ---- what was learned ------------------------------------------------------------------------ */

/* Whether a set belongs to the experts that learned. Without documents every set counts. */
static bool has_learned(const struct nb_stack_fit *fit, unsigned set)
{
    uint32_t labels = fit->samples.inputs.size;
    return fit->samples.size == 0 ||
           (set >= nb_stack_set(labels, 0) &&
            set < nb_stack_set(labels, nb_stack_samples_experts(&fit->samples)));
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
        if (fit->samples.size == 0 || e < nb_stack_samples_experts(&fit->samples))
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
