/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/stack/levels.h"
#include "tests/unit/run.h"

static const struct {
    const char *label;
    unsigned level;
    const char *want;
} names[] = {
    {"sci/space/moon", 1, "sci"},
    {"sci/space/moon", 2, "sci/space"},
    {"sci/space/moon", 3, "sci/space/moon"},
    {"sci/space/moon", NB_LEVEL_MOST, "sci/space/moon"},
    {"spam", 1, "spam"},
    {"/sci/space", 1, "/sci"},
    {"//sci/space", 1, "//sci"},
    {"sci//space", 1, "sci"},
    {"sci//space/moon", 2, "sci//space"},
    {"sci/", 1, "sci"},
    {"sci/", 2, "sci/"},
    {"/", 1, "/"},
    {"///", 2, "///"},
    {"a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r/s/t/u/v/w/x/y/z/A/B/C/D/E/F", 31,
     "a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r/s/t/u/v/w/x/y/z/A/B/C/D/E"},
    {"\xC3\xA9t\xC3\xA9/juin", 1, "\xC3\xA9t\xC3\xA9"},
};

START_TEST(the_name_at_a_level)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t length = nb_level_length(names[i].label, names[i].level);
        ck_assert_msg(
            length == strlen(names[i].want) && memcmp(names[i].label, names[i].want, length) == 0,
            "%s at %u: %.*s", names[i].label, names[i].level, (int)length, names[i].label);
    }
}
END_TEST

/* By hand; "sci-fi/new" stands between "sci" and "sci/med" in the order of names. */
START_TEST(sums_of_a_level)
{
    static const char *const labels[] = {"rec/autos", "sci", "sci-fi/new", "sci/med", "sci/space"};
    static const uint64_t documents[] = {7, 1, 2, 30, 400};
    static const double p[] = {0.3, 0.05, 0.25, 0.15, 0.25};
    double s[5];
    for (size_t i = 0; i < 5; i++)
        s[i] = log(p[i]) - 1000;
    const struct nb_level_scores below = {labels, documents, s, p, 5};
    struct nb_levels l = {0};
    static const char *const want[] = {"rec", "sci", "sci-fi"};
    static const double sums[] = {0.3, 0.45, 0.25};
    static const uint64_t of_documents[] = {7, 431, 2};
    for (int again = 0; again < 2; again++) {
        ck_assert_int_eq(nb_levels_sum(&l, &below, 1), 0);
        ck_assert_uint_eq(l.size, 3);
        for (size_t i = 0; i < 3; i++) {
            ck_assert_str_eq(l.labels[i], want[i]);
            ck_assert_double_eq_tol(l.probabilities[i], sums[i], 1e-15);
            ck_assert_double_eq_tol(l.log_scores[i], log(sums[i]) - 1000, 1e-12);
            ck_assert_uint_eq(l.documents[i], of_documents[i]);
        }
        ck_assert_uint_eq(l.best, 1);
        /* Where no label has so many parts they are what they were. */
        ck_assert_int_eq(nb_levels_sum(&l, &below, 2), 0);
        ck_assert_uint_eq(l.size, 5);
        ck_assert_mem_eq(l.probabilities, p, sizeof p);
        ck_assert_mem_eq(l.log_scores, s, sizeof s);
        ck_assert_uint_eq(l.best, 0);
    }
    nb_levels_deinit(&l);
}
END_TEST

START_TEST(ties_and_ends)
{
    static const char *const labels[] = {"a/1", "a/2", "b/1", "c"};
    static const uint64_t documents[4] = {1, 1, 1, 1};
    static const double tied[] = {0.125, 0.25, 0.375, 0.25},
                        sure[] = {0.5, 0.5000000000000001, 0, 0};
    static const double none[] = {-(double)INFINITY, -(double)INFINITY, 0, -(double)INFINITY};
    struct nb_levels l = {0};
    struct nb_level_scores below = {labels, documents, none, tied, 4};
    ck_assert_int_eq(nb_levels_sum(&l, &below, 1), 0);
    ck_assert_uint_eq(l.best, 0); /* .375 twice: the first */
    ck_assert_double_eq(l.log_scores[0], -(double)INFINITY);
    ck_assert_double_eq(l.log_scores[1], 0);
    below.probabilities = sure;
    ck_assert_int_eq(nb_levels_sum(&l, &below, 1), 0);
    ck_assert_double_eq(l.probabilities[0], 1); /* no more, whatever rounding does */
    below.size = 1;
    ck_assert_int_eq(nb_levels_sum(&l, &below, 1), 0);
    ck_assert_uint_eq(l.size, 1);
    ck_assert_str_eq(l.labels[0], "a");
    nb_levels_deinit(&l);
}
END_TEST

/* A thousand-odd labels of three levels: every level is the sum of the one below. */
START_TEST(levels_agree_with_each_other)
{
    enum { SIZE = 1000 };
    static char text[SIZE][16];
    static const char *labels[SIZE];
    static uint64_t documents[SIZE];
    static double p[SIZE], s[SIZE];
    double all = 0;
    for (size_t i = 0; i < SIZE; i++) {
        snprintf(text[i], sizeof text[i], "%zu/%zu/%zu", i / 100, i / 10 % 10, i % 10);
        labels[i] = text[i];
        documents[i] = i;
        p[i] = (double)(i * 7919 % 1000 + 1);
        all += p[i];
    }
    for (size_t i = 0; i < SIZE; i++) {
        p[i] /= all;
        s[i] = log(p[i]);
    }
    struct nb_levels one = {0}, two = {0}, direct = {0};
    const struct nb_level_scores below = {labels, documents, s, p, SIZE};
    ck_assert_int_eq(nb_levels_sum(&two, &below, 2), 0);
    ck_assert_int_eq(nb_levels_sum(&direct, &below, 1), 0);
    const struct nb_level_scores middle = {two.labels, two.documents, two.log_scores,
                                           two.probabilities, two.size};
    ck_assert_int_eq(nb_levels_sum(&one, &middle, 1), 0);
    ck_assert_uint_eq(two.size, 100);
    ck_assert_uint_eq(direct.size, 10);
    ck_assert_uint_eq(one.size, 10);
    for (size_t i = 0; i < 10; i++) {
        ck_assert_str_eq(one.labels[i], direct.labels[i]);
        ck_assert_uint_eq(one.documents[i], direct.documents[i]);
        ck_assert_double_eq_tol(one.probabilities[i], direct.probabilities[i], 1e-14);
        ck_assert_double_eq_tol(one.log_scores[i], log(one.probabilities[i]), 1e-12);
    }
    nb_levels_deinit(&one);
    nb_levels_deinit(&two);
    nb_levels_deinit(&direct);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("levels");
    TCase *tests = tcase_create("levels");
    tcase_add_test(tests, the_name_at_a_level);
    tcase_add_test(tests, sums_of_a_level);
    tcase_add_test(tests, ties_and_ends);
    tcase_add_test(tests, levels_agree_with_each_other);
    suite_add_tcase(suite, tests);
    return test_run(suite);
}
