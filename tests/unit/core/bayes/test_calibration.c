/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "core/base/error.h"
#include "core/bayes/calibration.h"
#include "tests/unit/run.h"
#include "tests/unit/tokenizer/cpu_time.h"

/* Two labels: log-odds of -2, -1, 1 and 2, and a violation between the middle ones. */
enum { COUNT = 4 };
static const uint32_t LABELS[] = {3, 5}, TRUTHS[COUNT] = {0, 1, 0, 1};
static const double SCORES[COUNT * 2] = {0, -2, 0, -1, 0, 1, 0, 2};
static const struct nb_calibration_scores ALL = {2, LABELS, COUNT, TRUTHS, SCORES};

static double said(const struct nb_calibration *c, double second)
{
    const double scores[2] = {0, second};
    double p[2];
    nb_calibration_apply(c, LABELS, scores, p);
    ck_assert_double_eq_tol(p[0] + p[1], 1, 1e-15);
    return p[1];
}

START_TEST(neighbours_that_fall_are_pooled)
{
    struct nb_calibration *c;
    ck_assert_int_eq(nb_calibration_fit(NB_CALIBRATION_ISOTONIC, &ALL, &c), 0);
    ck_assert_uint_eq(c->scores, COUNT);
    ck_assert_double_eq(said(c, -9), 0);
    ck_assert_double_eq(said(c, -1.5), 0.25); /* halfway to the pool of both in the middle */
    ck_assert_double_eq(said(c, 0), 0.5);
    ck_assert_double_eq(said(c, 1.5), 0.75);
    ck_assert_double_eq(said(c, 9), 1);
    nb_calibration_free(&c);
    nb_calibration_free(&c);
}
END_TEST

/* Where the sigmoid fits best its gradient is 0. */
START_TEST(the_sigmoid_fits)
{
    struct nb_calibration *c;
    double of_a = 0, of_b = 0;
    ck_assert_int_eq(nb_calibration_fit(NB_CALIBRATION_PLATT, &ALL, &c), 0);
    for (unsigned i = 0; i < COUNT; i++) {
        double f = SCORES[2 * i + 1], target = TRUTHS[i] == 1 ? 3.0 / 4 : 1.0 / 4;
        of_a += f * (target - said(c, f));
        of_b += target - said(c, f);
    }
    ck_assert_double_eq_tol(of_a, 0, 1e-12);
    ck_assert_double_eq_tol(of_b, 0, 1e-12);
    ck_assert_double_lt(said(c, -1), said(c, 1));
    nb_calibration_free(&c);
}
END_TEST

START_TEST(labels_may_come_in_another_order)
{
    static const uint32_t turned[] = {5, 3}, other[] = {3, 4}, more[] = {3, 4, 5};
    struct nb_calibration *c;
    const double scores[2] = {1.5, 0};
    double p[2];
    ck_assert_int_eq(nb_calibration_fit(NB_CALIBRATION_ISOTONIC, &ALL, &c), 0);
    ck_assert(nb_calibration_is_of(c, LABELS, 2) && nb_calibration_is_of(c, turned, 2));
    ck_assert(!nb_calibration_is_of(c, other, 2) && !nb_calibration_is_of(c, more, 3));
    nb_calibration_apply(c, turned, scores, p);
    ck_assert_double_eq(p[0], 0.75);
    nb_calibration_free(&c);
}
END_TEST

START_TEST(all_say_no)
{
    static const uint32_t labels[] = {0, 1, 2}, truths[] = {0, 1, 2};
    static const double sure[] = {9, 0, 0, 0, 9, 0, 0, 0, 9}, even[] = {1, 1, 1};
    const struct nb_calibration_scores scores = {3, labels, 3, truths, sure};
    struct nb_calibration *c;
    double p[3];
    ck_assert_int_eq(nb_calibration_fit(NB_CALIBRATION_ISOTONIC, &scores, &c), 0);
    nb_calibration_apply(c, labels, sure, p);
    ck_assert(p[0] == 1 && p[1] == 0 && p[2] == 0);
    for (unsigned v = 0; v < 3; v++)
        c->of[v].y[0] = c->of[v].y[c->of[v].size - 1] = 0;
    nb_calibration_apply(c, labels, even, p);
    ck_assert_double_eq(p[0], 1.0 / 3);
    nb_calibration_free(&c);
}
END_TEST

/* Returns the nanoseconds to fit the maps of this many labels on this many documents. */
static uint64_t time_of(uint32_t labels, size_t count)
{
    uint32_t *numbers = calloc(labels, sizeof *numbers), *truths = calloc(count, sizeof *truths);
    double *scores = calloc(count * labels, sizeof *scores);
    struct nb_calibration *c;
    ck_assert(numbers != NULL && truths != NULL && scores != NULL);
    for (uint32_t v = 0; v < labels; v++)
        numbers[v] = v;
    for (size_t i = 0; i < count; i++)
        truths[i] = (uint32_t)(i % labels);
    for (size_t i = 0; i < count * labels; i++)
        scores[i] = -(double)(i * 7919 % 1009) / 100;
    const struct nb_calibration_scores all = {labels, numbers, count, truths, scores};
    uint64_t start = cpu_time();
    ck_assert_int_eq(nb_calibration_fit(NB_CALIBRATION_ISOTONIC, &all, &c), 0);
    uint64_t time = cpu_time() - start;
    nb_calibration_free(&c);
    free(numbers);
    free(truths);
    free(scores);
    return time;
}

/* The time is that of the scores, and not of these times labels: the writer waits for a fit. */
START_TEST(many_labels_take_no_longer)
{
    uint64_t few = time_of(50, 2000), many = time_of(2000, 50);
    ck_assert_msg(many < 6 * few, "%llu ns, and %llu ns with few labels", (unsigned long long)many,
                  (unsigned long long)few);
}
END_TEST

START_TEST(stored_and_copied)
{
    for (int method = NB_CALIBRATION_PLATT; method <= NB_CALIBRATION_ISOTONIC; method++) {
        struct nb_calibration *c, *copy, *read = NULL;
        struct nb_buffer out = {0};
        struct nb_packer w = {.out = &out};
        ck_assert_int_eq(nb_calibration_fit((enum nb_calibration_method)method, &ALL, &c), 0);
        c->before = 0.5;
        c->documents = 77;
        ck_assert_int_eq(nb_calibration_copy(&copy, c), 0);
        nb_calibration_write(&w, copy);
        for (size_t length = 0; length <= out.length; length++) {
            struct nb_unpacker r = nb_unpacker_of(out.bytes, length);
            int rc = nb_calibration_read(&r, &read);
            ck_assert_int_eq(rc, length == out.length ? 0 : NB_CORRUPT);
        }
        ck_assert_uint_eq(read->documents, 77);
        ck_assert_double_eq(read->before, 0.5);
        for (double f = -3; f < 3; f += 0.25)
            ck_assert_double_eq(said(read, f), said(c, f));
        nb_calibration_free(&c);
        nb_calibration_free(&copy);
        nb_calibration_free(&read);
        nb_buffer_deinit(&out);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("calibration");
    TCase *test = tcase_create("calibration");
    tcase_add_test(test, neighbours_that_fall_are_pooled);
    tcase_add_test(test, the_sigmoid_fits);
    tcase_add_test(test, labels_may_come_in_another_order);
    tcase_add_test(test, all_say_no);
    tcase_add_test(test, stored_and_copied);
    tcase_add_test(test, many_labels_take_no_longer);
    suite_add_tcase(suite, test);
    return test_run(suite);
}
