/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "server/http/budget.h"
#include "tests/unit/run.h"

static struct nb_budget budgets[NB_BUDGETS];

static void limit(uint64_t body, uint64_t reply, uint64_t spool)
{
    const struct nb_config config = {
        .body_memory = body, .reply_memory = reply, .spool_bytes = spool, .cluster_memory = 40};
    nb_budgets_limit(budgets, &config);
}

static uint64_t used(enum nb_budget_kind kind)
{
    return atomic_load(&budgets[kind].used);
}

START_TEST(all_holders_share_a_budget)
{
    struct nb_error error = {0};
    struct nb_hold a = {&budgets[NB_BUDGET_REPLIES], 0}, b = a;
    limit(1, 100, 1);
    ck_assert_int_eq(nb_hold_set(&a, 60, &error), 0);
    ck_assert_int_eq(nb_hold_set(&b, 40, &error), 0);
    ck_assert_int_eq(nb_hold_set(&b, 41, &error), NB_NO_MEMORY);
    ck_assert_ptr_nonnull(strstr(error.text, "100 bytes set aside for them (reply_memory)"));
    ck_assert_uint_eq(b.size, 40);
    ck_assert_uint_eq(used(NB_BUDGET_REPLIES), 100);
    ck_assert_int_eq(nb_hold_set(&a, 0, NULL), 0);
    ck_assert_int_eq(nb_hold_set(&b, 100, &error), 0);
    ck_assert_int_eq(nb_hold_set(&b, 0, NULL), 0);
    ck_assert_uint_eq(used(NB_BUDGET_REPLIES), 0);
}
END_TEST

START_TEST(each_kind_has_its_limit_and_its_message)
{
    static const struct {
        enum nb_budget_kind kind;
        uint64_t most;
        int code;
        const char *part;
    } rows[] = {{NB_BUDGET_BODIES, 2 << 20, NB_NO_MEMORY, "body_memory"},
                {NB_BUDGET_REPLIES, 20, NB_NO_MEMORY, "reply_memory"},
                {NB_BUDGET_SPOOLS, 30, NB_DISK_FULL, "no space left"},
                {NB_BUDGET_CLUSTERS, 40, NB_NO_MEMORY, "cluster_memory"}};
    limit(2 << 20, 20, 30);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct nb_error error = {0};
        struct nb_hold hold = {&budgets[rows[i].kind], 0};
        ck_assert_int_eq(nb_hold_set(&hold, rows[i].most, &error), 0);
        ck_assert_int_eq(nb_hold_set(&hold, rows[i].most + 1, &error), rows[i].code);
        ck_assert_ptr_nonnull(strstr(error.text, rows[i].part));
        ck_assert_int_eq(nb_hold_set(&hold, UINT64_MAX, &error), rows[i].code);
        ck_assert_int_eq(nb_hold_set(&hold, 0, NULL), 0);
    }
}
END_TEST

START_TEST(one_body_of_the_full_size_always_fits)
{
    const struct nb_config config = {.body_bytes = 64 << 20, .body_memory = 1 << 20};
    struct nb_hold hold = {&budgets[NB_BUDGET_BODIES], 0}, other = hold;
    struct nb_error error = {0};
    nb_budgets_limit(budgets, &config);
    ck_assert_int_eq(nb_hold_set(&hold, (64 << 20) + (64 << 10), &error), 0);
    ck_assert_int_eq(nb_hold_set(&other, 2 << 20, &error), NB_NO_MEMORY);
    ck_assert_int_eq(nb_hold_set(&hold, 0, NULL), 0);
}
END_TEST

START_TEST(of_a_large_buffer_what_was_written_counts)
{
    ck_assert_uint_eq(nb_held_by(&(struct nb_buffer){.length = 10, .capacity = 4096}), 4096);
    ck_assert_uint_eq(nb_held_by(&(struct nb_buffer){.length = 9 << 20, .capacity = 16 << 20}),
                      9 << 20);
}
END_TEST

START_TEST(a_lower_limit_takes_nothing_away)
{
    struct nb_error error = {0};
    struct nb_hold hold = {&budgets[NB_BUDGET_SPOOLS], 0};
    limit(1, 1, 100);
    ck_assert_int_eq(nb_hold_set(&hold, 90, &error), 0);
    limit(1, 1, 50);
    ck_assert_int_eq(nb_hold_set(&hold, 91, &error), NB_DISK_FULL);
    ck_assert_int_eq(nb_hold_set(&hold, 60, &error), 0);
    ck_assert_int_eq(nb_hold_set(&hold, 61, &error), NB_DISK_FULL);
    ck_assert_int_eq(nb_hold_set(&hold, 0, NULL), 0);
}
END_TEST

START_TEST(a_hold_without_a_budget_takes_what_it_wants)
{
    struct nb_hold hold = {0};
    ck_assert_int_eq(nb_hold_set(&hold, UINT64_MAX, NULL), 0);
    ck_assert_int_eq(nb_hold_set(&hold, 0, NULL), 0);
}
END_TEST

enum { THREADS = 4, ROUNDS = 20000, EACH = 40 };

static void *take_and_give(void *over)
{
    struct nb_hold hold = {&budgets[NB_BUDGET_REPLIES], 0};
    for (int i = 0; i < ROUNDS; i++) {
        (void)nb_hold_set(&hold, EACH, NULL);
        if (used(NB_BUDGET_REPLIES) > 100)
            atomic_fetch_add((atomic_int *)over, 1);
        (void)nb_hold_set(&hold, 0, NULL);
    }
    return NULL;
}

START_TEST(threads_never_exceed_it_together)
{
    pthread_t threads[THREADS];
    atomic_int over = 0;
    limit(1, 100, 1);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, take_and_give, &over), 0);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    ck_assert_int_eq(atomic_load(&over), 0);
    ck_assert_uint_eq(used(NB_BUDGET_REPLIES), 0);
}
END_TEST

static void *be_refused(void *refusals)
{
    struct nb_hold hold = {&budgets[NB_BUDGET_SPOOLS], 0};
    for (int i = 0; i < ROUNDS; i++)
        *(int *)refusals += nb_hold_set(&hold, 101, NULL) == NB_DISK_FULL;
    return NULL;
}

/* A reload sets limits like this; the thread sanitizer finds races. */
START_TEST(limits_are_set_while_a_holder_is_refused)
{
    pthread_t thread;
    int refusals = 0;
    limit(1, 1, 100);
    ck_assert_int_eq(pthread_create(&thread, NULL, be_refused, &refusals), 0);
    for (int i = 0; i < ROUNDS; i++)
        limit(1, 1, 100);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_int_eq(refusals, ROUNDS);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("budget");
    TCase *tcase = tcase_create("budget");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, all_holders_share_a_budget);
    tcase_add_test(tcase, each_kind_has_its_limit_and_its_message);
    tcase_add_test(tcase, one_body_of_the_full_size_always_fits);
    tcase_add_test(tcase, of_a_large_buffer_what_was_written_counts);
    tcase_add_test(tcase, a_lower_limit_takes_nothing_away);
    tcase_add_test(tcase, a_hold_without_a_budget_takes_what_it_wants);
    tcase_add_test(tcase, threads_never_exceed_it_together);
    tcase_add_test(tcase, limits_are_set_while_a_holder_is_refused);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
