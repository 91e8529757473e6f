/* SPDX-License-Identifier: Apache-2.0 */
#include "core/attribute/attribute_scores.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "core/base/array.h"

static enum nb_event_model event_of(const struct nb_settings *settings, size_t attribute)
{
    enum nb_event_model event = (enum nb_event_model)settings->event_model;
    int kind = settings->attributes[attribute].kind;
    if (kind == NB_FIELD_KIND_SET)
        return NB_EVENT_BERNOULLI;
    return kind == NB_FIELD_KIND_TEXT || event == NB_EVENT_COMPLEMENT ? event
                                                                      : NB_EVENT_MULTINOMIAL;
}

/* The sums over an attribute's values, and over its presence (core/model/model.h). */
static unsigned values_of(size_t attribute)
{
    return NB_FIRST_PART + (unsigned)attribute * 2;
}

static unsigned presence_of(size_t attribute)
{
    return values_of(attribute) + 1;
}

static size_t attribute_of(uint64_t id)
{
    assert(nb_feature_field(id) == NB_FIELD_VALUE);
    return nb_feature_part(id) / 2;
}

static struct nb_attribute_label *label_at(const struct nb_attribute_scores *s, size_t attribute,
                                           uint32_t place)
{
    return &s->labels[attribute * s->size + place];
}

/* ln, which is 0 of 0: where a denominator is 0, so are all counts. */
static double log_or_nothing(double value)
{
    return value > 0 ? log(value) : 0;
}

/* ---- making ---------------------------------------------------------------------------------- */

static void put_labels(struct nb_attribute_scores *s, const struct nb_model *model)
{
    const uint32_t *sorted = nb_model_labels_sorted(model);
    uint32_t labels = nb_model_label_count(model);
    s->size = 0;
    for (uint32_t i = 0; i < labels; i++)
        if (nb_model_documents(model, sorted[i]) != 0)
            s->names[s->size++] = sorted[i];
}

static int make_room(struct nb_attribute_scores *s, const struct nb_settings *settings,
                     const struct nb_model *model)
{
    uint32_t labels = nb_model_label_count(model);
    s->count = settings->attribute_count;
    if (s->counts == NULL)
        s->counts = calloc(s->count, sizeof *s->counts);
    if (s->counts == NULL || nb_array_resize(&s->names, labels, sizeof *s->names) != 0)
        return NB_NO_MEMORY;
    return nb_array_reserve(&s->labels, &s->room, s->count * labels + 1, sizeof *s->labels);
}

static void put_sums(struct nb_attribute_scores *s, const struct nb_model *model, size_t attribute)
{
    struct nb_attribute_counts *c = &s->counts[attribute];
    c->vocabulary = nb_model_vocabulary(model, values_of(attribute));
    c->sum = 0;
    for (uint32_t i = 0; i < s->size; i++) {
        struct nb_attribute_label *l = label_at(s, attribute, i);
        l->sum = c->event == NB_EVENT_BINARY
                     ? nb_model_presences(model, s->names[i], values_of(attribute))
                     : nb_model_occurrences(model, s->names[i], values_of(attribute));
        l->documents = nb_model_occurrences(model, s->names[i], presence_of(attribute));
        c->sum += l->sum;
    }
}

/* ln of the estimate that a document of D_v lacks a value that none of them has; not both 0. */
static double log_absent(double documents, double addend)
{
    return log((documents + addend) / (documents + 2 * addend));
}

static void put_ends(struct nb_attribute_scores *s, size_t attribute)
{
    const struct nb_attribute_counts *c = &s->counts[attribute];
    double words = s->addend * (double)c->vocabulary;
    for (uint32_t i = 0; i < s->size; i++) {
        struct nb_attribute_label *l = label_at(s, attribute, i);
        uint64_t sum = c->event == NB_EVENT_COMPLEMENT ? c->sum - l->sum : l->sum;
        l->ends = log_or_nothing((double)sum + words);
        l->none = (struct nb_log_product){0, 0};
        if (c->event != NB_EVENT_BERNOULLI)
            continue;
        if ((double)l->documents + s->addend > 0)
            l->none.log = (double)c->vocabulary * log_absent((double)l->documents, s->addend);
        else
            l->none.zeros = (int64_t)c->vocabulary;
    }
}

/* A value that the label has, for a document that lacks it. */
static void lack(const struct nb_attribute_scores *s, struct nb_attribute_label *l, uint64_t have)
{
    double documents = (double)l->documents;
    double absent = (double)(l->documents > have ? l->documents - have : 0) + s->addend;
    l->none.log -= log_absent(documents, s->addend);
    if (absent > 0)
        l->none.log += log(absent / (documents + 2 * s->addend));
    else
        l->none.zeros++;
}

/* One walk over all rows, for the values that a document lacks. */
static void walk(struct nb_attribute_scores *s, const struct nb_model *model)
{
    uint32_t rows = nb_model_rows(model);
    for (uint32_t number = 0; number < rows; number++) {
        const struct nb_row *row = nb_model_row(model, number);
        if (nb_feature_field(row->id) != NB_FIELD_VALUE || !nb_feature_is_token(row->id))
            continue;
        size_t attribute = attribute_of(row->id);
        if (attribute >= s->count || s->counts[attribute].event != NB_EVENT_BERNOULLI)
            continue;
        for (uint32_t i = 0; i < s->size; i++) {
            uint64_t have = nb_counts_of(model, row, s->names[i]).documents;
            if (have > 0)
                lack(s, label_at(s, attribute, i), have);
        }
    }
}

int nb_attribute_scores_make(struct nb_attribute_scores *scores, const struct nb_settings *settings,
                             const struct nb_model *model)
{
    struct nb_attribute_scores *s = scores;
    bool walks = false;
    if (settings->attribute_count == 0)
        return 0;
    if (make_room(s, settings, model) != 0)
        return NB_NO_MEMORY;
    s->addend = nb_estimate_addend((enum nb_estimate)settings->estimate, settings->smoothing);
    put_labels(s, model);
    for (size_t attribute = 0; attribute < s->count; attribute++) {
        s->counts[attribute].event = event_of(settings, attribute);
        put_sums(s, model, attribute);
        put_ends(s, attribute);
        walks = walks || s->counts[attribute].event == NB_EVENT_BERNOULLI;
    }
    if (walks)
        walk(s, model);
    return 0;
}

void nb_attribute_scores_deinit(struct nb_attribute_scores *scores)
{
    free(scores->names);
    free(scores->counts);
    free(scores->labels);
    *scores = (struct nb_attribute_scores){0};
}

size_t nb_attribute_scores_memory(const struct nb_attribute_scores *scores)
{
    return scores->count * sizeof *scores->counts + scores->size * sizeof *scores->names +
           scores->room * sizeof *scores->labels;
}

/* ---- features -------------------------------------------------------------------------------- */

bool nb_attribute_says(const struct nb_attribute_scores *scores, const struct nb_feature *feature,
                       const struct nb_row *row)
{
    size_t attribute = attribute_of(feature->id);
    if (attribute >= scores->count) /* named after these settings */
        return false;
    if (nb_part_is_presence(nb_feature_part(feature->id)))
        return scores->counts[attribute].event == NB_EVENT_BERNOULLI;
    return row != NULL && nb_counts_any(row);
}

struct nb_factor nb_attribute_value(const struct nb_attribute_scores *scores,
                                    const struct nb_model *model, const struct nb_feature *feature,
                                    const struct nb_row *row, uint32_t place)
{
    size_t attribute = attribute_of(feature->id);
    const struct nb_attribute_label *l = label_at(scores, attribute, place);
    enum nb_event_model event = scores->counts[attribute].event;
    struct nb_cell cell = nb_counts_of(model, row, scores->names[place]);
    uint32_t count =
        event == NB_EVENT_MULTINOMIAL || event == NB_EVENT_COMPLEMENT ? feature->count : 1;
    const struct nb_addends addends = {scores->addend, scores->addend};
    uint64_t all = nb_counts_occurrences(model, row);
    struct nb_factor f = nb_estimate_word(event, addends, l->documents, all, cell, count);
    if (event == NB_EVENT_COMPLEMENT)
        f.log += count * l->ends;
    else if (event != NB_EVENT_BERNOULLI)
        f.log -= count * l->ends;
    return f;
}

struct nb_log_product nb_attribute_presence(const struct nb_attribute_scores *scores, uint64_t id,
                                            uint32_t place)
{
    return label_at(scores, attribute_of(id), place)->none;
}

void nb_attribute_add(const struct nb_attribute_scores *scores, const struct nb_model *model,
                      const struct nb_feature *feature, const struct nb_row *row, uint32_t place,
                      struct nb_log_product *product)
{
    if (!nb_part_is_presence(nb_feature_part(feature->id))) {
        nb_log_product_add(product, nb_attribute_value(scores, model, feature, row, place));
        return;
    }
    struct nb_log_product none = nb_attribute_presence(scores, feature->id, place);
    product->log += none.log;
    product->zeros += none.zeros;
}

static double log_estimate(double count, double sum)
{
    return count > 0 ? log(count / sum) : -(double)INFINITY;
}

double nb_attribute_evidence(const struct nb_attribute_scores *scores, const struct nb_model *model,
                             const struct nb_row *row, uint32_t place)
{
    size_t attribute = attribute_of(row->id);
    if (attribute >= scores->count || !nb_feature_is_token(row->id) || !nb_counts_any(row))
        return 0;
    const struct nb_attribute_counts *c = &scores->counts[attribute];
    const struct nb_attribute_label *l = label_at(scores, attribute, place);
    struct nb_cell cell = nb_counts_of(model, row, scores->names[place]);
    bool bernoulli = c->event == NB_EVENT_BERNOULLI;
    bool of_documents = bernoulli || c->event == NB_EVENT_BINARY;
    uint64_t own = of_documents ? cell.documents : cell.occurrences;
    uint64_t all =
        of_documents ? nb_counts_documents(model, row) : nb_counts_occurrences(model, row);
    uint64_t sum = bernoulli ? l->documents : l->sum, total = bernoulli ? 0 : c->sum;
    for (uint32_t i = 0; bernoulli && i < scores->size; i++)
        total += label_at(scores, attribute, i)->documents;
    double b = scores->addend, values = b * (bernoulli ? 2 : (double)c->vocabulary);
    return nb_log_evidence(log_estimate((double)own + b, (double)sum + values),
                           log_estimate((double)(all - own) + b, (double)(total - sum) + values));
}
