/* SPDX-License-Identifier: Apache-2.0 */
#include "core/em/em_guard_choice.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "core/base/error.h"
#include "core/em/em_guard.h"
#include "core/em/em_guard_trial.h"
#include "core/em/losses.h"

enum {
    TEMPERATURES = 14, /* from 4 down to .02; each is two thirds of the previous one */
    STEPS = 40,        /* each step leaves .618 of the interval of shares */
};
static const double hottest = 4, cooler = 2.0 / 3;
static const double share_most = 0.99;
static const double least = 1e-300; /* lower bound of P, so that its logarithm is finite */

struct fit {
    const struct nb_pool_question *question;
    double *own;       /* owned; P_own(y) of each document */
    double *with;      /* owned; P_with(y), at temperature * documents + document */
    uint32_t left_out; /* fold that is left out of the sums; fold_count: none */
};

static double temperature_at(unsigned place)
{
    return hottest * pow(cooler, place);
}

/* ln of the denominator of the soft-max; -INFINITY: all labels are impossible. */
static double end_of(const double *scores, uint32_t labels, double temperature)
{
    double most = scores[0], sum = 0;
    for (uint32_t v = 1; v < labels; v++)
        most = scores[v] > most ? scores[v] : most;
    if (!(most > -(double)INFINITY))
        return most;
    for (uint32_t v = 0; v < labels; v++)
        sum += exp(temperature * (scores[v] - most));
    return temperature * most + log(sum);
}

static double probability(double score, double temperature, double end, uint32_t labels)
{
    return end > -(double)INFINITY ? exp(temperature * score - end) : 1.0 / labels;
}

/* P(y) of a document, y being its label. */
static double of_truth(const struct nb_loss_scores *own, const double *scores, size_t document,
                       double temperature)
{
    const double *first = scores + document * own->labels;
    double end = end_of(first, own->labels, temperature);
    return probability(first[own->truths[document]], temperature, end, own->labels);
}

static int fit_init(struct fit *f)
{
    const struct nb_loss_scores *own = &f->question->own;
    f->own = calloc(own->count, sizeof *f->own);
    f->with = calloc(own->count * TEMPERATURES, sizeof *f->with);
    if (f->own == NULL || f->with == NULL)
        return NB_NO_MEMORY;
    for (size_t d = 0; d < own->count; d++) {
        f->own[d] = of_truth(own, own->scores, d, 1);
        for (unsigned t = 0; t < TEMPERATURES; t++)
            f->with[t * own->count + d] = of_truth(own, f->question->with, d, temperature_at(t));
    }
    return 0;
}

static double pooled(double own, double with, double share)
{
    return fmax((1 - share) * own + share * with, least);
}

/* The sum of -ln P(y), with the added document (em_guard_choice.h), which only the own scores
 * predict. */
static double loss_of(const struct fit *f, unsigned temperature, double share)
{
    size_t count = f->question->own.count;
    const double *with = f->with + temperature * count;
    double sum = -log1p(-share);
    for (size_t d = 0; d < count; d++)
        if (f->question->folds[d] != f->left_out)
            sum -= log(pooled(f->own[d], with[d], share));
    return sum;
}

/* Golden section search: the loss is convex in the share. Returns the smallest loss. */
static double best_share(const struct fit *f, unsigned temperature, double *share)
{
    const double section = (sqrt(5) - 1) / 2;
    double low = 0, high = share_most;
    for (int i = 0; i < STEPS; i++) {
        double a = high - section * (high - low), b = low + section * (high - low);
        if (loss_of(f, temperature, a) <= loss_of(f, temperature, b))
            high = b;
        else
            low = a;
    }
    *share = low > 0 ? (low + high) / 2 : 0;
    return loss_of(f, temperature, *share);
}

static struct nb_pool best_pool(const struct fit *f)
{
    struct nb_pool pool = {.temperature = 1};
    double best = loss_of(f, 0, 0);
    for (unsigned t = 0; t < TEMPERATURES; t++) {
        double share;
        double loss = best_share(f, t, &share);
        if (loss < best) {
            best = loss;
            pool = (struct nb_pool){share, temperature_at(t)};
        }
    }
    return pool;
}

/* ---- what it gives --------------------------------------------------------------------------- */

static void judge(const struct nb_pool_question *q, const struct nb_pool *pool, size_t document,
                  struct nb_losses *losses)
{
    uint32_t labels = q->own.labels;
    const double *own = q->own.scores + document * labels, *with = q->with + document * labels;
    double own_end = end_of(own, labels, 1), end = end_of(with, labels, pool->temperature);
    double most = -1;
    uint32_t winner = 0;
    for (uint32_t v = 0; v < labels; v++) {
        double p = pooled(probability(own[v], 1, own_end, labels),
                          probability(with[v], pool->temperature, end, labels), pool->share);
        if (v == q->own.truths[document])
            losses->each[document] = -log(p);
        winner = p > most ? v : winner;
        most = fmax(p, most);
    }
    losses->right[document] = winner == q->own.truths[document];
}

static void judge_folds(struct fit *f, struct nb_losses *losses)
{
    const struct nb_pool_question *q = f->question;
    for (f->left_out = 0; f->left_out < q->fold_count; f->left_out++) {
        struct nb_pool pool = best_pool(f);
        for (size_t d = 0; d < q->own.count; d++)
            if (q->folds[d] == f->left_out)
                judge(q, &pool, d, losses);
    }
    nb_losses_sum(losses, q->own.count);
}

int nb_pool_fit(const struct nb_pool_question *question, struct nb_pool *pool,
                struct nb_losses *losses)
{
    struct fit f = {.question = question, .left_out = question->fold_count};
    assert(question->own.count > 0 && question->own.labels > 0);
    int rc = nb_losses_init(losses, question->own.count);
    if (rc == 0)
        rc = fit_init(&f);
    if (rc == 0) {
        *pool = best_pool(&f);
        judge_folds(&f, losses);
    } else {
        nb_losses_deinit(losses);
    }
    free(f.own);
    free(f.with);
    return rc;
}

enum { MEASURED_LEAST = 10 };
/* Used if nothing can be measured. */
static const double usual_smoothing = .001, usual_share = .5;

/* The scores with candidate `n` - 1; n = 0: without expected counts. */
static struct nb_loss_scores scores_of(const struct nb_guard_trial *t, unsigned n)
{
    uint32_t labels = t->corpus->labels;
    return (struct nb_loss_scores){.count = t->measured,
                                   .labels = labels,
                                   .truths = t->truths,
                                   .scores = t->scores + (size_t)n * t->measured * labels};
}

/* Sets the losses without expected counts. */
static int judge_own(const struct nb_guard_trial *t, struct nb_losses *losses)
{
    struct nb_loss_scores own = scores_of(t, 0);
    return t->weights != NULL ? nb_losses_as_they_are(&own, losses) : nb_losses_of(&own, losses);
}

/* Sets the losses with the expected counts of a candidate: of the pool in a stacked model; by the
 * book, of the scores with expected counts alone. */
static int judge_candidate(const struct nb_guard_trial *t, unsigned candidate, struct nb_pool *pool,
                           struct nb_losses *losses)
{
    struct nb_loss_scores with = scores_of(t, candidate + 1);
    const struct nb_pool_question question = {.own = scores_of(t, 0),
                                              .with = with.scores,
                                              .folds = t->folds_of,
                                              .fold_count = t->fold_count};
    *pool = (struct nb_pool){usual_share, 1};
    return t->weights != NULL ? nb_pool_fit(&question, pool, losses) : nb_losses_of(&with, losses);
}

static void take(const struct nb_guard_trial *t, unsigned candidate, const struct nb_pool *pool,
                 const struct nb_losses *losses, struct nb_refined *refined)
{
    refined->weight = t->candidates[candidate].weight;
    refined->smoothing = t->candidates[candidate].smoothing;
    refined->share = pool->share;
    refined->temperature = pool->temperature;
    refined->with = (struct nb_refined_loss){losses->mean, losses->accuracy};
}

static int decide(const struct nb_guard_trial *t, struct nb_refined *refined)
{
    bool is_auto = nb_weight_is_auto(t->guard->published->settings.unlabelled_weight);
    struct nb_losses none;
    double best = (double)INFINITY;
    int rc = judge_own(t, &none);
    if (rc != 0)
        return rc;
    refined->measured = t->measured;
    refined->folds = t->fold_count;
    refined->without = refined->with = (struct nb_refined_loss){none.mean, none.accuracy};
    for (unsigned n = 0; rc == 0 && n < t->count; n++) {
        struct nb_losses losses;
        struct nb_pool pool;
        rc = judge_candidate(t, n, &pool, &losses);
        if (rc != 0)
            break;
        bool helps = nb_losses_help(&none, &losses, t->measured);
        if (losses.mean < best && (helps || !is_auto)) {
            best = losses.mean;
            take(t, n, &pool, &losses, refined);
        }
        nb_losses_deinit(&losses);
    }
    nb_losses_deinit(&none);
    return rc;
}

int nb_guard_choose(const struct nb_guard *guard, struct nb_refined *refined)
{
    double given = guard->published->settings.unlabelled_weight;
    struct nb_guard_trial t = {.guard = guard, .corpus = guard->corpus};
    refined->weight = nb_weight_is_auto(given) ? 0 : given;
    refined->smoothing = usual_smoothing;
    refined->is_pooled = nb_published_is_stacked(guard->published);
    refined->share = usual_share;
    refined->temperature = 1;
    nb_scores_init(&t.said);
    nb_guard_list_candidates(&t);
    int rc = 0;
    if (nb_guard_count_measured(&t) >= MEASURED_LEAST) {
        rc = nb_guard_trial_begin(&t);
        for (uint32_t fold = 0; rc == 0 && fold < t.fold_count; fold++)
            rc = nb_guard_try_fold(&t, fold);
        if (rc == 0)
            rc = decide(&t, refined);
    }
    nb_guard_trial_deinit(&t);
    return rc;
}
