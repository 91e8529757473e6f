/* SPDX-License-Identifier: Apache-2.0
 *
 * McNemar's exact test, against probabilities that were summed by hand.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "core/jobs/challenger/challenger.h"
#include "tests/unit/run.h"

static const struct {
    uint64_t a, b;
    double p;
} table[] = {
    {0, 0, 1},
    {1, 0, 1},
    {0, 5, .0625},                    /* 2 / 32 */
    {5, 0, .0625},                    /* the same on the other side */
    {3, 3, 1},                        /* never above 1 */
    {1, 9, 22. / 1024},               /* 2 (1 + 10) / 1024 */
    {2, 8, 112. / 1024},              /* 2 (1 + 10 + 45) / 1024 */
    {150, 86, 3.715936139571442e-05}, /* the numbers of Agresti 2013, table 11.1 */
};

START_TEST(a_probability_is_the_sum_of_both_tails)
{
    double p = nb_mcnemar(table[_i].a, table[_i].b);
    ck_assert_msg(fabs(p - table[_i].p) <= 1e-5 * table[_i].p + 1e-12, "row %d: %.9g", _i, p);
}
END_TEST

START_TEST(many_documents_neither_overflow_nor_vanish)
{
    ck_assert_double_eq_tol(nb_mcnemar(1000000, 1000000), 1, 1e-12);
    double p = nb_mcnemar(501000, 499000); /* z = 2: by the normal distribution .0455 */
    ck_assert_double_eq_tol(p, .0455, .001);
    ck_assert(nb_mcnemar(0, 5000) >= 0 && nb_mcnemar(0, 5000) < 1e-300);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mcnemar");
    TCase *all = tcase_create("all");
    tcase_add_loop_test(all, a_probability_is_the_sum_of_both_tails, 0,
                        (int)(sizeof table / sizeof *table));
    tcase_add_test(all, many_documents_neither_overflow_nor_vanish);
    suite_add_tcase(suite, all);
    return test_run(suite);
}
