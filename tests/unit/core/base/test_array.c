/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdint.h>
#include <stdlib.h>

#include "core/base/array.h"
#include "core/base/error.h"
#include "tests/unit/run.h"

START_TEST(an_array_grows_by_one_and_keeps)
{
    uint32_t *numbers = NULL;
    size_t room = 0, moves = 0;
    for (uint32_t i = 0; i < 100000; i++) {
        size_t before = room;
        ck_assert_int_eq(nb_array_reserve(&numbers, &room, (size_t)i + 1, sizeof *numbers), 0);
        ck_assert_uint_gt(room, i);
        moves += room != before;
        numbers[i] = i;
    }
    ck_assert_uint_le(moves, 12); /* 64, 128 ... 131072 */
    for (uint32_t i = 0; i < 100000; i++)
        ck_assert_uint_eq(numbers[i], i);
    free(numbers);
}
END_TEST

START_TEST(room_is_as_much_as_wanted_or_twice_as_much)
{
    static const struct {
        size_t room, wanted, size, result;
    } table[] = {
        {0, 1, 4, 64},
        {0, 100, 4, 100},
        {0, 1, 256, 1},
        {0, 1, 5000, 1},
        {64, 64, 4, 64},
        {64, 65, 4, 128},
        {64, 1000, 4, 1000},
        {1, 2, 5000, 2},
        {10, 0, 4, 10},
        {3, 4, 4, 6},
        {SIZE_MAX / 2 + 1, SIZE_MAX, 1, SIZE_MAX},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        ck_assert_msg(
            nb_array_room(table[i].room, table[i].wanted, table[i].size) == table[i].result,
            "row %zu: %zu", i, nb_array_room(table[i].room, table[i].wanted, table[i].size));
}
END_TEST

START_TEST(an_array_that_cannot_grow_is_as_before)
{
    uint64_t *numbers = NULL;
    size_t room = 0;
    ck_assert_int_eq(nb_array_reserve(&numbers, &room, 3, sizeof *numbers), 0);
    uint64_t *before = numbers;
    size_t room_before = room;
    numbers[2] = 7;
    /* The product of these does not fit a size_t. */
    ck_assert_int_eq(nb_array_reserve(&numbers, &room, SIZE_MAX / 4, sizeof *numbers),
                     NB_NO_MEMORY);
    ck_assert_ptr_eq(numbers, before);
    ck_assert_uint_eq(room, room_before);
    ck_assert_int_eq(nb_array_resize(&numbers, SIZE_MAX, sizeof *numbers), NB_NO_MEMORY);
    ck_assert_ptr_eq(numbers, before);
    ck_assert_uint_eq(numbers[2], 7);
    free(numbers);
}
END_TEST

START_TEST(an_array_is_renewed_only_if_it_must_grow)
{
    uint64_t *numbers = NULL;
    size_t room = 0;
    ck_assert_int_eq(nb_array_renew(&numbers, &room, 100, sizeof *numbers), 0);
    ck_assert_uint_eq(room, 100);
    numbers[99] = 7;
    ck_assert_int_eq(nb_array_renew(&numbers, &room, 100, sizeof *numbers), 0);
    ck_assert_uint_eq(numbers[99], 7);
    ck_assert_int_eq(nb_array_renew(&numbers, &room, 101, sizeof *numbers), 0);
    ck_assert_uint_eq(room, 200);
    numbers[199] = 7;
    ck_assert_int_eq(nb_array_renew(&numbers, &room, SIZE_MAX / 4, sizeof *numbers), NB_NO_MEMORY);
    ck_assert_ptr_null(numbers);
    ck_assert_uint_eq(room, 0);
}
END_TEST

START_TEST(an_array_can_shrink_to_nothing)
{
    char *bytes = NULL;
    ck_assert_int_eq(nb_array_resize(&bytes, 100, 1), 0);
    bytes[0] = 'x';
    ck_assert_int_eq(nb_array_resize(&bytes, 0, 1), 0);
    ck_assert_ptr_nonnull(bytes);
    ck_assert_int_eq(bytes[0], 'x');
    free(bytes);
}
END_TEST

/* ---- heap ------------------------------------------------------------------------------------ */

struct item {
    uint32_t rank;
    uint32_t number;
    char rest[5]; /* so that the size is no power of two */
};

static int compare(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

enum { ITEMS = 200 };

static void draw(struct item items[ITEMS], unsigned seed)
{
    uint32_t state = seed * 2654435761u + 1;
    for (uint32_t i = 0; i < ITEMS; i++) {
        state = state * 1664525u + 1013904223u;
        /* Few ranks in half of the rounds: many equal ones. */
        items[i] = (struct item){state >> (seed % 2 == 0 ? 29 : 12), i, "abcd"};
    }
}

static void check_best(const struct nb_heap *heap, const struct item items[ITEMS], unsigned seed)
{
    struct item sorted[ITEMS];
    for (size_t i = 0; i < ITEMS; i++)
        sorted[i] = items[i];
    qsort(sorted, ITEMS, sizeof *sorted, compare);
    const struct item *kept = heap->items;
    ck_assert_uint_eq(heap->count, heap->most < ITEMS ? heap->most : ITEMS);
    for (size_t i = 0; i < heap->count; i++)
        ck_assert_msg(compare(&kept[i], &sorted[i]) == 0, "seed %u: place %zu", seed, i);
}

START_TEST(a_heap_keeps_the_best)
{
    static const size_t mosts[] = {0, 1, 2, 3, 7, 64, 199, 200, 201};
    for (size_t m = 0; m < sizeof mosts / sizeof *mosts; m++) {
        for (unsigned seed = 0; seed < 20; seed++) {
            struct item items[ITEMS], kept[ITEMS + 1];
            draw(items, seed);
            struct nb_heap heap = {
                .items = kept, .most = mosts[m], .item_size = sizeof *kept, .compare = compare};
            for (size_t i = 0; i < ITEMS; i++)
                nb_heap_add(&heap, &items[i]);
            const struct item *last = nb_heap_last(&heap);
            for (size_t i = 0; i < heap.count; i++)
                ck_assert_int_ge(compare(last, &kept[i]), 0);
            nb_heap_sort(&heap);
            check_best(&heap, items, seed);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("array");
    TCase *all = tcase_create("all");
    tcase_add_test(all, an_array_grows_by_one_and_keeps);
    tcase_add_test(all, room_is_as_much_as_wanted_or_twice_as_much);
    tcase_add_test(all, an_array_that_cannot_grow_is_as_before);
    tcase_add_test(all, an_array_is_renewed_only_if_it_must_grow);
    tcase_add_test(all, an_array_can_shrink_to_nothing);
    tcase_add_test(all, a_heap_keeps_the_best);
    suite_add_tcase(suite, all);
    return test_run(suite);
}
