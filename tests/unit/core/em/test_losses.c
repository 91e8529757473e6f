/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "core/base/random.h"
#include "core/em/em_guard.h"
#include "tests/unit/run.h"

enum { DOCUMENTS = 200, LABELS = 3 };
static const double DOUBT = 1.0 / (DOCUMENTS + 2);

struct table {
    uint32_t truths[DOCUMENTS];
    double scores[DOCUMENTS * LABELS];
};

/* Fills in log scores `size` times as large as they should be; one in `wrong` favours another
 * label. */
static struct nb_loss_scores fill(struct table *t, double size, unsigned wrong)
{
    struct nb_random random = {7};
    for (size_t d = 0; d < DOCUMENTS; d++) {
        t->truths[d] = (uint32_t)nb_random_below(&random, LABELS);
        uint32_t said = wrong > 0 && d % wrong == 0 ? (t->truths[d] + 1) % LABELS : t->truths[d];
        for (uint32_t v = 0; v < LABELS; v++)
            t->scores[d * LABELS + v] = v == said ? size : 0;
    }
    return (struct nb_loss_scores){DOCUMENTS, LABELS, t->truths, t->scores};
}

static double slow_mean(const struct table *t, double temperature)
{
    double sum = 0;
    for (size_t d = 0; d < DOCUMENTS; d++) {
        double all = 0;
        for (uint32_t v = 0; v < LABELS; v++)
            all += exp(temperature * t->scores[d * LABELS + v]);
        for (uint32_t v = 0; v < LABELS; v++)
            sum -= (v == t->truths[d] ? 1 - DOUBT : DOUBT / (LABELS - 1)) *
                   log(exp(temperature * t->scores[d * LABELS + v]) / all);
    }
    return sum / DOCUMENTS;
}

START_TEST(the_temperature_is_the_best)
{
    static const double sizes[] = {1, 3, 10, 100, 2000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        double size = sizes[i];
        struct table t;
        struct nb_losses losses;
        struct nb_loss_scores scores = fill(&t, size, 5);
        ck_assert_int_eq(nb_losses_of(&scores, &losses), 0);
        ck_assert_double_eq_tol(losses.accuracy, 0.8, 1e-12);
        ck_assert_double_eq_tol(losses.mean, slow_mean(&t, losses.temperature), 1e-9);
        ck_assert_double_le(losses.mean, slow_mean(&t, losses.temperature * 1.01) + 1e-12);
        ck_assert_double_le(losses.mean, slow_mean(&t, losses.temperature / 1.01) + 1e-12);
        /* P of the label that is said is how often it is right, whatever the size. */
        double p = 0.8 * (1 - DOUBT) + 0.2 * DOUBT / 2;
        if (size > 1)
            ck_assert_double_eq_tol(losses.temperature * size, log(p / ((1 - p) / 2)), 1e-3);
        nb_losses_deinit(&losses);
    }
}
END_TEST

START_TEST(impossible_labels_have_a_bounded_loss)
{
    struct table t;
    struct nb_losses losses;
    struct nb_loss_scores scores = fill(&t, 1, 0);
    t.scores[t.truths[0]] = -(double)INFINITY;
    for (uint32_t v = 0; v < LABELS; v++)
        t.scores[LABELS + v] = -(double)INFINITY;
    ck_assert_int_eq(nb_losses_of(&scores, &losses), 0);
    ck_assert(isfinite(losses.mean));
    ck_assert_double_le(losses.each[0], 700);
    ck_assert_double_ge(losses.each[0], 600);
    ck_assert_double_eq_tol(losses.each[1], log(LABELS), 1e-9);
    nb_losses_deinit(&losses);
}
END_TEST

static bool help(unsigned before, unsigned after)
{
    struct table a, b;
    struct nb_losses without, with;
    struct nb_loss_scores first = fill(&a, 3, before), second = fill(&b, 3, after);
    ck_assert_int_eq(nb_losses_of(&first, &without), 0);
    ck_assert_int_eq(nb_losses_of(&second, &with), 0);
    bool helps = nb_losses_help(&without, &with, DOCUMENTS);
    nb_losses_deinit(&without);
    nb_losses_deinit(&with);
    return helps;
}

/* Scores that are all right are not better for being larger. */
START_TEST(size_is_no_help)
{
    struct table a, b;
    struct nb_losses small, large;
    struct nb_loss_scores first = fill(&a, 3, 0), second = fill(&b, 300, 0);
    ck_assert_int_eq(nb_losses_of(&first, &small), 0);
    ck_assert_int_eq(nb_losses_of(&second, &large), 0);
    ck_assert_double_eq_tol(small.mean, large.mean, 1e-6);
    nb_losses_deinit(&small);
    nb_losses_deinit(&large);
}
END_TEST

START_TEST(what_helps_is_clearly_better)
{
    ck_assert(help(3, 10));
    ck_assert(help(5, 0));
    ck_assert(!help(0, 0));
    ck_assert(!help(10, 10));
    ck_assert(!help(10, 3));
    ck_assert(!help(0, 5));
    ck_assert(!help(100, 199)); /* two documents wrong instead of two */
}
END_TEST

/* Surer, with a loss that is clearly smaller for each document. */
START_TEST(nothing_helps_where_all_are_right)
{
    struct table a, b;
    struct nb_losses before, surer;
    struct nb_loss_scores first = fill(&a, 1, 0), second = fill(&b, 3, 0);
    ck_assert_int_eq(nb_losses_as_they_are(&first, &before), 0);
    ck_assert_int_eq(nb_losses_as_they_are(&second, &surer), 0);
    ck_assert_double_lt(surer.mean, before.mean);
    ck_assert_double_eq(before.accuracy, 1);
    ck_assert(!nb_losses_help(&before, &surer, DOCUMENTS));
    nb_losses_deinit(&before);
    nb_losses_deinit(&surer);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("losses");
    TCase *t = tcase_create("losses");
    suite_add_tcase(s, t);
    tcase_add_test(t, the_temperature_is_the_best);
    tcase_add_test(t, impossible_labels_have_a_bounded_loss);
    tcase_add_test(t, size_is_no_help);
    tcase_add_test(t, what_helps_is_clearly_better);
    tcase_add_test(t, nothing_helps_where_all_are_right);
    return test_run(s);
}
