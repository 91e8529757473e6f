/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bayes/book/view_words.h"

#include <assert.h>
#include <stdlib.h>

#include "core/base/heap.h"

/* ---- words that are left out ----------------------------------------------------------------- */

/* Finds the word at rank skip_top, from which on words are used. */
static int find_skipped(const struct nb_scorer *s, const struct nb_model *model,
                        struct nb_score_view *view)
{
    size_t most = (size_t)s->settings.skip_top;
    uint64_t words =
        s->besides.count > 0 ? nb_model_rows(model) : nb_model_vocabulary(model, NB_FIELDS);
    if (most > words)
        most = (size_t)words;
    view->skips = false;
    if (most == 0)
        return 0;
    struct nb_word_rank *items = calloc(most, sizeof *items);
    if (items == NULL)
        return NB_NO_MEMORY;
    struct nb_heap heap = {
        .items = items, .most = most, .item_size = sizeof *items, .compare = nb_word_rank_compare};
    uint32_t rows = nb_model_rows(model);
    for (uint32_t i = 0; i < rows; i++) {
        struct nb_row row = nb_model_row(model, i);
        bool is_token = nb_field_is_token(nb_feature_field(row.id));
        const struct nb_word_rank word = {is_token ? nb_score_occurrences(s, model, row, i) : 0,
                                          row.id};
        if (word.occurrences > 0)
            nb_heap_add(&heap, &word);
    }
    /* the vocabulary has as many token rows as the model says */
    assert(heap.count == most || s->besides.count > 0);
    view->skips = heap.count > 0;
    if (view->skips)
        view->skipped = *(const struct nb_word_rank *)nb_heap_last(&heap);
    free(items);
    return 0;
}

struct walk {
    const struct nb_scorer *scorer;
    struct nb_score_view *view;
    nb_view_each_cell *call;
};

static inline void visit(void *user, struct nb_cell cell)
{
    const struct walk *w = user;
    uint32_t position = w->view->position[cell.label];
    if (position != NB_NOT_SCORED)
        w->call(w->scorer, &w->view->labels[position], cell);
}

uint64_t nb_view_for_used(const struct nb_scorer *s, const struct nb_model *model,
                          struct nb_score_view *view, nb_view_each_cell *call)
{
    struct walk walk = {.scorer = s, .view = view, .call = call};
    uint64_t used = 0;
    uint32_t rows = nb_model_rows(model);
    for (uint32_t i = 0; i < rows; i++) {
        if (!nb_score_uses(s, model, view, i))
            continue;
        used++;
        nb_counts_each(model, nb_model_row(model, i), visit, &walk);
    }
    return used;
}

/* ---- counts beside the model's --------------------------------------------------------------- */

/* Of the label at a place over the words that min_count and skip_top leave. */
static double used_sum_beside(const struct nb_scorer *s, const struct nb_model *model,
                              const struct nb_score_view *view, uint32_t place)
{
    bool binary = s->settings.event_model == NB_EVENT_BINARY;
    double sum = 0;
    for (uint32_t number = 0; s->besides.count > 0 && number < nb_model_rows(model); number++) {
        if (!nb_score_uses(s, model, view, number))
            continue;
        struct nb_expected_cell cell = nb_besides_cell(
            &s->besides, number, nb_model_row_id(model, number), view->labels[place].label);
        sum += binary ? cell.documents : cell.occurrences;
    }
    return sum;
}

/* After those of the model's own counts. */
static void put_shared_sums(const struct nb_scorer *s, const struct nb_model *model,
                            struct nb_score_view *view)
{
    bool binary = s->settings.event_model == NB_EVENT_BINARY;
    view->shared_sum = 0;
    for (uint32_t i = 0; i < view->size; i++) {
        const struct nb_score_label *l = &view->labels[i];
        double beside = s->filters ? used_sum_beside(s, model, view, i)
                                   : nb_besides_sum(&s->besides, l->label, NB_FIELDS, binary);
        view->estimates[i].sum = fmax((double)l->sum + beside, 0);
        view->shared_sum += view->estimates[i].sum;
    }
    if (!s->filters)
        view->vocabulary = nb_besides_vocabulary(&s->besides, NB_FIELDS, view->vocabulary);
}

/* ---- sums ------------------------------------------------------------------------------------ */

static void add_to_sum(const struct nb_scorer *s, struct nb_score_label *l, struct nb_cell cell)
{
    bool binary = s->settings.event_model == NB_EVENT_BINARY;
    l->sum += binary ? cell.documents : cell.occurrences;
}

int nb_view_put_sums(const struct nb_scorer *s, const struct nb_model *model,
                     struct nb_score_view *view)
{
    bool binary = s->settings.event_model == NB_EVENT_BINARY;
    view->skips = false;
    for (uint32_t i = 0; i < view->size; i++) {
        struct nb_score_label *l = &view->labels[i];
        l->sum = s->filters ? 0
                 : binary   ? nb_model_presences(model, l->label, NB_FIELDS)
                            : nb_model_occurrences(model, l->label, NB_FIELDS);
    }
    if (s->filters) {
        int rc = find_skipped(s, model, view);
        if (rc != 0)
            return rc;
        view->vocabulary = nb_view_for_used(s, model, view, add_to_sum);
    } else {
        view->vocabulary = nb_model_vocabulary(model, NB_FIELDS);
    }
    view->sum = 0;
    for (uint32_t i = 0; i < view->size; i++)
        view->sum += view->labels[i].sum;
    if (s->has_factors)
        put_shared_sums(s, model, view);
    return 0;
}
