/* SPDX-License-Identifier: Apache-2.0 */
#include "core/writer/recalibrate/error_of.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/bayes/book/scores.h"
#include "core/model/evaluate/evaluate.h"

/* Some of the documents; its lists are owned. */
struct half {
    struct nb_calibration_scores scores;
    uint32_t *truths;
    double *log_scores;
};

static void half_deinit(struct half *half)
{
    free(half->truths);
    free(half->log_scores);
}

/* Says of each document in which half it is. The labels of documents may come in turns, so each
 * label is divided. Owned by the caller; NULL: out of memory. */
static unsigned char *divide(const struct nb_calibration_scores *all)
{
    unsigned char *halves = calloc(all->count, 1), *next = calloc(all->label_count, 1);
    for (size_t i = 0; halves != NULL && next != NULL && i < all->count; i++) {
        halves[i] = next[all->truths[i]];
        next[all->truths[i]] ^= 1;
    }
    if (next == NULL) {
        free(halves);
        halves = NULL;
    }
    free(next);
    return halves;
}

static int take_half(const struct nb_calibration_scores *all, const unsigned char *halves,
                     size_t which, struct half *half)
{
    size_t labels = all->label_count;
    half->truths = calloc(all->count, sizeof *half->truths);
    half->log_scores = calloc(all->count, labels * sizeof *half->log_scores);
    if (half->truths == NULL || half->log_scores == NULL)
        return NB_NO_MEMORY;
    size_t count = 0;
    for (size_t i = 0; i < all->count; i++) {
        if (halves[i] != which)
            continue;
        half->truths[count] = all->truths[i];
        memcpy(half->log_scores + count++ * labels, all->log_scores + i * labels,
               labels * sizeof *half->log_scores);
    }
    half->scores = *all;
    half->scores.count = count;
    half->scores.truths = half->truths;
    half->scores.log_scores = half->log_scores;
    return 0;
}

/* Log-odds that are a number. */
static double odds_of(double p)
{
    static const double LEAST = 1e-15;
    p = fmin(fmax(p, LEAST), 1 - LEAST);
    return log(p / (1 - p));
}

/* Fits the map that each half is judged by: that of the documents of the other one. */
static int fit_others(enum nb_calibration_method method, const struct nb_calibration_scores *scores,
                      const unsigned char *halves, struct nb_calibration *maps[2])
{
    int rc = 0;
    for (size_t k = 0; rc == 0 && k < 2; k++) {
        struct half others = {.truths = NULL};
        rc = take_half(scores, halves, 1 - k, &others);
        if (rc == 0 && others.scores.count == 0)
            rc = NB_CONFLICT;
        if (rc == 0)
            rc = nb_calibration_fit(method, &others.scores, &maps[k]);
        half_deinit(&others);
    }
    return rc;
}

/* One document, by the map (NULL: by the soft-max). */
static int judge(const struct nb_calibration_scores *s, size_t i, const struct nb_calibration *map,
                 struct nb_scores *scores)
{
    if (nb_scores_grow(scores, s->label_count) != 0)
        return NB_NO_MEMORY;
    scores->size = s->label_count;
    memcpy(scores->labels, s->labels, s->label_count * sizeof *scores->labels);
    memcpy(scores->log_scores, s->log_scores + i * s->label_count,
           s->label_count * sizeof *scores->log_scores);
    nb_scores_rank(scores);
    if (map != NULL)
        nb_calibration_apply(map, s->labels, scores->log_scores, scores->probabilities);
    return 0;
}

int nb_calibration_judge(enum nb_calibration_method method,
                         const struct nb_calibration_scores *scores, nb_calibration_visit *visit,
                         void *user)
{
    struct nb_calibration *maps[2] = {NULL, NULL};
    struct nb_scores said;
    unsigned char *halves = divide(scores);
    int rc = halves == NULL ? NB_NO_MEMORY : 0;
    nb_scores_init(&said);
    if (rc == 0 && method != NB_CALIBRATION_NONE)
        rc = fit_others(method, scores, halves, maps);
    for (size_t i = 0; rc == 0 && i < scores->count; i++) {
        rc = judge(scores, i, maps[halves[i]], &said);
        if (rc == 0)
            rc = visit(user, &said, scores->labels[scores->truths[i]]);
    }
    nb_scores_deinit(&said);
    free(halves);
    nb_calibration_free(&maps[0]);
    nb_calibration_free(&maps[1]);
    return rc;
}

static int add(void *user, const struct nb_scores *said, uint32_t label)
{
    const struct nb_stored_score scored = {
        .label = label,
        .size = (uint32_t)said->size,
        .labels = said->labels,
        .probabilities = said->probabilities,
        .log_odds = said->size == 2 ? odds_of(said->probabilities[1]) : 0};
    int rc = nb_evaluator_add(user, &scored);
    assert(rc == 0 || rc == NB_NO_MEMORY || rc == NB_TOO_LARGE);
    return rc;
}

static int measure(enum nb_calibration_method method, const struct nb_calibration_scores *s,
                   double *ece)
{
    struct nb_evaluator *evaluator = NULL;
    struct nb_evaluation evaluation;
    int rc = nb_evaluator_new(s->labels, s->label_count, s->label_count - 1, &evaluator);
    if (rc == 0)
        rc = nb_calibration_judge(method, s, add, evaluator);
    if (rc == 0)
        rc = nb_evaluator_finish(evaluator, s->count, &evaluation);
    if (rc == 0) {
        *ece = evaluation.ece;
        nb_evaluation_deinit(&evaluation);
    }
    nb_evaluator_free(&evaluator);
    return rc;
}

int nb_calibration_errors(enum nb_calibration_method method,
                          const struct nb_calibration_scores *scores, double *before, double *after)
{
    assert(scores->count > 0);
    int rc = measure(NB_CALIBRATION_NONE, scores, before);
    return rc == 0 ? measure(method, scores, after) : rc;
}
