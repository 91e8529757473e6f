/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "core/jobs/generate/beta.h"
#include "tests/unit/run.h"

static void assert_near(double got, double right)
{
    ck_assert_msg(fabs(got - right) <= 1e-12 * right, "%.17g, not %.17g", got, right);
}

/* Beta(1, b) and Beta(a, 1) are powers, Beta(1/2, 1/2) is the arcsine distribution. */
START_TEST(closed_forms)
{
    static const double tails[] = {.5, .25, .025, .005, 5e-7};
    const double half_pi = 1.57079632679489661923;
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        double p = tails[i];
        for (double n = .01; n < 1e10; n *= 7) {
            assert_near(nb_beta_quantile(1, n, p, false), -expm1(log1p(-p) / n));
            assert_near(nb_beta_quantile(1, n, p, true), -expm1(log(p) / n));
            assert_near(nb_beta_quantile(n, 1, p, true), exp(log1p(-p) / n));
            if (log(p) / n > -690)
                assert_near(nb_beta_quantile(n, 1, p, false), exp(log(p) / n));
            assert_near(nb_beta_tails(1, n, 1e-9).lower, -expm1(log1p(-1e-9) * n));
        }
        assert_near(nb_beta_quantile(.5, .5, p, false), pow(sin(half_pi * p), 2));
    }
}
END_TEST

/* Student's t: the two-sided point of 5 % is the square root of n (1 / x - 1), where x is the
 * quantile of Beta(n/2, 1/2). Tables of Fisher and Yates 1963, with the digits of Abramowitz and
 * Stegun 1964, table 26.10, and of later programs. */
START_TEST(tables_of_students_t)
{
    static const struct {
        double n, t;
    } rows[] = {{1, 12.7062047361747},  {2, 4.30265272974946},  {5, 2.57058183563632},
                {10, 2.22813885198628}, {30, 2.04227245630124}, {60, 2.00029782201426}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double x = nb_beta_quantile(rows[i].n / 2, .5, .05, false);
        ck_assert_double_eq_tol(sqrt(rows[i].n * (1 / x - 1)), rows[i].t, 1e-11);
    }
}
END_TEST

START_TEST(intervals)
{
    struct nb_interval none = nb_share_interval(0, 10, .95), all = nb_share_interval(10, 10, .95);
    ck_assert_double_eq(none.low, 0);
    ck_assert_double_eq(all.high, 1);
    ck_assert_double_eq_tol(none.high, 1 - all.low, 1e-15);
    for (double of = 1; of < 10; of++) {
        struct nb_interval i = nb_share_interval(of, 10, .95),
                           same = nb_beta_interval(of + .5, 10.5 - of, .95);
        ck_assert(i.low > 0 && i.low < of / 10 && of / 10 < i.high && i.high < 1);
        ck_assert(i.low == same.low && i.high == same.high);
        ck_assert_double_eq_tol(nb_beta_tails(of + .5, 10.5 - of, i.low).lower, .025, 1e-14);
        ck_assert_double_eq_tol(nb_beta_tails(of + .5, 10.5 - of, i.high).upper, .025, 1e-14);
    }
}
END_TEST

/* Numbers that a double cannot tell from 0 or 1 end nowhere else. */
START_TEST(ends)
{
    ck_assert_double_eq(nb_beta_quantile(1e-4, 1e6, .025, false), 0);
    ck_assert_double_eq(nb_beta_quantile(1e6, 1e-4, .025, true), 1);
    ck_assert_double_eq(nb_beta_tails(2, 3, 0).lower, 0);
    ck_assert_double_eq(nb_beta_tails(2, 3, 1).upper, 0);
    struct nb_interval i = nb_beta_interval(5e8, 5e8, .95);
    ck_assert_double_eq_tol((i.high - i.low) / 2, 1.95996398454005 * .5 / sqrt(1e9), 1e-13);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("beta");
    tcase_add_test(tests, closed_forms);
    tcase_add_test(tests, tables_of_students_t);
    tcase_add_test(tests, intervals);
    tcase_add_test(tests, ends);
    Suite *suite = suite_create("beta");
    suite_add_tcase(suite, tests);
    return test_run(suite);
}
