/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bayes/book/view_start.h"

#include "core/bayes/book/view_words.h"

/* ---- counts alone ---------------------------------------------------------------------------- */

/* Bernoulli: a used word that the label has, and the document not. Those that neither has are in
 * the base already. */
static void add_absent(const struct nb_scorer *s, struct nb_score_label *l, struct nb_cell cell)
{
    uint64_t absent = l->documents > cell.documents ? l->documents - cell.documents : 0;
    l->base += nb_log_of(s, absent) - nb_log_of(s, l->documents);
}

void nb_view_put_terms(const struct nb_scorer *s, const struct nb_model *model,
                       struct nb_score_view *view)
{
    double alpha = s->addend;
    double virtual_all = alpha * (double)view->vocabulary;
    bool bernoulli = s->settings.event_model == NB_EVENT_BERNOULLI;
    for (uint32_t i = 0; i < view->size; i++) {
        struct nb_score_label *l = &view->labels[i];
        if (bernoulli) {
            double absent = nb_log_of(s, l->documents) - log((double)l->documents + 2 * alpha);
            l->base += (double)view->vocabulary * absent;
            l->zero_term = s->logs.logs[0] - nb_log_of(s, l->documents);
        } else if (s->settings.event_model == NB_EVENT_COMPLEMENT) {
            l->zero_term = log((double)(view->sum - l->sum) + virtual_all);
        } else {
            l->zero_term = s->logs.logs[0] - log((double)l->sum + virtual_all);
        }
    }
    if (bernoulli)
        nb_view_for_used(s, model, view, add_absent);
}

/* ---- factors --------------------------------------------------------------------------------- */

/* A used word that a document lacks. `absent`: documents of the label without it, and what is added
 * to them. */
static void add_absence(struct nb_score_label *l, struct nb_label_estimate *e, double absent)
{
    if (absent > 0)
        l->base += log(absent / (e->documents + e->added));
    else
        e->certain++;
}

/* ln of the estimate that a document lacks a word that no document of the label has. */
static double log_never(const struct nb_label_estimate *e)
{
    return log((e->documents + e->addends.absent) / (e->documents + e->added));
}

/* A word that the label has stood among those that it never has. */
static void correct_absence(void *user, struct nb_cell cell)
{
    const struct nb_score_view *view = user;
    uint32_t position = view->position[cell.label];
    if (position == NB_NOT_SCORED)
        return;
    struct nb_score_label *l = &view->labels[position];
    struct nb_label_estimate *e = &view->estimates[position];
    l->base -= log_never(e);
    add_absence(l, e, nb_estimate_absent(e->documents, cell.documents) + e->addends.absent);
}

/* A word whose addends are its own, or that may have counts beside those of its row. */
static void add_absences(const struct nb_scorer *s, const struct nb_model *model,
                         struct nb_score_view *view, uint32_t number)
{
    struct nb_factor_word word = nb_factor_word_of(s, model, view, number, 1);
    for (uint32_t i = 0; i < view->size; i++) {
        struct nb_word_counts counts = nb_score_counts(s, model, view, i, &word);
        double absent = nb_estimate_absent(counts.of, counts.documents);
        add_absence(&view->labels[i], &view->estimates[i],
                    absent + nb_addends_of(s, view, i, &word).absent);
    }
}

static void put_absences(const struct nb_scorer *s, const struct nb_model *model,
                         struct nb_score_view *view)
{
    bool is_each = nb_estimate_is_by_word(&s->settings) || s->besides.count > 0;
    for (uint32_t i = 0; i < view->size && !is_each; i++)
        view->labels[i].base += (double)view->vocabulary * log_never(&view->estimates[i]);
    uint32_t rows = nb_model_rows(model);
    for (uint32_t r = 0; r < rows; r++) {
        if (!nb_score_uses(s, model, view, r))
            continue;
        if (is_each)
            add_absences(s, model, view, r);
        else
            nb_counts_each(model, nb_model_row(model, r), correct_absence, view);
    }
}

void nb_view_put_factors(const struct nb_scorer *s, const struct nb_model *model,
                         struct nb_score_view *view)
{
    bool bernoulli = s->settings.event_model == NB_EVENT_BERNOULLI;
    bool complement = s->settings.event_model == NB_EVENT_COMPLEMENT;
    for (uint32_t i = 0; i < view->size; i++) {
        struct nb_score_label *l = &view->labels[i];
        struct nb_label_estimate *e = &view->estimates[i];
        const char *name = nb_model_label_name(model, l->label).bytes;
        e->certain = 0;
        e->addends = nb_estimate_addends(&s->settings, name, view->vocabulary);
        e->added = nb_estimate_added(&s->settings, e->addends, view->vocabulary);
        double end = (complement ? fmax(view->shared_sum - e->sum, 0) : e->sum) + e->added;
        double log_end = end > 0 && !bernoulli ? log(end) : 0;
        l->zero_term = complement ? log_end : -log_end;
    }
    if (bernoulli)
        put_absences(s, model, view);
}
