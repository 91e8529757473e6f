/* SPDX-License-Identifier: Apache-2.0
 *
 * How much a document teaches, compared with the rule computed from all recent counts of all
 * labels.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/random.h"
#include "core/counts/cells.h"
#include "core/model/order.h"
#include "tests/unit/run.h"

enum { LABELS = 5 };

/* The rule as core/model/order.h writes it. */
struct slow {
    double recent[LABELS], all, credit;
    uint64_t of_label[LABELS], documents;
};

static double slow_weight(const struct slow *s, uint32_t y)
{
    double pi = ((double)s->of_label[y] + 1) / ((double)s->documents + 2);
    double q = (s->recent[y] + 2 * pi) / (s->all + 2);
    return fmin(1, 8 * (pi / (1 - pi)) / (q / (1 - q)));
}

static void slow_count(struct slow *s, uint32_t y, double weight)
{
    for (uint32_t v = 0; v < LABELS; v++)
        s->recent[v] *= 1 - 1.0 / 20;
    s->recent[y]++;
    s->all = s->all * (1 - 1.0 / 20) + 1;
    s->credit += 1 - weight;
    s->of_label[y]++;
    s->documents++;
}

START_TEST(weights_follow_the_rule)
{
    struct nb_weights order = {0};
    struct slow slow = {.all = 0};
    struct nb_random random = nb_random_of(9, (uint64_t)_i);
    double least = 1;
    unsigned replays = 0;
    for (unsigned n = 0; n < 2000; n++) {
        /* Class by class first, then mixed. */
        uint32_t y = n < 1000 ? n / 200 : (uint32_t)nb_random_below(&random, LABELS);
        double weight = nb_order_weight(&order, y, slow.of_label[y], slow.documents);
        ck_assert_double_eq_tol(weight, slow_weight(&slow, y), 1e-9);
        ck_assert(weight > 0 && weight <= 1);
        least = fmin(least, weight);
        ck_assert_int_eq(nb_order_count(&order, y, weight, n + 1), 0);
        slow_count(&slow, y, weight);
        bool due = nb_order_take_credit(&order);
        ck_assert(due == (slow.credit >= 1));
        slow.credit -= due;
        replays += due;
        ck_assert(n < 1100 || weight >= 1); /* a mixed stream teaches as ever */
    }
    ck_assert_double_lt(least, 0.3);
    ck_assert_uint_gt(replays, 100);
    nb_weights_deinit(&order);
}
END_TEST

START_TEST(a_mixed_stream_replays_nothing)
{
    struct nb_weights order = {0};
    struct nb_random random = nb_random_of(3, 4);
    uint64_t of_label[2] = {0};
    for (uint64_t n = 0; n < 3000; n++) {
        uint32_t y = nb_random_below(&random, 3) == 0;
        double weight = nb_order_weight(&order, y, of_label[y], n);
        ck_assert_int_eq(nb_order_count(&order, y, weight, n + 1), 0);
        of_label[y]++;
        ck_assert(!nb_order_take_credit(&order));
    }
    nb_weights_deinit(&order);
}
END_TEST

/* Label by label, whichever comes first, and mixed: before, and long after. */
START_TEST(what_was_trained_label_by_label_is_told)
{
    struct nb_weights order = {0};
    uint64_t of_label[2] = {0};
    ck_assert(nb_order_is_small(1000) && !nb_order_is_small(1001));
    ck_assert(!nb_order_is_skewed(&order));
    for (uint64_t n = 0; n < 60000; n++) {
        uint32_t y = n >= 1000 && n < 3000 ? n >= 2000 : (uint32_t)(n % 2);
        double weight = nb_order_weight(&order, y, of_label[y], n);
        ck_assert_int_eq(nb_order_count(&order, y, weight, n + 1), 0);
        of_label[y]++;
        nb_weights_commit(&order);
        ck_assert(n >= 1000 || !nb_order_is_skewed(&order));
        ck_assert(n != 2999 || nb_order_is_skewed(&order));
    }
    ck_assert(!nb_order_is_skewed(&order));
    nb_weights_deinit(&order);
}
END_TEST

static uint64_t drawn(const struct nb_weights *order, enum nb_order_draw what)
{
    struct nb_random random = nb_order_random(order, what);
    return nb_random_next(&random);
}

/* Lessons by documents, the two draws of a refit by refits, and neither by anything else. */
START_TEST(draws_follow_from_documents_and_refits)
{
    struct nb_weights order = {0};
    uint64_t lesson = drawn(&order, NB_DRAW_LESSON);
    uint64_t sample = drawn(&order, NB_DRAW_SAMPLE);
    uint64_t pass = drawn(&order, NB_DRAW_PASS);
    ck_assert(lesson != sample && sample != pass && pass != lesson);
    ck_assert_int_eq(nb_order_count(&order, 1, 1, 1), 0);
    ck_assert(drawn(&order, NB_DRAW_LESSON) != lesson);
    ck_assert_uint_eq(drawn(&order, NB_DRAW_SAMPLE), sample);
    ck_assert_uint_eq(drawn(&order, NB_DRAW_PASS), pass);
    lesson = drawn(&order, NB_DRAW_LESSON);
    ck_assert_int_eq(nb_order_begin_refit(&order, NB_REFIT_OF_GROWTH, 1), 0);
    ck_assert_uint_eq(drawn(&order, NB_DRAW_LESSON), lesson);
    ck_assert(drawn(&order, NB_DRAW_SAMPLE) != sample);
    ck_assert(drawn(&order, NB_DRAW_PASS) != pass);
    ck_assert_int_eq(nb_order_begin_refit(&order, NB_REFIT_ASKED, 7), 0);
    sample = drawn(&order, NB_DRAW_SAMPLE);
    ck_assert_int_eq(nb_order_begin_refit(&order, NB_REFIT_OF_GROWTH, 7), 0);
    ck_assert(drawn(&order, NB_DRAW_SAMPLE) != sample);
    ck_assert_int_eq(nb_order_begin_refit(&order, NB_REFIT_ASKED, 7), 0);
    ck_assert_uint_eq(drawn(&order, NB_DRAW_SAMPLE), sample);
    nb_weights_deinit(&order);
}
END_TEST

START_TEST(the_first_two_of_a_label_teach_nothing)
{
    ck_assert(!nb_order_teaches(0) && !nb_order_teaches(1));
    ck_assert(nb_order_teaches(2) && nb_order_teaches(UINT64_MAX));
}
END_TEST

START_TEST(any_label_has_a_place)
{
    struct nb_weights order = {0};
    ck_assert_int_eq(nb_order_count(&order, NB_LABELS_MOST - 1, 0.5, 1), 0);
    ck_assert_int_eq(nb_order_count(&order, NB_LABELS_MOST - 1, 0.5, 1), 0);
    ck_assert(nb_order_take_credit(&order));
    ck_assert(!nb_order_take_credit(&order));
    nb_weights_rollback(&order, 0);
    ck_assert_double_ge(nb_order_weight(&order, NB_LABELS_MOST - 1, 0, 0), 1);
    nb_weights_deinit(&order);
}
END_TEST

/* ---- refits ---------------------------------------------------------------------------------- */

/* Notes a change of a label with so many documents, as core/model/order.h writes the rule for
 * small models, with all counts kept. */
struct turnover {
    double of_label[LABELS], all;
    bool is_ripe, is_mixed;
};

static bool slow_grown(struct turnover *t, uint32_t y, double of_label, double documents)
{
    double share = documents <= 200 ? 0.25 : 1;
    t->all++;
    t->of_label[y]++;
    double of_all = !t->is_mixed ? 0.05 : documents <= 200 ? 0.2 : 0.5;
    t->is_ripe |= t->of_label[y] >= fmax(4, (of_label - t->of_label[y]) * share);
    return t->is_ripe && t->all >= documents * of_all;
}

/* Labels one after the other or mixed; with a first document that teaches with half of its weight,
 * or all with the whole. */
START_TEST(small_models_are_fitted_as_they_grow)
{
    struct nb_weights order = {0};
    bool is_sorted = _i % 3 == 0, is_mixed = _i >= 3;
    struct turnover slow = {.is_mixed = is_mixed};
    struct nb_random random = nb_random_of(6, (uint64_t)_i);
    uint64_t of_label[LABELS] = {0};
    unsigned refits = 0;
    for (uint64_t n = 1; n <= 1000; n++) {
        uint32_t y = is_sorted ? (uint32_t)(n / 250) : (uint32_t)nb_random_below(&random, LABELS);
        of_label[y]++;
        ck_assert_int_eq(nb_order_count(&order, y, is_mixed || n > 1 ? 1 : 0.5, n), 0);
        ck_assert_int_eq(nb_order_note(&order, y, of_label[y], 1, false), 0);
        bool want = slow_grown(&slow, y, (double)of_label[y], (double)n);
        enum nb_order_reason reason = nb_order_reason(&order, n);
        ck_assert_int_eq(reason, want ? NB_ORDER_GROWN : NB_ORDER_NONE);
        if (!want)
            continue;
        refits++;
        slow = (struct turnover){.is_mixed = is_mixed};
        ck_assert_int_eq(nb_order_begin_refit(&order, NB_REFIT_OF_GROWTH, n), 0);
        ck_assert(nb_order_is_refitting(&order));
        ck_assert_int_eq(nb_order_end_refit(&order, 77), 0);
        ck_assert(!nb_order_is_refitting(&order));
    }
    ck_assert_uint_gt(refits, is_mixed ? 8 : 14);
    ck_assert_uint_lt(refits, is_mixed ? 20 : 60);
    nb_weights_deinit(&order);
}
END_TEST

START_TEST(a_growing_model_is_fitted_to_a_sample)
{
    static const struct {
        enum nb_order_refit why;
        uint64_t documents;
        uint32_t labels;
        uint64_t most; /* UINT64_MAX: all */
    } refits[] = {
        {NB_REFIT_OF_GROWTH, 800, 2, 250},       {NB_REFIT_OF_GROWTH, 800, 10, 250},
        {NB_REFIT_OF_GROWTH, 800, 11, 275},      {NB_REFIT_OF_GROWTH, 1000, 100, 2500},
        {NB_REFIT_OF_GROWTH, 1001, 2, 1000},     {NB_REFIT_OF_GROWTH, 5000, 40, 1000},
        {NB_REFIT_OF_GROWTH, 5000, 41, 1025},    {NB_REFIT_OF_SKEW, 800, 2, UINT64_MAX},
        {NB_REFIT_STALE, 800, 2, UINT64_MAX},    {NB_REFIT_ASKED, 800, 2, UINT64_MAX},
        {NB_REFIT_OF_SKEW, 5000, 2, UINT64_MAX}, {NB_REFIT_STALE, 5000, 2, UINT64_MAX},
        {NB_REFIT_ASKED, 5000, 2, UINT64_MAX},
    };
    struct nb_weights mixed = {0}, turned = {0};
    ck_assert_int_eq(nb_order_count(&mixed, 0, 1, 1), 0);
    ck_assert_int_eq(nb_order_count(&turned, 0, 0.999, 1), 0);
    for (size_t i = 0; i < sizeof refits / sizeof *refits; i++) {
        uint64_t documents = refits[i].documents;
        ck_assert_uint_eq(nb_order_sample_most(&mixed, refits[i].why, documents, refits[i].labels),
                          refits[i].most);
        ck_assert_uint_eq(nb_order_sample_most(&turned, refits[i].why, documents, refits[i].labels),
                          documents > 1000 ? refits[i].most : UINT64_MAX);
    }
    nb_weights_deinit(&mixed);
    nb_weights_deinit(&turned);
}
END_TEST

/* 2,000 documents, mixed; then so many of one label. */
START_TEST(large_models_are_fitted_when_much_was_not_taught)
{
    struct nb_weights order = {0};
    uint64_t of_label[2] = {1000, 1000};
    double not_taught = 0;
    double learned = 0;
    bool idle = false;
    for (uint64_t n = 2000; nb_order_reason(&order, n) == NB_ORDER_NONE; n++) {
        double weight = nb_order_weight(&order, 0, of_label[0], n);
        ck_assert_int_eq(nb_order_count(&order, 0, weight, n + 1), 0);
        of_label[0]++;
        not_taught += 1 - weight;
        learned++;
        bool wants = not_taught >= 0.02 * (double)(n + 1) && not_taught >= learned / 2;
        ck_assert(nb_order_wants_idle(&order, n + 1) == wants);
        idle |= wants;
        enum nb_order_reason reason = nb_order_reason(&order, n + 1);
        ck_assert_int_eq(reason,
                         not_taught >= 0.2 * (double)(n + 1) ? NB_ORDER_SKEWED : NB_ORDER_NONE);
        ck_assert_uint_lt(n, 10000);
    }
    ck_assert(idle);
    ck_assert_int_eq(nb_order_begin_refit(&order, NB_REFIT_OF_SKEW, 5000), 0);
    ck_assert_int_eq(nb_order_reason(&order, 5000), NB_ORDER_NONE);
    ck_assert(!nb_order_wants_idle(&order, 5000));
    nb_weights_deinit(&order);
}
END_TEST

/* 2,000 documents of two labels, mixed; then a third one, alone (_i is 0) or mixed with them. What
 * was not taught is counted here as core/model/order.h writes it, since the last refit. */
START_TEST(large_models_are_fitted_when_a_label_is_new)
{
    struct nb_weights order = {0};
    struct nb_random random = nb_random_of(8, 9);
    uint64_t of_label[LABELS] = {1000, 1000};
    double not_taught[LABELS] = {0}, learned = 1000;
    uint64_t fitted[LABELS] = {0};
    unsigned refits = 0;
    bool is_ripe = false;
    for (uint64_t n = 1; n <= 2000; n++)
        ck_assert_int_eq(nb_order_count(&order, n % 2, 1, n), 0);
    for (uint64_t n = 2000; n < 2700; n++) {
        uint32_t y = _i == 0 ? 2 : (uint32_t)nb_random_below(&random, 3);
        double weight = nb_order_weight(&order, y, of_label[y], n);
        of_label[y]++;
        not_taught[y] += 1 - weight;
        learned++;
        double least = fmax(0.02 * (double)(n + 1), 0.75 * (double)of_label[y]);
        is_ripe |= not_taught[y] >= least;
        bool want = is_ripe && learned >= 0.1 * (double)(n + 1);
        ck_assert_int_eq(nb_order_count(&order, y, weight, n + 1), 0);
        ck_assert_int_eq(nb_order_note(&order, y, of_label[y], 1 - weight, false), 0);
        ck_assert_int_eq(nb_order_reason(&order, n + 1), want ? NB_ORDER_SKEWED : NB_ORDER_NONE);
        if (!want)
            continue;
        fitted[refits++] = of_label[2];
        learned = 0;
        is_ripe = false;
        memset(not_taught, 0, sizeof not_taught);
        ck_assert_int_eq(nb_order_begin_refit(&order, NB_REFIT_OF_GROWTH, n + 1), 0);
        ck_assert_int_eq(nb_order_end_refit(&order, 77), 0);
    }
    ck_assert_uint_eq(refits, _i == 0 ? 2 : 0);
    ck_assert(_i != 0 || (fitted[0] <= 45 && fitted[1] <= 300));
    nb_weights_deinit(&order);
}
END_TEST

START_TEST(what_was_learned_wrongly_is_told)
{
    struct nb_weights order = {0};
    for (uint64_t n = 0; n < 201; n++) {
        ck_assert_int_eq(nb_order_reason(&order, 2000), NB_ORDER_NONE);
        ck_assert_int_eq(nb_order_note(&order, n % 2, 1000, 1, true), 0);
    }
    ck_assert_int_eq(nb_order_reason(&order, 2000), NB_ORDER_REVISED);
    ck_assert_int_eq(nb_order_begin_refit(&order, NB_REFIT_STALE, 2000), 0);
    ck_assert(nb_order_is_stale(&order, 2000));
    ck_assert_int_eq(nb_order_begin_refit(&order, NB_REFIT_OF_GROWTH, 2000),
                     0); /* again, after a crash */
    ck_assert(nb_order_is_stale(&order, 2000));
    ck_assert_int_eq(nb_order_end_refit(&order, 77), 0);
    ck_assert(!nb_order_is_stale(&order, 2000));
    ck_assert_double_eq(nb_order_fingerprint(&order), 77);
    ck_assert_int_eq(nb_order_forget(&order), 0);
    ck_assert_double_eq(nb_order_fingerprint(&order), 0);
    nb_weights_deinit(&order);
}
END_TEST

/* Corrections of a hundredth, but of four documents at least, when there is nothing else to do. */
START_TEST(what_was_corrected_waits_for_a_quiet_moment)
{
    static const uint64_t documents[] = {40, 399, 400, 401, 1000, 2000, 2001, 100000};
    for (size_t i = 0; i < sizeof documents / sizeof *documents; i++) {
        struct nb_weights order = {0};
        uint64_t all = documents[i];
        uint64_t least = all <= 400 ? 4 : (all + 99) / 100;
        for (uint64_t n = 0; n < least; n++) {
            ck_assert(!nb_order_wants_idle(&order, all));
            ck_assert_int_eq(nb_order_note(&order, n % 2, all / 2, 1, true), 0);
        }
        ck_assert(nb_order_wants_idle(&order, all));
        ck_assert(!nb_order_is_stale(&order, all));
        ck_assert_int_eq(nb_order_begin_refit(&order, NB_REFIT_OF_SKEW, all), 0);
        ck_assert(!nb_order_wants_idle(&order, all) && !nb_order_is_stale(&order, all));
        nb_weights_deinit(&order);
    }
}
END_TEST

START_TEST(the_twin_learns_anew_in_time)
{
    struct nb_weights order = {0};
    ck_assert_int_eq(nb_order_note(&order, 0, 1, 1, false), 0);
    ck_assert(nb_order_wants_pass(&order, 100, 3) && !nb_order_wants_pass(&order, 101, 3));
    ck_assert_int_eq(nb_order_count(&order, 0, 0.5, 2), 0);
    ck_assert(nb_order_wants_pass(&order, 250, 3) && !nb_order_wants_pass(&order, 251, 3));
    for (int i = 1; i < 30; i++)
        ck_assert_int_eq(nb_order_count(&order, 0, 0.5, 600), 0);
    ck_assert(nb_order_wants_pass(&order, 300, 3) && !nb_order_wants_pass(&order, 301, 3));
    ck_assert_int_eq(nb_order_begin_pass(&order), 0);
    ck_assert(nb_order_wants_pass(&order, 300, 3)); /* again, if it is lost */
    ck_assert_int_eq(nb_order_end_refit(&order, 77), 0);
    ck_assert(!nb_order_wants_pass(&order, 300, 3));
    nb_weights_deinit(&order);
}
END_TEST

static void count_untaught(struct nb_weights *order, uint32_t documents)
{
    for (uint32_t i = 0; i < documents; i++)
        ck_assert_int_eq(nb_order_count(order, 0, 0, 600), 0);
}

START_TEST(a_refit_that_must_leave_nothing_teaches_the_twin_twice)
{
    static const enum nb_order_refit all[] = {NB_REFIT_OF_GROWTH, NB_REFIT_OF_SKEW, NB_REFIT_STALE,
                                              NB_REFIT_ASKED};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct nb_weights order = {0};
        ck_assert_int_eq(nb_order_begin_refit(&order, all[i], 100), 0);
        ck_assert_uint_eq(nb_order_pass_times(&order), all[i] == NB_REFIT_ASKED ? 2 : 1);
        ck_assert_int_eq(nb_order_end_refit(&order, 77), 0);
        ck_assert_int_eq(nb_order_note(&order, 0, 50, 1, true), 0);
        ck_assert_int_eq(nb_order_begin_refit(&order, all[i], 100), 0);
        ck_assert_uint_eq(nb_order_pass_times(&order), 2);
        nb_weights_deinit(&order);
    }
}
END_TEST

START_TEST(the_twin_of_a_large_model_learns_anew_in_time)
{
    struct nb_weights order = {0};
    count_untaught(&order, 220);
    ck_assert(nb_order_wants_pass(&order, 1100, 3) && !nb_order_wants_pass(&order, 1101, 3));
    count_untaught(&order, 5780);
    ck_assert(nb_order_wants_pass(&order, 5000, 1000) && !nb_order_wants_pass(&order, 5001, 1000));
    ck_assert(nb_order_wants_pass(&order, 6000, 100));
    ck_assert(nb_order_wants_pass(&order, 30000, 20) && !nb_order_wants_pass(&order, 30000, 21));
    ck_assert(!nb_order_wants_pass(&order, 30001, 2));
    nb_weights_deinit(&order);
}
END_TEST

/* A refit of another reason began before that was a tenth, and it goes on. */
START_TEST(what_is_revised_meanwhile_is_told)
{
    struct nb_weights order = {0};
    for (int n = 0; n < 35; n++)
        ck_assert_int_eq(nb_order_note(&order, 0, 200, 1, true), 0);
    ck_assert_int_eq(nb_order_begin_refit(&order, NB_REFIT_OF_GROWTH, 400), 0);
    ck_assert(!nb_order_is_stale(&order, 400) && !nb_order_wants_pass(&order, 400, 3));
    for (int n = 0; n < 5; n++)
        ck_assert_int_eq(nb_order_note(&order, 0, 200, 1, true), 0);
    ck_assert(!nb_order_is_stale(&order, 400));
    ck_assert_int_eq(nb_order_note(&order, 0, 200, 1, true), 0);
    ck_assert(nb_order_is_stale(&order, 400) && nb_order_wants_pass(&order, 400, 3));
    ck_assert_int_eq(nb_order_end_refit(&order, 77), 0);
    ck_assert(!nb_order_is_stale(&order, 400));
    /* Those meanwhile may be in the new weights. */
    for (int n = 0; n < 35; n++)
        ck_assert_int_eq(nb_order_note(&order, 0, 200, 1, true), 0);
    ck_assert_int_eq(nb_order_reason(&order, 400), NB_ORDER_REVISED);
    nb_weights_deinit(&order);
}
END_TEST

/* Refits after which the twin must have seen all documents once, of models up to some size. */
START_TEST(the_twin_learns_anew_where_it_must)
{
    static const struct {
        enum nb_order_refit why;
        uint64_t documents;
        bool wants;
    } cases[] = {{NB_REFIT_OF_GROWTH, 600, false}, {NB_REFIT_OF_GROWTH, 20001, false},
                 {NB_REFIT_OF_SKEW, 30000, true},  {NB_REFIT_OF_SKEW, 30001, false},
                 {NB_REFIT_STALE, 600, true},      {NB_REFIT_STALE, 30000, true},
                 {NB_REFIT_STALE, 30001, false},   {NB_REFIT_ASKED, 600, true},
                 {NB_REFIT_ASKED, 1000000, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct nb_weights order = {0};
        uint64_t documents = cases[i].documents;
        ck_assert_int_eq(nb_order_begin_refit(&order, cases[i].why, documents), 0);
        ck_assert(nb_order_wants_pass(&order, documents, 30) == cases[i].wants);
        /* That one is lost, and begins again. */
        ck_assert_int_eq(nb_order_begin_refit(&order, NB_REFIT_OF_GROWTH, documents), 0);
        ck_assert(nb_order_wants_pass(&order, documents, 30) == cases[i].wants);
        ck_assert_int_eq(nb_order_end_refit(&order, 77), 0);
        ck_assert(nb_order_wants_pass(&order, documents, 30) == (documents <= 100));
        nb_weights_deinit(&order);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("order");
    TCase *rule = tcase_create("rule");
    tcase_add_loop_test(rule, weights_follow_the_rule, 0, 3);
    tcase_add_test(rule, a_mixed_stream_replays_nothing);
    tcase_add_test(rule, what_was_trained_label_by_label_is_told);
    tcase_add_test(rule, draws_follow_from_documents_and_refits);
    tcase_add_test(rule, the_first_two_of_a_label_teach_nothing);
    tcase_add_test(rule, any_label_has_a_place);
    tcase_add_test(rule, the_twin_learns_anew_in_time);
    tcase_add_test(rule, a_refit_that_must_leave_nothing_teaches_the_twin_twice);
    tcase_add_test(rule, the_twin_of_a_large_model_learns_anew_in_time);
    tcase_add_test(rule, what_is_revised_meanwhile_is_told);
    tcase_add_test(rule, the_twin_learns_anew_where_it_must);
    tcase_add_loop_test(rule, small_models_are_fitted_as_they_grow, 0, 6);
    tcase_add_test(rule, a_growing_model_is_fitted_to_a_sample);
    tcase_add_test(rule, large_models_are_fitted_when_much_was_not_taught);
    tcase_add_loop_test(rule, large_models_are_fitted_when_a_label_is_new, 0, 2);
    tcase_add_test(rule, what_was_learned_wrongly_is_told);
    tcase_add_test(rule, what_was_corrected_waits_for_a_quiet_moment);
    suite_add_tcase(suite, rule);
    return test_run(suite);
}
