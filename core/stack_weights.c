/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "core/score_private.h"
#include "core/stack_private.h"

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

void nb_stack_weights_read_lock(const struct nb_stack_weights *weights)
{
    if (pthread_rwlock_rdlock(weights->lock) != 0)
        abort();
}

void nb_stack_weights_unlock(const struct nb_stack_weights *weights)
{
    pthread_rwlock_unlock(weights->lock);
}

int nb_stack_score(const struct nb_stack_weights *weights, const struct nb_stack_inputs *inputs,
                   struct nb_scores *scores)
{
    uint32_t size = inputs->size;
    if (inputs->count != nb_stack_bank(&weights->settings, size)->size * NB_STACK_GROUPS)
        return NB_CORRUPT;
    if (nb_scores_grow(scores, size) != 0)
        return NB_NO_MEMORY;
    const struct nb_stack_weight *w = nb_stack_weights_of(weights, size);
    scores->size = size;
    scores->total = scores->known = 0;
    memcpy(scores->labels, inputs->labels, size * sizeof *inputs->labels);
    memset(scores->log_scores, 0, size * sizeof *scores->log_scores);
    for (uint32_t i = 0; i < inputs->count; i++)
        for (uint32_t v = 0; v < size; v++)
            scores->log_scores[v] += w[i].value * inputs->x[(size_t)i * size + v];
    for (uint32_t v = 0; v < size; v++)
        scores->log_scores[v] =
            nb_stack_bias(weights, inputs->labels[v]) + nb_stack_half(size) * scores->log_scores[v];
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
    struct nb_stack_weight *biases = calloc(need, sizeof *biases);
    if (biases == NULL)
        return NB_NO_MEMORY;
    struct nb_stack_weight *old = weights->biases;
    if (weights->bias_count != 0)
        memcpy(biases, old, weights->bias_count * sizeof *biases);
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
static void learn(struct nb_stack_weights *weights, const struct nb_stack_inputs *inputs,
                  const double *errors)
{
    uint32_t size = inputs->size;
    struct nb_stack_weight *w = size <= 2 ? weights->two : weights->many;
    for (uint32_t i = 0; i < inputs->count; i++) {
        double gradient = 0;
        for (uint32_t v = 0; v < size; v++)
            gradient += errors[v] * inputs->x[(size_t)i * size + v];
        step(&w[i], nb_stack_half(size) * gradient, weights->settings.rate);
    }
    for (uint32_t v = 0; v < size; v++)
        step(&weights->biases[inputs->labels[v]], errors[v], weights->settings.rate);
}

int nb_stack_learn(struct nb_stack_weights *weights, const struct nb_stack_inputs *inputs,
                   uint32_t label)
{
    uint32_t place = 0;
    while (place < inputs->size && inputs->labels[place] != label)
        place++;
    if (inputs->size < 2 || place == inputs->size)
        return 0;
    int rc = nb_stack_score(weights, inputs, &weights->scratch);
    if (rc == 0)
        rc = biases_room(weights, inputs);
    if (rc != 0)
        return rc;
    weights->scratch.probabilities[place] -= 1;
    pthread_rwlock_wrlock(weights->lock);
    learn(weights, inputs, weights->scratch.probabilities);
    pthread_rwlock_unlock(weights->lock);
    return 0;
}

/* ---- stored form ----------------------------------------------------------------------------- */

static void write_weights(struct nb_writer *w, const struct nb_stack_weight *weights, size_t count)
{
    nb_write_varint(w, count);
    for (size_t i = 0; i < count; i++) {
        nb_write_double(w, weights[i].value);
        nb_write_double(w, weights[i].squares);
    }
}

void nb_stack_weights_write(const struct nb_stack_weights *weights, struct nb_writer *w)
{
    write_weights(w, weights->two, (size_t)weights->settings.two.size * NB_STACK_GROUPS);
    write_weights(w, weights->many, (size_t)weights->settings.many.size * NB_STACK_GROUPS);
    write_weights(w, weights->biases, weights->bias_count);
}

static bool read_weights(struct nb_reader *r, struct nb_stack_weight *weights, size_t count)
{
    bool good = true;
    for (size_t i = 0; i < count; i++) {
        weights[i].value = nb_read_double(r);
        weights[i].squares = nb_read_double(r);
        good = good && isfinite(weights[i].value) && weights[i].squares >= 0;
    }
    return good && !r->failed;
}

/* A bank's weights, which must be as many as the settings have. */
static bool read_bank(struct nb_reader *r, const struct nb_stack_bank *bank,
                      struct nb_stack_weight *weights)
{
    size_t count = (size_t)bank->size * NB_STACK_GROUPS;
    return nb_read_varint(r) == count && read_weights(r, weights, count);
}

int nb_stack_weights_read(struct nb_stack_weights *weights, struct nb_reader *r)
{
    struct nb_stack_weight two[NB_STACK_INPUTS] = {0};
    struct nb_stack_weight many[NB_STACK_INPUTS] = {0};
    if (!read_bank(r, &weights->settings.two, two) || !read_bank(r, &weights->settings.many, many))
        return NB_CORRUPT;
    uint32_t count = (uint32_t)nb_read_bounded(r, NB_LABELS_MOST);
    if (r->failed || count > (size_t)(r->end - r->at) / 16) /* two doubles each */
        return NB_CORRUPT;
    struct nb_stack_weight *biases = calloc((size_t)count + 1, sizeof *biases);
    if (biases == NULL)
        return NB_NO_MEMORY;
    if (!read_weights(r, biases, count)) {
        free(biases);
        return NB_CORRUPT;
    }
    struct nb_stack_weight *old = weights->biases;
    pthread_rwlock_wrlock(weights->lock);
    memcpy(weights->two, two, sizeof two);
    memcpy(weights->many, many, sizeof many);
    weights->biases = biases;
    weights->bias_count = count;
    pthread_rwlock_unlock(weights->lock);
    free(old);
    return 0;
}
