/* SPDX-License-Identifier: Apache-2.0 */
#include "core/jobs/mixture/mixture.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/bayes/em.h"

struct gaussians {
    double *log_height; /* ln of the density at the mean; at g * clusters + k, like all here */
    double *members;    /* expected documents that have the number */
    double *sums;    /* sums of their distances from the mean at the beginning of the E step ... */
    double *squares; /* ... and of these squared */
    double prior;    /* s_g ^ 2, the same for all */
};

struct run {
    const struct nb_mixture_documents *documents;
    struct nb_mixture *mixture;
    double *counts;  /* expected counts, in the layout of mixture->log_word */
    double *members; /* expected documents of each cluster */
    double *sums;    /* sum of each cluster's counts in one group of columns */
    double *scores;  /* each cluster's score for the present document */
    struct gaussians gaussians;
    double parameters;
    double moved; /* by the last M step: the sum, over words and values, of the expected count times
                     the change of ln theta */
    double sum;   /* sum of these counts */
};

/* Columns whose theta sum to 1: the words, then each category. */
static uint32_t group_count(const struct nb_mixture_documents *d)
{
    return 1 + d->categories;
}
static uint32_t group_begin(const struct nb_mixture_documents *d, uint32_t group)
{
    return group == 0 ? 0 : d->category[group - 1];
}
static uint32_t group_end(const struct nb_mixture_documents *d, uint32_t group)
{
    return group < d->categories ? d->category[group] : d->words;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static const double two_pi = 6.283185307179586;

/* Numbers that a document has. */
static uint32_t number_count(const struct nb_mixture_documents *documents, size_t document)
{
    uint32_t count = 0;
    for (uint32_t g = 0; g < documents->numbers; g++)
        count += isnan(documents->values[document * documents->numbers + g]) ? 0 : 1;
    return count;
}

/* Computes the terms of the Gaussians' densities from means and variances. */
static void gaussians_ready(struct run *run)
{
    const struct nb_mixture *m = run->mixture;
    for (size_t i = 0; i < (size_t)m->numbers * m->clusters; i++) {
        assert(m->variance[i] > 0);
        run->gaussians.log_height[i] = -log(two_pi * m->variance[i]) / 2;
    }
}

/* Adds ln of the likelihood of a document's numbers to run->scores. */
static void gaussians_score(const struct run *run, size_t document)
{
    const struct nb_mixture *m = run->mixture;
    for (uint32_t g = 0; g < m->numbers; g++) {
        double value = run->documents->values[document * m->numbers + g];
        const size_t at = (size_t)g * m->clusters;
        for (uint32_t k = 0; k < m->clusters && !isnan(value); k++) {
            double distance = value - m->mean[at + k];
            run->scores[k] +=
                run->gaussians.log_height[at + k] - distance * distance / (2 * m->variance[at + k]);
        }
    }
}

static void gaussians_clear(struct run *run)
{
    size_t size = (size_t)run->mixture->numbers * run->mixture->clusters * sizeof(double);
    memset(run->gaussians.members, 0, size);
    memset(run->gaussians.sums, 0, size);
    memset(run->gaussians.squares, 0, size);
}

/* Sums distances from the old means. At the end these are near the new ones, so that subtracting
 * the square of the mean loses no precision. */
/* run->scores are the probabilities of the clusters: the E step of a document. */
static void gaussians_expect(struct run *run, size_t document)
{
    const struct nb_mixture *m = run->mixture;
    const struct gaussians *s = &run->gaussians;
    for (uint32_t g = 0; g < m->numbers; g++) {
        double value = run->documents->values[document * m->numbers + g];
        const size_t at = (size_t)g * m->clusters;
        for (uint32_t k = 0; k < m->clusters && !isnan(value); k++) {
            double distance = value - m->mean[at + k];
            s->members[at + k] += run->scores[k];
            s->sums[at + k] += run->scores[k] * distance;
            s->squares[at + k] += run->scores[k] * distance * distance;
        }
    }
}

/* The M step. Returns ln of the priors' density without the terms that do not depend on the
 * parameters, and adds to run->parameters. */
static double gaussians_maximize(struct run *run)
{
    struct nb_mixture *m = run->mixture;
    const struct gaussians *s = &run->gaussians;
    double prior = 0;
    for (size_t i = 0; i < (size_t)m->numbers * m->clusters; i++) {
        bool is_known =
            run->documents->variances != NULL && run->documents->variances[i / m->clusters] > 0;
        double shift = s->members[i] > 0 ? s->sums[i] / s->members[i] : 0;
        double spread = fmax(0, s->squares[i] - shift * s->sums[i]);
        m->mean[i] += shift;
        run->parameters += is_known ? 1 : 2;
        if (is_known)
            continue;
        m->variance[i] = (s->prior + spread) / (1 + s->members[i]);
        prior -= (log(m->variance[i]) + s->prior / m->variance[i]) / 2;
    }
    gaussians_ready(run);
    return prior;
}

static const double start_share =
    0.5; /* share of drawn documents in a start; the rest is all documents */
enum { START_DOCUMENTS = 10 };

/* Words of a document, with repetitions; without values of categories. */
static double mixture_length(const struct nb_mixture_documents *documents, size_t document)
{
    const struct nb_mixture_documents *d = documents;
    uint32_t words = group_end(d, 0);
    double length = 0;
    for (size_t i = d->begin[document]; i < d->begin[document + 1]; i++)
        length += d->columns[i] < words ? (double)d->counts[i] : 0;
    return length;
}

/* ---- the start ------------------------------------------------------------------------------- */

/* The squared distance of a document from the means of a cluster, over the numbers that it has. */
static double distance_of(const struct run *run, size_t document, uint32_t cluster)
{
    const struct nb_mixture *m = run->mixture;
    double sum = 0;
    for (uint32_t g = 0; g < m->numbers; g++) {
        double value = run->documents->values[document * m->numbers + g];
        double distance = isnan(value) ? 0 : value - m->mean[(size_t)g * m->clusters + cluster];
        sum += distance * distance;
    }
    return sum;
}

/* Draws a document with a probability in proportion to its `nearest`; if all are 0, any document.
 */
static size_t draw(struct nb_random *random, const double *nearest, size_t count)
{
    double total = 0;
    for (size_t i = 0; i < count; i++)
        total += nearest[i];
    size_t drawn = (size_t)nb_random_below(random, count);
    double left = total * ((double)(nb_random_next(random) >> 11) * 0x1p-53);
    for (size_t i = 0; total > 0 && i < count; i++) {
        if (nearest[i] > 0)
            drawn = i;
        left -= nearest[i];
        if (left < 0)
            break;
    }
    return drawn;
}

/* Sets a cluster's means to a document's numbers, and to 0, the mean of all, where it has none. */
static void take_mean(struct run *run, uint32_t cluster, size_t document)
{
    struct nb_mixture *m = run->mixture;
    for (uint32_t g = 0; g < m->numbers; g++) {
        double value = run->documents->values[document * m->numbers + g];
        m->mean[(size_t)g * m->clusters + cluster] = isnan(value) ? 0 : value;
    }
}

/* Takes each mean from a document that is drawn in proportion to its squared distance from the
 * nearest earlier mean, so that equal documents are not drawn twice. */
static int start_means(struct run *run, struct nb_random *random)
{
    size_t count = run->documents->count;
    double *nearest = malloc(count * sizeof *nearest);
    if (nearest == NULL)
        return NB_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        nearest[i] = number_count(run->documents, i) > 0;
    for (uint32_t k = 0; k < run->mixture->clusters; k++) {
        take_mean(run, k, draw(random, nearest, count));
        for (size_t i = 0; i < count; i++) {
            double distance = distance_of(run, i, k);
            nearest[i] = k == 0 || distance < nearest[i] ? distance : nearest[i];
        }
    }
    free(nearest);
    return 0;
}

static int start_gaussians(struct run *run, uint64_t seed)
{
    struct nb_mixture *m = run->mixture;
    const double *known = run->documents->variances;
    if (m->numbers == 0)
        return 0;
    struct nb_random random = nb_random_of(~seed, m->clusters);
    run->gaussians.prior = pow(m->clusters, -2.0 / m->numbers);
    for (size_t i = 0; i < (size_t)m->numbers * m->clusters; i++) {
        bool is_known = known != NULL && known[i / m->clusters] > 0;
        m->variance[i] = is_known ? known[i / m->clusters] : 1;
    }
    gaussians_ready(run);
    return start_means(run, &random);
}

/* ---- words and categories -------------------------------------------------------------------- */

static void add_document(const struct run *run, size_t document, uint32_t cluster)
{
    const struct nb_mixture_documents *d = run->documents;
    uint32_t words = group_end(d, 0);
    double length = mixture_length(d, document);
    for (size_t i = d->begin[document]; i < d->begin[document + 1]; i++) {
        double weight = d->columns[i] < words ? (double)d->counts[i] / length : 1;
        run->counts[(size_t)d->columns[i] * run->mixture->clusters + cluster] +=
            weight / START_DOCUMENTS;
    }
}

/* Makes each group of columns sum to 1: half comes from the drawn documents, if they have the
 * group. */
static void mix(struct run *run, uint32_t group, const double *all)
{
    struct nb_mixture *m = run->mixture;
    uint32_t begin = group_begin(run->documents, group);
    uint32_t end = group_end(run->documents, group);
    double total = 0;
    for (uint32_t w = begin; w < end; w++)
        total += all[w];
    for (uint32_t k = 0; k < m->clusters; k++) {
        double drawn = 0;
        for (uint32_t w = begin; w < end; w++)
            drawn += run->counts[(size_t)w * m->clusters + k];
        double share = drawn > 0 ? start_share : 0;
        for (uint32_t w = begin; w < end; w++) {
            size_t at = (size_t)w * m->clusters + k;
            double own = drawn > 0 ? share * run->counts[at] / drawn : 0;
            m->log_word[at] = log(own + (1 - share) * all[w] / total);
        }
    }
}

/* Begins each cluster with some drawn documents, mixed with all documents, so that every word has a
 * probability before the first step. */
static int start_words(struct run *run, uint64_t seed)
{
    const struct nb_mixture_documents *d = run->documents;
    struct nb_random random = nb_random_of(seed, run->mixture->clusters);
    double *all = calloc((size_t)d->words + 1, sizeof *all); /* of each column, its occurrences */
    if (all == NULL)
        return NB_NO_MEMORY;
    for (uint32_t k = 0; k < run->mixture->clusters; k++)
        for (int i = 0; i < START_DOCUMENTS; i++)
            add_document(run, (size_t)nb_random_below(&random, d->count), k);
    for (size_t i = 0; i < d->begin[d->count]; i++)
        all[d->columns[i]] += (double)d->counts[i];
    for (uint32_t group = 0; group < group_count(d); group++)
        mix(run, group, all);
    free(all);
    return 0;
}

/* Sets the parameters that the first E step begins with. Uses run->counts and run->sums. Returns 0
 * or NB_NO_MEMORY. */
static int start(struct run *run, uint64_t seed)
{
    for (uint32_t k = 0; k < run->mixture->clusters; k++)
        run->mixture->log_share[k] = -log(run->mixture->clusters);
    int rc = start_words(run, seed);
    return rc == 0 ? start_gaussians(run, seed) : rc;
}

/* ---- a fit ----------------------------------------------------------------------------------- */

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

static void run_deinit(struct run *f)
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

static int gaussians_init(struct run *f)
{
    struct nb_mixture *m = f->mixture;
    struct gaussians *s = &f->gaussians;
    size_t cells = (size_t)m->clusters * m->numbers + 1;
    double **const vectors[] = {&m->mean,    &m->variance, &s->log_height,
                                &s->members, &s->sums,     &s->squares};
    bool good = true;
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++)
        good = (*vectors[i] = calloc(cells, sizeof(double))) != NULL && good;
    return good ? 0 : NB_NO_MEMORY;
}

static int run_init(struct run *f, uint32_t clusters)
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

/* Sets f->scores to ln of prior times likelihood, the latter to the power beta. */
static void score(const struct run *f, size_t document, double beta)
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
    gaussians_score(f, document);
    for (uint32_t k = 0; k < clusters; k++)
        f->scores[k] = beta * f->scores[k] + m->log_share[k];
}

/* The E step, with the sums that the M step needs. Returns ln of the likelihood at beta. */
static double expect(struct run *f, double beta)
{
    const struct nb_mixture_documents *d = f->documents;
    uint32_t clusters = f->mixture->clusters;
    double likelihood = 0;
    memset(f->counts, 0, (size_t)clusters * f->mixture->words * sizeof *f->counts);
    memset(f->members, 0, clusters * sizeof *f->members);
    gaussians_clear(f);
    for (size_t i = 0; i < d->count; i++) {
        score(f, i, beta);
        likelihood += nb_em_normalize(f->scores, f->mixture->clusters);
        for (size_t j = d->begin[i]; j < d->begin[i + 1]; j++) {
            double *word = f->counts + (size_t)d->columns[j] * clusters;
            double count = (double)d->counts[j];
            for (uint32_t k = 0; k < clusters; k++)
                word[k] += count * f->scores[k];
        }
        gaussians_expect(f, i);
        for (uint32_t k = 0; k < clusters; k++)
            f->members[k] += f->scores[k];
    }
    return likelihood;
}

/* Each of these returns its part of ln of the priors' density. */
static double maximize_shares(struct run *f)
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

static double maximize_group(struct run *f, uint32_t group)
{
    struct nb_mixture *m = f->mixture;
    uint32_t clusters = m->clusters;
    uint32_t first = group_begin(f->documents, group);
    uint32_t last = group_end(f->documents, group);
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
static double maximize(struct run *f)
{
    f->parameters = f->moved = f->sum = 0;
    double prior = maximize_shares(f);
    for (uint32_t group = 0; group < group_count(f->documents); group++)
        prior += maximize_group(f, group);
    return prior + gaussians_maximize(f);
}

/* ---- the end --------------------------------------------------------------------------------- */

/* Words and other values of a document. */
static double values_of(const struct nb_mixture_documents *d, size_t document)
{
    double values = number_count(d, document);
    for (size_t i = d->begin[document]; i < d->begin[document + 1]; i++)
        values += (double)d->counts[i];
    return values;
}

static void settle(struct run *f)
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
static bool is_leaving(const struct run *f, double moved)
{
    return f->moved > moved && f->moved > resting * f->sum;
}

static int iterate(struct run *f, bool (*stop)(void *user), void *user)
{
    struct nb_mixture *m = f->mixture;
    double prior = 0;
    double before = -(double)INFINITY;
    double scale = (double)f->documents->count; /* with densities the objective can be about 0 */
    bool has_words = group_end(f->documents, 0) > 0;
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
    struct run f = {.documents = documents, .mixture = mixture};
    assert(clusters > 0 && documents->count > 0);
    int rc = run_init(&f, clusters);
    if (rc == 0)
        rc = start(&f, seed);
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
