/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers of entries, which follow from the place of a change in a stream; and the greatest number
 * of a model, for which all tables are searched.
 */
#include <check.h>
#include <stdlib.h>

#include "core/ledger/record.h"
#include "core/store/store.h"
#include "tests/unit/folder.h"
#include "tests/unit/run.h"

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

/* ---- the greatest number of a model ------------------------------------------------------- */

static char directory[NB_TEST_FOLDER_SIZE];
static struct nb_store *store;
static struct nb_view view;

static void open_store(void)
{
    test_folder_make(directory);
    ck_assert_int_eq(nb_store_open(directory, 0, &store, NULL), 0);
    ck_assert_int_eq(nb_store_begin(store, 0, &view, NULL), 0);
}

static void close_store(void)
{
    nb_store_abort(&view);
    nb_store_close(&store);
    test_folder_remove(directory);
}

/* Returns the greatest number when a table has one key of `size` bytes that begins with `model`. */
static uint32_t greatest_with(enum nb_table table, uint32_t model, size_t size)
{
    const uint8_t key[] = {(uint8_t)(model >> 24),
                           (uint8_t)(model >> 16),
                           (uint8_t)(model >> 8),
                           (uint8_t)model,
                           0,
                           0,
                           0,
                           1};
    struct nb_serials serials;
    open_store();
    ck_assert_uint_le(size, sizeof key);
    ck_assert_int_eq(nb_store_put(&view, table, (struct nb_string){(const char *)key, size},
                                  (struct nb_string){"x", 1}, NULL),
                     0);
    ck_assert_int_eq(nb_serials_load(&view, &serials, NULL), 0);
    close_store();
    return serials.model;
}

static const enum nb_table OF_MODELS[] = {
    NB_TABLE_STATE,   NB_TABLE_LABELS,  NB_TABLE_ENTRIES,    NB_TABLE_DOCUMENTS,
    NB_TABLE_ROWS,    NB_TABLE_WORDS,   NB_TABLE_WEIGHTS,    NB_TABLE_SCORES,
    NB_TABLE_GARBAGE, NB_TABLE_ORPHANS, NB_TABLE_QUARANTINE, NB_TABLE_WAITING,
    NB_TABLE_KEPT,    NB_TABLE_TWIN,    NB_TABLE_HISTORY,    NB_TABLE_HISTORY_IDS};

/* What is left of a model in any table keeps its number from being given again. */
START_TEST(what_any_table_has_is_not_given_again)
{
    for (size_t i = 0; i < sizeof OF_MODELS / sizeof *OF_MODELS; i++) {
        ck_assert_uint_eq(greatest_with(OF_MODELS[i], 41, 8), 41);
        ck_assert_uint_eq(greatest_with(OF_MODELS[i], 42, 4), 42); /* the number alone */
    }
}
END_TEST

/* Keys that are no number of a model. */
START_TEST(other_keys_are_passed_over)
{
    ck_assert_uint_eq(greatest_with(NB_TABLE_ROWS, UINT32_MAX, 8), 0);
    ck_assert_uint_eq(greatest_with(NB_TABLE_ROWS, 43, 3), 0);
}
END_TEST

/* The greatest one counts, not the last that is found. */
START_TEST(the_next_model_is_above_all)
{
    static const char *const keys[] = {"\0\0\0\x9rest", "\0\0\0\x5rest"};
    static const enum nb_table tables[] = {NB_TABLE_STATE, NB_TABLE_HISTORY};
    struct nb_serials serials;
    uint32_t number = 0;
    open_store();
    for (size_t i = 0; i < 2; i++)
        ck_assert_int_eq(nb_store_put(&view, tables[i], (struct nb_string){keys[i], 8},
                                      (struct nb_string){"x", 1}, NULL),
                         0);
    ck_assert_int_eq(nb_serials_load(&view, &serials, NULL), 0);
    ck_assert_int_eq(nb_serials_model(&serials, &view, &number, NULL), 0);
    ck_assert_uint_eq(number, 10);
    ck_assert_int_eq(nb_serials_load(&view, &serials, NULL), 0); /* and it is stored */
    ck_assert_uint_eq(serials.model, 10);
    close_store();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("serials");
    TCase *t = tcase_create("serials");
    tcase_add_test(t, numbers_follow_from_the_place);
    tcase_add_test(t, streams_do_not_meet);
    suite_add_tcase(suite, t);
    t = tcase_create("models");
    tcase_add_test(t, what_any_table_has_is_not_given_again);
    tcase_add_test(t, other_keys_are_passed_over);
    tcase_add_test(t, the_next_model_is_above_all);
    suite_add_tcase(suite, t);
    return test_run(suite);
}
