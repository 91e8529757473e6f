/* SPDX-License-Identifier: Apache-2.0
 *
 * Factors that may be 0, by hand; tests/golden holds the scores that are made of them.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "core/bayes/estimate.h"
#include "tests/unit/run.h"

#define ck_assert_close(a, b) ck_assert_double_eq_tol(a, b, 1e-12)

START_TEST(what_is_added_to_counts)
{
    ck_assert_close(nb_estimate_addend(NB_ESTIMATE_MEAN, 0.5), 0.5);
    ck_assert_close(nb_estimate_addend(NB_ESTIMATE_MAP, 1.5), 0.5);
    ck_assert_close(nb_estimate_addend(NB_ESTIMATE_MAP, 1), 0);
    ck_assert_close(nb_estimate_addend(NB_ESTIMATE_MLE, 7), 0);
}
END_TEST

START_TEST(plain_when_nothing_can_be_0)
{
    static const struct {
        enum nb_estimate estimate;
        double smoothing;
        bool is_plain;
    } cases[] = {{NB_ESTIMATE_MEAN, 1e-9, true},
                 {NB_ESTIMATE_MAP, 1, false},
                 {NB_ESTIMATE_MAP, 1.1, true},
                 {NB_ESTIMATE_MLE, 5, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct nb_settings s;
        nb_settings_init(&s, NB_PRESET_BOOK);
        s.estimate = (int)cases[i].estimate;
        s.smoothing = cases[i].smoothing;
        ck_assert_msg(nb_estimate_is_plain(&s) == cases[i].is_plain, "case %zu", i);
    }
}
END_TEST

static struct nb_factor word_of(enum nb_event_model event, double addend, struct nb_cell cell,
                                uint32_t count)
{
    return nb_estimate_word(event, (struct nb_addends){addend, addend}, 4, 20, cell, count);
}

/* A label of 4 documents; 3 of them have a word, 7 times. */
START_TEST(a_word)
{
    const struct nb_cell cell = {.occurrences = 7, .documents = 3}, all = {0, 9, 4}, none = {0};
    struct nb_factor f = word_of(NB_EVENT_MULTINOMIAL, 0, cell, 2);
    ck_assert(!f.is_zero && !f.is_pole);
    ck_assert_close(f.log, 2 * log(7));
    ck_assert_close(word_of(NB_EVENT_BINARY, 0.5, cell, 1).log, log(3.5));
    ck_assert_close(word_of(NB_EVENT_BERNOULLI, 0.5, cell, 1).log, log(3.5 / 1.5));
    ck_assert(word_of(NB_EVENT_MULTINOMIAL, 0, none, 1).is_zero);
    ck_assert(word_of(NB_EVENT_BINARY, 0, none, 1).is_zero);
    ck_assert(!word_of(NB_EVENT_BINARY, 0.5, none, 1).is_zero);
    f = word_of(NB_EVENT_BERNOULLI, 0, none, 1);
    ck_assert(f.is_zero && !f.is_pole);
    /* 4 of 4 over 0 of 4, of which the lower one is taken as 1 */
    f = word_of(NB_EVENT_BERNOULLI, 0, all, 1);
    ck_assert(!f.is_zero && f.is_pole);
    ck_assert_close(f.log, 0);
}
END_TEST

/* What differs by label or word, over a vocabulary of 8 words. */
START_TEST(addends_of_each_form)
{
    struct nb_prior_weight labels[] = {{(char[]){"a"}, 0.5}, {(char[]){"b"}, 2}};
    struct nb_settings s;
    nb_settings_init(&s, NB_PRESET_BOOK);
    s.smoothing_by =
        (struct nb_smoothing){.kind = NB_SMOOTHING_LABELS, .labels = labels, .label_count = 2};
    ck_assert(!nb_estimate_is_plain(&s) && !nb_estimate_is_by_word(&s));
    ck_assert_close(nb_estimate_addends(&s, "b", 8).present, 2);
    ck_assert_close(nb_estimate_addends(&s, "other", 8).present, 1.25);
    ck_assert_close(nb_estimate_added(&s, nb_estimate_addends(&s, "a", 8), 8), 4);
    s.estimate = NB_ESTIMATE_MAP;
    ck_assert_close(nb_estimate_addends(&s, "b", 8).present, 1);
    s.estimate = NB_ESTIMATE_MEAN;
    s.event_model = NB_EVENT_BERNOULLI;
    s.smoothing = 0.5;
    s.smoothing_by = (struct nb_smoothing){.kind = NB_SMOOTHING_BETA, .beta = 3};
    struct nb_addends beta = nb_estimate_addends(&s, "a", 8);
    ck_assert_close(beta.present, 0.5);
    ck_assert_close(beta.absent, 3);
    ck_assert_close(nb_estimate_added(&s, beta, 8), 3.5);
    s.smoothing = 6;
    s.smoothing_by = (struct nb_smoothing){.kind = NB_SMOOTHING_M};
    ck_assert_close(nb_estimate_addends(&s, "a", 8).present, 3);
    s.event_model = NB_EVENT_BINARY;
    ck_assert_close(nb_estimate_addends(&s, "a", 8).present, 0.75);
    ck_assert_close(nb_estimate_addends(&s, "a", 0).present, 0);
    ck_assert_close(nb_estimate_added(&s, nb_estimate_addends(&s, "a", 8), 8), 6);
    s.smoothing_by.p = NB_SMOOTHING_VOCABULARY;
    ck_assert(nb_estimate_is_by_word(&s));
    ck_assert_close(nb_estimate_addends_of_share(6, 0.25).present, 1.5);
    ck_assert_close(nb_estimate_addends_of_share(6, 0.25).absent, 4.5);
}
END_TEST

START_TEST(zeros_and_poles_cancel)
{
    struct nb_log_product p = {0, 1}; /* a document that lacks what it must have */
    ck_assert(isinf(nb_log_product_value(p)));
    nb_log_product_add(&p, (struct nb_factor){.log = 0.25, .is_pole = true});
    nb_log_product_add(&p, (struct nb_factor){.log = 0.5});
    ck_assert_close(nb_log_product_value(p), 0.75);
    nb_log_product_add(&p, (struct nb_factor){.is_zero = true});
    ck_assert(nb_log_product_value(p) < 0 && isinf(nb_log_product_value(p)));
}
END_TEST

START_TEST(evidence_is_never_no_number)
{
    const struct nb_factor some = {.log = 2}, other = {.log = -1}, zero = {.is_zero = true};
    ck_assert_close(nb_factor_evidence(some, other), 3);
    ck_assert(isinf(nb_factor_evidence(some, zero)) == 1);
    ck_assert(isinf(nb_factor_evidence(zero, some)) == -1);
    ck_assert_close(nb_factor_evidence(zero, zero), 0);
    ck_assert_close(nb_log_evidence(2, -1), 3);
    ck_assert(isinf(nb_log_evidence(2, -(double)INFINITY)) == 1);
    ck_assert_close(nb_log_evidence(-(double)INFINITY, -(double)INFINITY), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("estimate");
    TCase *t = tcase_create("core");
    tcase_add_test(t, what_is_added_to_counts);
    tcase_add_test(t, plain_when_nothing_can_be_0);
    tcase_add_test(t, a_word);
    tcase_add_test(t, addends_of_each_form);
    tcase_add_test(t, zeros_and_poles_cancel);
    tcase_add_test(t, evidence_is_never_no_number);
    suite_add_tcase(suite, t);
    return test_run(suite);
}
