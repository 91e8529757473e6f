/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "core/bayes/estimate.h"
#include "core/bayes/scorer.h"
#include "core/stack/stack.h"
#include "tests/unit/run.h"

/* Whatever the table holds, the bits are those of log(). */
static void expect_logs(const struct nb_log_table *table, uint64_t most)
{
    for (uint64_t i = 0; i <= most; i++) {
        double want = log((double)i + table->addend);
        double got = nb_log_table_at(table, i);
        ck_assert_msg(memcmp(&got, &want, sizeof got) == 0, "ln(%llu + %g) is %.17g, must be %.17g",
                      (unsigned long long)i, table->addend, got, want);
    }
}

START_TEST(looks_up_what_log_says)
{
    static const double addends[] = {1, 0.02, 1e-300, 1000000};
    static const struct {
        uint64_t greatest;
        uint32_t most; /* of the table, afterwards */
    } steps[] = {{0, 64}, {100, 256}, {50, 256}, {4095, 4096}, {UINT64_MAX, NB_LOG_TABLE_MOST}};
    struct nb_log_table table;
    ck_assert_int_eq(nb_log_table_init(&table, addends[_i]), 0);
    expect_logs(&table, 200);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        ck_assert_int_eq(nb_log_table_grow(&table, steps[i].greatest), 0);
        ck_assert_uint_le(table.size, steps[i].most);
        ck_assert(table.size > steps[i].greatest || table.size == NB_LOG_TABLE_MOST);
        expect_logs(&table, NB_LOG_TABLE_MOST + 100);
    }
    nb_log_table_deinit(&table);
}
END_TEST

/* Tables of equal addends read the same memory, which goes with the last of them. */
START_TEST(equal_tables_are_shared)
{
    struct nb_log_table a, b, other;
    size_t none = nb_log_tables_memory();
    ck_assert_int_eq(nb_log_table_init(&a, 0.37), 0);
    size_t one = nb_log_tables_memory();
    ck_assert_uint_gt(one, none);
    ck_assert_int_eq(nb_log_table_init(&b, 0.37), 0);
    ck_assert_ptr_eq(a.logs, b.logs);
    ck_assert_uint_eq(nb_log_tables_memory(), one);
    ck_assert_int_eq(nb_log_table_init(&other, 0.38), 0);
    ck_assert_ptr_ne(a.logs, other.logs);
    ck_assert_int_eq(nb_log_table_grow(&a, 1000), 0); /* b keeps its own */
    ck_assert_ptr_ne(a.logs, b.logs);
    expect_logs(&a, 2000);
    expect_logs(&b, 2000);
    expect_logs(&other, 2000);
    ck_assert_int_eq(nb_log_table_grow(&b, 900), 0);
    ck_assert_ptr_eq(a.logs, b.logs);
    nb_log_table_deinit(&a);
    expect_logs(&b, 2000);
    nb_log_table_deinit(&b);
    nb_log_table_deinit(&other);
    ck_assert_uint_eq(nb_log_tables_memory(), none);
}
END_TEST

/* Ten thousand models of their own filters must not take a hundred kilobytes each. */
START_TEST(small_models_are_small)
{
    struct nb_settings settings;
    struct nb_stack_settings stack_settings;
    struct nb_scorer *scorer;
    struct nb_stack *stack;
    nb_settings_init(&settings, NB_PRESET_MAIL);
    nb_stack_settings_init(&stack_settings);
    ck_assert_int_eq(nb_scorer_new(&settings, &scorer), 0);
    ck_assert_int_eq(nb_stack_new(&stack_settings, &stack), 0);
    ck_assert_uint_lt(nb_scorer_memory(scorer) + nb_stack_memory(stack), 4096);
    nb_scorer_free(&scorer);
    nb_stack_free(&stack);
    nb_settings_deinit(&settings);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("log_table");
    TCase *t = tcase_create("core");
    tcase_add_loop_test(t, looks_up_what_log_says, 0, 4);
    tcase_add_test(t, equal_tables_are_shared);
    tcase_add_test(t, small_models_are_small);
    suite_add_tcase(suite, t);
    return test_run(suite);
}
