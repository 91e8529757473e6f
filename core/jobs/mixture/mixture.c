/* SPDX-License-Identifier: Apache-2.0 */
#include "core/jobs/mixture/mixture.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/jobs/mixture/mixture_fit.h"

static const double alpha = 0.1;      /* added to each word of a cluster */
static const double heat = 0.05;      /* beta of the first E step ... */
static const double cooling = 1.35;   /* ... and what it is multiplied by */
static const double tolerance = 1e-6; /* relative gain of the objective at which EM ends ... */
static const double exact = 1e-9;     /* ... and without words, where a step costs little */
static const double rounding = 1e-9;  /* relative fall of the objective that rounding explains */
static const double resting = 1e-10; /* share of all words that moves in a step by rounding alone */
enum { ITERATIONS_MOST = 200 };

void nb_mixture_deinit(struct nb_mixture *mixture)
{
    free(mixture->log_share);
    free(mixture->log_word);
    free(mixture->mean);
    free(mixture->variance);
    free(mixture->cluster);
    free(mixture->margin);
    *mixture = (struct nb_mixture){0};
}

static void run_deinit(struct nb_mixture_run *f)
{
    free(f->counts);
    free(f->members);
    free(f->sums);
    free(f->scores);
    free(f->gaussians.log_height);
    free(f->gaussians.members);
    free(f->gaussians.sums);
    free(f->gaussians.squares);
}

static int gaussians_init(struct nb_mixture_run *f)
{
    struct nb_mixture *m = f->mixture;
    struct nb_mixture_gaussians *s = &f->gaussians;
    size_t cells = (size_t)m->clusters * m->numbers + 1;
    double **const vectors[] = {&m->mean,    &m->variance, &s->log_height,
                                &s->members, &s->sums,     &s->squares};
    bool good = true;
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++)
        good = (*vectors[i] = calloc(cells, sizeof(double))) != NULL && good;
    return good ? 0 : NB_NO_MEMORY;
}

static int run_init(struct nb_mixture_run *f, uint32_t clusters)
{
    const struct nb_mixture_documents *d = f->documents;
    struct nb_mixture *m = f->mixture;
    size_t cells = (size_t)clusters * d->words + 1;
    *m = (struct nb_mixture){.clusters = clusters, .words = d->words, .numbers = d->numbers};
    m->log_share = calloc(clusters, sizeof *m->log_share);
    m->log_word = calloc(cells, sizeof *m->log_word);
    m->cluster = calloc(d->count, sizeof *m->cluster);
    m->margin = calloc(d->count, sizeof *m->margin);
    f->counts = calloc(cells, sizeof *f->counts);
    f->members = calloc(clusters, sizeof *f->members);
    f->sums = calloc(clusters, sizeof *f->sums);
    f->scores = calloc(clusters, sizeof *f->scores);
    bool good = m->log_share != NULL && m->log_word != NULL && m->cluster != NULL &&
                m->margin != NULL && f->counts != NULL && f->members != NULL && f->sums != NULL &&
                f->scores != NULL;
    return good ? gaussians_init(f) : NB_NO_MEMORY;
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* f->scores: ln of prior and likelihood, the latter to the power beta. */
static void score(const struct nb_mixture_run *f, size_t document, double beta)
{
    const struct nb_mixture_documents *d = f->documents;
    const struct nb_mixture *m = f->mixture;
    uint32_t clusters = m->clusters;
    memset(f->scores, 0, clusters * sizeof *f->scores);
    for (size_t i = d->begin[document]; i < d->begin[document + 1]; i++) {
        const double *word = m->log_word + (size_t)d->columns[i] * clusters;
        double count = (double)d->counts[i];
        for (uint32_t k = 0; k < clusters; k++)
            f->scores[k] += count * word[k];
    }
    nb_mixture_gaussians_score(f, document);
    for (uint32_t k = 0; k < clusters; k++)
        f->scores[k] = beta * f->scores[k] + m->log_share[k];
}

/* Turns f->scores into probabilities. Returns ln of their divisor. */
static double normalize(const struct nb_mixture_run *f)
{
    uint32_t clusters = f->mixture->clusters;
    double most = f->scores[0];
    double sum = 0;
    for (uint32_t k = 1; k < clusters; k++)
        most = f->scores[k] > most ? f->scores[k] : most;
    for (uint32_t k = 0; k < clusters; k++)
        sum += f->scores[k] = exp(f->scores[k] - most);
    assert(sum >= 1); /* the greatest adds 1 */
    for (uint32_t k = 0; k < clusters; k++)
        f->scores[k] /= sum;
    return most + log(sum);
}

/* The E step, with the sums that the M step needs. Returns ln of the likelihood at beta. */
static double expect(struct nb_mixture_run *f, double beta)
{
    const struct nb_mixture_documents *d = f->documents;
    uint32_t clusters = f->mixture->clusters;
    double likelihood = 0;
    memset(f->counts, 0, (size_t)clusters * f->mixture->words * sizeof *f->counts);
    memset(f->members, 0, clusters * sizeof *f->members);
    nb_mixture_gaussians_clear(f);
    for (size_t i = 0; i < d->count; i++) {
        score(f, i, beta);
        likelihood += normalize(f);
        for (size_t j = d->begin[i]; j < d->begin[i + 1]; j++) {
            double *word = f->counts + (size_t)d->columns[j] * clusters;
            double count = (double)d->counts[j];
            for (uint32_t k = 0; k < clusters; k++)
                word[k] += count * f->scores[k];
        }
        nb_mixture_gaussians_expect(f, i);
        for (uint32_t k = 0; k < clusters; k++)
            f->members[k] += f->scores[k];
    }
    return likelihood;
}

/* Each of these returns its part of ln of the priors' density. */
static double maximize_shares(struct nb_mixture_run *f)
{
    struct nb_mixture *m = f->mixture;
    double prior = 0;
    if (f->documents->has_equal_shares)
        return 0;
    for (uint32_t k = 0; k < m->clusters; k++) {
        m->log_share[k] = log((1 + f->members[k]) / (m->clusters + (double)f->documents->count));
        prior += m->log_share[k];
    }
    f->parameters += m->clusters - 1.0;
    return prior;
}

static double maximize_group(struct nb_mixture_run *f, uint32_t group)
{
    struct nb_mixture *m = f->mixture;
    uint32_t clusters = m->clusters;
    uint32_t first = nb_mixture_group_begin(f->documents, group);
    uint32_t last = nb_mixture_group_end(f->documents, group);
    size_t begin = (size_t)first * clusters;
    size_t end = (size_t)last * clusters;
    double prior = 0;
    double used = 0;
    for (uint32_t k = 0; k < clusters; k++)
        f->sums[k] = alpha * (last - first);
    for (size_t i = begin; i < end; i++)
        f->sums[i % clusters] += f->counts[i];
    for (uint32_t k = 0; k < clusters && end > begin; k++)
        f->sums[k] = log(f->sums[k]);
    for (size_t i = begin; i < end; i++) {
        double log_word = log(alpha + f->counts[i]) - f->sums[i % clusters];
        f->moved += f->counts[i] * fabs(log_word - m->log_word[i]);
        f->sum += f->counts[i];
        m->log_word[i] = log_word;
        prior += alpha * log_word;
        used += f->counts[i] >= 0.5;
    }
    f->parameters += group == 0 ? used : fmax(0, used - clusters); /* the last value follows */
    return prior;
}

/* Returns ln of the priors' density without the terms that do not depend on the parameters. */
static double maximize(struct nb_mixture_run *f)
{
    f->parameters = f->moved = f->sum = 0;
    double prior = maximize_shares(f);
    for (uint32_t group = 0; group < nb_mixture_group_count(f->documents); group++)
        prior += maximize_group(f, group);
    return prior + nb_mixture_gaussians_maximize(f);
}

/* ---- the end --------------------------------------------------------------------------------- */

/* Words and other values of a document. */
static double values_of(const struct nb_mixture_documents *d, size_t document)
{
    double values = nb_mixture_number_count(d, document);
    for (size_t i = d->begin[document]; i < d->begin[document + 1]; i++)
        values += (double)d->counts[i];
    return values;
}

static void settle(struct nb_mixture_run *f)
{
    struct nb_mixture *m = f->mixture;
    for (size_t i = 0; i < f->documents->count; i++) {
        uint32_t best = 0;
        double next = -(double)INFINITY;
        score(f, i, 1);
        for (uint32_t k = 1; k < m->clusters; k++) {
            bool wins = f->scores[k] > f->scores[best];
            next = wins ? f->scores[best] : f->scores[k] > next ? f->scores[k] : next;
            best = wins ? k : best;
        }
        double length = values_of(f->documents, i);
        m->cluster[i] = best;
        m->margin[i] = m->clusters > 1 && length > 0 ? (f->scores[best] - next) / length : 0;
    }
    m->parameters = f->parameters;
}

/* Whether the words' probabilities move by more than in the step before. Where clusters are alike
 * the objective has a saddle. Heat leads there, and EM leaves it by steps that grow from almost 0,
 * and that each gain less than the tolerance. */
static bool is_leaving(const struct nb_mixture_run *f, double moved)
{
    return f->moved > moved && f->moved > resting * f->sum;
}

static int iterate(struct nb_mixture_run *f, bool (*stop)(void *user), void *user)
{
    struct nb_mixture *m = f->mixture;
    double prior = 0;
    double before = -(double)INFINITY;
    double scale = (double)f->documents->count; /* with densities the objective can be about 0 */
    bool has_words = nb_mixture_group_end(f->documents, 0) > 0;
    double enough = has_words ? tolerance : exact;
    double moved = 0; /* by the M step before the last one */
    double beta = m->clusters > 1 && has_words ? heat : 1;
    for (bool is_cold = false;; m->iterations++) {
        if (stop != NULL && stop(user))
            return NB_STOPPING;
        m->log_likelihood = expect(f, beta);
        double now = m->log_likelihood + prior;
        /* EM guarantees this for the parameters of the last M step at the same beta. */
        assert(!is_cold || now >= before - rounding * (fabs(before) + scale));
        /* EM ends before an M step, so that the likelihood belongs to the parameters. */
        bool has_ended = is_cold && now - before <= enough * fabs(now) && !is_leaving(f, moved);
        if (has_ended || m->iterations + 1 == ITERATIONS_MOST)
            return 0;
        before = now;
        moved = f->moved;
        is_cold = beta >= 1 && m->iterations > 0;
        beta = beta * cooling < 1 ? beta * cooling : 1;
        prior = maximize(f);
    }
}

int nb_mixture_fit(const struct nb_mixture_documents *documents, uint32_t clusters, uint64_t seed,
                   bool (*stop)(void *user), void *user, struct nb_mixture *mixture)
{
    struct nb_mixture_run f = {.documents = documents, .mixture = mixture};
    assert(clusters > 0 && documents->count > 0);
    int rc = run_init(&f, clusters);
    if (rc == 0)
        rc = nb_mixture_start(&f, seed);
    if (rc == 0)
        rc = iterate(&f, stop, user);
    if (rc == 0)
        settle(&f);
    else
        nb_mixture_deinit(mixture);
    run_deinit(&f);
    return rc;
}

double nb_mixture_bic(const struct nb_mixture *mixture, size_t documents)
{
    return mixture->parameters * log((double)documents) - 2 * mixture->log_likelihood;
}
