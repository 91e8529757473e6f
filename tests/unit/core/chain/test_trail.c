/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/pack.h"
#include "core/chain/trail.h"

static uint64_t chain_at(uint64_t position)
{
    return position * UINT64_C(0x9e3779b97f4a7c15);
}

static void add(struct nb_trail *t, uint64_t position)
{
    nb_trail_add(t, (struct nb_chained){position, chain_at(position)});
}

/* For each distance there is a position between it and four times of it behind. */
START_TEST(it_reaches_back)
{
    struct nb_trail t = {.first = {{0}}};
    struct nb_chained points[NB_TRAIL_POINTS];
    for (uint64_t p = 1; p < 100000; p++) {
        add(&t, p);
        if (p % 997 != 0)
            continue;
        size_t count = nb_trail_list(&t, p, points);
        for (uint64_t d = 64; d <= 1 << NB_TRAIL_HIGH && 4 * d < p; d += 61) {
            size_t i = 0;
            while (i < count && points[i].position + 4 * d < p)
                i++;
            ck_assert_msg(i < count && points[i].position + d <= p, "%lu behind %lu", d, p);
        }
        for (size_t i = 0; i < count; i++) {
            ck_assert_uint_eq(points[i].chain, chain_at(points[i].position));
            ck_assert(i == 0 || points[i - 1].position < points[i].position);
            ck_assert_uint_lt(points[i].position, p);
        }
    }
}
END_TEST

/* A change whose transaction failed comes again; positions may be missing. */
START_TEST(what_comes_again_changes_nothing)
{
    struct nb_trail t = {.first = {{0}}}, before;
    for (uint64_t p = 5; p < 3000; p += 7)
        add(&t, p);
    before = t;
    for (uint64_t p = 2900; p < 3000; p++)
        add(&t, p < 2999 ? p : 2998);
    for (uint64_t p = 5; p < 2990; p += 7)
        add(&t, p);
    ck_assert_int_eq(memcmp(&t, &before, sizeof t), 0);
}
END_TEST

START_TEST(it_reads_back)
{
    struct nb_trail t = {.first = {{0}}}, got;
    for (uint64_t p = 1; p < 70000; p += 3)
        add(&t, p);
    struct nb_buffer out = {0};
    struct nb_packer w = {.out = &out};
    nb_trail_pack(&t, &w);
    ck_assert_int_eq(w.code, 0);
    struct nb_unpacker u = nb_unpacker_of(out.bytes, out.length);
    nb_trail_unpack(&got, &u);
    ck_assert(nb_unpacker_done(&u));
    ck_assert_int_eq(memcmp(&t, &got, sizeof t), 0);
    nb_buffer_deinit(&out);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trail");
    TCase *t = tcase_create("trail");
    suite_add_tcase(suite, t);
    tcase_add_test(t, it_reaches_back);
    tcase_add_test(t, what_comes_again_changes_nothing);
    tcase_add_test(t, it_reads_back);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
