/* SPDX-License-Identifier: Apache-2.0
 *
 * Records in segments, from few to so many that further ones come by huge pages.
 */
#include <check.h>
#include <stdlib.h>

#include "core/model/segments.h"

enum { RECORD = 16, BITS = 15, PAGE = 2 << 20 };

/* 12 MB: some segments by themselves, more by huge pages. */
static const uint32_t MANY = 12u << 20 >> 4;

static struct nb_segments filled(void)
{
    struct nb_segments s;
    nb_segments_init(&s, RECORD, BITS);
    for (uint32_t i = 0; i < MANY; i++) {
        ck_assert_int_eq(nb_segments_reserve(&s, (uint64_t)i + 1, NULL), 0);
        *(uint32_t *)nb_segments_at(&s, i) = i;
    }
    return s;
}

START_TEST(records_stay_as_their_number_grows)
{
    struct nb_segments s = filled();
    for (uint32_t i = 0; i < MANY; i++)
        ck_assert_uint_eq(*(uint32_t *)nb_segments_at(&s, i), i);
    nb_segments_deinit(&s);
    ck_assert_uint_eq(nb_segments_room(&s), 0);
}
END_TEST

START_TEST(the_last_segments_share_a_huge_page)
{
    struct nb_segments s = filled();
    unsigned char *last = s.table[s.segment_count - 1];
    uintptr_t page = (uintptr_t)last & ~(uintptr_t)(PAGE - 1);
    uint32_t in_it = 0;
    for (uint32_t i = 0; i < s.segment_count; i++)
        in_it += ((uintptr_t)s.table[i] & ~(uintptr_t)(PAGE - 1)) == page;
    ck_assert_uint_eq(in_it, PAGE / (RECORD << BITS));
    nb_segments_deinit(&s);
}
END_TEST

/* What is allocated is what there is room for, and the table. */
START_TEST(bytes_are_those_of_the_room)
{
    struct nb_segments s = filled();
    ck_assert_uint_eq(s.bytes, nb_segments_room(&s) * RECORD + s.table_room * sizeof *s.table);
    ck_assert_uint_le(nb_segments_room(&s), MANY + PAGE / RECORD);
    nb_segments_deinit(&s);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("segments");
    tcase_add_test(t, records_stay_as_their_number_grows);
    tcase_add_test(t, the_last_segments_share_a_huge_page);
    tcase_add_test(t, bytes_are_those_of_the_room);
    Suite *suite = suite_create("segments");
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
