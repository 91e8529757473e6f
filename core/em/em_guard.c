/* SPDX-License-Identifier: Apache-2.0 */
#include "core/em/em_guard.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "core/base/error.h"

static const double least_temperature = 1e-4, most_temperature = 4;
static const double loss_most = 700; /* loss of an impossible label; exp(-700) is a normal number */
enum { STEPS = 50 };                 /* each step leaves .618 of the interval */

/* Cross-entropy of a document at temperature t against the target probabilities (em_guard.h). */
static double loss_of(const struct nb_loss_scores *s, size_t document, double t, double doubt)
{
    const double *scores = s->scores + document * s->labels;
    uint32_t labels = s->labels;
    double loss = 0;
    double most = scores[0];
    double sum = 0;
    for (uint32_t v = 1; v < labels; v++)
        most = scores[v] > most ? scores[v] : most;
    if (!(most > -(double)INFINITY)) /* all labels are impossible */
        return log(labels);
    for (uint32_t v = 0; v < labels; v++)
        sum += exp(t * (scores[v] - most));
    for (uint32_t v = 0; v < labels; v++) {
        double share = v == s->truths[document] ? 1 - doubt : doubt / (labels - 1);
        if (share > 0)
            loss += share * fmin(log(sum) - t * (scores[v] - most), loss_most);
    }
    return loss;
}

/* The e of em_guard.h. */
static double doubt_of(const struct nb_loss_scores *s)
{
    return s->labels > 1 ? 1 / ((double)s->count + 2) : 0;
}

static double mean_of(const struct nb_loss_scores *s, double t)
{
    double sum = 0;
    for (size_t d = 0; d < s->count; d++)
        sum += loss_of(s, d, t, doubt_of(s));
    return sum / (double)s->count;
}

/* Golden section search: the mean is convex in t, and so has one minimum in ln t, too. */
static double best_temperature(const struct nb_loss_scores *s)
{
    const double section = (sqrt(5) - 1) / 2;
    double low = log(least_temperature), high = log(most_temperature);
    double a = high - section * (high - low), b = low + section * (high - low);
    double at_a = mean_of(s, exp(a)), at_b = mean_of(s, exp(b));
    for (int i = 0; i < STEPS; i++) {
        if (at_a <= at_b) {
            high = b;
            b = a;
            at_b = at_a;
            a = high - section * (high - low);
            at_a = mean_of(s, exp(a));
        } else {
            low = a;
            a = b;
            at_a = at_b;
            b = low + section * (high - low);
            at_b = mean_of(s, exp(b));
        }
    }
    return exp((low + high) / 2);
}

/* Ties go to the first label. */
static uint32_t winner_of(const double *scores, uint32_t labels)
{
    uint32_t best = 0;
    for (uint32_t v = 1; v < labels; v++)
        best = scores[v] > scores[best] ? v : best;
    return best;
}

void nb_losses_deinit(struct nb_losses *losses)
{
    free(losses->each);
    free(losses->right);
    *losses = (struct nb_losses){.mean = 0};
}

/* Allocates room for `count` documents. The caller deinits *losses, after an error too. Returns 0
 * or NB_NO_MEMORY. */
static int losses_init(struct nb_losses *losses, size_t count)
{
    *losses = (struct nb_losses){.temperature = 1,
                                 .each = calloc(count, sizeof *losses->each),
                                 .right = calloc(count, sizeof *losses->right)};
    return losses->each != NULL && losses->right != NULL ? 0 : NB_NO_MEMORY;
}

/* Computes mean and accuracy from `each` and `right`. */
static void losses_sum(struct nb_losses *losses, size_t count)
{
    losses->mean = losses->accuracy = 0;
    for (size_t d = 0; d < count; d++) {
        losses->mean += losses->each[d] / (double)count;
        losses->accuracy += losses->right[d];
    }
    losses->accuracy /= (double)count;
}

static int put_losses(const struct nb_loss_scores *s, double temperature, double doubt,
                      struct nb_losses *losses)
{
    assert(s->count > 0 && s->labels > 0);
    if (losses_init(losses, s->count) != 0) {
        nb_losses_deinit(losses);
        return NB_NO_MEMORY;
    }
    losses->temperature = temperature;
    for (size_t d = 0; d < s->count; d++) {
        losses->each[d] = loss_of(s, d, temperature, doubt);
        losses->right[d] = winner_of(s->scores + d * s->labels, s->labels) == s->truths[d];
    }
    losses_sum(losses, s->count);
    return 0;
}

int nb_losses_as_they_are(const struct nb_loss_scores *s, struct nb_losses *losses)
{
    return put_losses(s, 1, 0, losses);
}

int nb_losses_of(const struct nb_loss_scores *s, struct nb_losses *losses)
{
    assert(s->count > 0 && s->labels > 0);
    return put_losses(s, best_temperature(s), doubt_of(s), losses);
}

/* The mean of the differences divided by its standard error; 0 when all are the same. */
static double in_errors(double sum, double squares, size_t count)
{
    double n = (double)count;
    double variance = count > 1 ? (squares - sum * sum / n) / (n - 1) : 0;
    return variance > 0 ? sum / n / sqrt(variance / n) : 0;
}

bool nb_losses_help(const struct nb_losses *a, const struct nb_losses *b, size_t count)
{
    double loss = 0, loss_squares = 0, right = 0, right_squares = 0;
    for (size_t d = 0; d < count; d++) {
        double less = a->each[d] - b->each[d];
        double more = (double)b->right[d] - (double)a->right[d];
        loss += less;
        loss_squares += less * less;
        right += more;
        right_squares += more * more;
    }
    if (loss < 0 || right < 0 || a->accuracy == 1)
        return false;
    return in_errors(loss, loss_squares, count) > 3 || in_errors(right, right_squares, count) > 2;
}

enum {
    TEMPERATURES = 14, /* from 4 down to .02; each is two thirds of the previous one */
    SHARE_STEPS = 40,  /* each step leaves .618 of the interval of shares */
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

/* The sum of -ln P(y), with the added document (em_guard.h), which only the own scores
 * predict. */
static double pool_loss(const struct fit *f, unsigned temperature, double share)
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
    for (int i = 0; i < SHARE_STEPS; i++) {
        double a = high - section * (high - low), b = low + section * (high - low);
        if (pool_loss(f, temperature, a) <= pool_loss(f, temperature, b))
            high = b;
        else
            low = a;
    }
    *share = low > 0 ? (low + high) / 2 : 0;
    return pool_loss(f, temperature, *share);
}

static struct nb_pool best_pool(const struct fit *f)
{
    struct nb_pool pool = {.temperature = 1};
    double best = pool_loss(f, 0, 0);
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

/* ---- losses of the pool ---------------------------------------------------------------------- */

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
    losses_sum(losses, q->own.count);
}

int nb_pool_fit(const struct nb_pool_question *question, struct nb_pool *pool,
                struct nb_losses *losses)
{
    struct fit f = {.question = question, .left_out = question->fold_count};
    assert(question->own.count > 0 && question->own.labels > 0);
    int rc = losses_init(losses, question->own.count);
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
