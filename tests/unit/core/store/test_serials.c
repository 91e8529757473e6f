/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers of entries that follow from the place of a change in a stream.
 */
#include <check.h>
#include <stdlib.h>

#include "core/store/serials.h"

enum { STREAMS = 1 << NB_SERIALS_STREAM_BITS };
static const uint64_t POSITION_MOST = (UINT64_C(1) << NB_SERIALS_POSITION_BITS) - 1;

static uint64_t entry_at(struct nb_serials *s, unsigned stream, uint64_t position)
{
    nb_serials_follow(s, stream, position);
    return nb_serials_entry(s);
}

START_TEST(numbers_follow_from_the_place)
{
    struct nb_serials one = {.entry = 1};
    struct nb_serials other = {.entry = 1};
    uint64_t first = entry_at(&one, 0, 1);
    ck_assert_uint_gt(first, 1); /* that of the store */
    ck_assert_uint_eq(entry_at(&one, 0, 1), first + 1);
    uint64_t second = entry_at(&one, 0, 2);
    ck_assert_uint_gt(second, first + 1);
    /* Another node, which had no entry before. */
    ck_assert_uint_eq(entry_at(&other, 0, 2), second);
}
END_TEST

/* However two nodes take turns between streams. */
START_TEST(streams_do_not_meet)
{
    struct nb_serials one = {.entry = 1};
    struct nb_serials other = {.entry = 1};
    uint64_t before = 1;
    for (unsigned stream = 0; stream < STREAMS; stream++) {
        uint64_t first = entry_at(&one, stream, 1);
        uint64_t last = entry_at(&one, stream, POSITION_MOST);
        ck_assert_uint_gt(first, before);
        ck_assert_uint_gt(last, first);
        ck_assert_uint_eq(entry_at(&other, STREAMS - 1 - stream, 7),
                          entry_at(&(struct nb_serials){.entry = 1}, STREAMS - 1 - stream, 7));
        before = last + 1000;
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("serials");
    TCase *t = tcase_create("serials");
    tcase_add_test(t, numbers_follow_from_the_place);
    tcase_add_test(t, streams_do_not_meet);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
