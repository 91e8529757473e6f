/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#include "core/base/system.h"
#include "tests/unit/run.h"

enum { ROUNDS = 1000 };

struct loop {
    atomic_uint made[ROUNDS]; /* how often */
    atomic_uint elsewhere;    /* rounds on other threads than the caller's */
    pthread_t caller;
    bool rests; /* in each round, so that the others get theirs */
};

static void make(void *user, size_t i)
{
    struct loop *loop = user;
    atomic_fetch_add(&loop->made[i], 1);
    if (!pthread_equal(pthread_self(), loop->caller))
        atomic_fetch_add(&loop->elsewhere, 1);
    if (loop->rests)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void check_made(const struct loop *loop, size_t count)
{
    for (size_t i = 0; i < ROUNDS; i++)
        ck_assert_msg(loop->made[i] == (i < count), "round %zu of %zu", i, count);
}

START_TEST(each_round_is_made_once)
{
    struct nb_helpers *helpers = nb_helpers_new("test");
    ck_assert_ptr_nonnull(helpers);
    for (size_t count = 0; count <= ROUNDS; count += 1 + count / 3) {
        struct loop loop = {.caller = pthread_self()};
        nb_helpers_run(helpers, count, make, &loop);
        check_made(&loop, count);
    }
    nb_helpers_free(&helpers);
    ck_assert_ptr_null(helpers);
}
END_TEST

START_TEST(a_single_round_and_a_loop_without_helpers_stay_on_the_thread)
{
    struct nb_helpers *helpers = nb_helpers_new("test");
    struct loop one = {.caller = pthread_self()};
    struct loop all = {.caller = pthread_self()};
    nb_helpers_run(helpers, 1, make, &one);
    nb_helpers_run(NULL, ROUNDS, make, &all);
    check_made(&one, 1);
    check_made(&all, ROUNDS);
    ck_assert_uint_eq(one.elsewhere + all.elsewhere, 0);
    nb_helpers_free(&helpers);
}
END_TEST

START_TEST(helpers_take_part)
{
    struct nb_helpers *helpers = nb_helpers_new("test");
    struct loop loop = {.caller = pthread_self(), .rests = true};
    nb_helpers_run(helpers, 200, make, &loop);
    check_made(&loop, 200);
    if (sysconf(_SC_NPROCESSORS_ONLN) > 1)
        ck_assert_uint_gt(loop.elsewhere, 0);
    nb_helpers_free(&helpers);
}
END_TEST

START_TEST(helpers_that_never_worked_are_freed)
{
    struct nb_helpers *helpers = nb_helpers_new("test");
    nb_helpers_free(&helpers);
    nb_helpers_free(&helpers);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("helpers");
    TCase *all = tcase_create("all");
    tcase_add_test(all, each_round_is_made_once);
    tcase_add_test(all, a_single_round_and_a_loop_without_helpers_stay_on_the_thread);
    tcase_add_test(all, helpers_take_part);
    tcase_add_test(all, helpers_that_never_worked_are_freed);
    suite_add_tcase(suite, all);
    return test_run(suite);
}
