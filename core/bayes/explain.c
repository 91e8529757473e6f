/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bayes/explain.h"

#include <assert.h>
#include <stdlib.h>

#include "core/bayes/score_view.h"

void nb_evidence_sum(const struct nb_feature *features, struct nb_evidence *rows, size_t count,
                     struct nb_evidence_sums *sums)
{
    for (size_t i = 0; i < count; i++) {
        rows[i].evidence *= sums->factor;
        if (rows[i].feature == NB_NO_FEATURE)
            continue;
        unsigned field = nb_feature_field(features[rows[i].feature].id);
        if (field < NB_FIELDS)
            sums->fields[field] += rows[i].evidence;
    }
}

/* Returns what one occurrence of the feature adds to a label's score, beyond what it adds to the
 * scores of all labels. */
static double term(const struct nb_scorer *s, const struct nb_model *model,
                   const struct nb_score_label *l, struct nb_row row, uint64_t all)
{
    struct nb_cell cell = nb_counts_of(model, row, l->label);
    double term = l->zero_term;
    if (cell.occurrences != 0)
        term += nb_correction(s, l->documents, cell, all);
    return term;
}

/* Reads the row of a feature. False: the feature is not in the used vocabulary. */
static bool used_row(const struct nb_scorer *s, const struct nb_model *model,
                     const struct nb_score_view *view, uint32_t number, struct nb_row *row,
                     uint64_t *all)
{
    if (number == NB_NO_ROW)
        return false;
    *row = nb_model_row(model, number);
    *all = nb_counts_occurrences(model, *row);
    return nb_score_uses(s, model, view, number);
}

/* The two labels that an explanation compares. With factors, `best_lacks` and `second_lacks` count
 * the words that all documents of the label have but this document lacks. */
struct sides {
    uint32_t best, second; /* positions */
    uint64_t best_lacks, second_lacks;
    double best_term, second_term; /* added by each known position */
};

static struct sides sides_of(const struct nb_scorer *s, const struct nb_score_view *view,
                             const struct nb_scores *scores)
{
    struct sides sides = {.best = (uint32_t)scores->best, .second = (uint32_t)scores->second};
    assert(scores->best < view->size && scores->second < view->size);
    if (view->estimates != NULL) {
        sides.best_lacks = view->estimates[sides.best].certain;
        sides.second_lacks = view->estimates[sides.second].certain;
        sides.best_term = nb_position_term(s, view, sides.best, scores->weighed);
        sides.second_term = nb_position_term(s, view, sides.second, scores->weighed);
    }
    return sides;
}

/* With factors: returns the evidence of a word. */
static double factor_evidence(const struct nb_scorer *s, const struct nb_model *model,
                              const struct nb_score_view *view, uint32_t number, uint32_t weight,
                              struct sides *sides)
{
    struct nb_factor_word word = nb_factor_word_of(s, model, view, number, weight);
    struct nb_factor best = nb_factor_of(s, model, view, sides->best, &word);
    struct nb_factor second = nb_factor_of(s, model, view, sides->second, &word);
    best.log += weight * sides->best_term;
    second.log += weight * sides->second_term;
    sides->best_lacks -= best.is_pole;
    sides->second_lacks -= second.is_pole;
    return nb_factor_evidence(best, second);
}

/* Returns the evidence that belongs to no single word: the prior, and with Bernoulli the absent
 * words. */
static double rest_evidence(const struct nb_score_view *view, const struct sides *sides)
{
    struct nb_factor best = {.log = view->labels[sides->best].base,
                             .is_zero = sides->best_lacks > 0};
    struct nb_factor second = {.log = view->labels[sides->second].base,
                               .is_zero = sides->second_lacks > 0};
    return nb_factor_evidence(best, second);
}

static double word_evidence(const struct nb_scorer *s, const struct nb_model *model,
                            const struct nb_score_view *view, uint32_t number, uint64_t all,
                            uint32_t count, struct sides *sides)
{
    uint32_t weight = nb_weight_of(s, count);
    if (s->has_factors)
        return factor_evidence(s, model, view, number, weight, sides);
    struct nb_row row = nb_model_row(model, number);
    return weight * (term(s, model, &view->labels[sides->best], row, all) -
                     term(s, model, &view->labels[sides->second], row, all));
}

/* Counts the document's values in the set of the feature `at` that all documents of the label at
 * `place` have. */
static int64_t count_poles(const struct nb_scorer *s, const struct nb_model *model,
                           const struct nb_feature *features, size_t size, size_t at,
                           uint32_t place)
{
    unsigned part = nb_feature_part(features[at].id) - 1;
    int64_t poles = 0;
    for (size_t i = 0; s->has_factors && i < size; i++) {
        uint64_t id = features[i].id;
        uint32_t number = nb_feature_field(id) == NB_FIELD_VALUE && nb_feature_part(id) == part
                              ? nb_model_find(model, id)
                              : NB_NO_ROW;
        struct nb_row row = nb_model_row_or_none(model, number);
        if (number != NB_NO_ROW && nb_attribute_says(&s->attributes, &features[i], row))
            poles += nb_attribute_value(&s->attributes, model, &features[i], row, place).is_pole;
    }
    return poles;
}

/* The evidence of a set's presence for one label, from the values that the document lacks. */
static double presence(const struct nb_scorer *s, const struct nb_model *model,
                       const struct nb_feature *features, size_t size, size_t at, size_t place)
{
    struct nb_log_product none =
        nb_attribute_presence(&s->attributes, features[at].id, (uint32_t)place);
    none.zeros -= count_poles(s, model, features, size, at, (uint32_t)place);
    return nb_log_product_value(none);
}

/* Returns the evidence of a category, given the value of the category that it depends on. */
static double evidence_given(const struct nb_scorer *s, const struct nb_model *model,
                             uint32_t value, uint32_t given, const struct nb_scores *scores)
{
    uint32_t best = (uint32_t)scores->best, second = (uint32_t)scores->second;
    return nb_factor_evidence(
        nb_attribute_value_given(&s->attributes, model, value, given, best),
        nb_attribute_value_given(&s->attributes, model, value, given, second));
}

/* Explains a feature of an attribute; `given` may be NULL. Returns whether the feature is
 * evidence. */
static bool explain_value(const struct nb_scorer *s, const struct nb_model *model,
                          const struct nb_feature *features, size_t size, size_t at,
                          uint32_t number, const struct nb_scores *scores,
                          const struct nb_given *given, struct nb_evidence *evidence)
{
    const struct nb_feature *feature = &features[at];
    struct nb_row row = nb_model_row_or_none(model, number);
    if (!nb_attribute_says(&s->attributes, feature, row))
        return false;
    uint32_t best = (uint32_t)scores->best, second = (uint32_t)scores->second;
    uint8_t parent =
        given == NULL ? NB_PAIR_NO_COLUMN : nb_given_parent(given, s->attributes.tree, feature->id);
    *evidence = (struct nb_evidence){.feature = (uint32_t)at};
    if (parent != NB_PAIR_NO_COLUMN) {
        evidence->given = (uint32_t)given->places[parent];
        evidence->evidence =
            evidence_given(s, model, nb_tree_value(s->attributes.tree, feature->id, number),
                           given->values[parent], scores);
    } else if (nb_part_is_presence(nb_feature_part(feature->id))) {
        evidence->evidence = nb_log_evidence(presence(s, model, features, size, at, best),
                                             presence(s, model, features, size, at, second));
    } else {
        evidence->evidence =
            nb_factor_evidence(nb_attribute_value(&s->attributes, model, feature, row, best),
                               nb_attribute_value(&s->attributes, model, feature, row, second));
    }
    return true;
}

int nb_explain(struct nb_scorer *scorer, const struct nb_model *model,
               const struct nb_feature *features, size_t size, const uint32_t *found,
               const struct nb_scores *scores, struct nb_evidence *rows, size_t *count)
{
    const struct nb_score_view *view;
    int rc = nb_scorer_view(scorer, model, &view);
    if (rc != 0)
        return rc;
    struct sides sides = sides_of(scorer, view, scores);
    size_t filled = 0;
    uint32_t looked_up[NB_MODEL_STEP];
    const uint32_t *numbers = looked_up;
    struct nb_given given;
    bool has_tree = scorer->attributes.tree != NULL;
    if (has_tree)
        nb_given_find(&given, scorer->attributes.tree, model, features, size);
    for (size_t i = 0; i < size; i++) {
        if (i % NB_MODEL_STEP == 0)
            numbers = nb_model_step(model, features, i,
                                    size - i < NB_MODEL_STEP ? size - i : NB_MODEL_STEP, found,
                                    looked_up);
        struct nb_row row;
        uint64_t all;
        double evidence;
        uint32_t number = numbers[i % NB_MODEL_STEP];
        if (nb_feature_field(features[i].id) == NB_FIELD_VALUE) {
            filled += explain_value(scorer, model, features, size, i, number, scores,
                                    has_tree ? &given : NULL, &rows[filled]);
            continue;
        }
        if (!used_row(scorer, model, view, number, &row, &all))
            continue;
        evidence = word_evidence(scorer, model, view, number, all, features[i].count, &sides);
        rows[filled++] = (struct nb_evidence){.feature = (uint32_t)i, .evidence = evidence};
    }
    rows[filled++] =
        (struct nb_evidence){.feature = NB_NO_FEATURE, .evidence = rest_evidence(view, &sides)};
    *count = filled;
    return 0;
}

/* ---- one row --------------------------------------------------------------------------------- */

/* The addends in one row's estimates: to its count, and to the sum. */
struct row_addends {
    double own, all;
};

static struct row_addends row_addends_of(const struct nb_scorer *s, const struct nb_model *model,
                                         const struct nb_score_view *view, uint32_t position,
                                         uint32_t number)
{
    bool bernoulli = s->settings.event_model == NB_EVENT_BERNOULLI;
    if (!s->has_factors)
        return (struct row_addends){s->addend,
                                    s->addend * (bernoulli ? 2 : (double)view->vocabulary)};
    struct nb_factor_word word = nb_factor_word_of(s, model, view, number, 1);
    return (struct row_addends){nb_addends_of(s, view, position, &word).present,
                                view->estimates[position].added};
}

/* Returns ln of the estimate of P(w|v) from a count and a sum; -infinity for 0. */
static double log_estimate(const struct nb_scorer *s, uint64_t count, uint64_t sum,
                           struct row_addends added)
{
    double above = (double)count + added.own;
    if (!(above > 0))
        return -(double)INFINITY;
    return (s->has_factors ? log(above) : nb_log_of(s, count)) - log((double)sum + added.all);
}

double nb_row_evidence(struct nb_scorer *scorer, const struct nb_model *model, uint32_t row,
                       uint32_t label)
{
    const struct nb_score_view *view;
    if (nb_scorer_view(scorer, model, &view) != 0 || view->position[label] == NB_NOT_SCORED)
        return 0;
    uint64_t all;
    struct nb_row r = nb_model_row(model, row);
    if (nb_feature_field(r.id) == NB_FIELD_VALUE)
        return nb_attribute_evidence(&scorer->attributes, model, r, view->position[label]);
    if (!used_row(scorer, model, view, row, &r, &all))
        return 0;
    const struct nb_score_label *l = &view->labels[view->position[label]];
    struct nb_cell cell = nb_counts_of(model, r, label);
    uint64_t rest = nb_counts_documents(model, r) - cell.documents;
    struct row_addends added = row_addends_of(scorer, model, view, view->position[label], row);
    switch ((enum nb_event_model)scorer->settings.event_model) {
    case NB_EVENT_BERNOULLI:
        return log_estimate(scorer, cell.documents, l->documents, added) -
               log_estimate(scorer, rest, nb_model_documents_all(model) - l->documents, added);
    case NB_EVENT_BINARY:
        return log_estimate(scorer, cell.documents, l->sum, added) -
               log_estimate(scorer, rest, view->sum - l->sum, added);
    case NB_EVENT_MULTINOMIAL:
    case NB_EVENT_COMPLEMENT:
        break;
    }
    return log_estimate(scorer, cell.occurrences, l->sum, added) -
           log_estimate(scorer, all - cell.occurrences, view->sum - l->sum, added);
}

/* ---- the law of a label's words -------------------------------------------------------------- */

/* Sets the addends of the multinomial model, with any event model. */
static void put_addends(const struct nb_scorer *s, const char *label, struct nb_word_law *law)
{
    struct nb_settings settings = s->settings; /* a shallow copy of the scorer's */
    if (settings.event_model == NB_EVENT_BERNOULLI)
        settings.event_model = NB_EVENT_MULTINOMIAL;
    struct nb_addends addends = nb_estimate_addends(&settings, label, law->vocabulary);
    law->addend = addends.present;
    law->is_by_word = nb_estimate_is_by_word(&settings);
    law->added = nb_estimate_added(&settings, addends, law->vocabulary);
    law->offset = settings.estimate == NB_ESTIMATE_MEAN ? 0 : 1;
}

int nb_word_law_of(struct nb_scorer *scorer, const struct nb_model *model, uint32_t label,
                   struct nb_word_law *law)
{
    const struct nb_score_view *view;
    int rc = nb_scorer_view(scorer, model, &view);
    if (rc != 0)
        return rc;
    uint32_t position = view->position[label];
    if (position == NB_NOT_SCORED)
        return NB_CONFLICT;
    *law = (struct nb_word_law){.sum = view->labels[position].sum,
                                .vocabulary = view->vocabulary,
                                .prior = exp(view->labels[position].prior)};
    put_addends(scorer, nb_model_label_name(model, label).bytes, law);
    return 0;
}

bool nb_word_law_count(struct nb_scorer *scorer, const struct nb_model *model, uint32_t row,
                       uint32_t label, const struct nb_word_law *law, uint64_t *count,
                       double *addend)
{
    uint64_t all;
    bool is_binary = scorer->settings.event_model == NB_EVENT_BINARY;
    struct nb_row used;
    if (!used_row(scorer, model, &scorer->view, row, &used, &all))
        return false;
    struct nb_cell cell = nb_counts_of(model, used, label);
    *count = is_binary ? cell.documents : cell.occurrences;
    *addend = law->addend;
    if (law->is_by_word) {
        uint64_t mine = is_binary ? nb_counts_documents(model, used) : all;
        double share = (double)mine / (double)scorer->view.sum;
        *addend = nb_estimate_addends_of_share(scorer->settings.smoothing, share).present;
    }
    return true;
}

int nb_label_attributes(struct nb_scorer *scorer, const struct nb_model *model, uint32_t label,
                        const struct nb_attribute_scores **attributes, uint32_t *place)
{
    const struct nb_score_view *view;
    int rc = nb_scorer_view(scorer, model, &view);
    if (rc != 0)
        return rc;
    *attributes = &scorer->attributes;
    *place = view->position[label];
    return *place == NB_NOT_SCORED ? NB_CONFLICT : 0;
}
