/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bayes/book/scorer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/bayes/book/score_view.h"
#include "core/bayes/book/view_words.h"

/* ---- the settings' part ---------------------------------------------------------------------- */

static void note_bytes(struct nb_scorer *s)
{
    const struct nb_score_view *view = &s->view;
    size_t each = sizeof *view->labels + sizeof *view->position;
    each += view->estimates != NULL ? sizeof *view->estimates : 0;
    atomic_store(&s->view_bytes, view->room * each + nb_attribute_scores_memory(&s->attributes));
}

int nb_scorer_new(const struct nb_settings *settings, struct nb_scorer **scorer)
{
    const struct nb_besides none = {.count = 0};
    return nb_scorer_new_beside(settings, &none, scorer);
}

int nb_scorer_new_beside(const struct nb_settings *settings, const struct nb_besides *besides,
                         struct nb_scorer **scorer)
{
    struct nb_scorer *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NB_NO_MEMORY;
    if (nb_settings_copy(&s->settings, settings) != 0) {
        free(s);
        return NB_NO_MEMORY;
    }
    s->addend = nb_estimate_addend((enum nb_estimate)settings->estimate, settings->smoothing);
    s->has_factors = besides->count > 0 || !nb_estimate_is_plain(settings);
    if (nb_log_table_init(&s->logs, s->addend) != 0 || pthread_mutex_init(&s->mutex, NULL) != 0) {
        nb_log_table_deinit(&s->logs);
        nb_settings_deinit(&s->settings);
        free(s);
        return NB_NO_MEMORY;
    }
    s->filters = nb_settings_leave_words_out(settings);
    s->besides = *besides;
    for (unsigned i = 0; i < besides->count; i++)
        (void)nb_expected_use(besides->list[i].counts);
    note_bytes(s);
    *scorer = s;
    return 0;
}

void nb_scorer_free(struct nb_scorer **scorer)
{
    struct nb_scorer *s = *scorer;
    *scorer = NULL;
    if (s == NULL)
        return;
    pthread_mutex_destroy(&s->mutex);
    nb_log_table_deinit(&s->logs);
    nb_settings_deinit(&s->settings);
    nb_attribute_scores_deinit(&s->attributes);
    for (unsigned i = 0; i < s->besides.count; i++)
        nb_expected_release(&s->besides.list[i].counts);
    free(s->view.labels);
    free(s->view.position);
    free(s->view.estimates);
    free(s);
}

size_t nb_scorer_memory(const struct nb_scorer *scorer)
{
    return sizeof *scorer + atomic_load(&scorer->view_bytes);
}

/* ---- priors ---------------------------------------------------------------------------------- */

/* Puts each label's weight into `base`. */
static void put_weights(const struct nb_scorer *s, const struct nb_model *model,
                        struct nb_score_view *view)
{
    const struct nb_settings *settings = &s->settings;
    for (uint32_t i = 0; i < view->size; i++) {
        struct nb_score_label *l = &view->labels[i];
        l->base = 1;
        if (settings->prior == NB_PRIOR_EMPIRICAL)
            l->base = s->has_factors ? view->estimates[i].documents : (double)l->documents;
        if (settings->prior == NB_PRIOR_GIVEN)
            l->base = nb_settings_label_weight(settings, model->labels[l->label]->name);
    }
}

static void put_priors(const struct nb_scorer *s, const struct nb_model *model,
                       struct nb_score_view *view)
{
    double sum = 0;
    assert(view->size <= view->room);
    put_weights(s, model, view);
    for (uint32_t i = 0; i < view->size; i++)
        sum += view->labels[i].base;
    for (uint32_t i = 0; i < view->size; i++)
        view->labels[i].base = view->labels[i].prior = log(view->labels[i].base / sum);
}

/* ---- the view as a whole --------------------------------------------------------------------- */

static int view_grow(struct nb_scorer *s, uint32_t labels)
{
    struct nb_score_view *view = &s->view;
    if (labels <= view->room)
        return 0;
    uint32_t room = labels + labels / 2;
    struct nb_score_label *l = malloc(room * sizeof *l);
    uint32_t *position = malloc(room * sizeof *position);
    struct nb_label_estimate *estimates = s->has_factors ? malloc(room * sizeof *estimates) : NULL;
    if (l == NULL || position == NULL || (s->has_factors && estimates == NULL)) {
        free(l);
        free(position);
        free(estimates);
        return NB_NO_MEMORY;
    }
    free(view->labels);
    free(view->position);
    free(view->estimates);
    view->labels = l;
    view->position = position;
    view->estimates = estimates;
    view->room = room;
    return 0;
}

static void put_documents(const struct nb_scorer *s, struct nb_score_view *view)
{
    view->shared_documents = 0;
    for (uint32_t i = 0; i < view->size; i++) {
        const struct nb_score_label *l = &view->labels[i];
        double documents = (double)l->documents + nb_besides_documents(&s->besides, l->label);
        view->estimates[i].documents = fmax(documents, 0);
        view->shared_documents += view->estimates[i].documents;
    }
}

static int view_make(struct nb_scorer *s, const struct nb_model *model)
{
    struct nb_score_view *view = &s->view;
    uint32_t labels = nb_model_label_count(model);
    int rc = view_grow(s, labels);
    if (rc != 0)
        return rc;
    view->size = 0;
    const uint32_t *sorted = nb_model_labels_sorted(model);
    for (uint32_t i = 0; i < labels; i++) {
        uint64_t documents = nb_model_documents(model, sorted[i]);
        view->position[sorted[i]] = documents == 0 ? NB_NOT_SCORED : view->size;
        if (documents != 0)
            view->labels[view->size++] =
                (struct nb_score_label){.label = sorted[i], .documents = documents};
    }
    if (s->has_factors)
        put_documents(s, view);
    put_priors(s, model, view);
    rc = nb_view_put_sums(s, model, view);
    if (rc == 0 && !s->has_factors)
        rc = nb_log_table_grow(&s->logs, view->sum);
    if (rc == 0 && s->has_factors)
        nb_view_put_factors(s, model, view);
    else if (rc == 0)
        nb_view_put_terms(s, model, view);
    if (rc == 0)
        rc = nb_attribute_scores_make(&s->attributes, &s->settings, model, NULL);
    note_bytes(s);
    return rc;
}

int nb_scorer_view(struct nb_scorer *scorer, const struct nb_model *model,
                   const struct nb_score_view **view)
{
    uint64_t generation = nb_model_generation(model);
    int rc = 0;
    if (atomic_load_explicit(&scorer->generation, memory_order_acquire) != generation) {
        pthread_mutex_lock(&scorer->mutex);
        if (atomic_load_explicit(&scorer->generation, memory_order_relaxed) != generation) {
            atomic_store_explicit(&scorer->generation, 0, memory_order_relaxed);
            rc = view_make(scorer, model);
            if (rc == 0)
                atomic_store_explicit(&scorer->generation, generation, memory_order_release);
        }
        pthread_mutex_unlock(&scorer->mutex);
    }
    *view = &scorer->view;
    return rc;
}
