/* SPDX-License-Identifier: Apache-2.0 */
#include "core/recalibrate/error_of.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/evaluate/evaluate.h"
#include "core/score/scores.h"

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

/* One document, by the map (NULL: by the soft-max). */
static int judge(const struct nb_calibration_scores *s, size_t i, const struct nb_calibration *map,
                 struct nb_scores *scores, struct nb_evaluator *evaluator)
{
    if (nb_scores_grow(scores, s->label_count) != 0)
        return NB_NO_MEMORY;
    scores->size = s->label_count;
    memcpy(scores->log_scores, s->log_scores + i * s->label_count,
           s->label_count * sizeof *scores->log_scores);
    nb_scores_rank(scores);
    if (map != NULL)
        nb_calibration_apply(map, s->labels, scores->log_scores, scores->probabilities);
    const struct nb_stored_score scored = {
        .label = s->labels[s->truths[i]],
        .size = s->label_count,
        .labels = s->labels,
        .probabilities = scores->probabilities,
        .log_odds = s->label_count == 2 ? odds_of(scores->probabilities[1]) : 0};
    return nb_evaluator_add(evaluator, &scored);
}

/* `maps` has one for the documents of each half, or NULLs. */
static int measure(const struct nb_calibration_scores *s, const unsigned char *halves,
                   struct nb_calibration *const maps[2], double *ece)
{
    struct nb_evaluator *evaluator = NULL;
    struct nb_evaluation evaluation;
    struct nb_scores scores;
    nb_scores_init(&scores);
    int rc = nb_evaluator_new(s->labels, s->label_count, s->label_count - 1, &evaluator);
    for (size_t i = 0; rc == 0 && i < s->count; i++)
        rc = judge(s, i, maps[halves[i]], &scores, evaluator);
    assert(rc == 0 || rc == NB_NO_MEMORY || rc == NB_TOO_LARGE);
    if (rc == 0)
        rc = nb_evaluator_finish(evaluator, s->count, &evaluation);
    if (rc == 0) {
        *ece = evaluation.ece;
        nb_evaluation_deinit(&evaluation);
    }
    nb_evaluator_free(&evaluator);
    nb_scores_deinit(&scores);
    return rc;
}

int nb_calibration_errors(enum nb_calibration_method method,
                          const struct nb_calibration_scores *scores, double *before, double *after)
{
    struct nb_calibration *none[2] = {NULL, NULL}, *maps[2] = {NULL, NULL};
    assert(scores->count > 0);
    unsigned char *halves = divide(scores);
    int rc = halves == NULL ? NB_NO_MEMORY : measure(scores, halves, none, before);
    for (size_t k = 0; rc == 0 && k < 2; k++) {
        struct half others = {.truths = NULL};
        rc = take_half(scores, halves, 1 - k, &others);
        if (rc == 0 && others.scores.count == 0)
            rc = NB_CONFLICT;
        if (rc == 0)
            rc = nb_calibration_fit(method, &others.scores, &maps[k]);
        half_deinit(&others);
    }
    if (rc == 0)
        rc = measure(scores, halves, maps, after);
    free(halves);
    nb_calibration_free(&maps[0]);
    nb_calibration_free(&maps[1]);
    return rc;
}
