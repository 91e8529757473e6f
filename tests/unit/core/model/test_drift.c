/* SPDX-License-Identifier: Apache-2.0
 *
 * Drift of verdicts: the distance by hand, and p against published values of Kolmogorov's
 * distribution (Smirnov 1948, table of L(z): L(1.36) = .950512, L(1.63) = .990154).
 */
#include <check.h>
#include <math.h>

#include "core/model/drift.h"
#include "tests/unit/run.h"

static void add(struct nb_drift *drift, unsigned count, double probability)
{
    for (unsigned i = 0; i < count; i++)
        nb_drift_add(drift, 2, probability);
}

START_TEST(the_distance_by_hand)
{
    struct nb_drift *drift = nb_drift_new();
    struct nb_drift_figures figures = {.recent = 7};
    ck_assert(!nb_drift_compare(drift, &figures));
    add(drift, 1000, 0.2);
    add(drift, 999, 0.2);
    ck_assert(!nb_drift_compare(drift, &figures));
    ck_assert_uint_eq(figures.recent, 7);
    add(drift, 1, 0.2);
    ck_assert(nb_drift_compare(drift, &figures));
    ck_assert_uint_eq(figures.recent, 1000);
    ck_assert_uint_eq(figures.before, 1000);
    ck_assert_double_eq_tol(figures.distance, 0, 1e-12);
    ck_assert_double_eq_tol(figures.p, 1, 1e-12);
    add(drift, 250, 0.8); /* a quarter of those of late */
    ck_assert(nb_drift_compare(drift, &figures));
    ck_assert_uint_eq(figures.before, 1250);
    ck_assert_double_eq_tol(figures.distance, 0.25, 1e-12);
    add(drift, 6000, 0.8);
    ck_assert(nb_drift_compare(drift, &figures));
    ck_assert_uint_eq(figures.before, NB_DRIFT_BEFORE);
    ck_assert_double_eq_tol(figures.distance, 0, 1e-12);
    nb_drift_free(&drift);
}
END_TEST

/* Returns p for 2,000 verdicts, of which `one` of the first thousand and `other` of the second are
 * high. */
static double p_of(unsigned one, unsigned other)
{
    struct nb_drift *drift = nb_drift_new();
    struct nb_drift_figures figures;
    add(drift, one, 0.9);
    add(drift, 1000 - one, 0.1);
    add(drift, other, 0.9);
    add(drift, 1000 - other, 0.1);
    ck_assert(nb_drift_compare(drift, &figures));
    ck_assert_double_eq_tol(figures.distance, fabs((double)one - other) / 1000, 1e-12);
    nb_drift_free(&drift);
    return figures.p;
}

/* The tail at (sqrt(500) + .12 + .11 / sqrt(500)) D. */
START_TEST(p_is_kolmogorovs)
{
    ck_assert_double_eq_tol(p_of(500, 500), 1, 1e-12);
    ck_assert_double_eq_tol(p_of(500, 560), 0.0521, 0.0005); /* at 1.349 */
    ck_assert_double_eq_tol(p_of(500, 573), 0.0092, 0.0003); /* at 1.641 */
    ck_assert(p_of(500, 800) < 1e-30);
    ck_assert(p_of(0, 1000) < 1e-30);
}
END_TEST

START_TEST(certain_verdicts_have_bins)
{
    struct nb_drift *drift = nb_drift_new();
    struct nb_drift_figures figures;
    add(drift, 1000, 0);
    add(drift, 1000, 1);
    ck_assert(nb_drift_compare(drift, &figures));
    ck_assert_double_eq_tol(figures.distance, 1, 1e-12);
    nb_drift_free(&drift);
}
END_TEST

START_TEST(another_kind_begins_anew)
{
    struct nb_drift *drift = nb_drift_new();
    struct nb_drift_figures figures;
    add(drift, 3000, 0.5);
    ck_assert(nb_drift_compare(drift, &figures));
    nb_drift_add(drift, 3, 0.5);
    ck_assert(!nb_drift_compare(drift, &figures));
    add(drift, 2000, 0.5);
    ck_assert(nb_drift_compare(drift, &figures));
    nb_drift_reset(drift);
    ck_assert(!nb_drift_compare(drift, &figures));
    nb_drift_free(&drift);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("drift");
    TCase *tests = tcase_create("drift");
    tcase_add_test(tests, the_distance_by_hand);
    tcase_add_test(tests, p_is_kolmogorovs);
    tcase_add_test(tests, certain_verdicts_have_bins);
    tcase_add_test(tests, another_kind_begins_anew);
    suite_add_tcase(suite, tests);
    return test_run(suite);
}
