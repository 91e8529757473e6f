/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bayes/attribute_scores.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "core/base/array.h"

static struct nb_attribute_law number_law(const struct nb_attribute_scores *scores,
                                          const struct nb_model *model, size_t attribute,
                                          uint32_t place)
{
    const struct nb_moments *all = &scores->numbers.counts[attribute].all;
    struct nb_moments own = nb_model_moments(model, scores->names[place], (unsigned)attribute);
    struct nb_attribute_law law = {.documents = own.count, .has_number = all->count > 0};
    if (!law.has_number)
        return law;
    const struct nb_gaussian *g = nb_numbers_gaussian(&scores->numbers, attribute, place);
    law.mean = nb_moments_mean(own.count > 0 ? &own : all);
    law.deviation = g != NULL ? sqrt(g->variance) : 0;
    return law;
}

struct nb_attribute_law nb_attribute_law_of(const struct nb_attribute_scores *scores,
                                            const struct nb_settings *settings,
                                            const struct nb_model *model, size_t attribute,
                                            uint32_t place)
{
    assert(attribute < scores->count && place < scores->size);
    const struct nb_attribute_label *label = &scores->labels[attribute * scores->size + place];
    switch ((enum nb_field_kind)settings->attributes[attribute].kind) {
    case NB_FIELD_KIND_NUMBER:
        return number_law(scores, model, attribute, place);
    case NB_FIELD_KIND_CATEGORY:
        return (struct nb_attribute_law){.documents = label->sum,
                                         .values = scores->counts[attribute].vocabulary};
    case NB_FIELD_KIND_SET:
        return (struct nb_attribute_law){.documents = label->documents,
                                         .values = scores->counts[attribute].vocabulary};
    case NB_FIELD_KIND_TEXT:
        break;
    }
    unsigned part = NB_FIRST_PART + (unsigned)attribute * 2;
    return (struct nb_attribute_law){.documents = label->documents,
                                     .words =
                                         nb_model_occurrences(model, scores->names[place], part)};
}

/* ---- values ---------------------------------------------------------------------------------- */

/* `offset` is a parameter of the prior minus the addend, with which the estimate is the mean or the
 * mode of the posterior. */
static void put_category(struct nb_value_law *law, const struct nb_attribute_label *label,
                         uint64_t values, double addend, double offset)
{
    double whole = (double)label->sum + label->added, above = (double)law->count + addend;
    law->probability = whole > 0 ? above / whole : 0;
    law->own = above + offset;
    law->others = values > 1 ? whole - above + offset * ((double)values - 1) : 0;
}

/* Fills *law for a value of a set. A dump may have values of a set without the set's presence. */
static void put_member(struct nb_value_law *law, const struct nb_attribute_label *label,
                       struct nb_addends addends, double offset)
{
    double lacks = label->documents > law->count ? (double)(label->documents - law->count) : 0;
    double above = (double)law->count + addends.present, below = lacks + addends.absent;
    law->probability = above + below > 0 ? above / (above + below) : 0;
    law->own = above + offset;
    law->others = below + offset;
}

/* Returns the attribute of the value in a row; SIZE_MAX: the row has no value, or no document has
 * the value. */
static size_t attribute_of(const struct nb_attribute_scores *scores, struct nb_row row)
{
    if (nb_feature_field(row.id) != NB_FIELD_VALUE || !nb_feature_is_token(row.id) ||
        !nb_counts_any(row))
        return SIZE_MAX;
    size_t attribute = nb_feature_part(row.id) / 2;
    return attribute < scores->count ? attribute
                                     : SIZE_MAX; /* the field is newer than these settings */
}

bool nb_value_law_of(const struct nb_attribute_scores *scores, const struct nb_settings *settings,
                     const struct nb_model *model, struct nb_row row, uint32_t place,
                     struct nb_value_law *law)
{
    size_t attribute = attribute_of(scores, row);
    if (attribute == SIZE_MAX)
        return false;
    int kind = settings->attributes[attribute].kind;
    if (kind != NB_FIELD_KIND_CATEGORY && kind != NB_FIELD_KIND_SET)
        return false;
    const struct nb_attribute_label *label = &scores->labels[attribute * scores->size + place];
    struct nb_cell cell = nb_counts_of(model, row, scores->names[place]);
    struct nb_addends addends = nb_attribute_addends(scores, model, row, place);
    double offset = settings->estimate == NB_ESTIMATE_MEAN ? 0 : 1;
    *law = (struct nb_value_law){.attribute = attribute, .count = cell.documents};
    if (kind == NB_FIELD_KIND_CATEGORY)
        law->count = cell.occurrences;
    if (kind == NB_FIELD_KIND_CATEGORY)
        put_category(law, label, scores->counts[attribute].vocabulary, addends.present, offset);
    else
        put_member(law, label, addends, offset);
    return true;
}

/* ---- words of texts -------------------------------------------------------------------------- */

/* In the m-estimate of the Bernoulli model, shares are shares of documents, and there are two
 * outcomes. */
static double addend_of_bernoulli(const struct nb_attribute_scores *scores,
                                  const struct nb_settings *settings, const struct nb_model *model,
                                  struct nb_row row, size_t attribute)
{
    const struct nb_attribute_counts *c = &scores->counts[attribute];
    uint64_t mine = nb_counts_occurrences(model, row);
    double share = 1 / (double)c->vocabulary;
    if (nb_estimate_is_by_word(settings))
        share = mine < c->sum ? (double)mine / (double)c->sum : 1;
    return nb_estimate_addends_of_share(settings->smoothing, share).present;
}

bool nb_text_word_of(const struct nb_attribute_scores *scores, const struct nb_settings *settings,
                     const struct nb_model *model, struct nb_row row, uint32_t place,
                     struct nb_text_word *word)
{
    size_t attribute = attribute_of(scores, row);
    if (attribute == SIZE_MAX || settings->attributes[attribute].kind != NB_FIELD_KIND_TEXT)
        return false;
    enum nb_event_model event = scores->counts[attribute].event;
    struct nb_cell cell = nb_counts_of(model, row, scores->names[place]);
    bool has_shares = settings->smoothing_by.kind == NB_SMOOTHING_M;
    *word = (struct nb_text_word){
        .attribute = attribute,
        .count = event == NB_EVENT_BINARY ? cell.documents : cell.occurrences,
        .addend = event == NB_EVENT_BERNOULLI && has_shares
                      ? addend_of_bernoulli(scores, settings, model, row, attribute)
                      : nb_attribute_addends(scores, model, row, place).present};
    return true;
}

/* ---- the tree -------------------------------------------------------------------------------- */

size_t nb_attribute_law_parent(const struct nb_attribute_scores *scores, size_t attribute)
{
    const struct nb_tree *tree = scores->tree;
    if (tree == NULL || tree->columns == 0)
        return SIZE_MAX;
    uint8_t column = nb_pairs_column(tree->pairs, attribute);
    uint8_t parent = column == NB_PAIR_NO_COLUMN ? NB_PAIR_NO_COLUMN : tree->parents[column];
    return parent == NB_PAIR_NO_COLUMN ? SIZE_MAX : nb_pairs_attribute(tree->pairs, parent);
}

double nb_value_law_given(const struct nb_attribute_scores *scores, const struct nb_model *model,
                          uint32_t row, uint32_t given, uint32_t place)
{
    struct nb_factor factor = nb_attribute_value_given(scores, model, row, given, place);
    return factor.is_zero ? 0 : exp(factor.log);
}

/* Sets *first to the place of the attribute's first value in `by`, and *end behind its last. */
static void find(const struct nb_smoothing *by, size_t attribute, size_t *first, size_t *end)
{
    assert(attribute < NB_ATTRIBUTES_MOST);
    unsigned part = (unsigned)attribute * 2;
    *first = nb_smoothing_place(by, nb_feature_value_id(part, 0));
    *end = nb_smoothing_place(by, nb_feature_value_id(part + 1, 0));
}

/* Whether the settings give values of an attribute numbers of their own. */
static bool value_addends_has(const struct nb_settings *settings, size_t attribute)
{
    size_t first, end;
    if (settings->smoothing_by.kind != NB_SMOOTHING_VALUES)
        return false;
    find(&settings->smoothing_by, attribute, &first, &end);
    return first < end;
}

static double addend(const struct nb_settings *settings, double smoothing)
{
    return nb_estimate_addend((enum nb_estimate)settings->estimate, smoothing);
}

/* Returns the addend of the value with the feature `id` for a label. */
static struct nb_addends value_addends_of(const struct nb_settings *settings, uint64_t id,
                                          const char *label)
{
    const struct nb_smoothing *by = &settings->smoothing_by;
    size_t place = nb_smoothing_place(by, id);
    bool is_named = place < by->value_count && by->values[place].id == id;
    double b =
        addend(settings, is_named ? nb_smoothing_of_label(by, place, label) : settings->smoothing);
    return (struct nb_addends){b, b};
}

/* Returns the sum of the addends of an attribute's values for a label: the `vocabulary` values that
 * documents have. */
static double value_addends_sum(const struct nb_settings *settings, const struct nb_model *model,
                                size_t attribute, uint64_t vocabulary, const char *label)
{
    const struct nb_smoothing *by = &settings->smoothing_by;
    size_t first, end;
    uint64_t others = vocabulary;
    double sum = 0;
    find(by, attribute, &first, &end);
    for (size_t i = first; i < end; i++) {
        uint32_t row = nb_model_find(model, by->values[i].id);
        if (row == NB_NO_ROW || !nb_counts_any(nb_model_row(model, row)))
            continue;
        assert(others > 0);
        others--;
        sum += addend(settings, nb_smoothing_of_label(by, i, label));
    }
    return sum + (double)others * addend(settings, settings->smoothing);
}

static enum nb_event_model event_of(const struct nb_settings *settings, size_t attribute)
{
    enum nb_event_model event = (enum nb_event_model)settings->event_model;
    int kind = settings->attributes[attribute].kind;
    if (kind == NB_FIELD_KIND_SET)
        return NB_EVENT_BERNOULLI;
    return kind == NB_FIELD_KIND_TEXT || event == NB_EVENT_COMPLEMENT ? event
                                                                      : NB_EVENT_MULTINOMIAL;
}

/* The ranges of sums (core/counts/model.h) over an attribute's values; below: over its presence. */
static unsigned values_of(size_t attribute)
{
    return NB_FIRST_PART + (unsigned)attribute * 2;
}

static unsigned presence_of(size_t attribute)
{
    return values_of(attribute) + 1;
}

static size_t attribute_scores_attribute_of(uint64_t id)
{
    assert(nb_feature_field(id) == NB_FIELD_VALUE);
    return nb_feature_part(id) / 2;
}

static struct nb_attribute_label *label_at(const struct nb_attribute_scores *s, size_t attribute,
                                           uint32_t place)
{
    return &s->labels[attribute * s->size + place];
}

/* Returns ln(value), but 0 for 0: if a denominator is 0, all counts are 0. */
static double log_or_nothing(double value)
{
    return value > 0 ? log(value) : 0;
}

/* Returns p of a value from the parent's counts. */
static double pooled_share(const struct nb_attribute_scores *s, size_t attribute, uint64_t id)
{
    const struct nb_attribute_counts *c = &s->counts[attribute];
    struct nb_row row = nb_model_row_or_none(s->pool, nb_model_find(s->pool, id));
    bool bernoulli = c->event == NB_EVENT_BERNOULLI;
    if (!(c->pool_sum > 0))
        return 1 / (bernoulli ? 2 : (double)c->vocabulary);
    bool of_documents = bernoulli || c->event == NB_EVENT_BINARY;
    uint64_t mine =
        of_documents ? nb_counts_documents(s->pool, row) : nb_counts_occurrences(s->pool, row);
    return fmin(((double)mine + 1) / c->pool_sum, 1);
}

/* What is added to the counts of a value. */
static struct nb_addends addends_of(const struct nb_attribute_scores *s,
                                    const struct nb_model *model, struct nb_row row,
                                    size_t attribute, uint32_t place)
{
    const struct nb_attribute_counts *c = &s->counts[attribute];
    if (c->has_addends)
        return value_addends_of(s->settings, row.id,
                                nb_model_label_name(model, s->names[place]).bytes);
    if (!(s->by_value > 0))
        return label_at(s, attribute, place)->addends;
    if (s->pool != NULL)
        return nb_estimate_addends_of_share(s->by_value, pooled_share(s, attribute, row.id));
    bool of_documents = c->event == NB_EVENT_BERNOULLI || c->event == NB_EVENT_BINARY;
    uint64_t mine =
        of_documents ? nb_counts_documents(model, row) : nb_counts_occurrences(model, row);
    uint64_t all = c->event == NB_EVENT_BERNOULLI ? c->documents : c->sum;
    /* A dump may have values of a set without the set's presence. */
    return nb_estimate_addends_of_share(s->by_value, mine < all ? (double)mine / (double)all : 1);
}

/* What is added to the denominator of a value with these addends. */
static double added_of(const struct nb_attribute_scores *s, struct nb_addends addends,
                       size_t attribute, uint32_t place)
{
    bool bernoulli = s->counts[attribute].event == NB_EVENT_BERNOULLI;
    return bernoulli ? addends.present + addends.absent : label_at(s, attribute, place)->added;
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
    c->sum = c->documents = 0;
    for (uint32_t i = 0; i < s->size; i++) {
        struct nb_attribute_label *l = label_at(s, attribute, i);
        l->sum = c->event == NB_EVENT_BINARY
                     ? nb_model_presences(model, s->names[i], values_of(attribute))
                     : nb_model_occurrences(model, s->names[i], values_of(attribute));
        l->documents = nb_model_occurrences(model, s->names[i], presence_of(attribute));
        c->sum += l->sum;
        c->documents += l->documents;
    }
}

/* Sets pool_sum: n' + values' + 1, or D' + 2 for a set. */
static void put_pool(struct nb_attribute_scores *s, size_t attribute)
{
    struct nb_attribute_counts *c = &s->counts[attribute];
    bool bernoulli = c->event == NB_EVENT_BERNOULLI;
    unsigned part = bernoulli ? presence_of(attribute) : values_of(attribute);
    double sum = 0;
    for (uint32_t v = 0; s->pool != NULL && v < nb_model_label_count(s->pool); v++)
        sum += (double)(c->event == NB_EVENT_BINARY ? nb_model_presences(s->pool, v, part)
                                                    : nb_model_occurrences(s->pool, v, part));
    double more = bernoulli || s->pool == NULL ? 2 : (double)nb_model_vocabulary(s->pool, part) + 1;
    c->pool_sum = sum > 0 ? sum + more : 0;
}

/* Sets the addends as for words, but with the vocabulary and the event model of the attribute. */
static void put_addends(struct nb_attribute_scores *s, const struct nb_settings *settings,
                        const struct nb_model *model, size_t attribute)
{
    struct nb_attribute_counts *c = &s->counts[attribute];
    struct nb_settings own = *settings;
    own.event_model = (int)c->event;
    c->has_addends = value_addends_has(settings, attribute);
    for (uint32_t i = 0; i < s->size; i++) {
        struct nb_attribute_label *l = label_at(s, attribute, i);
        const char *label = nb_model_label_name(model, s->names[i]).bytes;
        l->addends = nb_estimate_addends(&own, label, c->vocabulary);
        l->added = c->has_addends
                       ? value_addends_sum(settings, model, attribute, c->vocabulary, label)
                       : nb_estimate_added(&own, l->addends, c->vocabulary);
    }
}

static void put_ends(struct nb_attribute_scores *s, size_t attribute)
{
    const struct nb_attribute_counts *c = &s->counts[attribute];
    for (uint32_t i = 0; i < s->size; i++) {
        struct nb_attribute_label *l = label_at(s, attribute, i);
        uint64_t sum = c->event == NB_EVENT_COMPLEMENT ? c->sum - l->sum : l->sum;
        l->ends = log_or_nothing((double)sum + l->added);
        l->none = (struct nb_log_product){0, 0};
    }
}

/* ---- sets ------------------------------------------------------------------------------------ */

/* Multiplies l->none by the estimate that a document lacks a value, which `have` documents have. */
static void lack(struct nb_attribute_label *l, struct nb_addends addends, uint64_t have)
{
    double absent = (double)(l->documents > have ? l->documents - have : 0) + addends.absent;
    if (absent > 0)
        l->none.log += log(absent / ((double)l->documents + addends.present + addends.absent));
    else
        l->none.zeros++;
}

/* Walks over all rows once, and computes the products for documents that lack all values. */
static void walk(struct nb_attribute_scores *s, const struct nb_model *model)
{
    uint32_t rows = nb_model_rows(model);
    for (uint32_t number = 0; number < rows; number++) {
        struct nb_row row = nb_model_row(model, number);
        if (nb_feature_field(row.id) != NB_FIELD_VALUE || !nb_feature_is_token(row.id) ||
            !nb_counts_any(row))
            continue;
        size_t attribute = attribute_scores_attribute_of(row.id);
        if (attribute >= s->count || s->counts[attribute].event != NB_EVENT_BERNOULLI)
            continue;
        for (uint32_t i = 0; i < s->size; i++)
            lack(label_at(s, attribute, i), addends_of(s, model, row, attribute, i),
                 nb_counts_of(model, row, s->names[i]).documents);
    }
}

static void free_tree(struct nb_attribute_scores *s)
{
    if (s->tree != NULL)
        nb_tree_deinit(s->tree);
    free(s->tree);
    s->tree = NULL;
}

static int put_tree(struct nb_attribute_scores *s, const struct nb_model *model)
{
    if (nb_model_pairs(model) == NULL) {
        free_tree(s);
        return 0;
    }
    if (s->tree == NULL && (s->tree = calloc(1, sizeof *s->tree)) == NULL)
        return NB_NO_MEMORY;
    return nb_tree_make(s->tree, model, &s->numbers);
}

int nb_attribute_scores_make(struct nb_attribute_scores *scores, const struct nb_settings *settings,
                             const struct nb_model *model, const struct nb_model *pool)
{
    struct nb_attribute_scores *s = scores;
    bool walks = false, by_value = nb_estimate_is_by_word(settings) || pool != NULL;
    assert(pool == NULL || nb_smoothing_is_of_parent(&settings->smoothing_by));
    if (settings->attribute_count == 0)
        return 0;
    if (make_room(s, settings, model) != 0)
        return NB_NO_MEMORY;
    s->settings = settings;
    s->by_value = by_value ? settings->smoothing : 0;
    s->pool = pool;
    put_labels(s, model);
    for (size_t attribute = 0; attribute < s->count; attribute++) {
        s->counts[attribute].event = event_of(settings, attribute);
        put_sums(s, model, attribute);
        put_pool(s, attribute);
        put_addends(s, settings, model, attribute);
        put_ends(s, attribute);
        walks = walks || s->counts[attribute].event == NB_EVENT_BERNOULLI;
    }
    if (walks)
        walk(s, model);
    int rc = nb_numbers_make(&s->numbers, settings, model, s->names, s->size);
    return rc == 0 ? put_tree(s, model) : rc;
}

void nb_attribute_scores_deinit(struct nb_attribute_scores *scores)
{
    free(scores->names);
    free(scores->counts);
    free(scores->labels);
    nb_numbers_deinit(&scores->numbers);
    free_tree(scores);
    *scores = (struct nb_attribute_scores){0};
}

size_t nb_attribute_scores_memory(const struct nb_attribute_scores *scores)
{
    return scores->count * sizeof *scores->counts + scores->size * sizeof *scores->names +
           scores->room * sizeof *scores->labels + nb_numbers_memory(&scores->numbers) +
           (scores->tree != NULL ? sizeof *scores->tree + nb_pairs_memory(scores->tree->folded)
                                 : 0);
}

/* ---- features -------------------------------------------------------------------------------- */

bool nb_attribute_says(const struct nb_attribute_scores *scores, const struct nb_feature *feature,
                       struct nb_row row)
{
    size_t attribute = attribute_scores_attribute_of(feature->id);
    if (attribute >= scores->count) /* the field is newer than these settings */
        return false;
    if (nb_part_is_presence(nb_feature_part(feature->id)))
        return scores->counts[attribute].event == NB_EVENT_BERNOULLI;
    if (nb_numbers_have(&scores->numbers, attribute))
        return nb_numbers_say(&scores->numbers, feature->id);
    return nb_counts_any(row);
}

struct nb_factor nb_attribute_value(const struct nb_attribute_scores *scores,
                                    const struct nb_model *model, const struct nb_feature *feature,
                                    struct nb_row row, uint32_t place)
{
    size_t attribute = attribute_scores_attribute_of(feature->id);
    const struct nb_attribute_label *l = label_at(scores, attribute, place);
    enum nb_event_model event = scores->counts[attribute].event;
    if (nb_numbers_have(&scores->numbers, attribute))
        return nb_numbers_factor(&scores->numbers, model, feature->id, place);
    struct nb_cell cell = nb_counts_of(model, row, scores->names[place]);
    uint32_t count =
        event == NB_EVENT_MULTINOMIAL || event == NB_EVENT_COMPLEMENT ? feature->count : 1;
    const struct nb_addends addends = addends_of(scores, model, row, attribute, place);
    uint64_t all = nb_counts_occurrences(model, row);
    struct nb_factor f = nb_estimate_word(event, addends, l->documents, all, cell, count);
    if (event == NB_EVENT_COMPLEMENT)
        f.log += count * l->ends;
    else if (event != NB_EVENT_BERNOULLI)
        f.log -= count * l->ends;
    return f;
}

/* Returns in how many documents of the label both rows occur; `one` may be NB_PAIR_ANY. */
static uint32_t count_both(const struct nb_attribute_scores *s, size_t attribute, uint32_t one,
                           size_t parent, uint32_t given, uint32_t place)
{
    return attribute < parent ? nb_pairs_count(s->tree->pairs, one, given, s->names[place])
                              : nb_pairs_count(s->tree->pairs, given, one, s->names[place]);
}

/* Returns the addend of a row or a bin, and sets *added to the addend of the sum. */
static double addend_of_value(const struct nb_attribute_scores *s, const struct nb_model *model,
                              uint32_t value, size_t attribute, uint32_t place, double *added)
{
    if (!nb_pair_is_bin(value)) {
        *added = label_at(s, attribute, place)->added;
        return addends_of(s, model, nb_model_row(model, value), attribute, place).present;
    }
    const struct nb_bins *bins = &s->numbers.counts[attribute].bins;
    size_t bin = NB_PAIR_BIN(attribute, 0) - value;
    return nb_bin_addends(s->settings, nb_model_label_name(model, s->names[place]).bytes,
                          nb_bin_counts_of(bins, bin, place), added)
        .present;
}

struct nb_factor nb_attribute_value_given(const struct nb_attribute_scores *scores,
                                          const struct nb_model *model, uint32_t value,
                                          uint32_t given, uint32_t place)
{
    size_t attribute = nb_tree_attribute(model, value), parent = nb_tree_attribute(model, given);
    double added, above = addend_of_value(scores, model, value, attribute, place, &added);
    above += count_both(scores, attribute, value, parent, given, place);
    double below =
        count_both(scores, attribute, NB_PAIR_ANY(attribute), parent, given, place) + added;
    if (!(above > 0))
        return (struct nb_factor){.is_zero = true};
    return (struct nb_factor){.log = log(above) - log(below)};
}

struct nb_log_product nb_attribute_presence(const struct nb_attribute_scores *scores, uint64_t id,
                                            uint32_t place)
{
    return label_at(scores, attribute_scores_attribute_of(id), place)->none;
}

void nb_attribute_add(const struct nb_attribute_scores *scores, const struct nb_model *model,
                      const struct nb_feature *feature, struct nb_row row, uint32_t place,
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

struct nb_addends nb_attribute_addends(const struct nb_attribute_scores *scores,
                                       const struct nb_model *model, struct nb_row row,
                                       uint32_t place)
{
    return addends_of(scores, model, row, attribute_scores_attribute_of(row.id), place);
}

double nb_attribute_evidence(const struct nb_attribute_scores *scores, const struct nb_model *model,
                             struct nb_row row, uint32_t place)
{
    size_t attribute = attribute_scores_attribute_of(row.id);
    if (attribute >= scores->count || !nb_feature_is_token(row.id) || !nb_counts_any(row))
        return 0;
    const struct nb_attribute_counts *c = &scores->counts[attribute];
    const struct nb_attribute_label *l = label_at(scores, attribute, place);
    if (nb_numbers_have(&scores->numbers, attribute))
        return nb_numbers_evidence(&scores->numbers, model, row.id, place);
    struct nb_cell cell = nb_counts_of(model, row, scores->names[place]);
    bool bernoulli = c->event == NB_EVENT_BERNOULLI;
    bool of_documents = bernoulli || c->event == NB_EVENT_BINARY;
    uint64_t own = of_documents ? cell.documents : cell.occurrences;
    uint64_t all =
        of_documents ? nb_counts_documents(model, row) : nb_counts_occurrences(model, row);
    uint64_t sum = bernoulli ? l->documents : l->sum;
    uint64_t others = (bernoulli ? c->documents : c->sum) - sum;
    const struct nb_addends addends = addends_of(scores, model, row, attribute, place);
    double b = addends.present, added = added_of(scores, addends, attribute, place);
    return nb_log_evidence(log_estimate((double)own + b, (double)sum + added),
                           log_estimate((double)(all - own) + b, (double)others + added));
}
