/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts that are the same for all documents: labels, the weights of the sources, and the sums.
 */
#include "core/stack/blend.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/bayes/attribute_scores.h"
#include "core/bayes/estimate.h"
#include "core/stack/blend_private.h"

static void free_attributes(struct nb_blend_attributes *a)
{
    if (a == NULL)
        return;
    free(a->values);
    free(a->offsets);
    free(a->work);
    free(a->own);
    free(a->rest);
    free(a);
}

void nb_blend_deinit(struct nb_blend *b)
{
    free(b->labels);
    for (unsigned i = 0; i < NB_BLEND_MOST; i++)
        free(b->places[i]);
    free(b->work);
    if (b->values != NULL)
        nb_attribute_scores_deinit(b->values);
    free(b->values);
    free(b->products);
    free_attributes(b->attributes);
    *b = (struct nb_blend){0};
}

/* ---- the weights of the sources -------------------------------------------------------------- */

/* Counts left-out documents of the first source. Documents with expected labels teach no weights,
 * so they do not count when sources are weighed against each other. */
static double documents_left_out(const struct nb_blend *b)
{
    double documents = b->without.is_set ? 1 : 0;
    for (unsigned i = 0; i < b->besides.count; i++)
        for (uint32_t v = 0; b->besides.list[i].weight < 0 && v < b->besides.list[i].counts->labels;
             v++)
            documents += nb_expected_documents(b->besides.list[i].counts, v);
    return documents;
}

/* Computes scales, shares and K, from the last source, which has no parent, to the model. */
static void weigh(struct nb_blend *b)
{
    double scales[NB_BLEND_MOST] = {0}, own[NB_BLEND_MOST] = {0};
    double behind = 0;
    b->smoothing = 1;
    for (unsigned i = b->count; i-- > 0;) {
        double documents = (double)nb_model_documents_all(b->sources[i].counts);
        documents = i == 0 ? fmax(documents - documents_left_out(b), 0) : documents;
        double strength = (double)b->sources[i].strength;
        bool is_last = i + 1 == b->count;
        scales[i] = is_last || behind <= strength ? 1 : strength / behind;
        own[i] = is_last ? 1 : documents / (documents + strength);
        if (!is_last)
            b->smoothing =
                scales[i] * b->smoothing + (1 - scales[i] * b->smoothing) * own[i] * own[i];
        behind = documents + (is_last ? 0 : scales[i] * behind);
    }
    double left = 1;
    b->scale[0] = 1;
    for (unsigned i = 0; i < b->count; i++) {
        b->share[i] = left * own[i];
        left *= 1 - own[i];
        if (i > 0)
            b->scale[i] = b->scale[i - 1] * scales[i - 1];
    }
}

/* ---- labels ---------------------------------------------------------------------------------- */

static int labels_room(struct nb_blend *b)
{
    size_t most = 0;
    for (unsigned i = 0; i < b->count; i++) {
        uint32_t labels = nb_model_label_count(b->sources[i].counts);
        if (nb_array_reserve(&b->places[i], &b->place_room[i], labels, sizeof *b->places[i]) != 0)
            return NB_NO_MEMORY;
        for (uint32_t v = 0; v < labels; v++)
            b->places[i][v] = NB_BLEND_NO_LABEL;
        most += labels;
    }
    return nb_array_reserve(&b->labels, &b->label_room, most, sizeof *b->labels);
}

/* Moves *at, an index into the source's labels sorted by name, to the next label with documents and
 * sets *number. Returns whether there is one. */
static bool next_label(const struct nb_model *counts, uint32_t *at, uint32_t *number)
{
    const uint32_t *sorted = nb_model_labels_sorted(counts);
    while (*at < nb_model_label_count(counts) && nb_model_documents(counts, sorted[*at]) == 0)
        ++*at;
    if (*at == nb_model_label_count(counts))
        return false;
    *number = sorted[*at];
    return true;
}

/* Returns the least of the sources' current names; NULL when all lists have ended. */
static const char *least_name(const struct nb_blend *b, uint32_t at[NB_BLEND_MOST])
{
    const char *least = NULL;
    for (unsigned i = 0; i < b->count; i++) {
        uint32_t number;
        if (!next_label(b->sources[i].counts, &at[i], &number))
            continue;
        const char *name = nb_model_label_name(b->sources[i].counts, number).bytes;
        if (least == NULL || strcmp(name, least) < 0)
            least = name;
    }
    return least;
}

/* Merges the lists of the sources. */
static int put_labels(struct nb_blend *b)
{
    uint32_t at[NB_BLEND_MOST] = {0};
    if (labels_room(b) != 0)
        return NB_NO_MEMORY;
    b->size = 0;
    for (const char *name; (name = least_name(b, at)) != NULL; b->size++) {
        struct nb_blend_label *label = &b->labels[b->size];
        *label = (struct nb_blend_label){.name = name};
        for (unsigned i = 0; i < NB_BLEND_MOST; i++) {
            uint32_t number;
            label->numbers[i] = NB_BLEND_NO_LABEL;
            if (i >= b->count || !next_label(b->sources[i].counts, &at[i], &number) ||
                strcmp(nb_model_label_name(b->sources[i].counts, number).bytes, name) != 0)
                continue;
            label->numbers[i] = number;
            label->documents += nb_model_documents(b->sources[i].counts, number);
            b->places[i][number] = b->size;
            at[i]++;
        }
    }
    if (!b->without.is_set)
        return b->size == 0 ? NB_CONFLICT : 0;
    return --b->labels[b->places[0][b->without.label]].documents == 0 ? NB_CONFLICT : 0;
}

/* ---- sums ------------------------------------------------------------------------------------ */

double nb_blend_sum(const struct nb_blend *b, uint32_t place, unsigned field, bool presences)
{
    double sum = 0;
    for (unsigned i = 0; i < b->count; i++) {
        uint32_t number = b->labels[place].numbers[i];
        const struct nb_model *counts = b->sources[i].counts;
        if (number == NB_BLEND_NO_LABEL)
            continue;
        sum += b->scale[i] * (double)(presences ? nb_model_presences(counts, number, field)
                                                : nb_model_occurrences(counts, number, field));
    }
    bool is_out = b->without.is_set && b->without.label == b->labels[place].numbers[0];
    if (is_out && field <= NB_TOKEN_FIELDS) /* for attributes, blend_attributes.c subtracts it */
        sum -= b->without.features[field];
    uint32_t own = b->labels[place].numbers[0];
    if (own != NB_BLEND_NO_LABEL)
        sum += nb_besides_sum(&b->besides, own, field, presences);
    return fmax(sum, 0);
}

double nb_blend_vocabulary(const struct nb_blend *b, unsigned field)
{
    uint64_t most = 0;
    for (unsigned i = 0; i < b->count; i++) {
        uint64_t words = nb_model_vocabulary(b->sources[i].counts, field);
        if (i == 0 && b->without.is_set && field <= NB_TOKEN_FIELDS)
            words -= b->without.unique[field];
        most = words > most ? words : most;
    }
    return (double)nb_besides_vocabulary(&b->besides, field, most);
}

void nb_blend_put_offsets(struct nb_blend *b, unsigned field)
{
    const struct nb_stack_bank *bank = nb_blend_bank(b);
    double all = 0, *sums = nb_blend_twin_sums(b, field); /* unused before the field's first word */
    if ((b->fields >> field & 1u) != 0)
        return;
    b->fields |= 1u << field;
    for (uint32_t v = 0; v < b->size; v++)
        all += sums[v] = nb_blend_sum(b, v, field, true);
    for (unsigned e = 0; e < bank->size; e++) {
        double more =
            nb_stack_added(&bank->experts[e]) * b->smoothing * (nb_blend_vocabulary(b, field) + 1);
        double *offsets = b->offsets + ((size_t)e * NB_FIELDS + field) * b->size;
        for (uint32_t v = 0; v < b->size; v++)
            offsets[v] = log(sums[v] + more) - log(fmax(all - sums[v], 0) + more);
    }
    memset(sums, 0, b->size * sizeof *sums);
}

/* Returns n' + V' + 1 of the source that gives p_w. */
static double pool_sum(const struct nb_blend *b)
{
    const struct nb_model *pool = b->pool;
    double sum = (double)nb_model_vocabulary(pool, NB_FIELDS) + 1;
    for (uint32_t v = 0; v < nb_model_label_count(pool); v++)
        sum += (double)(nb_blend_is_binary(b) ? nb_model_presences(pool, v, NB_FIELDS)
                                              : nb_model_occurrences(pool, v, NB_FIELDS));
    return sum;
}

/* By the book: computes the sums, and the priors from which the scores start. */
void nb_blend_put_sums(struct nb_blend *b)
{
    const struct nb_settings *s = b->settings;
    bool complement = s->event_model == NB_EVENT_COMPLEMENT;
    double weights = 0;
    b->sum = 0;
    b->vocabulary = nb_blend_vocabulary(b, NB_FIELDS);
    b->pool_sum = b->pool != NULL ? pool_sum(b) : 0;
    double added = b->pool != NULL ? s->smoothing : b->smoothing * b->addend * b->vocabulary;
    for (uint32_t v = 0; v < b->size; v++) {
        double documents = 0;
        b->sum += b->sums[v] = nb_blend_sum(b, v, NB_FIELDS, nb_blend_is_binary(b));
        for (unsigned i = 0; i < b->count; i++)
            if (b->labels[v].numbers[i] != NB_BLEND_NO_LABEL)
                documents += b->scale[i] * (double)nb_model_documents(b->sources[i].counts,
                                                                      b->labels[v].numbers[i]);
        if (b->labels[v].numbers[0] != NB_BLEND_NO_LABEL)
            documents += nb_besides_documents(&b->besides, b->labels[v].numbers[0]);
        b->scores[v] = nb_settings_label_weight(s, b->labels[v].name, documents);
        weights += b->scores[v];
    }
    for (uint32_t v = 0; v < b->size; v++) {
        double of = complement ? fmax(b->sum - b->sums[v], 0) : b->sums[v];
        b->ends[v] = log(of + added);
        b->scores[v] = log(b->scores[v] / weights);
    }
}

/* ---- weights --------------------------------------------------------------------------------- */

void nb_blend_put_weights(const struct nb_blend *b, uint32_t labels, struct nb_stack_mix *mix)
{
    *mix = (struct nb_stack_mix){.stack = 0};
    for (unsigned i = 0; i < b->count; i++)
        nb_stack_mix_add(mix, b->sources[i].weights, b->share[i], labels,
                         nb_blend_has_twin(b) && b->sources[i].weights->settings.twin);
}

double nb_blend_slot(const struct nb_blend *b, uint64_t id)
{
    double u = 0;
    for (unsigned i = 0; i < b->count; i++)
        if (b->sources[i].weights->settings.twin)
            u += b->share[i] * (double)nb_slots_at(&b->sources[i].weights->slots, id);
    return u;
}

double nb_blend_bias(const struct nb_blend *b, unsigned e, uint32_t place)
{
    double sum = 0;
    for (unsigned i = 0; i < b->count; i++)
        if (b->labels[place].numbers[i] != NB_BLEND_NO_LABEL)
            sum +=
                b->share[i] * nb_stack_bias(b->sources[i].weights, b->labels[place].numbers[i], e);
    return sum;
}

double nb_blend_twin_bias(const struct nb_blend *b, uint32_t place)
{
    double sum = 0;
    if (b->size == 2 && place == 0)
        return 0; /* the one column belongs to the second label */
    for (unsigned i = 0; i < b->count; i++)
        if (b->labels[place].numbers[i] != NB_BLEND_NO_LABEL)
            sum += b->share[i] * nb_weights_at(&b->sources[i].weights->twin_biases,
                                               nb_stack_bias_place(b->labels[place].numbers[i]));
    return sum;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Makes room for the arrays by label, all in one block. */
static int work_room(struct nb_blend *b)
{
    enum {
        PLAIN = 5,
        OFFSETS = NB_STACK_EXPERTS * NB_FIELDS,
        ROWS = PLAIN + OFFSETS + NB_STACK_INPUTS + NB_FIELDS
    };
    if (nb_array_reserve(&b->work, &b->work_room, (size_t)ROWS * b->size, sizeof *b->work) != 0)
        return NB_NO_MEMORY;
    b->occurrences = b->work;
    b->documents = b->occurrences + b->size;
    b->sums = b->documents + b->size;
    b->ends = b->sums + b->size;
    b->scores = b->ends + b->size;
    b->offsets = b->scores + b->size;
    b->x = b->offsets + (size_t)OFFSETS * b->size;
    b->twin = b->x + (size_t)NB_STACK_INPUTS * b->size;
    memset(b->work, 0, (size_t)ROWS * b->size * sizeof *b->work);
    return 0;
}

static int begin(struct nb_blend *b, const struct nb_settings *settings,
                 const struct nb_blend_source *sources, unsigned count)
{
    assert(count >= 1 && count <= NB_BLEND_MOST);
    b->settings = settings;
    b->addend = nb_estimate_addend((enum nb_estimate)settings->estimate, settings->smoothing);
    bool has_pool = count > 1 && nb_smoothing_is_of_parent(&settings->smoothing_by);
    b->pool = has_pool ? sources[1].counts : NULL;
    b->count = b->pool != NULL ? 1 : count;
    b->fields = 0;
    b->is_stacked = sources[0].weights != NULL;
    memcpy(b->sources, sources, count * sizeof *sources);
    if (b->is_stacked)
        b->stack = sources[0].weights->settings;
    weigh(b);
    int rc = put_labels(b);
    if (rc == 0)
        rc = work_room(b);
    if (rc == 0 && b->is_stacked)
        nb_blend_put_weights(b, b->size, &b->weights);
    return rc;
}

int nb_blend_begin(struct nb_blend *b, const struct nb_settings *settings,
                   const struct nb_blend_source *sources, unsigned count,
                   const struct nb_besides *besides)
{
    b->without.is_set = false;
    b->besides = besides != NULL ? *besides : (struct nb_besides){.count = 0};
    return begin(b, settings, sources, count);
}

int nb_blend_begin_without(struct nb_blend *b, const struct nb_settings *settings,
                           const struct nb_blend_source *sources, unsigned count,
                           const struct nb_feature *features, size_t size, uint32_t label)
{
    const struct nb_model *counts = sources[0].counts;
    b->without = (struct nb_blend_without){.is_set = true, .label = label};
    assert(sources[0].weights != NULL && nb_model_documents(counts, label) > 0);
    b->besides.count = 0;
    for (size_t i = 0; i < size; i++) {
        uint32_t row = nb_model_find(counts, features[i].id);
        unsigned field = nb_feature_field(features[i].id);
        if (field == NB_FIELD_VALUE) /* blend_attributes.c handles it */
            continue;
        bool is_token = nb_field_is_token(field);
        bool is_unique =
            row != NB_NO_ROW && nb_counts_documents(counts, nb_model_row(counts, row)) == 1;
        assert(field < NB_FIELDS);
        b->without.features[field]++;
        b->without.unique[field] += is_unique;
        b->without.features[NB_FIELDS] += is_token;
        b->without.unique[NB_FIELDS] += is_token && is_unique;
    }
    return begin(b, settings, sources, count);
}
