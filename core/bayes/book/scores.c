/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bayes/book/scores.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/base/error.h"
#include "core/counts/model.h"

void nb_scores_init(struct nb_scores *scores)
{
    *scores = (struct nb_scores){0};
}

void nb_scores_deinit(struct nb_scores *scores)
{
    free(scores->labels);
    free(scores->log_scores);
    free(scores->probabilities);
    free(scores->documents);
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
    larger.documents = malloc(size * sizeof *larger.documents);
    if (larger.labels == NULL || larger.log_scores == NULL || larger.probabilities == NULL ||
        larger.documents == NULL) {
        nb_scores_deinit(&larger);
        return NB_NO_MEMORY;
    }
    nb_scores_deinit(scores);
    *scores = larger;
    return 0;
}

/* Winner and runner-up: highest score, ties to the first by name. */
static void put_order(struct nb_scores *scores)
{
    const double *s = scores->log_scores;
    size_t best = 0, second = scores->size > 1 ? 1 : 0;
    if (scores->size > 1 && s[1] > s[0]) {
        best = 1;
        second = 0;
    }
    double most = s[best], next = s[second];
    for (size_t i = 2; i < scores->size; i++) {
        if (s[i] > most) {
            second = best;
            next = most;
            best = i;
            most = s[i];
        } else if (s[i] > next) {
            second = i;
            next = s[i];
        }
    }
    scores->best = best;
    scores->second = second;
}

/* Soft-max, from the highest score down so that nothing overflows. Equal scores have equal
 * probabilities, also where all are -infinity. */
static void put_probabilities(struct nb_scores *scores)
{
    double most = scores->log_scores[scores->best];
    bool is_any_possible = most > -(double)INFINITY;
    double sum = 0;
    double *p = scores->probabilities;
    for (size_t i = 0; i < scores->size; i++) {
        p[i] = is_any_possible ? exp(scores->log_scores[i] - most) : 1;
        sum += p[i];
    }
    for (size_t i = 0; i < scores->size; i++)
        p[i] /= sum;
}

/* Whether label i comes before label k. */
static bool comes_first(const struct nb_scores *scores, const double *p, size_t i, size_t k)
{
    const double *s = scores->log_scores;
    if (p[i] > p[k] || p[i] < p[k])
        return p[i] > p[k];
    return s[i] > s[k] || (!(s[i] < s[k]) && i < k);
}

void nb_scores_choose(struct nb_scores *scores, const double *probabilities)
{
    size_t best = 0;
    for (size_t i = 1; i < scores->size; i++)
        best = comes_first(scores, probabilities, i, best) ? i : best;
    size_t second = best == 0 && scores->size > 1 ? 1 : 0;
    for (size_t i = 0; i < scores->size; i++)
        if (i != best && (second == best || comes_first(scores, probabilities, i, second)))
            second = i;
    scores->best = best;
    scores->second = second;
}

void nb_scores_rank(struct nb_scores *scores)
{
    assert(scores->size > 0 && scores->size <= scores->room);
    put_order(scores);
    put_probabilities(scores);
}

/* ---- scores from few documents --------------------------------------------------------------- */

/* (pi / 8) (1/2)^2, rounded; measured on SpamAssassin's corpus, Enron, SMS, Reuters and 20
 * Newsgroups. */
static const double MODERATION = 0.1;

double nb_scores_moderation(double difference, double prior, double doubt)
{
    assert(doubt >= 0);
    double a = fabs(difference);
    double p = fmin(fmax(difference < 0 ? -prior : prior, 0), a);
    double evidence = a - p;
    if (evidence == 0)
        return 1;
    double pulled = p + evidence / sqrt(1 + MODERATION * doubt * evidence * evidence);
    return fmin(pulled / a, 1); /* which rounding may miss */
}

/* d of all labels together. */
static double doubt_of(const struct nb_scores *scores)
{
    double doubt = 0;
    for (size_t i = 0; i < scores->size; i++) {
        assert(scores->documents[i] > 0);
        double part = scores->size == 2 ? 1 : 2 * scores->probabilities[i];
        doubt += part / (double)scores->documents[i];
    }
    return doubt;
}

double nb_scores_moderate(struct nb_scores *scores)
{
    assert(scores->best < scores->size && scores->second < scores->size);
    double difference = scores->log_scores[scores->best] - scores->log_scores[scores->second];
    double prior = log((double)scores->documents[scores->best]) -
                   log((double)scores->documents[scores->second]);
    double factor = nb_scores_moderation(difference, prior, doubt_of(scores));
    for (size_t i = 0; i < scores->size; i++)
        scores->log_scores[i] *= factor;
    nb_scores_rank(scores);
    return factor;
}

double nb_scores_moderate_by(struct nb_scores *scores, const struct nb_model *model,
                             uint32_t without)
{
    for (size_t i = 0; i < scores->size; i++) {
        uint32_t label = scores->labels[i];
        scores->documents[i] = nb_model_documents(model, label) - (label == without);
    }
    return nb_scores_moderate(scores);
}

/* ln P(label), by the soft-max of the ranked scores times `temperature`, is
 * temperature * (score - the best one) less this. */
static double log_sum(const struct nb_scores *scores, double temperature)
{
    double sum = 0;
    for (size_t i = 0; i < scores->size; i++)
        sum += exp(temperature * (scores->log_scores[i] - scores->log_scores[scores->best]));
    assert(sum >= 1); /* the best adds 1 */
    return log(sum);
}

double nb_scores_pool(struct nb_scores *scores, double temperature, double share,
                      const struct nb_scores *own)
{
    assert(scores->size == own->size && share >= 0 && share < 1 && temperature > 0);
    double end = log_sum(scores, temperature) - log(share);
    double own_end = log_sum(own, 1) - log1p(-share);
    double top = scores->log_scores[scores->best], own_top = own->log_scores[own->best];
    for (size_t i = 0; i < scores->size; i++) {
        double one = temperature * (scores->log_scores[i] - top) - end;
        double other = own->log_scores[i] - own_top - own_end;
        double most = fmax(one, other);
        scores->log_scores[i] = most + log(exp(one - most) + exp(other - most));
    }
    nb_scores_rank(scores);
    double of_own = own->log_scores[scores->best] - own_top - own_end;
    return fmax(-expm1(of_own - scores->log_scores[scores->best]), 0);
}
