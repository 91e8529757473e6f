/* SPDX-License-Identifier: Apache-2.0
 *
 * Slots compared with a plain array, and their stored form with the table in memory.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/stack/weights.h"
#include "tests/unit/run.h"

enum { LEAST = 1 << NB_SLOTS_LEAST_BITS, MOST = 1 << NB_SLOTS_MOST_BITS };

static void change(struct nb_slots *s, struct nb_random *random, size_t count)
{
    ck_assert_int_eq(nb_slots_reserve(s, count), 0);
    for (size_t i = 0; i < count; i++) {
        uint32_t slot = (uint32_t)nb_random_below(random, nb_slots_count(s));
        nb_slots_set(s, slot, (float)nb_random_below(random, 1000) - 500,
                     (float)nb_random_below(random, 100));
    }
}

static void expect_same(const struct nb_slots *a, const struct nb_slots *b)
{
    size_t count = nb_slots_count(a);
    ck_assert_uint_eq(count, nb_slots_count(b));
    if (count == 0)
        return;
    ck_assert_mem_eq(a->table.values, b->table.values, count * sizeof *a->table.values);
    ck_assert_mem_eq(a->table.squares, b->table.squares, count * sizeof *a->table.squares);
}

/* Returns a copy of the slots without their history. */
static struct nb_slots copy_of(const struct nb_slots *s)
{
    struct nb_slots copy = {.old = NULL};
    size_t count = nb_slots_count(s);
    if (count == 0)
        return copy;
    ck_assert_int_eq(nb_slots_grow(&copy, count, NULL), 0);
    memcpy(copy.table.values, s->table.values, count * sizeof *copy.table.values);
    memcpy(copy.table.squares, s->table.squares, count * sizeof *copy.table.squares);
    return copy;
}

START_TEST(a_table_doubles_by_copying)
{
    struct nb_slots s = {.old = NULL};
    struct nb_random random = nb_random_of(1, 2);
    ck_assert(!(nb_slots_at(&s, 5) > 0) && nb_slots_count(&s) == 0);
    ck_assert_int_eq(nb_slots_grow(&s, 0, NULL), 0);
    ck_assert_uint_eq(nb_slots_count(&s), LEAST);
    change(&s, &random, 1000);
    struct nb_slots before = copy_of(&s);
    ck_assert_int_eq(nb_slots_grow(&s, LEAST, NULL), 0);
    ck_assert_uint_eq(nb_slots_count(&s), LEAST);
    ck_assert_int_eq(nb_slots_grow(&s, LEAST * 2 + 1, NULL), 0);
    ck_assert_uint_eq(nb_slots_count(&s), LEAST * 4);
    for (uint64_t id = 0; id < 100000; id += 7) /* every feature finds what it had */
        ck_assert(nb_slots_at(&s, id) == nb_slots_at(&before, id));
    ck_assert_int_eq(nb_slots_grow(&s, UINT64_MAX, NULL), 0);
    ck_assert_uint_eq(nb_slots_count(&s), MOST);
    ck_assert_uint_le(nb_slots_memory(&s), 5 << 20); /* with what a rollback needs */
    nb_slots_commit(&s);
    ck_assert_uint_le(nb_slots_memory(&s), (2 << 20) + (256 << 10));
    ck_assert_int_eq(nb_slots_grow(&s, 1, NULL), 0);
    ck_assert_uint_eq(nb_slots_count(&s), MOST);
    nb_slots_deinit(&before);
    nb_slots_deinit(&s);
}
END_TEST

/* Replaces the table by one that learned elsewhere, of any size, or without slots. */
static void exchange(struct nb_slots *s, struct nb_random *random)
{
    struct nb_slots from = {.old = NULL};
    if (nb_random_below(random, 3) > 0) {
        ck_assert_int_eq(nb_slots_grow(&from, (uint64_t)LEAST << nb_random_below(random, 3), NULL),
                         0);
        change(&from, random, 200);
    }
    struct nb_slots want = copy_of(&from);
    ck_assert_int_eq(nb_slots_take(s, &from), 0);
    expect_same(s, &want);
    ck_assert_uint_eq(nb_slots_count(&from), 0);
    ck_assert(s->is_whole);
    nb_slots_deinit(&want);
    nb_slots_deinit(&from);
}

/* Does one of the operations on a table. */
static void happen(struct nb_slots *s, struct nb_random *random)
{
    uint64_t what = nb_random_below(random, 12);
    if (what == 0)
        ck_assert_int_eq(nb_slots_grow(s, (uint64_t)nb_slots_count(s) * 2, NULL), 0);
    else if (what == 1)
        exchange(s, random);
    else if (nb_slots_count(s) > 0)
        change(s, random, (size_t)nb_random_below(random, 300));
}

START_TEST(changes_are_taken_back)
{
    struct nb_random random = nb_random_of(7, (uint64_t)_i);
    struct nb_slots s = {.old = NULL};
    for (int round = 0; round < 25; round++) {
        ck_assert_int_eq(nb_slots_grow(&s, LEAST, NULL), 0);
        nb_slots_commit(&s);
        struct nb_slots committed = copy_of(&s);
        for (uint64_t i = nb_random_below(&random, 4); i > 0; i--)
            happen(&s, &random);
        size_t mark = nb_slots_mark(&s);
        bool is_whole = s.is_whole;
        struct nb_slots before = copy_of(&s);
        for (uint64_t i = nb_random_below(&random, 4); i > 0; i--)
            happen(&s, &random);
        (void)nb_slots_mark(&s); /* a later one */
        for (uint64_t i = nb_random_below(&random, 4); i > 0; i--)
            happen(&s, &random);
        nb_slots_rollback(&s, mark);
        expect_same(&s, &before);
        ck_assert_int_eq(s.is_whole, is_whole);
        if (round % 3 == 0) {
            nb_slots_rollback(&s, 0);
            expect_same(&s, &committed);
            ck_assert(!nb_slots_changed(&s));
        } else if (round % 3 == 1) {
            nb_slots_commit(&s);
            ck_assert(!nb_slots_changed(&s));
        }
        nb_slots_deinit(&before);
        nb_slots_deinit(&committed);
    }
    nb_slots_deinit(&s);
}
END_TEST

/* ---- stored form ----------------------------------------------------------------------------- */

static struct nb_string string_of(const struct nb_buffer *b)
{
    return (struct nb_string){b->bytes, b->length};
}

static struct nb_buffer range_of(const struct nb_slots *s, uint32_t range)
{
    struct nb_buffer bytes = {0};
    struct nb_packer p = {.out = &bytes};
    nb_slots_write_range(s, range, &p);
    ck_assert_int_eq(p.code, 0);
    return bytes;
}

/* Lists that are read in their order after ranges that are newer than some of them. */
START_TEST(ranges_and_lists_give_the_table)
{
    enum { LISTS = 30 };
    struct nb_random random = nb_random_of(9, (uint64_t)_i);
    struct nb_slots s = {.old = NULL};
    struct nb_slots back = {.old = NULL};
    struct nb_buffer lists[LISTS] = {{0}};
    struct nb_buffer ranges[LEAST / NB_SLOTS_RANGE] = {{0}};
    ck_assert_int_eq(nb_slots_grow(&s, 1, NULL), 0);
    change(&s, &random, 2000);
    for (uint32_t i = 0; i < nb_slots_ranges(&s); i++)
        ranges[i] = range_of(&s, i);
    nb_slots_commit(&s);
    for (int i = 0; i < LISTS; i++) {
        struct nb_packer p = {.out = &lists[i]};
        change(&s, &random, 200);
        (void)nb_slots_mark(&s);
        change(&s, &random, 200);
        ck_assert(nb_slots_changed(&s));
        nb_slots_write_changed(&s, &p);
        size_t once = lists[i].length;
        nb_slots_write_changed(&s, &p); /* a commit that is tried again */
        ck_assert_uint_eq(lists[i].length, 2 * once);
        lists[i].length = once;
        nb_slots_commit(&s);
        uint32_t range = (uint32_t)nb_random_below(&random, nb_slots_ranges(&s));
        if (i % 3 == 0) {
            nb_buffer_deinit(&ranges[range]);
            ranges[range] = range_of(&s, range);
        }
    }
    for (uint32_t i = 0; i < nb_slots_ranges(&s); i++)
        ck_assert_int_eq(nb_slots_read(&back, string_of(&ranges[i])), 0);
    for (int i = 0; i < LISTS; i++)
        ck_assert_int_eq(nb_slots_read(&back, string_of(&lists[i])), 0);
    expect_same(&s, &back);
    ck_assert(!nb_slots_changed(&back));
    for (size_t i = 0; i < LISTS; i++)
        nb_buffer_deinit(&lists[i]);
    for (size_t i = 0; i < LEAST / NB_SLOTS_RANGE; i++)
        nb_buffer_deinit(&ranges[i]);
    nb_slots_deinit(&back);
    nb_slots_deinit(&s);
}
END_TEST

START_TEST(ranges_have_their_bytes)
{
    struct nb_slots s = {.old = NULL};
    /* 1026, 1 and 2; the next one, -1.5 and 0 */
    static const unsigned char want[] = {12,   0x82, 0x08, 0, 0,    0x80, 0x3F, 0, 0, 0,
                                         0x40, 0,    0,    0, 0xC0, 0xBF, 0,    0, 0, 0};
    ck_assert_int_eq(nb_slots_grow(&s, 1, NULL), 0);
    ck_assert_int_eq(nb_slots_reserve(&s, 2), 0);
    nb_slots_set(&s, 1026, 1, 2);
    nb_slots_set(&s, 1027, -1.5F, 0);
    struct nb_buffer bytes = range_of(&s, 1);
    ck_assert_uint_eq(bytes.length, sizeof want);
    ck_assert_mem_eq(bytes.bytes, want, sizeof want);
    ck_assert(nb_slots_range_is_zero(&s, 0) && !nb_slots_range_is_zero(&s, 1));
    nb_buffer_deinit(&bytes);
    nb_slots_deinit(&s);
}
END_TEST

START_TEST(damaged_bytes_are_refused)
{
    static const struct {
        const char *bytes;
        size_t length;
    } damaged[] = {
        {"", 0},
        {"\x0B", 1},                                          /* too few slots */
        {"\x13", 1},                                          /* too many */
        {"\x0C\x00\x00\x00\x80", 5},                          /* cut */
        {"\x0C\x80\x20\0\0\0\0\0\0\0\0", 11},                 /* slot 4096 */
        {"\x0C\x00\0\0\x80\x7F\0\0\0\0", 10},                 /* infinite */
        {"\x0C\x00\0\0\0\0\0\0\x80\xBF", 10},                 /* squares below 0 */
        {"\x0C\xFF\xFF\xFF\xFF\xFF\x0F\0\0\0\0\0\0\0\0", 15}, /* a distance past all slots */
    };
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        struct nb_slots s = {.old = NULL};
        ck_assert_msg(nb_slots_read(&s, (struct nb_string){damaged[i].bytes, damaged[i].length}) ==
                          NB_CORRUPT,
                      "case %zu", i);
        nb_slots_deinit(&s);
    }
    struct nb_slots s = {.old = NULL};
    ck_assert_int_eq(nb_slots_read(&s, (struct nb_string){"\x0D", 1}), 0);
    ck_assert_uint_eq(nb_slots_count(&s), 2 * LEAST);
    ck_assert_int_eq(nb_slots_read(&s, (struct nb_string){"\x0C", 1}), NB_CORRUPT);
    nb_slots_deinit(&s);
}
END_TEST

/* ---- other tables ---------------------------------------------------------------------------- */

START_TEST(tables_are_exchanged)
{
    struct nb_slots from = {.old = NULL};
    struct nb_slots to = {.old = NULL};
    ck_assert_int_eq(nb_slots_grow(&from, 1, NULL), 0);
    ck_assert_int_eq(nb_slots_grow(&to, 1, NULL), 0);
    ck_assert_int_eq(nb_slots_reserve(&from, 1), 0);
    nb_slots_set(&from, 8, -2, 1);
    nb_slots_exchange(&from, &to);
    ck_assert(nb_slots_at(&from, 8) == 0 && nb_slots_at(&to, 8) == -2);
    ck_assert(from.is_whole && to.is_whole);
    nb_slots_deinit(&from);
    nb_slots_deinit(&to);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("slots");
    TCase *t = tcase_create("slots");
    suite_add_tcase(s, t);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_table_doubles_by_copying);
    tcase_add_loop_test(t, changes_are_taken_back, 0, 6);
    tcase_add_loop_test(t, ranges_and_lists_give_the_table, 0, 4);
    tcase_add_test(t, ranges_have_their_bytes);
    tcase_add_test(t, damaged_bytes_are_refused);
    tcase_add_test(t, tables_are_exchanged);
    return test_run(s);
}
