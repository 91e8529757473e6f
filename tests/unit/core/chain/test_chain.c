/* SPDX-License-Identifier: Apache-2.0 */
#include "core/chain/chain.h"
#include "tests/unit/core/engine/picture.h"

START_TEST(a_witness_reads_back)
{
    const struct nb_witness all[] = {
        {1, 2, 3}, {UINT64_MAX, UINT64_MAX, UINT64_MAX}, {7, 0, UINT64_C(1) << 63}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char text[NB_WITNESS_TEXT];
        nb_witness_write(&all[i], text);
        struct nb_witness got = nb_witness_read(text);
        ck_assert_uint_eq(got.position, all[i].position);
        ck_assert_uint_eq(got.chain, all[i].chain);
        ck_assert_uint_eq(got.member, all[i].member);
    }
}
END_TEST

START_TEST(other_texts_are_no_witness)
{
    const char *const all[] = {"", "1", "1-2", "1-2-", "1-2-3-4", "1-2-3 ", "x-2-3", "1--3"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        ck_assert_msg(nb_witness_read(all[i]).position == 0, "%s", all[i]);
}
END_TEST

/* Each part of what was before makes another chain. */
START_TEST(a_chain_tells_all_apart)
{
    uint64_t one = nb_chain_hash("id", string_at("message"));
    ck_assert_uint_ne(one, nb_chain_hash("ie", string_at("message")));
    ck_assert_uint_ne(one, nb_chain_hash("id", string_at("messagf")));
    uint64_t next = nb_chain_next(5, 6, one);
    ck_assert_uint_ne(next, nb_chain_next(4, 6, one));
    ck_assert_uint_ne(next, nb_chain_next(5, 7, one));
    ck_assert_uint_ne(next, nb_chain_next(5, 6, one + 1));
}
END_TEST

START_TEST(recent_ones_are_remembered)
{
    struct nb_chain *c = calloc(1, sizeof *c);
    uint64_t value;
    must(c != NULL);
    ck_assert(!nb_chain_at(c, 0, &value));
    ck_assert_uint_eq(nb_chain_last(c).position, 0);
    for (uint64_t i = 0; i < NB_CHAIN_RECENT + 10; i++)
        nb_chain_add(c, 3 * i, i);
    ck_assert_uint_eq(nb_chain_last(c).chain, NB_CHAIN_RECENT + 9);
    for (uint64_t i = 0; i < NB_CHAIN_RECENT + 10; i++) {
        ck_assert(nb_chain_at(c, 3 * i, &value) == (i >= 10));
        ck_assert(i < 10 || value == i);
        ck_assert(!nb_chain_at(c, 3 * i + 1, &value));
        ck_assert_uint_eq(nb_chain_before(c, 3 * i + 2).position, i < 10 ? 30 : 3 * i);
    }
    free(c);
}
END_TEST

int main(void)
{
    (void)copy_model; /* of picture.h */
    (void)expect_same;
    (void)settle;
    Suite *s = suite_create("chain");
    TCase *t = tcase_create("chain");
    suite_add_tcase(s, t);
    tcase_add_test(t, a_witness_reads_back);
    tcase_add_test(t, other_texts_are_no_witness);
    tcase_add_test(t, a_chain_tells_all_apart);
    tcase_add_test(t, recent_ones_are_remembered);
    SRunner *runner = srunner_create(s);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
