/* SPDX-License-Identifier: Apache-2.0
 *
 * The circuit breaker, with simulated times.
 */
#include <check.h>

#include "server/http/call/call.h"
#include "tests/unit/run.h"

#define SECOND UINT64_C(1000000000)

static struct nb_breaker breaker;

static void closed(void)
{
    breaker = (struct nb_breaker){.pause = 5 * SECOND};
}

/* Makes a request at `start` that gets no reply within 10 s. */
static bool hang(uint64_t start)
{
    return nb_breaker_end(&breaker, start, start + 10 * SECOND, false);
}

START_TEST(a_hang_opens_it_for_the_pause)
{
    ck_assert(nb_breaker_begin(&breaker, SECOND));
    ck_assert(hang(SECOND)); /* opens it until 11 + 5 s */
    ck_assert(!nb_breaker_begin(&breaker, 11 * SECOND));
    ck_assert(!nb_breaker_begin(&breaker, 16 * SECOND - 1));
    ck_assert(nb_breaker_begin(&breaker, 16 * SECOND));
}
END_TEST

START_TEST(one_probe_at_a_time)
{
    ck_assert(hang(SECOND));
    ck_assert(nb_breaker_begin(&breaker, 16 * SECOND));
    ck_assert(!nb_breaker_begin(&breaker, 17 * SECOND));
    ck_assert(!hang(16 * SECOND)); /* it stays open, until 26 + 5 s */
    ck_assert(!nb_breaker_begin(&breaker, 30 * SECOND));
    ck_assert(nb_breaker_begin(&breaker, 31 * SECOND));
    ck_assert(nb_breaker_end(&breaker, 31 * SECOND, 32 * SECOND, true));
    ck_assert(nb_breaker_begin(&breaker, 32 * SECOND));
    ck_assert(nb_breaker_begin(&breaker, 32 * SECOND));
}
END_TEST

START_TEST(a_failure_at_once_opens_nothing)
{
    ck_assert(!nb_breaker_end(&breaker, SECOND, SECOND + NB_BREAKER_SLOW - 1, false));
    ck_assert(nb_breaker_begin(&breaker, 2 * SECOND));
    ck_assert(nb_breaker_end(&breaker, SECOND, SECOND + NB_BREAKER_SLOW, false));
    ck_assert(nb_breaker_begin(&breaker, 9 * SECOND)); /* the probe */
    ck_assert(nb_breaker_end(&breaker, 9 * SECOND, 9 * SECOND + 1, false));
    ck_assert(nb_breaker_begin(&breaker, 9 * SECOND + 2));
}
END_TEST

START_TEST(it_stays_closed_while_others_are_answered)
{
    ck_assert(!nb_breaker_end(&breaker, 4 * SECOND, 5 * SECOND, true));
    ck_assert(!hang(SECOND));
    ck_assert(nb_breaker_begin(&breaker, 11 * SECOND));
    ck_assert(hang(6 * SECOND)); /* no request was answered since this one began */
}
END_TEST

START_TEST(without_a_pause_it_never_opens)
{
    breaker.pause = 0;
    ck_assert(!hang(SECOND));
    ck_assert(nb_breaker_begin(&breaker, 11 * SECOND));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("breaker");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, closed, NULL);
    tcase_add_test(all, a_hang_opens_it_for_the_pause);
    tcase_add_test(all, one_probe_at_a_time);
    tcase_add_test(all, a_failure_at_once_opens_nothing);
    tcase_add_test(all, it_stays_closed_while_others_are_answered);
    tcase_add_test(all, without_a_pause_it_never_opens);
    suite_add_tcase(suite, all);
    return test_run(suite);
}
