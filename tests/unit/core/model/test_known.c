/* SPDX-License-Identifier: Apache-2.0
 *
 * The regression that tells known documents from others, compared with one computed from its
 * information matrix, which is inverted anew at each step (Woodbury's identity is not used).
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/random.h"
#include "core/model/known.h"
#include "tests/unit/run.h"

enum { N = NB_KNOWN_INPUTS };

/* Gauss and Jordan, with pivots. */
static void invert(double a[N][N], double to[N][N])
{
    double m[N][2 * N] = {{0}};
    for (unsigned i = 0; i < N; i++) {
        memcpy(m[i], a[i], sizeof a[i]);
        m[i][N + i] = 1;
    }
    for (unsigned i = 0; i < N; i++) {
        unsigned pivot = i;
        for (unsigned k = i; k < N; k++)
            if (fabs(m[k][i]) > fabs(m[pivot][i]))
                pivot = k;
        for (unsigned j = 0; j < 2 * N; j++) {
            double swapped = m[i][j];
            m[i][j] = m[pivot][j];
            m[pivot][j] = swapped;
        }
        for (unsigned k = 0; k < N; k++) {
            double factor = m[k][i] / m[i][i];
            for (unsigned j = 0; k != i && j < 2 * N; j++)
                m[k][j] -= factor * m[i][j];
        }
    }
    for (unsigned i = 0; i < N; i++)
        for (unsigned k = 0; k < N; k++)
            to[i][k] = m[i][N + k] / m[i][i];
}

struct slow {
    double w[N], covariance[N][N];
};

static double slow_probability(const struct slow *s, const double x[], double prior)
{
    double z = log(prior);
    for (unsigned i = 0; i < N; i++)
        z += s->w[i] * x[i];
    return 1 / (1 + exp(-z));
}

static void slow_learn(struct slow *s, const double x[], double y, double drift)
{
    double information[N][N];
    for (unsigned i = 0; i < N; i++)
        s->covariance[i][i] += s->covariance[i][i] < 1 ? drift : 0;
    invert(s->covariance, information);
    double p = slow_probability(s, x, 1);
    for (unsigned i = 0; i < N; i++)
        for (unsigned k = 0; k < N; k++)
            information[i][k] += p * (1 - p) * x[i] * x[k];
    invert(information, s->covariance);
    for (unsigned i = 0; i < N; i++)
        for (unsigned k = 0; k < N; k++)
            s->w[i] += s->covariance[i][k] * x[k] * (y - p);
}

/* An input of a document: known ones have larger odds and fewer unknown features. */
static void draw(struct nb_random *random, bool is_known, double x[N])
{
    x[0] = 1;
    for (unsigned i = 1; i < N; i++) {
        double uniform = (double)nb_random_below(random, 1000) / 1000;
        x[i] = uniform + (is_known ? 0.5 : 0) * (i < 4 ? 1 : -0.5);
    }
}

START_TEST(regression_follows_the_formulas)
{
    struct nb_weights numbers = {0};
    struct nb_random random = nb_random_of(5, (uint64_t)_i);
    struct slow slow = {{0}, {{0}}};
    double x[N];
    for (unsigned i = 0; i < N; i++)
        slow.covariance[i][i] = 1;
    for (unsigned n = 0; n < 1500; n++) {
        bool is_known = nb_random_below(&random, 2) == 0;
        draw(&random, is_known, x);
        double known = nb_known_of(&numbers, x);
        ck_assert(isnan(known) == (n < 2 * NB_KNOWN_LEAST));
        if (!isnan(known))
            ck_assert_double_eq_tol(known, slow_probability(&slow, x, 4), 1e-8);
        ck_assert_int_eq(nb_known_learn(&numbers, x, is_known, 100 + n * n), 0);
        slow_learn(&slow, x, is_known ? 1 : 0, fmax(1e-5, 2.0 / (100 + n * n)));
    }
    nb_weights_deinit(&numbers);
}
END_TEST

START_TEST(shares_are_of_each_kind)
{
    const struct nb_feature features[] = {
        {nb_feature_id(NB_FIELD_BODY, 1), 1, 0},  {nb_feature_id(NB_FIELD_SUBJECT, 2), 3, 0},
        {nb_feature_id(NB_FIELD_PAIR, 3), 1, 0},  {nb_feature_id(NB_FIELD_NGRAM, 4), 1, 0},
        {nb_feature_id(NB_FIELD_NGRAM, 5), 2, 0},
    };
    const uint64_t cells[] = {7, 0, 0, 7, 7};
    struct nb_known_seen seen;
    double x[N];
    nb_known_see(features, cells, 5, NULL, &seen);
    ck_assert_uint_eq(nb_known_count(&seen), 3);
    nb_known_put(&seen, NULL, x);
    const double want[] = {1, 0, 0, 0, 2 * 0.5, 0, 2 * 1, 0, log(4) / 4};
    for (unsigned i = 0; i < N; i++)
        ck_assert_double_eq_tol(x[i], want[i], 1e-12);
    uint32_t fields[NB_STACK_GROUPS] = {[NB_FIELD_PAIR] = 1, [NB_FIELD_NGRAM] = 2};
    struct nb_known_seen same;
    nb_known_see(features, cells, 5, fields, &same);
    ck_assert_mem_eq(&same, &seen, sizeof seen);
}
END_TEST

START_TEST(scores_become_odds_and_distances)
{
    struct nb_known_seen seen = {.all = {4, 0, 10}, .unknown = {1, 0, 0}, .foreign = {3, 0, 5}};
    struct nb_scores scores;
    double x[N], p[] = {0.7, 0.2, 0.1}, gaps[3], mean = 0, variance = 0;
    nb_scores_init(&scores);
    ck_assert_int_eq(nb_scores_grow(&scores, 3), 0);
    for (unsigned v = 0; v < 3; v++) {
        scores.log_scores[v] = log(p[v]) + 5;
        gaps[v] = log(p[0] / p[v]);
        mean += gaps[v] / 3;
    }
    for (unsigned v = 0; v < 3; v++)
        variance += (gaps[v] - mean) * (gaps[v] - mean) / 3;
    scores.size = 3;
    nb_scores_rank(&scores);
    nb_known_put(&seen, &scores, x);
    const double want[] = {1, log(0.7 / 0.3) / 4, mean / 10, sqrt(variance) / 5, 2 * 0.25,
                           0, 2 * 0.75,           2 * 0.5,   log(14) / 4};
    for (unsigned i = 0; i < N; i++)
        ck_assert_double_eq_tol(x[i], want[i], 1e-12);
    nb_scores_deinit(&scores);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("known");
    TCase *tests = tcase_create("known");
    tcase_add_loop_test(tests, regression_follows_the_formulas, 0, 3);
    tcase_add_test(tests, shares_are_of_each_kind);
    tcase_add_test(tests, scores_become_odds_and_distances);
    suite_add_tcase(suite, tests);
    return test_run(suite);
}
