/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "core/jobs/generate/draw_values.h"
#include "tests/unit/run.h"

static size_t length_of(uint64_t seed, double mean, size_t left)
{
    struct nb_positions text = {0};
    struct nb_random series = nb_random_of(seed, 1);
    size_t before = left;
    ck_assert_int_eq(nb_draw_text_begin(&text, &series, mean, 1, &left), 0);
    size_t length = text.length;
    ck_assert_uint_eq(before - left, length);
    nb_positions_deinit(&text);
    return length;
}

/* Returns P(X <= k), the sum of single probabilities. */
static double slow_below(double mean, size_t k)
{
    long double sum = 0;
    for (size_t i = 0; i <= k; i++)
        sum += expl((long double)i * logl(mean) - mean - lgammal((long double)i + 1));
    return (double)sum;
}

/* Each length is the least at which the distribution function reaches the number that was drawn. */
START_TEST(lengths_are_quantiles)
{
    static const double means[] = {1e-9, .01, .7, 6, 40, 700, 745.2, 2000};
    const double rounding = 1e-10;
    for (size_t i = 0; i < sizeof means / sizeof *means; i++)
        for (uint64_t seed = 0; seed < 20; seed++) {
            struct nb_random series = nb_random_of(seed, 1);
            double u = nb_random_fraction(&series);
            size_t k = length_of(seed, means[i], 1000000);
            ck_assert_msg(slow_below(means[i], k) > u - rounding, "%g, seed %ju: %zu is too short",
                          means[i], (uintmax_t)seed, k);
            ck_assert_msg(k == 0 || slow_below(means[i], k - 1) < u + rounding,
                          "%g, seed %ju: %zu is too long", means[i], (uintmax_t)seed, k);
        }
}
END_TEST

START_TEST(ends)
{
    for (uint64_t seed = 0; seed < 50; seed++) {
        ck_assert_uint_eq(length_of(seed, 0, 100), 0);
        ck_assert_uint_eq(length_of(seed, 50, 0), 0);
        ck_assert_uint_eq(length_of(seed, 1e6, 30), 30);
        size_t length = length_of(seed, 1e6, 2000000);
        ck_assert_double_lt(fabs((double)length - 1e6), 6 * 1e3);
        ck_assert_uint_eq(length_of(seed, 1e6, 2000000), length);
    }
}
END_TEST

/* Positions are reservoirs: offered words have their shares, and a word of weight 0 none. */
START_TEST(words_have_their_shares)
{
    enum { LENGTH = 40000, WORDS = 4 };
    static const double counts[WORDS] = {1, 0, 5, 2};
    struct nb_positions p;
    size_t got[WORDS] = {0};
    ck_assert_int_eq(nb_positions_begin(&p, LENGTH, 7, 1), 0);
    for (uint32_t i = 0; i < WORDS; i++)
        nb_positions_offer(&p, i, i, counts[i]);
    nb_positions_sort(&p);
    ck_assert_double_eq(p.sum, 8);
    for (size_t i = 0; i < LENGTH; i++) {
        ck_assert_uint_eq(p.heap[i].place, i);
        got[p.heap[i].row]++;
    }
    for (size_t i = 0; i < WORDS; i++) {
        double share = counts[i] / 8, deviation = sqrt(LENGTH * share * (1 - share));
        ck_assert_double_le(fabs((double)got[i] - LENGTH * share), 6 * deviation);
    }
    nb_positions_deinit(&p);
}
END_TEST

START_TEST(nothing_is_offered_to_no_position)
{
    struct nb_positions none = {0};
    nb_positions_offer(&none, 1, 1, 3);
    nb_positions_sort(&none);
    ck_assert_double_eq(none.sum, 0);
    nb_positions_deinit(&none);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("draw_texts");
    tcase_add_test(tests, lengths_are_quantiles);
    tcase_add_test(tests, ends);
    tcase_add_test(tests, words_have_their_shares);
    tcase_add_test(tests, nothing_is_offered_to_no_position);
    Suite *suite = suite_create("draw_texts");
    suite_add_tcase(suite, tests);
    return test_run(suite);
}
