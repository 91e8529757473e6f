/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>

#include "core/ledger/document_lists.h"
#include "tests/unit/run.h"

enum { ENTRIES = 6000 };

/* Returns the n-th present entry, counted one by one. */
static uint64_t slow_draw(const bool *there, uint64_t count, struct nb_random *random)
{
    uint64_t left = nb_random_below(random, count);
    uint64_t number = 1;
    while (!there[number] || left-- > 0)
        number++;
    return number;
}

/* Entries come, and half of them or nearly all of them go. */
START_TEST(draws_are_those_of_a_plain_list)
{
    static bool there[ENTRIES + 1];
    struct nb_current_entries *current = nb_current_entries_new();
    struct nb_random random = nb_random_of(17, (uint64_t)_i);
    uint64_t count = 0;
    for (uint64_t n = 0; n <= ENTRIES; n++)
        there[n] = false;
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        if (nb_random_below(&random, 4) != 0) { /* entries of other models and kinds */
            ck_assert_int_eq(nb_current_entries_add(current, n), 0);
            there[n] = true;
            count++;
        }
        uint64_t gone = _i == 2 && n > 20 ? n - 20 : 1 + nb_random_below(&random, n);
        if (_i > 0) {
            nb_current_entries_remove(current, gone);
            count -= there[gone];
            there[gone] = false;
        }
        ck_assert_uint_eq(nb_current_entries_count(current), count);
        if (count == 0 || n % 7 != 0)
            continue;
        struct nb_random same = random;
        uint64_t drawn = nb_current_entries_draw(current, &random);
        ck_assert_uint_eq(drawn, slow_draw(there, count, &same));
        ck_assert(nb_current_entries_has(current, drawn));
    }
    for (uint64_t n = 1; n <= ENTRIES; n++)
        ck_assert(nb_current_entries_has(current, n) == there[n]);
    nb_current_entries_free(&current);
    ck_assert_ptr_null(current);
}
END_TEST

START_TEST(draws_are_uniform)
{
    enum { COUNT = 50, DRAWS = 100000 };
    unsigned drawn[COUNT + 1] = {0};
    struct nb_current_entries *current = nb_current_entries_new();
    for (uint64_t n = 1; n <= COUNT; n++)
        ck_assert_int_eq(nb_current_entries_add(current, n), 0);
    for (uint64_t i = 0; i < DRAWS; i++) {
        struct nb_random random = nb_random_of(1, i); /* as for neighbouring entries */
        drawn[nb_current_entries_draw(current, &random)]++;
    }
    for (unsigned n = 1; n <= COUNT; n++)
        ck_assert(drawn[n] > DRAWS / COUNT * 9 / 10 && drawn[n] < DRAWS / COUNT * 11 / 10);
    nb_current_entries_free(&current);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("living");
    TCase *list = tcase_create("list");
    tcase_add_loop_test(list, draws_are_those_of_a_plain_list, 0, 3);
    tcase_add_test(list, draws_are_uniform);
    suite_add_tcase(suite, list);
    return test_run(suite);
}
