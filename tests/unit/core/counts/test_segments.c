/* SPDX-License-Identifier: Apache-2.0
 *
 * Records in segments, from a few to so many that further segments are allocated in huge pages.
 */
#include <check.h>
#include <stdlib.h>

#include "core/counts/cells.h"
#include "tests/unit/run.h"

enum { RECORD = 12, BITS = 15, PAGE = 2 << 20 };

/* 9 MB: some segments by themselves, more in blocks of three huge pages. */
static const uint32_t MANY = (9u << 20) / RECORD;

static struct nb_segments filled(void)
{
    struct nb_segments s;
    nb_segments_init(&s, RECORD, BITS);
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < MANY; i++) {
        rc = nb_segments_reserve(&s, (uint64_t)i + 1, NULL);
        if (rc == 0)
            *(uint32_t *)nb_segments_at(&s, i) = i;
    }
    ck_assert_int_eq(rc, 0);
    return s;
}

/* Returns how many records differ from what `filled` wrote: an assertion for each would take
 * seconds. */
static uint32_t changed(const struct nb_segments *s)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < MANY; i++)
        count += *(uint32_t *)nb_segments_at(s, i) != i;
    return count;
}

START_TEST(records_stay_as_their_number_grows)
{
    struct nb_segments s = filled();
    ck_assert_uint_eq(changed(&s), 0);
    nb_segments_deinit(&s);
    ck_assert_uint_eq(nb_segments_room(&s), 0);
}
END_TEST

/* Segments of a block lie side by side, and it begins with a page. */
START_TEST(segments_fill_huge_pages)
{
    struct nb_segments s = filled();
    uint32_t pages = 0;
    for (uint32_t i = 0; i < s.segment_count; i++)
        pages += (uintptr_t)s.table[i] % PAGE == 0;
    ck_assert_uint_ge(pages, 2);
    uint32_t first = PAGE / (RECORD << BITS) + 1; /* the first that is mapped */
    for (uint32_t i = first; i + 1 < s.segment_count; i++)
        if ((i + 1 - first) % s.block != 0)
            ck_assert_ptr_eq(s.table[i + 1], s.table[i] + (RECORD << BITS));
    ck_assert_uint_eq(s.block * (RECORD << BITS) % PAGE, 0);
    nb_segments_deinit(&s);
}
END_TEST

/* Whether records come one by one or all at once, they stay. */
START_TEST(many_are_reserved_at_once)
{
    struct nb_segments s;
    nb_segments_init(&s, RECORD, BITS);
    ck_assert_int_eq(nb_segments_reserve(&s, MANY, NULL), 0);
    for (uint32_t i = 0; i < MANY; i++)
        *(uint32_t *)nb_segments_at(&s, i) = i;
    ck_assert_int_eq(nb_segments_reserve(&s, MANY + ((uint64_t)9 << BITS), NULL), 0);
    ck_assert_uint_eq(changed(&s), 0);
    nb_segments_deinit(&s);
}
END_TEST

/* What is allocated is what there is room for, and the table. */
START_TEST(bytes_are_those_of_the_room)
{
    struct nb_segments s = filled();
    ck_assert_uint_eq(s.bytes, nb_segments_room(&s) * RECORD + s.table_room * sizeof *s.table);
    ck_assert_uint_lt(nb_segments_room(&s), MANY + (UINT32_C(1) << BITS));
    nb_segments_deinit(&s);
}
END_TEST

/* Segments that are smaller than a cache line, or fill no whole number of them. */
START_TEST(segments_of_any_size)
{
    for (uint32_t record = 4; record <= 44; record += 4) {
        struct nb_segments s;
        nb_segments_init(&s, record, 3);
        for (uint32_t i = 0; i < 100; i++) {
            ck_assert_int_eq(nb_segments_reserve(&s, (uint64_t)i + 1, NULL), 0);
            *(uint32_t *)nb_segments_at(&s, i) = i;
        }
        for (uint32_t i = 0; i < 100; i++)
            ck_assert_uint_eq(*(uint32_t *)nb_segments_at(&s, i), i);
        nb_segments_deinit(&s);
    }
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("segments");
    tcase_add_test(t, records_stay_as_their_number_grows);
    tcase_add_test(t, segments_of_any_size);
    tcase_add_test(t, segments_fill_huge_pages);
    tcase_add_test(t, many_are_reserved_at_once);
    tcase_add_test(t, bytes_are_those_of_the_room);
    Suite *suite = suite_create("segments");
    suite_add_tcase(suite, t);
    return test_run(suite);
}
