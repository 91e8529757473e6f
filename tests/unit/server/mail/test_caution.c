/* SPDX-License-Identifier: Apache-2.0
 *
 * Probabilities of spam where the documents are mostly spam.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "server/mail/filter_options.h"
#include "tests/unit/run.h"

START_TEST(by_hand)
{
    static const struct {
        double probability;
        uint64_t spam, others;
        double expected;
    } table[] = {
        {0.999, 500, 3, 0.7735707427062558},  {0.9, 40, 10, 0.7632838777373148},
        {0.2, 500, 3, 0.0029149413842478006}, {0.9999999, 500, 5, 0.8599987032273093},
        {1, 4, 1, 0.7196667213480911},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        double found = nb_caution(table[i].probability, table[i].spam, table[i].others);
        ck_assert_msg(fabs(found - table[i].expected) < 1e-9, "row %zu: %.17g", i, found);
    }
}
END_TEST

/* Results are equal to the last bit. */
START_TEST(as_much_other_mail_changes_nothing)
{
    static const double values[] = {0, 1e-300, 0.3, 0.5, 0.9, 0.99999, 1};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        double same = nb_caution(values[i], 7, 7), fewer = nb_caution(values[i], 1, 500);
        ck_assert(same >= values[i] && same <= values[i]);
        ck_assert(fewer >= values[i] && fewer <= values[i]);
    }
}
END_TEST

/* However much spam was learned: no mail is marked at the default threshold of 0.9 before eight
 * mails of another label were learned, and none is rejected at 0.9999 before 127 were. */
START_TEST(little_other_mail_does_not_make_sure)
{
    for (uint64_t spam = 1000; spam <= 1000000000; spam *= 1000) {
        ck_assert_double_lt(nb_caution(1, spam, 7), 0.9);
        ck_assert_double_gt(nb_caution(1, spam, 8), 0.9);
        ck_assert_double_lt(nb_caution(1, spam, 110), 0.9999);
        ck_assert_double_gt(nb_caution(1, spam, 128), 0.9999);
    }
}
END_TEST

START_TEST(the_order_stays)
{
    static const uint64_t others[] = {1, 3, 10, 100, 499};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        double before = 0;
        for (int step = 1; step < 1000; step++) {
            double p = nb_caution(step / 1000.0, 500, others[i]);
            ck_assert_msg(p > before && p <= step / 1000.0, "%d of 1000, %zu", step, i);
            before = p;
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("caution");
    TCase *t = tcase_create("caution");
    tcase_add_test(t, by_hand);
    tcase_add_test(t, as_much_other_mail_changes_nothing);
    tcase_add_test(t, little_other_mail_does_not_make_sure);
    tcase_add_test(t, the_order_stays);
    suite_add_tcase(suite, t);
    return test_run(suite);
}
