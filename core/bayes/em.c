/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bayes/em.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"

/* `numbers`: NULL if there are none. On success the caller deinits *g. Returns 0 or
 * NB_NO_MEMORY. */
static int em_gaussians_init(struct nb_em_gaussians *g, const struct nb_em_numbers *numbers,
                             uint32_t labels, double weight, double smoothing)
{
    *g = (struct nb_em_gaussians){.numbers = numbers,
                                  .count = numbers != NULL ? numbers->count : 0,
                                  .labels = labels,
                                  .weight = weight,
                                  .smoothing = smoothing};
    if (g->count == 0)
        return 0;
    g->list = calloc((size_t)g->count * labels, sizeof *g->list);
    return g->list != NULL ? 0 : NB_NO_MEMORY;
}

static void em_gaussians_deinit(struct nb_em_gaussians *g)
{
    free(g->list);
    g->list = NULL;
}

/* Resets the sums before an E step. */
static void em_gaussians_begin(struct nb_em_gaussians *g)
{
    for (size_t i = 0; i < (size_t)g->count * g->labels; i++)
        g->list[i].members = g->list[i].sum = g->list[i].squares = 0;
}

/* Returns a document's number in a field; NAN: it has none. */
static double value_of(const struct nb_em_gaussians *g, size_t document, uint32_t field)
{
    return g->numbers->values[document * g->count + field];
}

/* Adds beta times ln of the densities of a document's numbers to r, by label. */
static void em_gaussians_score(const struct nb_em_gaussians *g, size_t document, double beta,
                               double *r)
{
    uint32_t labels = g->labels;
    for (uint32_t field = 0; field < g->count; field++) {
        double value = value_of(g, document, field);
        const struct nb_em_gaussian *of = &g->list[(size_t)field * labels];
        for (uint32_t v = 0; v < labels && !isnan(value); v++) {
            double far = value - of[v].mean;
            r[v] += beta * (of[v].log_height - far * far / (2 * of[v].variance));
        }
    }
}

/* Adds a document whose labels have the shares r. */
/* Sums distances from the old mean, which finally is close to the new one, so that subtracting the
 * squared mean distance cancels little. */
static void em_gaussians_expect(const struct nb_em_gaussians *g, size_t document, const double *r)
{
    uint32_t labels = g->labels;
    for (uint32_t field = 0; field < g->count; field++) {
        double value = value_of(g, document, field);
        struct nb_em_gaussian *of = &g->list[(size_t)field * labels];
        for (uint32_t v = 0; v < labels && !isnan(value); v++) {
            double far = value - of[v].mean, share = g->weight * r[v];
            of[v].members += share;
            of[v].sum += share * far;
            of[v].squares += share * far * far;
        }
    }
}

/* Updates the Gaussian of one field and label. */
static double maximize(struct nb_em_gaussian *of, const struct nb_normal *labelled,
                       double smoothing)
{
    static const double two_pi = 6.283185307179586;
    double all = labelled->count + of->members;
    double sum = labelled->count * labelled->mean + of->members * of->mean + of->sum;
    double mean = sum / (all + smoothing);
    double shift = mean - of->mean, far = labelled->mean - mean;
    double own = labelled->count * (labelled->variance + far * far);
    double others = fmax(of->squares - 2 * shift * of->sum + of->members * shift * shift, 0);
    double prior = 1 + smoothing * mean * mean;
    of->mean = mean;
    of->variance = (prior + own + others) / (1 + all);
    of->log_height = -log(two_pi * of->variance) / 2;
    assert(of->variance > 0);
    return labelled->count * of->log_height - own / (2 * of->variance) -
           (log(of->variance) + prior / of->variance) / 2;
}

/* The M step. Returns the part of the objective that comes from labelled documents and the prior.
 */
static double em_gaussians_maximize(struct nb_em_gaussians *g)
{
    double objective = 0;
    for (size_t i = 0; i < (size_t)g->count * g->labels; i++)
        objective += maximize(&g->list[i], &g->numbers->labelled[i], g->smoothing);
    return objective;
}

static const double tolerance = 1e-6;   /* relative gain of the objective at which EM ends */
static const double rounding = 1e-9;    /* relative decrease that rounding errors may cause */
static const double heat = 0.02;        /* beta of the first E step ... */
static const double cooling = 1.35;     /* ... and its factor in each step */
static const double share_least = 1e-3; /* smaller shares of labels are left out */

void nb_em_deinit(struct nb_em *em)
{
    free(em->begin);
    free(em->labels);
    free(em->shares);
    *em = (struct nb_em){0};
}

/* A fit under way. */
struct fit {
    const struct nb_em_question *question;
    double *log_words; /* owned; ln theta, in the layout of question->counts */
    double *counts;    /* owned; n_wv + lambda sum_d r_dv n_dw, same layout */
    uint32_t groups;   /* at least one */
    double *sums;      /* owned; of each group and label, sum over the words: group * labels + v */
    struct nb_em_gaussians gaussians;
    double *log_shares; /* owned; ln pi */
    double *all;        /* owned; r_dv, at d * labels + v */
};

static void fit_deinit(struct fit *f)
{
    free(f->log_words);
    free(f->counts);
    free(f->sums);
    em_gaussians_deinit(&f->gaussians);
    free(f->log_shares);
    free(f->all);
}

static int fit_init(struct fit *f)
{
    const struct nb_em_question *q = f->question;
    size_t cells = (size_t)q->words * q->labels;
    f->log_words = calloc(cells + 1, sizeof *f->log_words);
    f->counts = calloc(cells + 1, sizeof *f->counts);
    f->groups = q->groups != NULL ? q->group_count : 1;
    f->sums = calloc((size_t)f->groups * q->labels, sizeof *f->sums);
    f->log_shares = calloc(q->labels, sizeof *f->log_shares);
    f->all = calloc(q->documents->count * q->labels, sizeof *f->all);
    bool good =
        f->log_words != NULL && f->counts != NULL && f->sums != NULL && f->log_shares != NULL &&
        f->all != NULL &&
        em_gaussians_init(&f->gaussians, q->numbers, q->labels, q->weight, q->smoothing) == 0;
    return good ? 0 : NB_NO_MEMORY;
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Resets the counts to those of labelled documents; the E step adds to them. */
static void begin_counts(struct fit *f)
{
    const struct nb_em_question *q = f->question;
    memcpy(f->counts, q->counts, (size_t)q->words * q->labels * sizeof *f->counts);
    em_gaussians_begin(&f->gaussians);
}

static void put_shares(const struct fit *f)
{
    const struct nb_em_question *q = f->question;
    double all = 0;
    for (uint32_t v = 0; v < q->labels; v++)
        all += q->shares[v];
    for (uint32_t v = 0; v < q->labels; v++)
        f->log_shares[v] = log(q->shares[v] / all);
}

static double *sums_of(const struct fit *f, uint32_t word)
{
    const struct nb_em_question *q = f->question;
    return f->sums + (q->groups != NULL ? (size_t)q->groups[word] * q->labels : 0);
}

/* Sets `sums` to the logarithms of the sums over the words of each group. */
static void put_sums(struct fit *f)
{
    const struct nb_em_question *q = f->question;
    size_t size = (size_t)f->groups * q->labels;
    memset(f->sums, 0, size * sizeof *f->sums);
    for (uint32_t w = 0; w < q->words; w++) {
        const double *counts = f->counts + (size_t)w * q->labels;
        double *sums = sums_of(f, w);
        for (uint32_t v = 0; v < q->labels; v++)
            sums[v] += counts[v] + q->smoothing;
    }
    for (size_t i = 0; i < size; i++) /* 0: a group without words */
        f->sums[i] = log(f->sums[i]);
}

/* The M step. Returns the part of the objective that comes from labelled documents and the prior.
 */
static double maximize_all(struct fit *f)
{
    const struct nb_em_question *q = f->question;
    double objective = em_gaussians_maximize(&f->gaussians);
    double log_nothing = log(q->smoothing); /* most words occur with few labels */
    put_sums(f);
    for (uint32_t w = 0; w < q->words; w++) {
        const double *sums = sums_of(f, w);
        size_t i = (size_t)w * q->labels;
        for (uint32_t v = 0; v < q->labels; v++, i++) {
            double log_count = f->counts[i] > 0 ? log(f->counts[i] + q->smoothing) : log_nothing;
            f->log_words[i] = log_count - sums[v];
            objective += (q->counts[i] + q->smoothing) * f->log_words[i];
        }
    }
    return objective;
}

double nb_em_normalize(double *logarithms, uint32_t count)
{
    double *shares = logarithms;
    double most = logarithms[0];
    double sum = 0;
    for (uint32_t v = 1; v < count; v++)
        most = logarithms[v] > most ? logarithms[v] : most;
    for (uint32_t v = 0; v < count; v++)
        sum += shares[v] = exp(logarithms[v] - most);
    assert(sum >= 1); /* the greatest adds 1 */
    for (uint32_t v = 0; v < count; v++)
        shares[v] /= sum;
    return most + log(sum);
}

static double expect_document(const struct fit *f, size_t document, double beta)
{
    const struct nb_em_question *q = f->question;
    const struct nb_em_documents *d = q->documents;
    uint32_t labels = q->labels;
    double *r = f->all + document * labels;
    memcpy(r, f->log_shares, labels * sizeof *r);
    for (size_t i = d->begin[document]; i < d->middle[document]; i++) {
        const double *word = f->log_words + (size_t)d->columns[i] * labels;
        double count = beta * (q->is_binary ? 1 : d->counts[i]);
        assert(d->columns[i] < q->words);
        for (uint32_t v = 0; v < labels; v++)
            r[v] += count * word[v];
    }
    em_gaussians_score(&f->gaussians, document, beta, r);
    double likelihood = nb_em_normalize(r, labels);
    em_gaussians_expect(&f->gaussians, document, r);
    for (size_t i = d->begin[document]; i < d->middle[document]; i++) {
        double *word = f->counts + (size_t)d->columns[i] * labels;
        double count = q->weight * (q->is_binary ? 1 : d->counts[i]);
        for (uint32_t v = 0; v < labels; v++)
            word[v] += count * r[v];
    }
    return likelihood;
}

/* The E step; also computes the counts that the M step needs. Returns the sum of ln P(d). */
static double expect(struct fit *f, double beta)
{
    double likelihood = 0;
    begin_counts(f);
    for (size_t d = 0; d < f->question->documents->count; d++)
        likelihood += expect_document(f, d, beta);
    return likelihood;
}

static int iterate(struct fit *f, struct nb_em *em)
{
    const struct nb_em_question *q = f->question;
    double beta = q->labels > 1 ? heat : 1;
    begin_counts(f);
    put_shares(f);
    for (bool was_cold = false; em->iterations < q->iterations_most;) {
        if (q->stop != NULL && q->stop(q->user))
            return NB_STOPPING;
        double labelled = maximize_all(f), likelihood = q->weight * expect(f, beta);
        double now = labelled + likelihood;
        double size =
            fabs(labelled) + fabs(likelihood); /* logarithms of densities may be above 0 */
        double gain = now - em->log_likelihood;
        assert(!was_cold || gain >= -rounding * size); /* EM never decreases the objective */
        em->first = was_cold ? em->first : now;
        em->log_likelihood = now;
        em->iterations++;
        if (was_cold && gain <= tolerance * size)
            return 0;
        was_cold = beta >= 1;
        beta = beta * cooling < 1 ? beta * cooling : 1;
    }
    return 0;
}

/* ---- the end --------------------------------------------------------------------------------- */

static int make_room(struct nb_em *em, size_t count, size_t size)
{
    em->count = count;
    em->begin = calloc(count + 1, sizeof *em->begin);
    em->labels = calloc(size + 1, sizeof *em->labels);
    em->shares = calloc(size + 1, sizeof *em->shares);
    return em->begin != NULL && em->labels != NULL && em->shares != NULL ? 0 : NB_NO_MEMORY;
}

static int keep(const struct fit *f, struct nb_em *em)
{
    uint32_t labels = f->question->labels;
    size_t count = f->question->documents->count;
    size_t size = 0;
    for (size_t i = 0; i < count * labels; i++)
        size += f->all[i] >= share_least;
    if (make_room(em, count, size) != 0)
        return NB_NO_MEMORY;
    size = 0;
    for (size_t d = 0; d < count; d++) {
        double sum = 0;
        for (uint32_t v = 0; v < labels; v++) {
            double r = f->all[d * labels + v];
            if (!(r >= share_least))
                continue;
            em->labels[size] = v;
            em->shares[size++] = r;
            sum += r;
        }
        for (size_t i = em->begin[d]; i < size; i++)
            em->shares[i] /= sum;
        em->begin[d + 1] = size;
    }
    return 0;
}

int nb_em_fit(const struct nb_em_question *question, struct nb_em *em)
{
    struct fit f = {.question = question};
    assert(question->documents->count > 0 && question->labels > 0);
    assert(question->weight > 0 && question->smoothing > 0 && question->iterations_most > 0);
    *em = (struct nb_em){0};
    int rc = fit_init(&f);
    if (rc == 0)
        rc = iterate(&f, em);
    if (rc == 0)
        rc = keep(&f, em);
    if (rc != 0)
        nb_em_deinit(em);
    fit_deinit(&f);
    return rc;
}

int nb_em_given(const uint32_t *labels, size_t count, struct nb_em *em)
{
    *em = (struct nb_em){0};
    if (make_room(em, count, count) != 0) {
        nb_em_deinit(em);
        return NB_NO_MEMORY;
    }
    for (size_t d = 0; d < count; d++) {
        em->labels[d] = labels[d];
        em->shares[d] = 1;
        em->begin[d + 1] = d + 1;
    }
    return 0;
}
