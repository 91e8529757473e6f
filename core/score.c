/* SPDX-License-Identifier: Apache-2.0 */
#include "core/score.h"

#include <stdlib.h>
#include <string.h>

#include "core/score_private.h"

void nb_scores_init(struct nb_scores *scores)
{
    *scores = (struct nb_scores){0};
}

void nb_scores_deinit(struct nb_scores *scores)
{
    free(scores->labels);
    free(scores->log_scores);
    free(scores->probabilities);
    nb_scores_init(scores);
}

int nb_scores_grow(struct nb_scores *scores, size_t size)
{
    if (size <= scores->room)
        return 0;
    struct nb_scores larger = {.room = size};
    larger.labels = malloc(size * sizeof *larger.labels);
    larger.log_scores = malloc(size * sizeof *larger.log_scores);
    larger.probabilities = malloc(size * sizeof *larger.probabilities);
    if (larger.labels == NULL || larger.log_scores == NULL || larger.probabilities == NULL) {
        nb_scores_deinit(&larger);
        return NB_NO_MEMORY;
    }
    nb_scores_deinit(scores);
    *scores = larger;
    return 0;
}

/* The sums of one document while its features are read. */
struct pass {
    const struct nb_scorer *scorer;
    const struct nb_model *model;
    const struct nb_view *view;
    double *sums;    /* corrections, by position in the view */
    double common;   /* what every label gets (complement) */
    uint64_t weight; /* known positions, or known distinct words with a model of presence */
    uint64_t total, known;
};

static void add_cell(struct pass *p, uint32_t label, uint32_t n, uint32_t d, double weight,
                     uint64_t all)
{
    uint32_t position = p->view->position[label];
    if (position == NB_NOT_SCORED)
        return;
    uint64_t documents = p->view->labels[position].documents;
    p->sums[position] +=
        weight * nb_correction(p->scorer, documents, (struct nb_cell){label, n, d}, all);
}

static void add_row(struct pass *p, const struct nb_row *row, uint32_t count)
{
    const struct nb_scorer *s = p->scorer;
    bool complement = s->settings.event_model == NB_EVENT_COMPLEMENT;
    uint64_t all = complement || s->filters ? nb_row_occurrences(&p->model->pool, row) : 0;
    if (s->filters && !nb_view_uses(s, p->view, row->id, all))
        return;
    uint32_t weight = nb_weight_of(s, count);
    p->known += count;
    p->weight += weight;
    if (complement)
        p->common -= weight * nb_log_of(s, all);
    for (unsigned i = 0; i < 2 && row->n[i] != 0; i++)
        add_cell(p, row->label[i], row->n[i], row->d[i], weight, all);
    if (row->more == NB_NO_ROW)
        return;
    const struct nb_spill *run = nb_row_run(&p->model->pool, row);
    for (uint32_t i = 0; i < run->used; i++)
        add_cell(p, run[i].label, run[i].n, run[i].d, weight, all);
}

static void add_features(struct pass *p, const struct nb_feature *features, size_t size)
{
    uint32_t rows[NB_MODEL_STEP];
    for (size_t start = 0; start < size; start += NB_MODEL_STEP) {
        size_t step = size - start < NB_MODEL_STEP ? size - start : NB_MODEL_STEP;
        nb_model_find_all(p->model, features + start, step, rows);
        for (size_t i = 0; i < step; i++) {
            const struct nb_feature *f = &features[start + i];
            if (!nb_field_is_token(nb_feature_field(f->id)))
                continue;
            p->total += f->count;
            if (rows[i] == NB_NO_ROW)
                continue;
            const struct nb_row *row = nb_model_row(p->model, rows[i]);
            if (row->n[0] != 0)
                add_row(p, row, f->count);
        }
    }
}

/* The sums become scores. With no known position the zero terms stay out: of an empty vocabulary
 * they are logarithms of 0. */
static void finish(const struct pass *p, struct nb_scores *scores)
{
    for (size_t i = 0; i < scores->size; i++) {
        const struct nb_view_label *l = &p->view->labels[i];
        scores->labels[i] = l->label;
        double score = l->base;
        if (p->weight != 0)
            score += (double)p->weight * l->zero_term + p->common + p->sums[i];
        scores->log_scores[i] = score;
    }
    scores->total = p->total;
    scores->known = p->known;
}

/* Winner and runner-up: highest score, ties to the first by name. */
static void put_order(struct nb_scores *scores)
{
    const double *s = scores->log_scores;
    scores->best = 0;
    for (size_t i = 1; i < scores->size; i++)
        if (s[i] > s[scores->best])
            scores->best = i;
    scores->second = scores->best == 0 && scores->size > 1 ? 1 : 0;
    for (size_t i = 0; i < scores->size; i++)
        if (i != scores->best && s[i] > s[scores->second])
            scores->second = i;
}

/* Soft-max, from the highest score down so that nothing overflows. */
static void put_probabilities(struct nb_scores *scores)
{
    double sum = 0;
    for (size_t i = 0; i < scores->size; i++) {
        scores->probabilities[i] = exp(scores->log_scores[i] - scores->log_scores[scores->best]);
        sum += scores->probabilities[i];
    }
    for (size_t i = 0; i < scores->size; i++)
        scores->probabilities[i] /= sum;
}

void nb_scores_rank(struct nb_scores *scores)
{
    put_order(scores);
    put_probabilities(scores);
}

int nb_score(struct nb_scorer *scorer, const struct nb_model *model,
             const struct nb_feature *features, size_t size, struct nb_scores *scores,
             struct nb_error *error)
{
    const struct nb_view *view;
    int rc = nb_scorer_view(scorer, model, &view);
    if (rc == 0 && view->size == 0)
        return nb_error_set(error, NB_CONFLICT, "the model has not learned a document yet");
    if (rc == 0)
        rc = nb_scores_grow(scores, view->size);
    if (rc != 0)
        return nb_error_no_memory(error);
    scores->size = view->size;
    memset(scores->log_scores, 0, view->size * sizeof *scores->log_scores);
    struct pass pass = {.scorer = scorer, .model = model, .view = view, .sums = scores->log_scores};
    add_features(&pass, features, size);
    finish(&pass, scores);
    nb_scores_rank(scores);
    return 0;
}
