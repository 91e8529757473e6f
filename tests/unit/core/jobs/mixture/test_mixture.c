/* SPDX-License-Identifier: Apache-2.0
 *
 * The mixture, compared with slow EM that uses probabilities instead of logarithms. Whole fits of
 * words, categories and numbers are followed step by step in tests/api/mixture.py.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/jobs/mixture/mixture.h"
#include "tests/unit/run.h"

enum { DOCUMENTS = 60, WORDS = 12, LENGTH = 6, KINDS = 3 };

/* Documents of KINDS kinds, one after the other: each kind has words of its own, and all have some
 * in common. */
struct corpus {
    size_t begin[DOCUMENTS + 1];
    uint32_t columns[DOCUMENTS * WORDS];
    float counts[DOCUMENTS * WORDS];
};

static struct nb_mixture_documents corpus_of(struct corpus *c, uint64_t seed)
{
    struct nb_random random = {seed};
    size_t size = 0;
    for (uint32_t d = 0; d < DOCUMENTS; d++) {
        unsigned counts[WORDS] = {0};
        for (int i = 0; i < LENGTH; i++) {
            bool own = nb_random_below(&random, 10) < 8;
            counts[own ? 3 * (d % KINDS) + nb_random_below(&random, 3)
                       : 9 + nb_random_below(&random, 3)]++;
        }
        c->begin[d] = size;
        for (uint32_t w = 0; w < WORDS; w++)
            if (counts[w] > 0) {
                c->columns[size] = w;
                c->counts[size++] = (float)counts[w];
            }
    }
    c->begin[DOCUMENTS] = size;
    return (struct nb_mixture_documents){.count = DOCUMENTS,
                                         .words = WORDS,
                                         .begin = c->begin,
                                         .columns = c->columns,
                                         .counts = c->counts};
}

/* Shares and words of the clusters, and their values after a step of EM. */
struct slow {
    double share[KINDS], word[KINDS][WORDS], log_likelihood;
};

static struct slow slow_step(const struct nb_mixture_documents *d, const struct slow *from)
{
    struct slow to = {.log_likelihood = 0};
    double sums[KINDS] = {0};
    for (size_t i = 0; i < d->count; i++) {
        double p[KINDS];
        double all = 0;
        for (int k = 0; k < KINDS; k++) {
            p[k] = from->share[k];
            for (size_t j = d->begin[i]; j < d->begin[i + 1]; j++)
                p[k] *= pow(from->word[k][d->columns[j]], (double)d->counts[j]);
            all += p[k];
        }
        to.log_likelihood += log(all);
        for (int k = 0; k < KINDS; k++) {
            to.share[k] += p[k] / all;
            for (size_t j = d->begin[i]; j < d->begin[i + 1]; j++)
                to.word[k][d->columns[j]] += p[k] / all * (double)d->counts[j];
        }
    }
    for (int k = 0; k < KINDS; k++) {
        to.share[k] = (1 + to.share[k]) / (KINDS + DOCUMENTS);
        for (int w = 0; w < WORDS; w++)
            sums[k] += to.word[k][w] += 0.1;
        for (int w = 0; w < WORDS; w++)
            to.word[k][w] /= sums[k];
    }
    return to;
}

static struct slow slow_of(const struct nb_mixture *m)
{
    struct slow s = {.log_likelihood = m->log_likelihood};
    for (int k = 0; k < KINDS; k++) {
        s.share[k] = exp(m->log_share[k]);
        for (int w = 0; w < WORDS; w++)
            s.word[k][w] = exp(m->log_word[w * KINDS + k]);
    }
    return s;
}

START_TEST(is_a_fixed_point_of_em)
{
    struct corpus c;
    for (uint64_t seed = 1; seed < 20; seed++) {
        struct nb_mixture_documents d = corpus_of(&c, seed);
        struct nb_mixture m;
        ck_assert_int_eq(nb_mixture_fit(&d, KINDS, seed, NULL, NULL, &m), 0);
        struct slow at = slow_of(&m);
        struct slow next = slow_step(&d, &at);
        ck_assert_double_eq_tol(next.log_likelihood, m.log_likelihood,
                                1e-9 * fabs(m.log_likelihood));
        for (int k = 0; k < KINDS; k++) {
            ck_assert_double_eq_tol(next.share[k], at.share[k], 5e-3);
            for (int w = 0; w < WORDS; w++)
                ck_assert_double_eq_tol(next.word[k][w], at.word[k][w], 5e-3);
        }
        nb_mixture_deinit(&m);
    }
}
END_TEST

START_TEST(finds_the_kinds)
{
    struct corpus c;
    unsigned together = 0;
    for (uint64_t seed = 1; seed < 20; seed++) {
        struct nb_mixture_documents d = corpus_of(&c, seed);
        struct nb_mixture best = {0};
        for (uint64_t i = 0; i < 4; i++) {
            struct nb_mixture m;
            ck_assert_int_eq(nb_mixture_fit(&d, KINDS, i, NULL, NULL, &m), 0);
            bool better = i == 0 || m.log_likelihood > best.log_likelihood;
            nb_mixture_deinit(better ? &best : &m);
            if (better)
                best = m;
        }
        for (uint32_t i = KINDS; i < DOCUMENTS; i++)
            together += best.cluster[i] == best.cluster[i - KINDS];
        nb_mixture_deinit(&best);
    }
    ck_assert_uint_gt(together, 19 * (DOCUMENTS - KINDS) * 95 / 100);
}
END_TEST

START_TEST(same_seed_same_result)
{
    struct corpus c;
    struct nb_mixture_documents d = corpus_of(&c, 5);
    struct nb_mixture a;
    struct nb_mixture b;
    ck_assert_int_eq(nb_mixture_fit(&d, 4, 9, NULL, NULL, &a), 0);
    ck_assert_int_eq(nb_mixture_fit(&d, 4, 9, NULL, NULL, &b), 0);
    ck_assert(a.log_likelihood == b.log_likelihood && a.iterations == b.iterations);
    for (size_t i = 0; i < DOCUMENTS; i++)
        ck_assert(a.cluster[i] == b.cluster[i] && a.margin[i] == b.margin[i]);
    nb_mixture_deinit(&a);
    nb_mixture_deinit(&b);
}
END_TEST

/* One cluster is the words of all; and BIC knows how many kinds there are. */
START_TEST(bic_knows_the_number)
{
    struct corpus c;
    unsigned right = 0;
    for (uint64_t seed = 1; seed < 20; seed++) {
        struct nb_mixture_documents d = corpus_of(&c, seed);
        double bic[6];
        for (uint32_t k = 1; k < 6; k++) {
            bic[k] = (double)INFINITY;
            for (uint64_t i = 0; i < 4; i++) {
                struct nb_mixture m;
                ck_assert_int_eq(nb_mixture_fit(&d, k, i, NULL, NULL, &m), 0);
                bic[k] = fmin(bic[k], nb_mixture_bic(&m, DOCUMENTS));
                nb_mixture_deinit(&m);
            }
        }
        right += bic[3] < bic[1] && bic[3] < bic[2] && bic[3] < bic[4] && bic[3] < bic[5];
    }
    ck_assert_uint_ge(right, 17);
}
END_TEST

/* ---- numbers --------------------------------------------------------------------------------- */

enum { POINTS = 50, MEANS = 2 };

/* Points about -1 and 1, without words. */
struct points {
    size_t begin[POINTS + 1];
    double values[POINTS];
};

static struct nb_mixture_documents points_of(struct points *p, uint64_t seed)
{
    struct nb_random random = {seed};
    *p = (struct points){.begin = {0}};
    for (int i = 0; i < POINTS; i++) {
        for (int j = 0; j < 12; j++)
            p->values[i] += (double)nb_random_below(&random, 1000) / 1000 - 0.5;
        p->values[i] = p->values[i] * 0.4 + (i % MEANS == 0 ? -1 : 1);
    }
    return (struct nb_mixture_documents){
        .count = POINTS, .begin = p->begin, .numbers = 1, .values = p->values};
}

/* Mitchell 1997, section 6.12.1: E[z_ij] is the density of x_i at mean j, divided by the sum over
 * both; a mean is then that of the x_i, each weighing E[z_ij]. */
START_TEST(two_means)
{
    struct points p;
    const double variance = 0.16;
    for (uint64_t seed = 1; seed < 20; seed++) {
        struct nb_mixture_documents d = points_of(&p, seed);
        struct nb_mixture m;
        d.variances = &variance;
        d.has_equal_shares = true;
        ck_assert_int_eq(nb_mixture_fit(&d, MEANS, seed, NULL, NULL, &m), 0);
        double sums[MEANS] = {0};
        double weights[MEANS] = {0};
        for (int i = 0; i < POINTS; i++) {
            double z[MEANS];
            for (int j = 0; j < MEANS; j++)
                z[j] = exp(-pow(p.values[i] - m.mean[j], 2) / (2 * variance));
            double sure = 1 / (1 + exp(-m.margin[i])); /* E[z] of the likelier one */
            ck_assert_double_eq_tol(z[m.cluster[i]] / (z[0] + z[1]), sure, 1e-9);
            for (int j = 0; j < MEANS; j++) {
                sums[j] += z[j] / (z[0] + z[1]) * p.values[i];
                weights[j] += z[j] / (z[0] + z[1]);
            }
        }
        for (int j = 0; j < MEANS; j++) {
            ck_assert_double_eq_tol(m.mean[j], sums[j] / weights[j], 1e-4);
            ck_assert_double_eq_tol(fabs(m.mean[j]), 1, 0.3);
            ck_assert_double_eq(m.variance[j], variance);
            ck_assert_double_eq_tol(m.log_share[j], log(0.5), 1e-15);
        }
        ck_assert(m.parameters == MEANS);
        nb_mixture_deinit(&m);
    }
}
END_TEST

/* One point apart from 49 equal ones: no variance is 0, and the likelihood is finite. */
START_TEST(variances_have_a_floor)
{
    struct points p;
    struct nb_mixture_documents d = points_of(&p, 1);
    struct nb_mixture m;
    for (int i = 0; i < POINTS; i++)
        p.values[i] = i == 0 ? 7 : -1.0 / 7;
    ck_assert_int_eq(nb_mixture_fit(&d, MEANS, 1, NULL, NULL, &m), 0);
    uint32_t alone = m.cluster[0];
    for (int i = 1; i < POINTS; i++)
        ck_assert_uint_ne(m.cluster[i], alone);
    /* s^2 = 1 / 2^2, and one document more */
    ck_assert_double_eq_tol(m.variance[alone], 0.25 / (1 + 1), 1e-6);
    ck_assert_double_eq_tol(m.variance[1 - alone], 0.25 / (1 + 49), 1e-6);
    ck_assert(isfinite(m.log_likelihood));
    nb_mixture_deinit(&m);
}
END_TEST

/* A document without the number has the shares as its probabilities. */
START_TEST(missing_numbers_say_nothing)
{
    struct points p;
    struct nb_mixture_documents d = points_of(&p, 3);
    struct nb_mixture with;
    struct nb_mixture without;
    p.values[POINTS - 1] = (double)NAN;
    d.has_equal_shares = true;
    ck_assert_int_eq(nb_mixture_fit(&d, MEANS, 1, NULL, NULL, &with), 0);
    d.count = POINTS - 1;
    ck_assert_int_eq(nb_mixture_fit(&d, MEANS, 1, NULL, NULL, &without), 0);
    ck_assert(with.margin[POINTS - 1] == 0 && with.cluster[POINTS - 1] == 0);
    double means[MEANS] = {fmin(with.mean[0], with.mean[1]), fmax(with.mean[0], with.mean[1])};
    ck_assert_double_eq_tol(means[0], fmin(without.mean[0], without.mean[1]), 5e-3);
    ck_assert_double_eq_tol(means[1], fmax(without.mean[0], without.mean[1]), 5e-3);
    nb_mixture_deinit(&with);
    nb_mixture_deinit(&without);
}
END_TEST

static bool at_once(void *user)
{
    ++*(int *)user;
    return true;
}

START_TEST(stops)
{
    struct corpus c;
    struct nb_mixture_documents d = corpus_of(&c, 5);
    struct nb_mixture m;
    int asked = 0;
    ck_assert_int_eq(nb_mixture_fit(&d, 2, 1, at_once, &asked, &m), NB_STOPPING);
    ck_assert_int_eq(asked, 1);
    ck_assert_ptr_null(m.log_word);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("mixture");
    TCase *t = tcase_create("mixture");
    suite_add_tcase(s, t);
    tcase_add_test(t, is_a_fixed_point_of_em);
    tcase_add_test(t, finds_the_kinds);
    tcase_add_test(t, same_seed_same_result);
    tcase_add_test(t, bic_knows_the_number);
    tcase_add_test(t, two_means);
    tcase_add_test(t, variances_have_a_floor);
    tcase_add_test(t, missing_numbers_say_nothing);
    tcase_add_test(t, stops);
    return test_run(s);
}
