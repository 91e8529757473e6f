/* SPDX-License-Identifier: Apache-2.0 */
#include "core/mixture/mixture.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/random.h"

static const double alpha = 0.1;       /* added to each word of a cluster */
static const double heat = 0.05;       /* beta of the first E step ... */
static const double cooling = 1.35;    /* ... and what it is multiplied by */
static const double tolerance = 1e-6;  /* of the objective, relative, at which EM ends */
static const double rounding = 1e-9;   /* that the objective may seem to fall by, relative */
static const double start_share = 0.5; /* of a start that is not the words of all documents */
enum { START_DOCUMENTS = 10, ITERATIONS_MOST = 200 };

void nb_mixture_deinit(struct nb_mixture *mixture)
{
    free(mixture->log_share);
    free(mixture->log_word);
    free(mixture->cluster);
    free(mixture->margin);
    *mixture = (struct nb_mixture){0};
}

/* A fit under way. */
struct fit {
    const struct nb_mixture_documents *documents;
    struct nb_mixture *mixture;
    double *counts;  /* expected, as mixture->log_word lies */
    double *members; /* expected documents of each cluster */
    double *sums;    /* of the counts of each cluster */
    double *scores;  /* of the document that is looked at */
    double parameters;
};

static void fit_deinit(struct fit *f)
{
    free(f->counts);
    free(f->members);
    free(f->sums);
    free(f->scores);
}

static int fit_init(struct fit *f, uint32_t clusters)
{
    struct nb_mixture *m = f->mixture;
    size_t cells = (size_t)clusters * f->documents->words + 1;
    *m = (struct nb_mixture){.clusters = clusters, .words = f->documents->words};
    m->log_share = calloc(clusters, sizeof *m->log_share);
    m->log_word = calloc(cells, sizeof *m->log_word);
    m->cluster = calloc(f->documents->count, sizeof *m->cluster);
    m->margin = calloc(f->documents->count, sizeof *m->margin);
    f->counts = calloc(cells, sizeof *f->counts);
    f->members = calloc(clusters, sizeof *f->members);
    f->sums = calloc(clusters, sizeof *f->sums);
    f->scores = calloc(clusters, sizeof *f->scores);
    bool good = m->log_share != NULL && m->log_word != NULL && m->cluster != NULL &&
                m->margin != NULL && f->counts != NULL && f->members != NULL && f->sums != NULL &&
                f->scores != NULL;
    return good ? 0 : NB_NO_MEMORY;
}

/* ---- the start ------------------------------------------------------------------------------- */

static void add_document(const struct fit *f, size_t document, uint32_t cluster, double weight)
{
    const struct nb_mixture_documents *d = f->documents;
    for (size_t i = d->begin[document]; i < d->begin[document + 1]; i++)
        f->counts[(size_t)d->columns[i] * f->mixture->clusters + cluster] +=
            weight * (double)d->counts[i];
}

static double length_of(const struct nb_mixture_documents *d, size_t document)
{
    double length = 0;
    for (size_t i = d->begin[document]; i < d->begin[document + 1]; i++)
        length += (double)d->counts[i];
    return length;
}

/* Each cluster begins as some documents that are drawn, mixed with all of them: so that every word
 * has a probability before the first step. */
static void start(struct fit *f, uint64_t seed)
{
    const struct nb_mixture_documents *d = f->documents;
    struct nb_mixture *m = f->mixture;
    struct nb_random random = nb_random_of(seed, m->clusters);
    double total = 0;
    for (size_t i = 0; i < d->begin[d->count]; i++)
        total += (double)d->counts[i];
    for (uint32_t k = 0; k < m->clusters; k++) {
        for (int i = 0; i < START_DOCUMENTS; i++) {
            size_t drawn = nb_random_below(&random, d->count);
            double length = length_of(d, drawn);
            if (length > 0)
                add_document(f, drawn, k, start_share / START_DOCUMENTS / length);
        }
        m->log_share[k] = -log(m->clusters);
    }
    double *all = m->log_word; /* of each word, in the first cluster's place until it is used */
    for (size_t i = 0; i < d->begin[d->count]; i++)
        all[(size_t)d->columns[i] * m->clusters] += (double)d->counts[i];
    for (uint32_t w = 0; w < m->words; w++) {
        size_t at = (size_t)w * m->clusters;
        double share = (1 - start_share) * all[at] / total;
        for (uint32_t k = 0; k < m->clusters; k++)
            m->log_word[at + k] = log(f->counts[at + k] + share);
    }
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* f->scores: ln of prior and likelihood, the latter to the power beta. */
static void score(const struct fit *f, size_t document, double beta)
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
    for (uint32_t k = 0; k < clusters; k++)
        f->scores[k] = beta * f->scores[k] + m->log_share[k];
}

/* f->scores become probabilities. Returns ln of what they are divided by. */
static double normalize(const struct fit *f)
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
static double expect(struct fit *f, double beta)
{
    const struct nb_mixture_documents *d = f->documents;
    uint32_t clusters = f->mixture->clusters;
    double likelihood = 0;
    memset(f->counts, 0, (size_t)clusters * f->mixture->words * sizeof *f->counts);
    memset(f->members, 0, clusters * sizeof *f->members);
    for (size_t i = 0; i < d->count; i++) {
        score(f, i, beta);
        likelihood += normalize(f);
        for (size_t j = d->begin[i]; j < d->begin[i + 1]; j++) {
            double *word = f->counts + (size_t)d->columns[j] * clusters;
            double count = (double)d->counts[j];
            for (uint32_t k = 0; k < clusters; k++)
                word[k] += count * f->scores[k];
        }
        for (uint32_t k = 0; k < clusters; k++)
            f->members[k] += f->scores[k];
    }
    return likelihood;
}

/* Returns ln of the priors' density, but for what does not depend on the parameters. */
static double maximize(struct fit *f)
{
    struct nb_mixture *m = f->mixture;
    size_t cells = (size_t)m->clusters * m->words;
    double prior = 0;
    f->parameters = m->clusters - 1.0;
    for (uint32_t k = 0; k < m->clusters; k++)
        f->sums[k] = alpha * m->words;
    for (size_t i = 0; i < cells; i++)
        f->sums[i % m->clusters] += f->counts[i];
    for (uint32_t k = 0; k < m->clusters; k++) {
        m->log_share[k] = log((1 + f->members[k]) / (m->clusters + (double)f->documents->count));
        prior += m->log_share[k];
        f->sums[k] = log(f->sums[k]);
    }
    for (size_t i = 0; i < cells; i++) {
        m->log_word[i] = log(alpha + f->counts[i]) - f->sums[i % m->clusters];
        prior += alpha * m->log_word[i];
        f->parameters += f->counts[i] >= 0.5;
    }
    return prior;
}

/* ---- the end --------------------------------------------------------------------------------- */

static void settle(struct fit *f)
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
        double length = length_of(f->documents, i);
        m->cluster[i] = best;
        m->margin[i] = m->clusters > 1 && length > 0 ? (f->scores[best] - next) / length : 0;
    }
    m->parameters = f->parameters;
}

static int iterate(struct fit *f, bool (*stop)(void *user), void *user)
{
    struct nb_mixture *m = f->mixture;
    double prior = 0;
    double before = -(double)INFINITY;
    double beta = m->clusters > 1 ? heat : 1;
    for (bool is_cold = false; m->iterations < ITERATIONS_MOST; m->iterations++) {
        if (stop != NULL && stop(user))
            return NB_STOPPING;
        m->log_likelihood = expect(f, beta);
        double now = m->log_likelihood + prior;
        /* EM's property; of the parameters that the last M step made at the same beta. */
        assert(!is_cold || now >= before - rounding * fabs(before));
        if (is_cold && now - before <= tolerance * fabs(now))
            return 0;
        before = now;
        is_cold = beta >= 1 && m->iterations > 0;
        beta = beta * cooling < 1 ? beta * cooling : 1;
        prior = maximize(f);
    }
    return 0;
}

int nb_mixture_fit(const struct nb_mixture_documents *documents, uint32_t clusters, uint64_t seed,
                   bool (*stop)(void *user), void *user, struct nb_mixture *mixture)
{
    struct fit f = {.documents = documents, .mixture = mixture};
    assert(clusters > 0 && documents->count > 0);
    int rc = fit_init(&f, clusters);
    if (rc == 0) {
        start(&f, seed);
        rc = iterate(&f, stop, user);
    }
    if (rc == 0)
        settle(&f);
    else
        nb_mixture_deinit(mixture);
    fit_deinit(&f);
    return rc;
}

double nb_mixture_bic(const struct nb_mixture *mixture, size_t documents)
{
    return mixture->parameters * log((double)documents) - 2 * mixture->log_likelihood;
}
