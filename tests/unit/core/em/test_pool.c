/* SPDX-License-Identifier: Apache-2.0
 *
 * The pool of scores with and without expected counts: its share and temperature are compared with
 * an exhaustive search, and its losses with pools fitted to the other folds only.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/random.h"
#include "core/em/em_guard.h"
#include "tests/unit/run.h"

enum { MOST = 120, LABELS = 3, FOLDS = 3 };

struct table {
    size_t count;
    uint32_t truths[MOST], folds[MOST];
    double own[MOST * LABELS], with[MOST * LABELS];
};

/* Fills in scores of documents: `size` for the right label, except in one of `wrong` documents (0:
 * in none). */
static void say(struct table *t, double *scores, double size, unsigned wrong, uint64_t seed)
{
    struct nb_random random = nb_random_of(seed, 1);
    for (size_t d = 0; d < t->count; d++) {
        bool is_wrong = wrong > 0 && nb_random_below(&random, wrong) == 0;
        uint32_t said = (t->truths[d] + is_wrong) % LABELS;
        for (uint32_t v = 0; v < LABELS; v++)
            scores[d * LABELS + v] = v == said ? size : 0;
    }
}

static void begin(struct table *t, size_t count)
{
    *t = (struct table){.count = count};
    for (size_t d = 0; d < count; d++) {
        t->truths[d] = (uint32_t)(d % LABELS);
        t->folds[d] = (uint32_t)(d / LABELS % FOLDS);
    }
}

static struct nb_pool_question question_of(const struct table *t)
{
    return (struct nb_pool_question){.own = {t->count, LABELS, t->truths, t->own},
                                     .with = t->with,
                                     .folds = t->folds,
                                     .fold_count = FOLDS};
}

static struct nb_pool fit(const struct table *t)
{
    struct nb_pool_question question = question_of(t);
    struct nb_pool pool;
    struct nb_losses losses;
    ck_assert_int_eq(nb_pool_fit(&question, &pool, &losses), 0);
    nb_losses_deinit(&losses);
    return pool;
}

static double slow_probability(const double *scores, double temperature, uint32_t label)
{
    double sum = 0;
    for (uint32_t v = 0; v < LABELS; v++)
        sum += exp(temperature * scores[v]);
    return exp(temperature * scores[label]) / sum;
}

static double slow_pooled(const struct table *t, size_t d, const struct nb_pool *pool, uint32_t v)
{
    return (1 - pool->share) * slow_probability(t->own + d * LABELS, 1, v) +
           pool->share * slow_probability(t->with + d * LABELS, pool->temperature, v);
}

/* Returns the loss, including a pseudo-document that only the own scores predict. */
static double slow_loss(const struct table *t, const struct nb_pool *pool)
{
    double sum = -log(1 - pool->share);
    for (size_t d = 0; d < t->count; d++)
        sum -= log(slow_pooled(t, d, pool, t->truths[d]));
    return sum;
}

/* Sizes of the scores without and with expected counts, and how many of each are wrong: one in
 * `wrong`. */
static const struct {
    size_t count;
    double own_size, with_size;
    unsigned own_wrong, with_wrong;
} cases[] = {{120, 1, 6, 2, 5},  {120, 3, 30, 5, 3}, {60, 1, 1, 0, 0},
             {24, 0.5, 9, 3, 9}, {12, 2, 2, 4, 2},   {120, 2, .1, 3, 5}};

START_TEST(no_other_pool_is_better)
{
    struct table t;
    begin(&t, cases[_i].count);
    say(&t, t.own, cases[_i].own_size, cases[_i].own_wrong, 3);
    say(&t, t.with, cases[_i].with_size, cases[_i].with_wrong, 4);
    struct nb_pool found = fit(&t);
    ck_assert(found.share >= 0 && found.share < 1);
    ck_assert(found.temperature > 0.01 && found.temperature <= 4);
    double least = slow_loss(&t, &found);
    for (struct nb_pool other = {0, 4}; other.temperature > 0.02; other.temperature *= 2.0 / 3)
        for (other.share = 0; other.share < 0.99; other.share += 0.01)
            ck_assert_msg(least <= slow_loss(&t, &other) + 1e-9, "share %g, temperature %g",
                          other.share, other.temperature);
}
END_TEST

/* Losses of documents are those of pools that have not seen them. */
START_TEST(losses_are_of_other_folds)
{
    struct table t;
    struct nb_pool pool;
    struct nb_losses losses;
    begin(&t, cases[_i].count);
    say(&t, t.own, cases[_i].own_size, cases[_i].own_wrong, 5);
    say(&t, t.with, cases[_i].with_size, cases[_i].with_wrong, 6);
    struct nb_pool_question question = question_of(&t);
    ck_assert_int_eq(nb_pool_fit(&question, &pool, &losses), 0);
    double mean = 0;
    for (uint32_t fold = 0; fold < FOLDS; fold++) {
        struct table others = {0};
        for (size_t d = 0; d < t.count; d++) {
            size_t at = others.count;
            if (t.folds[d] == fold)
                continue;
            others.truths[at] = t.truths[d];
            memcpy(others.own + at * LABELS, t.own + d * LABELS, LABELS * sizeof *t.own);
            memcpy(others.with + at * LABELS, t.with + d * LABELS, LABELS * sizeof *t.with);
            others.count++;
        }
        struct nb_pool of_others = fit(&others);
        for (size_t d = 0; d < t.count; d++) {
            if (t.folds[d] != fold)
                continue;
            double want = -log(slow_pooled(&t, d, &of_others, t.truths[d]));
            ck_assert_double_eq_tol(losses.each[d], want, 1e-9);
            mean += want / (double)t.count;
        }
    }
    ck_assert_double_eq_tol(losses.mean, mean, 1e-9);
    nb_losses_deinit(&losses);
}
END_TEST

START_TEST(what_is_wrong_gets_no_share)
{
    struct table t;
    begin(&t, 60);
    say(&t, t.own, 2, 10, 7);
    say(&t, t.with, 4, 1, 8); /* always wrong */
    ck_assert_double_eq(fit(&t).share, 0);
}
END_TEST

/* n documents of which the own scores say nothing and the others all: the share is that with the
 * largest n ln((1 - a) / 3 + a) + ln(1 - a). */
START_TEST(few_that_are_right_leave_a_part)
{
    double before = 0;
    for (size_t count = 6; count <= MOST; count *= 2) {
        struct table t;
        begin(&t, count);
        say(&t, t.own, 0, 0, 9);
        say(&t, t.with, 1000, 0, 10);
        double share = fit(&t).share, n = (double)count;
        ck_assert_double_eq_tol(share, (2 * n - 1) / (2 * n + 2), 1e-6);
        ck_assert(share > before);
        before = share;
    }
}
END_TEST

START_TEST(impossible_labels_have_a_bounded_loss)
{
    struct table t;
    struct nb_pool pool;
    struct nb_losses losses;
    begin(&t, 30);
    say(&t, t.own, 2, 3, 11);
    say(&t, t.with, 2, 3, 12);
    for (uint32_t v = 0; v < LABELS; v++) {
        t.own[v] = t.with[v] = -(double)INFINITY; /* all of them */
        t.with[LABELS + v] = v == t.truths[1] ? -(double)INFINITY : 0;
    }
    struct nb_pool_question question = question_of(&t);
    ck_assert_int_eq(nb_pool_fit(&question, &pool, &losses), 0);
    ck_assert_double_eq_tol(losses.each[0], log(LABELS), 1e-9);
    ck_assert(isfinite(losses.each[1]) && isfinite(losses.mean));
    nb_losses_deinit(&losses);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("pool");
    TCase *t = tcase_create("pool");
    suite_add_tcase(s, t);
    tcase_add_loop_test(t, no_other_pool_is_better, 0, sizeof cases / sizeof *cases);
    tcase_add_loop_test(t, losses_are_of_other_folds, 0, sizeof cases / sizeof *cases);
    tcase_add_test(t, what_is_wrong_gets_no_share);
    tcase_add_test(t, few_that_are_right_leave_a_part);
    tcase_add_test(t, impossible_labels_have_a_bounded_loss);
    return test_run(s);
}
