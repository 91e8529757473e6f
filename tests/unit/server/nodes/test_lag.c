/* SPDX-License-Identifier: Apache-2.0
 *
 * How far a node is behind the stream in time, and how long publishing took.
 */
#include <check.h>
#include <string.h>

#include "server/nodes/lag.h"
#include "server/nodes/latency.h"

START_TEST(nothing_waits_at_the_end_of_the_stream)
{
    struct nb_lag lag = {.position = 0};
    ck_assert_int_eq(nb_lag_of(&lag, 0, 0, 1000), 0);
    nb_lag_note(&lag, 5, 100, 200);
    ck_assert_int_eq(nb_lag_of(&lag, 9, 9, 1000), 0);
    ck_assert_int_eq(nb_lag_of(&lag, 9, 8, 1000), 0);
}
END_TEST

START_TEST(what_is_not_applied_gets_older)
{
    struct nb_lag lag = {.position = 0};
    ck_assert(nb_lag_is_over(&lag, 4));
    nb_lag_note(&lag, 5, 100, 150);
    ck_assert(!nb_lag_is_over(&lag, 4));
    ck_assert_int_eq(nb_lag_of(&lag, 4, 9, 150), 50);
    ck_assert_int_eq(nb_lag_of(&lag, 4, 9, 1100), 1000);
}
END_TEST

/* Until the next one is noted, as the last one was. */
START_TEST(a_node_that_catches_up_is_as_late_as_it_was)
{
    struct nb_lag lag = {.position = 0};
    nb_lag_note(&lag, 5, 100, 300);
    ck_assert(nb_lag_is_over(&lag, 5));
    ck_assert_int_eq(nb_lag_of(&lag, 6, 9, 5000), 200);
    nb_lag_note(&lag, 7, 4000, 5000);
    ck_assert_int_eq(nb_lag_of(&lag, 6, 9, 5000), 1000);
}
END_TEST

START_TEST(a_clock_that_is_ahead_makes_no_lag)
{
    struct nb_lag lag = {.position = 0};
    nb_lag_note(&lag, 5, 300, 100);
    ck_assert_int_eq(nb_lag_of(&lag, 4, 9, 200), 0);
    ck_assert_int_eq(nb_lag_of(&lag, 5, 9, 200), 0);
}
END_TEST

START_TEST(buckets_add_up)
{
    static struct nb_latency latency;
    struct nb_buffer out = {0};
    const uint64_t millisecond = 1000000;
    nb_latency_add(&latency, millisecond / 2);
    nb_latency_add(&latency, 3 * millisecond);
    nb_latency_add(&latency, 60000 * millisecond);
    ck_assert_int_eq(nb_latency_write(&latency, "x_seconds", "Of x.", &out), 0);
    ck_assert_int_eq(nb_buffer_append(&out, "", 1), 0);
    ck_assert_ptr_nonnull(strstr(out.bytes, "# TYPE bayesd_x_seconds histogram\n"));
    ck_assert_ptr_nonnull(strstr(out.bytes, "bayesd_x_seconds_bucket{le=\"0.0005\"} 1\n"));
    ck_assert_ptr_nonnull(strstr(out.bytes, "bayesd_x_seconds_bucket{le=\"0.0025\"} 1\n"));
    ck_assert_ptr_nonnull(strstr(out.bytes, "bayesd_x_seconds_bucket{le=\"0.005\"} 2\n"));
    ck_assert_ptr_nonnull(strstr(out.bytes, "bayesd_x_seconds_bucket{le=\"15\"} 2\n"));
    ck_assert_ptr_nonnull(strstr(out.bytes, "bayesd_x_seconds_bucket{le=\"+Inf\"} 3\n"));
    ck_assert_ptr_nonnull(strstr(out.bytes, "bayesd_x_seconds_sum 60.003500\n"));
    ck_assert_ptr_nonnull(strstr(out.bytes, "bayesd_x_seconds_count 3\n"));
    nb_buffer_deinit(&out);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("lag");
    TCase *tcase = tcase_create("lag");
    tcase_add_test(tcase, nothing_waits_at_the_end_of_the_stream);
    tcase_add_test(tcase, what_is_not_applied_gets_older);
    tcase_add_test(tcase, a_node_that_catches_up_is_as_late_as_it_was);
    tcase_add_test(tcase, a_clock_that_is_ahead_makes_no_lag);
    tcase_add_test(tcase, buckets_add_up);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
