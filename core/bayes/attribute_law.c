/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bayes/attribute_law.h"

#include <assert.h>
#include <math.h>

#include "core/bayes/attribute_scores.h"

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
