/* SPDX-License-Identifier: Apache-2.0 */
#include "core/em/losses.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "core/base/error.h"

static const double least_temperature = 1e-4, most_temperature = 4;
static const double loss_most = 700; /* loss of an impossible label; exp(-700) is a normal number */
enum { STEPS = 50 };                 /* each step leaves .618 of the interval */

/* Cross-entropy of a document at temperature t against the target probabilities (see losses.h). */
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

/* The e of losses.h. */
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

int nb_losses_init(struct nb_losses *losses, size_t count)
{
    *losses = (struct nb_losses){.temperature = 1,
                                 .each = calloc(count, sizeof *losses->each),
                                 .right = calloc(count, sizeof *losses->right)};
    return losses->each != NULL && losses->right != NULL ? 0 : NB_NO_MEMORY;
}

void nb_losses_sum(struct nb_losses *losses, size_t count)
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
    if (nb_losses_init(losses, s->count) != 0) {
        nb_losses_deinit(losses);
        return NB_NO_MEMORY;
    }
    losses->temperature = temperature;
    for (size_t d = 0; d < s->count; d++) {
        losses->each[d] = loss_of(s, d, temperature, doubt);
        losses->right[d] = winner_of(s->scores + d * s->labels, s->labels) == s->truths[d];
    }
    nb_losses_sum(losses, s->count);
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
