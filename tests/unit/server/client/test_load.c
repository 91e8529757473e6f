/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>

#include "server/client/commands/commands.h"
#include "tests/unit/run.h"

START_TEST(quantiles_are_by_nearest_rank)
{
    static const uint64_t times[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    static const struct {
        size_t count;
        double share;
        uint64_t expected;
    } CASES[] = {
        {10, .5, 5},   {10, .9, 9}, {10, .91, 10}, {10, .99, 10}, {10, 1, 10},
        {10, 1e-9, 1}, {1, .5, 1},  {1, 1, 1},     {3, .34, 2},   {0, .5, 0},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
        ck_assert_msg(nb_load_quantile(times, CASES[i].count, CASES[i].share) == CASES[i].expected,
                      "case %zu", i);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("load");
    TCase *all = tcase_create("all");
    tcase_add_test(all, quantiles_are_by_nearest_rank);
    suite_add_tcase(suite, all);
    return test_run(suite);
}
