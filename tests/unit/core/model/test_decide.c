/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/model/verdict.h"
#include "tests/unit/run.h"

static const struct {
    double p, threshold, band;
    enum nb_decided want;
} AT_THRESHOLD[] = {
    {0.9, 0.9, 0, NB_DECIDED_POSITIVE},
    {0.89999999999999991, 0.9, 0, NB_DECIDED_OTHER},
    {1, 1, 0, NB_DECIDED_POSITIVE},
    {0.99999999999999989, 1, 0, NB_DECIDED_OTHER},
    {1, 1.0000000000000002, 0, NB_DECIDED_OTHER},
    {0, 0, 0, NB_DECIDED_POSITIVE},
    {0, DBL_TRUE_MIN, 0, NB_DECIDED_OTHER},
    /* A band: its middle and what is nearer than its half width, but not its ends. */
    {0.5, 0.5, 0.25, NB_DECIDED_UNSURE},
    {0.75, 0.5, 0.25, NB_DECIDED_POSITIVE},
    {0.74999999999999989, 0.5, 0.25, NB_DECIDED_UNSURE},
    {0.25, 0.5, 0.25, NB_DECIDED_OTHER},
    {0.25000000000000006, 0.5, 0.25, NB_DECIDED_UNSURE},
    {1, 0.5, 0.5, NB_DECIDED_POSITIVE},
    {0, 0.5, 0.5, NB_DECIDED_OTHER},
    {1, 0.875, 0.25, NB_DECIDED_UNSURE}, /* no probability is enough */
    {0.5, 0.5, DBL_TRUE_MIN, NB_DECIDED_UNSURE},
};

START_TEST(decisions_at_the_threshold)
{
    for (size_t i = 0; i < sizeof AT_THRESHOLD / sizeof *AT_THRESHOLD; i++)
        ck_assert_msg(nb_decide(AT_THRESHOLD[i].p, AT_THRESHOLD[i].threshold,
                                AT_THRESHOLD[i].band) == AT_THRESHOLD[i].want,
                      "row %zu", i);
}
END_TEST

START_TEST(thresholds_of_costs)
{
    ck_assert_double_eq(nb_decide_threshold(1, 1), 0.5);
    ck_assert_double_eq(nb_decide_threshold(3, 1), 0.75);
    ck_assert_double_eq(nb_decide_threshold(0, 5), 0);
    ck_assert_double_eq(nb_decide_threshold(5, 0), 1);
    ck_assert_double_eq(nb_decide_threshold(DBL_MAX, DBL_MAX), 0.5);
    ck_assert_double_eq(nb_decide_threshold(DBL_TRUE_MIN, DBL_TRUE_MIN), 0.5);
    ck_assert(fabs(nb_decide_threshold(100, 1) - 100.0 / 101) < 1e-15);
}
END_TEST

/* By the risks themselves: deciding by the threshold never costs more than the other decision. */
START_TEST(the_threshold_costs_least)
{
    static const double costs[][2] = {{1, 1}, {100, 1}, {1, 9}, {0.3, 0.7}, {0, 1}, {1, 0}};
    for (size_t c = 0; c < sizeof costs / sizeof *costs; c++) {
        double fp = costs[c][0], fn = costs[c][1], threshold = nb_decide_threshold(fp, fn);
        for (int i = 0; i <= 1000; i++) {
            double p = i / 1000.0, risk_positive = (1 - p) * fp, risk_other = p * fn;
            bool is_positive = nb_decide(p, threshold, 0) == NB_DECIDED_POSITIVE;
            double taken = is_positive ? risk_positive : risk_other;
            double left = is_positive ? risk_other : risk_positive;
            ck_assert_msg(taken <= left + 1e-12, "costs %zu at %g", c, p);
        }
    }
}
END_TEST

START_TEST(the_best_of_the_others)
{
    static const double p[] = {0.25, 0.25, 0.5, 0};
    static const struct {
        size_t size, positive, want;
    } table[] = {{4, 2, 0}, {4, 0, 2}, {4, 1, 2}, {2, 0, 1}, {2, 1, 0},
                 {1, 0, 1}, {0, 0, 0}, {4, 9, 2}, {2, 9, 0}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        ck_assert_msg(nb_decide_other(p, table[i].size, table[i].positive) == table[i].want,
                      "row %zu", i);
    static const double none[] = {1, 0, 0};
    ck_assert_uint_eq(nb_decide_other(none, 3, 0), 1); /* the first of those that tie */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("decide");
    TCase *tests = tcase_create("decide");
    tcase_add_test(tests, decisions_at_the_threshold);
    tcase_add_test(tests, thresholds_of_costs);
    tcase_add_test(tests, the_threshold_costs_least);
    tcase_add_test(tests, the_best_of_the_others);
    suite_add_tcase(suite, tests);
    return test_run(suite);
}
