/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/wishes.h"

enum { MOST = 40 };

/* The lowest threshold by trying each probability as one; written without sorting. */
static struct nb_wish tried(const struct nb_wish_verdict *list, size_t count, double precision)
{
    struct nb_wish best = {.threshold = (double)INFINITY};
    for (size_t t = 0; t < count; t++) {
        struct nb_wish one = {.threshold = list[t].probability};
        for (size_t i = 0; i < count; i++) {
            one.given += list[i].probability >= one.threshold;
            one.right += list[i].probability >= one.threshold && list[i].is_right;
        }
        if ((double)one.right >= precision * (double)(one.given + 1) &&
            one.threshold < best.threshold)
            best = one;
    }
    return best;
}

static void expect(const struct nb_wish *got, const struct nb_wish *want)
{
    ck_assert(got->threshold == want->threshold);
    ck_assert_uint_eq(got->given, want->given);
    ck_assert_uint_eq(got->right, want->right);
}

START_TEST(the_lowest_threshold_that_keeps_the_precision)
{
    struct nb_wish_verdict list[MOST];
    srand(7);
    for (int round = 0; round < 2000; round++) {
        size_t count = (size_t)rand() % (MOST + 1);
        double precision = 0.3 + (double)(rand() % 70) / 100;
        for (size_t i = 0; i < count; i++) { /* equal ones are frequent */
            list[i].probability = (double)(rand() % 20) / 20;
            list[i].is_right = rand() % 20 < (int)(5 + list[i].probability * 20);
        }
        struct nb_wish want = tried(list, count, precision);
        struct nb_wish got = nb_wish_choose(list, count, precision);
        expect(&got, &want);
    }
}
END_TEST

/* Verdicts that are all right show a precision of .99 from 99 on: with one error it still holds. */
START_TEST(few_verdicts_show_no_high_precision)
{
    struct nb_wish_verdict list[100];
    for (size_t i = 0; i < 100; i++)
        list[i] = (struct nb_wish_verdict){0.5 + (double)i / 1000, true};
    ck_assert(isinf(nb_wish_choose(list, 98, 0.99).threshold));
    ck_assert_uint_eq(nb_wish_choose(list, 99, 0.99).given, 99);
    ck_assert(isinf(nb_wish_choose(list, 8, 0.9).threshold));
    ck_assert_uint_eq(nb_wish_choose(list, 9, 0.9).given, 9);
    ck_assert(isinf(nb_wish_choose(NULL, 0, 0.1).threshold));
    for (size_t i = 0; i < 100; i++)
        list[i].is_right = false;
    ck_assert(isinf(nb_wish_choose(list, 100, 0.01).threshold));
}
END_TEST

static void make_settings(struct nb_settings *s, int kind)
{
    nb_settings_init(s, NB_PRESET_TEXT);
    s->threshold_count = 2;
    s->thresholds = calloc(2, sizeof *s->thresholds);
    s->thresholds[0] = (struct nb_label_threshold){.label = strdup("a"), .number = 0.5};
    s->thresholds[1] =
        (struct nb_label_threshold){.label = strdup("b"), .kind = kind, .number = .9};
}

START_TEST(it_is_due_when_the_documents_have_changed)
{
    struct nb_settings s;
    struct nb_wishes *wishes;
    struct nb_wishes_state state = {.documents = 100, .replaced = 7}, now;
    const struct nb_wish found[] = {{.threshold = 0}, {0.75, 20, 19}};
    bool is_made;
    make_settings(&s, NB_THRESHOLD_NUMBER);
    ck_assert_int_eq(nb_wishes_new(&s, &wishes), 0);
    ck_assert_ptr_null(wishes);
    s.thresholds[1].kind = NB_THRESHOLD_PRECISION;
    ck_assert_int_eq(nb_wishes_new(&s, &wishes), 0);
    ck_assert(isinf(nb_wishes_found(wishes, 1).threshold));
    ck_assert(nb_wishes_are_due(wishes, &state, &is_made) && !is_made);
    nb_wishes_set(wishes, &state, found);
    struct nb_wish got = nb_wishes_found(wishes, 1);
    expect(&got, &found[1]);
    ck_assert(!nb_wishes_are_due(wishes, &state, &is_made) && is_made);
    static const struct {
        uint64_t documents, replaced;
        bool is_due;
    } table[] = {{105, 7, false},  {106, 7, true},  {96, 7, false},  {95, 7, true},
                 {100, 12, false}, {100, 13, true}, {103, 10, true}, {103, 9, false}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        now = (struct nb_wishes_state){.documents = table[i].documents,
                                       .replaced = table[i].replaced};
        ck_assert_msg(nb_wishes_are_due(wishes, &now, &is_made) == table[i].is_due, "row %zu", i);
    }
    now = state;
    now.is_left_out = true;
    ck_assert(nb_wishes_are_due(wishes, &now, &is_made));
    now.awaits_refit = true; /* the choice before a refit does not outlive it */
    nb_wishes_set(wishes, &now, found);
    ck_assert(!nb_wishes_are_due(wishes, &now, &is_made));
    now.awaits_refit = false;
    ck_assert(nb_wishes_are_due(wishes, &now, &is_made));
    nb_wishes_free(&wishes);
    ck_assert_ptr_null(wishes);
    nb_settings_deinit(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("wishes");
    TCase *tests = tcase_create("thresholds for a wished precision");
    tcase_add_test(tests, the_lowest_threshold_that_keeps_the_precision);
    tcase_add_test(tests, few_verdicts_show_no_high_precision);
    tcase_add_test(tests, it_is_due_when_the_documents_have_changed);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
