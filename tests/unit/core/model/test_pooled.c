/* SPDX-License-Identifier: Apache-2.0
 *
 * Compares one label with another by a pool of two opinions. The pool of all labels: test_score,
 * test_pool; over HTTP: tests/api/test_em.py.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "core/model/pooled.h"
#include "tests/unit/run.h"

static double probability(double log_odds)
{
    return 1 / (1 + exp(-log_odds));
}

START_TEST(odds_by_hand)
{
    static const double odds[] = {-8, -1, 0, 0.3, 5};
    enum { ODDS = sizeof odds / sizeof *odds };
    const struct nb_refined refined = {.share = 0.3, .temperature = 0.5};
    for (int own = 0; own < ODDS; own++)
        for (int with = 0; with < ODDS; with++) {
            double want = 0.7 * probability(odds[own]) + 0.3 * probability(odds[with] / 2);
            double got = nb_pooled_odds(&refined, odds[own], odds[with]);
            ck_assert_double_eq_tol(probability(got), want, 1e-12);
            /* and of the other label against the one */
            ck_assert_double_eq_tol(nb_pooled_odds(&refined, -odds[own], -odds[with]), -got, 1e-9);
        }
}
END_TEST

START_TEST(without_a_share_the_own_odds_stay)
{
    const struct nb_refined refined = {.share = 0, .temperature = 4};
    ck_assert_double_eq_tol(nb_pooled_odds(&refined, 2.5, -1000), 2.5, 1e-12);
}
END_TEST

/* However sure the second opinion is. */
START_TEST(own_odds_keep_their_part)
{
    const struct nb_refined refined = {.share = 0.9, .temperature = 1};
    for (double sure = 1; sure < 1e6; sure *= 10)
        ck_assert(probability(nb_pooled_odds(&refined, 2, -sure)) >= 0.1 * probability(2) - 1e-12);
}
END_TEST

/* Rows of features 2, 3, 5, 8, 9 and 12 with expected counts, of which the own counts have 3, 5 and
 * 9. The last row of each is not to be read as a feature's, whatever number stands in it. */
START_TEST(rows_of_one_feature_are_added)
{
    const struct nb_evidence own[] = {{.feature = 3, .evidence = 10},
                                      {.feature = 5, .evidence = 20},
                                      {.feature = 9, .evidence = 30},
                                      {.feature = 12, .evidence = 1000}};
    struct nb_evidence rows[] = {{.feature = 2, .evidence = 1},  {.feature = 3, .evidence = 2},
                                 {.feature = 5, .evidence = 3},  {.feature = 8, .evidence = 4},
                                 {.feature = 9, .evidence = 5},  {.feature = 12, .evidence = 6},
                                 {.feature = 12, .evidence = 77}};
    static const double want[] = {2, 9, 16, 8, 25, 12, 77};
    double sum = nb_pooled_add_rows(own, 4, 0.5, rows, 7, 2);
    for (int i = 0; i < 7; i++)
        ck_assert_double_eq(rows[i].evidence, want[i]);
    ck_assert_double_eq(sum, 2 + 9 + 16 + 8 + 25 + 12);
}
END_TEST

START_TEST(without_own_rows_the_others_are_multiplied)
{
    const struct nb_evidence own[] = {{.feature = 4, .evidence = 1000}};
    struct nb_evidence rows[] = {{.feature = 4, .evidence = 6}, {.evidence = 77}};
    ck_assert_double_eq(nb_pooled_add_rows(own, 1, 0.5, rows, 2, 0.25), 1.5);
    ck_assert_double_eq(rows[0].evidence, 1.5);
    ck_assert_double_eq(nb_pooled_add_rows(own, 1, 0.5, rows + 1, 1, 0.25), 0);
    ck_assert_double_eq(rows[1].evidence, 77);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("pooled");
    TCase *t = tcase_create("odds");
    suite_add_tcase(s, t);
    tcase_add_test(t, odds_by_hand);
    tcase_add_test(t, without_a_share_the_own_odds_stay);
    tcase_add_test(t, own_odds_keep_their_part);
    TCase *rows = tcase_create("rows");
    suite_add_tcase(s, rows);
    tcase_add_test(rows, rows_of_one_feature_are_added);
    tcase_add_test(rows, without_own_rows_the_others_are_multiplied);
    return test_run(s);
}
