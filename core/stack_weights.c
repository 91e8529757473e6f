/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "core/score_private.h"
#include "core/stack_private.h"

/* A single document of a wrong label shall not decide how far an expert is trusted: no more is
 * counted than a probability of 10^-6 costs. */
#define NB_STACK_LOSS_MOST 13.8

static void put_starts(const struct nb_stack_bank *bank, struct nb_stack_weight *weights)
{
    for (unsigned e = 0; e < bank->size; e++) {
        const struct nb_stack_expert *x = &bank->experts[e];
        struct nb_stack_weight *w = weights + (size_t)e * NB_STACK_GROUPS;
        for (unsigned g = 0; g < NB_FIELDS; g++)
            w[g].value = g == NB_FIELD_NGRAM ? x->start_ngram : x->start_field;
        w[NB_STACK_TOTAL].value = x->start_total;
    }
}

struct nb_stack_weights *nb_stack_weights_new(const struct nb_stack_settings *settings)
{
    struct nb_stack_weights *w = calloc(1, sizeof *w);
    if (w == NULL)
        return NULL;
    if (pthread_rwlock_init(&w->lock_storage, NULL) != 0) {
        free(w);
        return NULL;
    }
    w->lock = &w->lock_storage;
    w->settings = *settings;
    put_starts(&settings->two, w->two);
    put_starts(&settings->many, w->many);
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
    free(w->biases);
    free(w);
}

void nb_stack_weights_raise(struct nb_stack_weights *weights, uint32_t fields, double field_factor,
                            double total_factor)
{
    for (unsigned e = 0; e < weights->settings.two.size; e++) {
        struct nb_stack_weight *w = weights->two + (size_t)e * NB_STACK_GROUPS;
        for (unsigned g = 0; g < NB_FIELDS; g++)
            w[g].value *= (fields >> g & 1u) != 0 ? field_factor : 1;
        w[NB_STACK_TOTAL].value *= total_factor;
    }
}

void nb_stack_weights_read_lock(const struct nb_stack_weights *weights)
{
    if (pthread_rwlock_rdlock(weights->lock) != 0)
        abort();
}

void nb_stack_weights_unlock(const struct nb_stack_weights *weights)
{
    pthread_rwlock_unlock(weights->lock);
}

void nb_stack_trust(const struct nb_stack_weights *weights, uint32_t labels,
                    double trust[NB_STACK_EXPERTS])
{
    unsigned experts = nb_stack_bank(&weights->settings, labels)->size;
    const double *losses = labels <= 2 ? weights->two_losses : weights->many_losses;
    double least = losses[0];
    double sum = 0;
    for (unsigned e = 1; e < experts; e++)
        least = fmin(least, losses[e]);
    for (unsigned e = 0; e < experts; e++)
        sum += trust[e] = exp(weights->settings.mixing * (least - losses[e]));
    for (unsigned e = 0; e < experts; e++)
        trust[e] /= sum;
}

/* What one expert says of the label at place `v`. */
static double expert_score(const struct nb_stack_weights *weights,
                           const struct nb_stack_inputs *inputs, unsigned e, uint32_t v)
{
    const struct nb_stack_weight *w =
        nb_stack_weights_of(weights, inputs->size) + (size_t)e * NB_STACK_GROUPS;
    const double *x = inputs->x + (size_t)e * NB_STACK_GROUPS * inputs->size + v;
    double sum = 0;
    for (uint32_t g = 0; g < NB_STACK_GROUPS; g++)
        sum += w[g].value * x[(size_t)g * inputs->size];
    return nb_stack_bias(weights, inputs->labels[v], e) + nb_stack_half(inputs->size) * sum;
}

int nb_stack_score(const struct nb_stack_weights *weights, const struct nb_stack_inputs *inputs,
                   struct nb_scores *scores)
{
    uint32_t size = inputs->size;
    if (inputs->count != nb_stack_bank(&weights->settings, size)->size * NB_STACK_GROUPS)
        return NB_CORRUPT;
    if (nb_scores_grow(scores, size) != 0)
        return NB_NO_MEMORY;
    double trust[NB_STACK_EXPERTS] = {0};
    nb_stack_trust(weights, size, trust);
    scores->size = size;
    scores->total = scores->known = 0;
    memcpy(scores->labels, inputs->labels, size * sizeof *inputs->labels);
    for (uint32_t v = 0; v < size; v++) {
        scores->log_scores[v] = 0;
        for (unsigned e = 0; e < inputs->count / NB_STACK_GROUPS; e++)
            scores->log_scores[v] += trust[e] * expert_score(weights, inputs, e, v);
    }
    nb_scores_rank(scores);
    return 0;
}

/* ---- learning -------------------------------------------------------------------------------- */

static int biases_room(struct nb_stack_weights *weights, const struct nb_stack_inputs *inputs)
{
    uint32_t need = 0;
    for (uint32_t v = 0; v < inputs->size; v++)
        need = inputs->labels[v] >= need ? inputs->labels[v] + 1 : need;
    if (need <= weights->bias_count)
        return 0;
    struct nb_stack_weight *biases = calloc((size_t)need * NB_STACK_EXPERTS, sizeof *biases);
    if (biases == NULL)
        return NB_NO_MEMORY;
    struct nb_stack_weight *old = weights->biases;
    if (weights->bias_count != 0)
        memcpy(biases, old, (size_t)weights->bias_count * NB_STACK_EXPERTS * sizeof *biases);
    pthread_rwlock_wrlock(weights->lock);
    weights->biases = biases;
    weights->bias_count = need;
    pthread_rwlock_unlock(weights->lock);
    free(old);
    return 0;
}

/* AdaGrad, with 1 added to the root, so that the first step is no larger than the rate times the
 * gradient. */
static void step(struct nb_stack_weight *w, double gradient, double rate)
{
    w->squares += gradient * gradient;
    w->value -= rate * gradient / (1 + sqrt(w->squares));
}

/* The gradient of -ln P(label) by s_v is P(v), less 1 for the label itself. */
static void learn_expert(struct nb_stack_weights *weights, const struct nb_stack_inputs *inputs,
                         unsigned e, const double *errors)
{
    uint32_t size = inputs->size;
    struct nb_stack_weight *w =
        (size <= 2 ? weights->two : weights->many) + (size_t)e * NB_STACK_GROUPS;
    const double *x = inputs->x + (size_t)e * NB_STACK_GROUPS * size;
    for (uint32_t g = 0; g < NB_STACK_GROUPS; g++) {
        double gradient = 0;
        for (uint32_t v = 0; v < size; v++)
            gradient += errors[v] * x[(size_t)g * size + v];
        step(&w[g], nb_stack_half(size) * gradient, weights->settings.rate);
    }
    for (uint32_t v = 0; v < size; v++)
        step(&weights->biases[(size_t)inputs->labels[v] * NB_STACK_EXPERTS + e], errors[v],
             weights->settings.rate);
}

/* Each expert learns from its own error, as if it were alone: then its loss says how good it is. */
static void learn(struct nb_stack_weights *weights, const struct nb_stack_inputs *inputs,
                  uint32_t place)
{
    struct nb_scores *scratch = &weights->scratch;
    double *losses = inputs->size <= 2 ? weights->two_losses : weights->many_losses;
    for (unsigned e = 0; e < inputs->count / NB_STACK_GROUPS; e++) {
        for (uint32_t v = 0; v < inputs->size; v++)
            scratch->log_scores[v] = expert_score(weights, inputs, e, v);
        nb_scores_rank(scratch);
        double loss = fmin(-log(scratch->probabilities[place]), NB_STACK_LOSS_MOST);
        losses[e] = (1 - 1 / weights->settings.memory) * losses[e] + loss;
        scratch->probabilities[place] -= 1;
        learn_expert(weights, inputs, e, scratch->probabilities);
    }
}

int nb_stack_learn(struct nb_stack_weights *weights, const struct nb_stack_inputs *inputs,
                   uint32_t label)
{
    uint32_t place = 0;
    while (place < inputs->size && inputs->labels[place] != label)
        place++;
    if (inputs->size < 2 || place == inputs->size)
        return 0;
    int rc = nb_stack_score(weights, inputs, &weights->scratch); /* makes room, too */
    if (rc == 0)
        rc = biases_room(weights, inputs);
    if (rc != 0)
        return rc;
    pthread_rwlock_wrlock(weights->lock);
    learn(weights, inputs, place);
    pthread_rwlock_unlock(weights->lock);
    return 0;
}

/* ---- stored form ----------------------------------------------------------------------------- */

static void write_weights(struct nb_packer *w, const struct nb_stack_weight *weights, size_t count)
{
    nb_pack_varint(w, count);
    for (size_t i = 0; i < count; i++) {
        nb_pack_double(w, weights[i].value);
        nb_pack_double(w, weights[i].squares);
    }
}

static void write_losses(struct nb_packer *w, const double *losses, unsigned count)
{
    for (unsigned e = 0; e < count; e++)
        nb_pack_double(w, losses[e]);
}

void nb_stack_weights_write(const struct nb_stack_weights *weights, struct nb_packer *w)
{
    write_weights(w, weights->two, (size_t)weights->settings.two.size * NB_STACK_GROUPS);
    write_weights(w, weights->many, (size_t)weights->settings.many.size * NB_STACK_GROUPS);
    write_losses(w, weights->two_losses, weights->settings.two.size);
    write_losses(w, weights->many_losses, weights->settings.many.size);
    write_weights(w, weights->biases, (size_t)weights->bias_count * NB_STACK_EXPERTS);
}

static bool read_weights(struct nb_unpacker *r, struct nb_stack_weight *weights, size_t count)
{
    bool good = true;
    for (size_t i = 0; i < count; i++) {
        weights[i].value = nb_unpack_double(r);
        weights[i].squares = nb_unpack_double(r);
        good = good && isfinite(weights[i].value) && weights[i].squares >= 0;
    }
    return good && !r->failed;
}

/* A bank's weights, which must be as many as the settings have. */
static bool read_bank(struct nb_unpacker *r, const struct nb_stack_bank *bank,
                      struct nb_stack_weight *weights)
{
    size_t count = (size_t)bank->size * NB_STACK_GROUPS;
    return nb_unpack_varint(r) == count && read_weights(r, weights, count);
}

static bool read_losses(struct nb_unpacker *r, double *losses, unsigned count)
{
    bool good = true;
    for (unsigned e = 0; e < count; e++) {
        losses[e] = nb_unpack_double(r);
        good = good && isfinite(losses[e]) && losses[e] >= 0;
    }
    return good && !r->failed;
}

/* All but the biases, into `back`. */
static bool read_banks(struct nb_unpacker *r, const struct nb_stack_settings *settings,
                       struct nb_stack_weights *back)
{
    return read_bank(r, &settings->two, back->two) && read_bank(r, &settings->many, back->many) &&
           read_losses(r, back->two_losses, settings->two.size) &&
           read_losses(r, back->many_losses, settings->many.size);
}

int nb_stack_weights_read(struct nb_stack_weights *weights, struct nb_unpacker *r)
{
    struct nb_stack_weights back = {0};
    if (!read_banks(r, &weights->settings, &back))
        return NB_CORRUPT;
    size_t most = (size_t)NB_LABELS_MOST * NB_STACK_EXPERTS;
    size_t count = (size_t)nb_unpack_bounded(r, most);
    if (r->failed || count % NB_STACK_EXPERTS != 0 ||
        count > (size_t)(r->end - r->at) / 16) /* two doubles each */
        return NB_CORRUPT;
    back.biases = calloc(count + 1, sizeof *back.biases);
    if (back.biases == NULL)
        return NB_NO_MEMORY;
    if (!read_weights(r, back.biases, count)) {
        free(back.biases);
        return NB_CORRUPT;
    }
    struct nb_stack_weight *old = weights->biases;
    pthread_rwlock_wrlock(weights->lock);
    memcpy(weights->two, back.two, sizeof back.two);
    memcpy(weights->many, back.many, sizeof back.many);
    memcpy(weights->two_losses, back.two_losses, sizeof back.two_losses);
    memcpy(weights->many_losses, back.many_losses, sizeof back.many_losses);
    weights->biases = back.biases;
    weights->bias_count = (uint32_t)(count / NB_STACK_EXPERTS);
    pthread_rwlock_unlock(weights->lock);
    free(old);
    return 0;
}
