/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>

#include "core/base/system.h"
#include "tests/unit/run.h"

enum { A_SECOND = 1000000000 };

START_TEST(the_coarse_clock_is_a_little_behind)
{
    uint64_t last = 0;
    for (int i = 0; i < 100000; i++) {
        uint64_t before = nb_clock_monotonic();
        uint64_t coarse = nb_clock_coarse();
        uint64_t after = nb_clock_monotonic();
        ck_assert_uint_le(last, coarse);
        ck_assert_uint_le(coarse, after);
        ck_assert_uint_lt(before - A_SECOND, coarse); /* ticks, with room for a busy machine */
        last = coarse;
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("clock");
    TCase *tests = tcase_create("clocks");
    tcase_add_test(tests, the_coarse_clock_is_a_little_behind);
    suite_add_tcase(suite, tests);
    return test_run(suite);
}
