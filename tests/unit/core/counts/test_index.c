/* SPDX-License-Identifier: Apache-2.0
 *
 * The index of rows by id, with ids that an attacker has chosen to collide.
 */
#include <check.h>
#include <stdint.h>
#include <stdlib.h>

#include "core/counts/index.h"
#include "tests/unit/run.h"

/* Returns the number whose product with `odd` is 1 modulo 2^64 (Newton's method; Warren, Hacker's
 * Delight, 10-15). */
static uint64_t inverse(uint64_t odd)
{
    uint64_t x = odd;
    for (int i = 0; i < 6; i++)
        x *= 2 - odd * x;
    return x;
}

static uint64_t passed(const struct nb_index *index)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < index->bucket_count; i++)
        for (unsigned shift = 0; shift < 32; shift += NB_PASSED_BITS)
            sum += index->buckets[i].places[0] >> shift & NB_PASSED_MOST;
    return sum;
}

/* Ids that all have their home in the first bucket of one index are spread over others. The ids are
 * multiples of one number, so they meet where the ratio of two multipliers is near a simple
 * fraction: in one index of 65. Of fifteen indexes eight are so in one run of 10^11. */
START_TEST(ids_chosen_for_one_index_do_not_meet_in_others)
{
    enum { COUNT = 20000, OTHERS = 15 };
    struct nb_index known;
    ck_assert_int_eq(nb_index_init(&known, COUNT), 0);
    ck_assert_uint_eq(known.multiplier % 2, 1);
    uint64_t one = inverse(known.multiplier);
    int crowded = 0;
    for (int k = 0; k < OTHERS; k++) {
        struct nb_index other;
        ck_assert_int_eq(nb_index_init(&other, COUNT), 0);
        ck_assert_uint_ne(known.multiplier, other.multiplier);
        for (uint32_t i = 0; i < COUNT; i++) {
            uint64_t id = one * (i + 1);
            ck_assert_uint_eq(nb_index_home(&known, id), 0);
            nb_index_insert(&other, id, i);
        }
        crowded += passed(&other) >= COUNT;
        nb_index_deinit(&other);
    }
    ck_assert_int_le(crowded, OTHERS / 2);
    nb_index_deinit(&known);
}
END_TEST

/* From below a huge page to above two of them, in steps that are none of a huge page. A sanitizer
 * ends the program when memory is asked for in a size that is no multiple of its alignment. */
START_TEST(an_index_of_any_size)
{
    for (uint64_t rows = 350000; rows < 1000000; rows += 50021) {
        struct nb_index index;
        ck_assert_int_eq(nb_index_init(&index, rows), 0);
        size_t alignment = nb_index_bytes(rows) >= 2u << 20 ? 2u << 20 : 64;
        ck_assert_uint_eq((uintptr_t)index.buckets % alignment, 0);
        for (uint32_t row = 0; row < 1000; row++)
            nb_index_insert(&index, row * UINT64_C(0x9e3779b97f4a7c15), row);
        nb_index_deinit(&index);
    }
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("index");
    tcase_add_test(t, an_index_of_any_size);
    tcase_add_test(t, ids_chosen_for_one_index_do_not_meet_in_others);
    Suite *suite = suite_create("index");
    suite_add_tcase(suite, t);
    return test_run(suite);
}
