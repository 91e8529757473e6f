/* SPDX-License-Identifier: Apache-2.0 */
#include "core/score/explain.h"

#include <assert.h>
#include <stdlib.h>

#include "core/base/heap.h"
#include "core/score/scorer_private.h"

/* What one occurrence of the feature adds to a label's score, without what it adds to every
 * label's. */
static double term(const struct nb_scorer *s, const struct nb_model *model,
                   const struct nb_score_label *l, const struct nb_row *row, uint64_t all)
{
    struct nb_cell cell = nb_counts_of(model, row, l->label);
    double term = l->zero_term;
    if (cell.occurrences != 0)
        term += nb_correction(s, l->documents, cell, all);
    return term;
}

/* The used row of a feature, or NULL. */
static const struct nb_row *used_row(const struct nb_scorer *s, const struct nb_model *model,
                                     const struct nb_score_view *view, uint32_t number,
                                     uint64_t *all)
{
    if (number == NB_NO_ROW)
        return NULL;
    const struct nb_row *row = nb_model_row(model, number);
    *all = nb_counts_occurrences(model, row);
    bool counts = *all != 0 && nb_field_is_token(nb_feature_field(row->id));
    return counts && nb_score_view_uses(s, view, row->id, *all) ? row : NULL;
}

/* The two labels that an explanation tells apart. Where an estimate may be 0: how many words that
 * all documents of each have the document lacks. */
struct sides {
    const struct nb_score_label *best, *second;
    uint64_t best_lacks, second_lacks;
};

static struct sides sides_of(const struct nb_score_view *view, const struct nb_scores *scores)
{
    struct sides sides = {.best = &view->labels[scores->best],
                          .second = &view->labels[scores->second]};
    assert(scores->best < view->size && scores->second < view->size);
    if (view->certain != NULL) {
        sides.best_lacks = view->certain[scores->best];
        sides.second_lacks = view->certain[scores->second];
    }
    return sides;
}

/* Where an estimate may be 0: what a word adds. */
static double factor_evidence(const struct nb_scorer *s, const struct nb_model *model,
                              const struct nb_row *row, uint32_t weight, struct sides *sides)
{
    struct nb_factor best = nb_factor_of(s, model, sides->best, row, weight);
    struct nb_factor second = nb_factor_of(s, model, sides->second, row, weight);
    best.log += weight * sides->best->zero_term;
    second.log += weight * sides->second->zero_term;
    sides->best_lacks -= best.is_pole;
    sides->second_lacks -= second.is_pole;
    return nb_factor_evidence(best, second);
}

/* What no word of the document adds: the prior, and with Bernoulli the words that it lacks. */
static double rest_evidence(const struct sides *sides)
{
    struct nb_factor best = {.log = sides->best->base, .is_zero = sides->best_lacks > 0};
    struct nb_factor second = {.log = sides->second->base, .is_zero = sides->second_lacks > 0};
    return nb_factor_evidence(best, second);
}

static double word_evidence(const struct nb_scorer *s, const struct nb_model *model,
                            const struct nb_row *row, uint64_t all, uint32_t count,
                            struct sides *sides)
{
    uint32_t weight = nb_weight_of(s, count);
    if (s->may_be_zero)
        return factor_evidence(s, model, row, weight, sides);
    return weight *
           (term(s, model, sides->best, row, all) - term(s, model, sides->second, row, all));
}

int nb_explain(struct nb_scorer *scorer, const struct nb_model *model,
               const struct nb_feature *features, size_t size, const struct nb_scores *scores,
               struct nb_evidence *rows, size_t *count)
{
    const struct nb_score_view *view;
    int rc = nb_scorer_view(scorer, model, &view);
    if (rc != 0)
        return rc;
    struct sides sides = sides_of(view, scores);
    size_t filled = 0;
    uint32_t numbers[NB_MODEL_STEP];
    for (size_t i = 0; i < size; i++) {
        if (i % NB_MODEL_STEP == 0)
            nb_model_find_all(model, features + i,
                              size - i < NB_MODEL_STEP ? size - i : NB_MODEL_STEP, numbers);
        uint64_t all;
        const struct nb_row *row = used_row(scorer, model, view, numbers[i % NB_MODEL_STEP], &all);
        if (row == NULL)
            continue;
        double evidence = word_evidence(scorer, model, row, all, features[i].count, &sides);
        rows[filled++] = (struct nb_evidence){.feature = i, .evidence = evidence};
    }
    rows[filled++] = (struct nb_evidence){.feature = SIZE_MAX, .evidence = rest_evidence(&sides)};
    *count = filled;
    return 0;
}

/* ---- order -------------------------------------------------------------------------------------
 */

/* Strongest first, ties by feature. */
static int compare(const void *a, const void *b)
{
    const struct nb_evidence *x = a;
    const struct nb_evidence *y = b;
    double mx = fabs(x->evidence);
    double my = fabs(y->evidence);
    if (mx != my)
        return mx > my ? -1 : 1;
    return x->feature < y->feature ? -1 : x->feature > y->feature;
}

void nb_evidence_sort(struct nb_evidence *rows, size_t count, size_t most)
{
    nb_heap_select(rows, count, most, sizeof *rows, compare);
}

/* ---- one row -----------------------------------------------------------------------------------
 */

/* ln of the estimate of P(w|v) from a count, a sum and what is added to both; -infinity of 0. */
static double log_estimate(const struct nb_scorer *s, uint64_t count, uint64_t sum,
                           double virtual_all)
{
    if (s->may_be_zero && count == 0)
        return -(double)INFINITY;
    return nb_log_of(s, count) - log((double)sum + virtual_all);
}

double nb_row_evidence(struct nb_scorer *scorer, const struct nb_model *model, uint32_t row,
                       uint32_t label)
{
    const struct nb_score_view *view;
    if (nb_scorer_view(scorer, model, &view) != 0 || view->position[label] == NB_NOT_SCORED)
        return 0;
    uint64_t all;
    const struct nb_row *r = used_row(scorer, model, view, row, &all);
    if (r == NULL)
        return 0;
    const struct nb_score_label *l = &view->labels[view->position[label]];
    struct nb_cell cell = nb_counts_of(model, r, label);
    uint64_t rest = nb_counts_documents(model, r) - cell.documents;
    double alpha = scorer->addend;
    double words = alpha * (double)view->vocabulary;
    switch ((enum nb_event_model)scorer->settings.event_model) {
    case NB_EVENT_BERNOULLI:
        return log_estimate(scorer, cell.documents, l->documents, 2 * alpha) -
               log_estimate(scorer, rest, nb_model_documents_all(model) - l->documents, 2 * alpha);
    case NB_EVENT_BINARY:
        return log_estimate(scorer, cell.documents, l->sum, words) -
               log_estimate(scorer, rest, view->sum - l->sum, words);
    case NB_EVENT_MULTINOMIAL:
    case NB_EVENT_COMPLEMENT:
        break;
    }
    return log_estimate(scorer, cell.occurrences, l->sum, words) -
           log_estimate(scorer, all - cell.occurrences, view->sum - l->sum, words);
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
    bool is_frequency = scorer->settings.estimate == NB_ESTIMATE_MLE;
    *law = (struct nb_word_law){.sum = view->labels[position].sum,
                                .vocabulary = view->vocabulary,
                                .addend = scorer->addend,
                                .dirichlet = is_frequency ? 1 : scorer->settings.smoothing,
                                .prior = exp(view->labels[position].prior)};
    return 0;
}

bool nb_word_law_count(struct nb_scorer *scorer, const struct nb_model *model, uint32_t row,
                       uint32_t label, uint64_t *count)
{
    uint64_t all;
    const struct nb_row *used = used_row(scorer, model, &scorer->view, row, &all);
    if (used == NULL)
        return false;
    struct nb_cell cell = nb_counts_of(model, used, label);
    *count = scorer->settings.event_model == NB_EVENT_BINARY ? cell.documents : cell.occurrences;
    return true;
}
