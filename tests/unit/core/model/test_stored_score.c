/* SPDX-License-Identifier: Apache-2.0
 *
 * Which labels of a score are stored: the likeliest 16 and the true one, in their order.
 */
#include <check.h>
#include <math.h>

#include "core/model/learner.h"
#include "tests/unit/run.h"

enum { LABELS_MOST = 40, KEPT = 16 };

struct table {
    uint32_t labels[LABELS_MOST]; /* numbers, in the order of the names */
    double p[LABELS_MOST], log_scores[LABELS_MOST];
    size_t size;
};

/* Makes scores of `size` labels. Label i has the number 100 - i; `peak` is the likeliest label. */
static struct table some_scores(size_t size, size_t peak)
{
    struct table t = {.size = size};
    for (size_t i = 0; i < size; i++) {
        t.labels[i] = (uint32_t)(100 - i);
        t.p[i] = 1.0 / (double)(2 + (i + size - peak) % size);
        t.log_scores[i] = log(t.p[i]);
    }
    return t;
}

static size_t rank_of(const struct table *t, size_t label)
{
    size_t rank = 0;
    for (size_t i = 0; i < t->size; i++)
        rank += t->p[i] > t->p[label];
    return rank;
}

static void check_kept(struct table *t, size_t truth)
{
    struct nb_scores scores = {
        .size = t->size, .labels = t->labels, .log_scores = t->log_scores, .probabilities = t->p};
    struct nb_buffer record = {0};
    struct nb_stored_score_lists lists = {0};
    struct nb_stored_score got;
    size_t likeliest = rank_of(t, truth) < KEPT ? KEPT : KEPT - 1, next = 0;
    ck_assert_int_eq(nb_stored_score_keep(&scores, t->labels[truth], &record), 0);
    ck_assert_int_eq(
        nb_stored_score_read((struct nb_string){record.bytes, record.length}, &lists, &got, NULL),
        0);
    ck_assert_uint_eq(got.label, t->labels[truth]);
    ck_assert_uint_eq(got.size, t->size < KEPT ? t->size : KEPT);
    for (size_t i = 0; i < t->size; i++) {
        if (i != truth && rank_of(t, i) >= likeliest)
            continue;
        ck_assert_msg(next < got.size && got.labels[next] == t->labels[i], "label %zu of %zu", i,
                      t->size);
        ck_assert_double_eq(got.probabilities[next++], t->p[i]);
    }
    ck_assert_uint_eq(next, got.size);
    nb_stored_score_lists_deinit(&lists);
    nb_buffer_deinit(&record);
}

START_TEST(the_true_label_is_kept)
{
    static const size_t sizes[] = {1, 2, 3, 15, 16, 17, 18, 33, LABELS_MOST};
    size_t size = sizes[_i];
    for (size_t peak = 0; peak < size; peak++) {
        struct table t = some_scores(size, peak);
        for (size_t truth = 0; truth < size; truth++)
            check_kept(&t, truth);
    }
}
END_TEST

START_TEST(a_label_that_has_no_score_yet)
{
    struct table t = some_scores(LABELS_MOST, 7);
    struct nb_scores scores = {.size = t.size, .labels = t.labels, .probabilities = t.p};
    struct nb_buffer record = {0};
    struct nb_stored_score_lists lists = {0};
    struct nb_stored_score got;
    ck_assert_int_eq(nb_stored_score_keep(&scores, 5, &record), 0);
    ck_assert_int_eq(
        nb_stored_score_read((struct nb_string){record.bytes, record.length}, &lists, &got, NULL),
        0);
    ck_assert_uint_eq(got.label, 5);
    ck_assert_uint_eq(got.size, KEPT);
    for (size_t i = 0; i < KEPT; i++)
        ck_assert_uint_eq(got.labels[i], 100 - 7 - i);
    nb_stored_score_lists_deinit(&lists);
    nb_buffer_deinit(&record);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stored_score");
    TCase *tests = tcase_create("stored_score");
    tcase_add_loop_test(tests, the_true_label_is_kept, 0, 9);
    tcase_add_test(tests, a_label_that_has_no_score_yet);
    suite_add_tcase(suite, tests);
    return test_run(suite);
}
