/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <string.h>

#include "server/http/budget.h"
#include "tests/unit/run.h"

static nb_spare_place place;

static struct nb_buffer body_of(size_t capacity, const char *text)
{
    struct nb_buffer body = {0};
    ck_assert_int_eq(nb_buffer_reserve(&body, capacity), 0);
    ck_assert_int_eq(nb_buffer_puts(&body, text), 0);
    return body;
}

START_TEST(a_body_goes_on_in_the_memory_of_another)
{
    struct nb_buffer large = body_of(NB_SPARE_LEAST, "before"), next = body_of(10, "next");
    const char *bytes = large.bytes;
    nb_spare_give(&place, &large, 5);
    ck_assert_ptr_null(large.bytes);
    ck_assert_uint_eq(large.capacity, 0);
    nb_spare_take(&place, &next);
    ck_assert_ptr_eq(next.bytes, bytes);
    ck_assert_uint_ge(next.capacity, NB_SPARE_LEAST);
    ck_assert_uint_eq(next.length, strlen("next"));
    ck_assert_mem_eq(next.bytes, "next", next.length);
    nb_buffer_deinit(&next);
    nb_spare_take(&place, &next);
    ck_assert_ptr_null(next.bytes);
}
END_TEST

START_TEST(an_empty_body_takes_it)
{
    struct nb_buffer large = body_of(NB_SPARE_LEAST, "before"), next = {0};
    nb_spare_give(&place, &large, 5);
    nb_spare_take(&place, &next);
    ck_assert_uint_ge(next.capacity, NB_SPARE_LEAST);
    ck_assert_uint_eq(next.length, 0);
    nb_buffer_deinit(&next);
}
END_TEST

START_TEST(a_larger_body_leaves_it)
{
    struct nb_buffer small = body_of(NB_SPARE_LEAST, ""), large = body_of(NB_SPARE_LEAST * 2, "x");
    const char *bytes = large.bytes;
    nb_spare_give(&place, &small, 5);
    nb_spare_take(&place, &large);
    ck_assert_ptr_eq(large.bytes, bytes);
    ck_assert_ptr_nonnull(atomic_load(&place));
    nb_spare_give(&place, &large, 6); /* replaces the smaller one */
    nb_spare_take(&place, &small);
    ck_assert_ptr_eq(small.bytes, bytes);
    nb_buffer_deinit(&small);
}
END_TEST

START_TEST(neither_small_nor_very_large_memory_is_kept)
{
    struct nb_buffer small = body_of(100, "x"), large = body_of(NB_SPARE_MOST + 1, "x");
    nb_spare_give(&place, &small, 5);
    nb_spare_give(&place, &large, 5);
    ck_assert_ptr_null(small.bytes);
    ck_assert_ptr_null(large.bytes);
    ck_assert_ptr_null(atomic_load(&place));
}
END_TEST

START_TEST(what_nobody_takes_is_dropped)
{
    struct nb_buffer body = body_of(NB_SPARE_LEAST, "x");
    nb_spare_drop(&place, 1);
    nb_spare_give(&place, &body, 5);
    nb_spare_drop(&place, 5);
    ck_assert_ptr_nonnull(atomic_load(&place));
    nb_spare_drop(&place, 6);
    ck_assert_ptr_null(atomic_load(&place));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("spare");
    TCase *tcase = tcase_create("spare");
    tcase_add_test(tcase, a_body_goes_on_in_the_memory_of_another);
    tcase_add_test(tcase, an_empty_body_takes_it);
    tcase_add_test(tcase, a_larger_body_leaves_it);
    tcase_add_test(tcase, neither_small_nor_very_large_memory_is_kept);
    tcase_add_test(tcase, what_nobody_takes_is_dropped);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
