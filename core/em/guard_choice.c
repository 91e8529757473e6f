/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "core/em/guard.h"
#include "core/em/guard_fold.h"
#include "core/em/losses.h"
#include "core/em/pool.h"

enum { MEASURED_LEAST = 10 };
/* Used where nothing can be measured. */
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
static int judge(const struct nb_guard_trial *t, unsigned candidate, struct nb_pool *pool,
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
        rc = judge(t, n, &pool, &losses);
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
