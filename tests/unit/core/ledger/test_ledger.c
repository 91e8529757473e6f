/* SPDX-License-Identifier: Apache-2.0
 *
 * The ledger on a real store: appended entries are found, superfluous ones are dropped, the others
 * keep their numbers; and the next numbers.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/ledger/ledger_features.h"
#include "core/ledger/record.h"
#include "tests/unit/folder.h"
#include "tests/unit/run.h"

enum { MODEL = 7, LARGE = 5000 };

static char directory[NB_TEST_FOLDER_SIZE];
static struct nb_store *store;
static struct nb_view view;
static struct nb_ledger_totals totals;
static struct nb_buffer scratch;

static struct nb_string str(const char *s)
{
    return (struct nb_string){s, strlen(s)};
}

static void setup(void)
{
    test_folder_make(directory);
    ck_assert_int_eq(nb_store_open(directory, 0, &store, NULL), 0);
    ck_assert_int_eq(nb_store_begin(store, 0, &view, NULL), 0);
    totals = (struct nb_ledger_totals){0};
}

static void teardown(void)
{
    nb_store_abort(&view);
    nb_store_close(&store);
    nb_buffer_deinit(&scratch);
    test_folder_remove(directory);
}

static void append(uint64_t number, struct nb_change change)
{
    change.model = change.model == 0 ? MODEL : change.model;
    ck_assert_int_eq(nb_ledger_append(&view, number, &change, &totals, &scratch, NULL), 0);
}

static struct nb_change train(const char *id, uint64_t replaced, uint64_t first)
{
    return (struct nb_change){.kind = NB_CHANGE_TRAIN,
                              .id = str(id),
                              .bag = {"\x02", 1},
                              .tokens = 1,
                              .replaced = replaced,
                              .first = first};
}

static struct nb_change untrain(const char *id, uint64_t replaced)
{
    return (struct nb_change){
        .kind = NB_CHANGE_UNTRAIN, .id = str(id), .replaced = replaced, .first = replaced};
}

/* Returns the number of the current entry of an id; 0: there is none. */
static uint64_t current(const char *id)
{
    struct nb_entry entry = {0};
    int rc = nb_ledger_find(&view, MODEL, str(id), &entry, NULL);
    uint64_t number = entry.number;
    ck_assert(rc == 0 || rc == NB_NOT_FOUND);
    nb_entry_deinit(&entry);
    return rc == 0 ? number : 0;
}

/* Returns the kind of an entry; 0: there is no such entry. */
static int kind_of(uint64_t number)
{
    struct nb_entry entry = {0};
    int rc = nb_ledger_read(&view, number, &entry, NULL);
    int kind = rc == 0 ? (int)entry.change.kind : 0;
    ck_assert(rc == 0 || rc == NB_NOT_FOUND);
    nb_entry_deinit(&entry);
    return kind;
}

static int list_number(void *user, struct nb_entry *entry, struct nb_error *error)
{
    char *list = user;
    bool lives;
    ck_assert_int_eq(nb_ledger_is_current(&view, entry, &lives, error), 0);
    sprintf(list + strlen(list), "%d%s ", (int)entry->number, lives ? "+" : "");
    return 0;
}

static void expect_walk(uint32_t model, uint64_t from, const char *want)
{
    char list[256] = "";
    ck_assert_int_eq(nb_ledger_walk(&view, model, from, list_number, list, NULL), 0);
    ck_assert_str_eq(list, want);
}

static int count_one(void *user, struct nb_string key, struct nb_string value,
                     struct nb_error *error)
{
    (void)key;
    (void)value;
    (void)error;
    ++*(size_t *)user;
    return 0;
}

static size_t rows_of(enum nb_table table)
{
    size_t count = 0;
    struct nb_store_key prefix = nb_store_key_model(MODEL);
    ck_assert_int_eq(nb_store_scan(&view, table, nb_store_key_string(&prefix), prefix.length,
                                   count_one, &count, NULL),
                     0);
    return count;
}

static bool drop(uint64_t before, size_t most)
{
    bool more;
    ck_assert_int_eq(nb_ledger_drop(&view, MODEL, before, INT64_MAX, most, &totals, &more, NULL),
                     0);
    return more;
}

static void expect_totals(uint64_t entries, uint64_t lives, uint64_t scores)
{
    ck_assert_uint_eq(totals.entries, entries);
    ck_assert_uint_eq(totals.current, lives);
    ck_assert_uint_eq(totals.scores, scores);
}

START_TEST(entries_are_found)
{
    append(2, train("a", 0, 0));
    append(3, train("b", 0, 0));
    append(5, train("a", 2, 2));
    ck_assert_uint_eq(current("a"), 5);
    ck_assert_uint_eq(current("b"), 3);
    ck_assert_uint_eq(current("c"), 0);
    expect_walk(MODEL, 0, "2 3+ 5+ ");
    expect_walk(MODEL, 3, "3+ 5+ ");
    expect_walk(MODEL + 1, 0, "");
    expect_totals(3, 2, 0);
    append(6, untrain("b", 3));
    ck_assert_uint_eq(current("b"), 0);
    expect_walk(0, 0, "2 3 5+ 6 ");
    expect_totals(4, 1, 0);
}
END_TEST

/* Entries of every size near those of pieces, to the byte. */
START_TEST(entries_of_many_pieces_read_back)
{
    static char bag[LARGE];
    memset(bag, 2, sizeof bag);
    uint64_t number = 1;
    for (size_t length = 900; length < LARGE; length += length < 1100 ? 1 : 487) {
        struct nb_entry entry = {0};
        struct nb_change change = train("a", 0, 0);
        change.bag = (struct nb_string){bag, length};
        change.model = (uint32_t)number;
        append(number, change);
        ck_assert_int_eq(nb_ledger_read(&view, number, &entry, NULL), 0);
        ck_assert_uint_eq(entry.change.bag.length, length);
        ck_assert_int_eq(memcmp(entry.change.bag.bytes, bag, length), 0);
        nb_entry_deinit(&entry);
        number++;
    }
}
END_TEST

/* An entry that lacks a piece is damaged, whichever it is. */
START_TEST(missing_pieces_are_found)
{
    static char bag[LARGE];
    struct nb_entry entry = {0};
    struct nb_change change = train("a", 0, 0);
    memset(bag, 2, sizeof bag);
    change.bag = (struct nb_string){bag, sizeof bag};
    for (uint16_t piece = 0; piece < 6; piece++) {
        append(piece + 1u, change);
        struct nb_store_key key = nb_store_key_entry(piece + 1u, piece);
        ck_assert_int_eq(nb_store_delete(&view, NB_TABLE_LEDGER, nb_store_key_string(&key), NULL),
                         0);
        ck_assert_int_eq(nb_ledger_read(&view, piece + 1u, &entry, NULL), NB_CORRUPT);
        change.replaced = piece + 1u;
        change.first = 1;
    }
    nb_entry_deinit(&entry);
}
END_TEST

START_TEST(superseded_documents_are_dropped)
{
    append(1, train("a", 0, 0));
    append(2, train("a", 1, 1));
    append(3, untrain("a", 2));
    append(4, train("b", 0, 0));
    ck_assert(!drop(2, 100)); /* nothing below 2 made anything superfluous */
    expect_walk(MODEL, 0, "1 2 3 4+ ");
    ck_assert(drop(4, 1)); /* one at a time */
    expect_walk(MODEL, 0, "2 3 4+ ");
    ck_assert(!drop(4, 100));
    expect_walk(MODEL, 0, "4+ ");
    expect_totals(1, 1, 0);
    ck_assert_uint_eq(totals.dropped, 2);
}
END_TEST

START_TEST(what_was_new_stays_under_its_number)
{
    struct nb_change first = train("a", 0, 0);
    struct nb_entry entry = {0};
    size_t index;
    first.label = 4;
    first.label_name = str("spam");
    first.first_row = 10;
    first.new_count = 2;
    first.features = (struct nb_string){"\0zz", 3};
    append(1, first);
    append(2, untrain("a", 1));
    append(3, train("b", 0, 0));
    ck_assert(!drop(3, 100));
    ck_assert_int_eq(kind_of(1), NB_CHANGE_FEATURES);
    ck_assert_int_eq(kind_of(2), 0);
    expect_walk(MODEL, 0, "1 3+ ");
    ck_assert_int_eq(nb_ledger_entry_of_row(&view, MODEL, 11, &entry, &index, NULL), 0);
    ck_assert_uint_eq(entry.number, 1);
    ck_assert_uint_eq(entry.change.label, 4);
    ck_assert_uint_eq(entry.change.new_count, 2);
    ck_assert_int_eq(memcmp(entry.change.label_name.bytes, "spam", 4), 0);
    ck_assert_int_eq(nb_ledger_entry_of_row(&view, MODEL, 12, &entry, &index, NULL), NB_NOT_FOUND);
    ck_assert_int_eq(nb_ledger_entry_of_row(&view, MODEL, 9, &entry, &index, NULL), NB_NOT_FOUND);
    ck_assert_int_eq(nb_ledger_entry_of_row(&view, MODEL + 1, 11, &entry, &index, NULL),
                     NB_NOT_FOUND);
    nb_entry_deinit(&entry);
}
END_TEST

/* Its number says which come next. */
/* By which the nodes of a cluster know a model. */
START_TEST(the_first_entry_of_a_model_is_found)
{
    uint64_t number = 0;
    ck_assert_int_eq(nb_ledger_first(&view, MODEL, &number, NULL), NB_NOT_FOUND);
    append(5, (struct nb_change){.kind = NB_CHANGE_CREATE, .model = MODEL + 1});
    append(6, (struct nb_change){.kind = NB_CHANGE_CREATE});
    append(7, train("a", 0, 0));
    ck_assert_int_eq(nb_ledger_first(&view, MODEL, &number, NULL), 0);
    ck_assert_uint_eq(number, 6);
    ck_assert_int_eq(nb_ledger_first(&view, MODEL + 1, &number, NULL), 0);
    ck_assert_uint_eq(number, 5);
}
END_TEST

START_TEST(the_newest_entry_stays)
{
    struct nb_serials serials;
    append(1, train("a", 0, 0));
    append(2, untrain("a", 1));
    ck_assert(!drop(100, 100));
    expect_walk(MODEL, 0, "1 2 ");
    ck_assert_int_eq(nb_serials_load(&view, &serials, NULL), 0);
    ck_assert_uint_eq(nb_serials_entry(&serials), 3);
}
END_TEST

/* Drops superfluous entries, except those that were superseded at `keep_from` or later. */
static void tidy(int64_t keep_from)
{
    bool more = true;
    while (more)
        ck_assert_int_eq(
            nb_ledger_drop(&view, MODEL, UINT64_MAX, keep_from, 100, &totals, &more, NULL), 0);
}

static struct nb_change relabel(const char *id, uint64_t replaced, int64_t time)
{
    struct nb_change change = train(id, replaced, replaced);
    change.time = time;
    change.label = (uint32_t)replaced & 1;
    return change;
}

/* From when it was superseded on, until it is too old; `last` is there because the newest entry is
 * never looked at. */
START_TEST(what_had_another_label_is_kept_for_a_time)
{
    append(1, train("a", 0, 0));
    append(2, relabel("a", 1, 1000));
    append(3, relabel("a", 2, 2000));
    append(4, train("last", 0, 0));
    tidy(1000);
    expect_walk(MODEL, 0, "1 2 3+ 4+ ");
    ck_assert_uint_eq(rows_of(NB_TABLE_GARBAGE), 0);
    ck_assert_uint_eq(rows_of(NB_TABLE_KEPT), 2);
    expect_totals(4, 2, 0);
    tidy(1001);
    expect_walk(MODEL, 0, "2 3+ 4+ ");
    tidy(2001);
    expect_walk(MODEL, 0, "3+ 4+ ");
    expect_totals(2, 2, 0);
    ck_assert_uint_eq(rows_of(NB_TABLE_KEPT), 0);
}
END_TEST

/* Nothing stays of a document that is forgotten, or of content that it has no more. */
START_TEST(what_is_forgotten_goes_with_all_that_was_kept)
{
    for (int other = 0; other < 2; other++) {
        uint64_t n = 10 * (uint64_t)other;
        struct nb_change gone = other ? relabel("a", n + 3, 3000) : untrain("a", n + 3);
        gone.bag = other ? (struct nb_string){"\x04", 1} : gone.bag;
        append(n + 1, train("a", 0, 0));
        append(n + 2, relabel("a", n + 1, 1000));
        append(n + 3, relabel("a", n + 2, 2000));
        append(n + 4, train("b", other ? 4 : 0, other ? 4 : 0));
        tidy(1);
        append(n + 5, gone);
        append(n + 6, train("c", other ? 6 : 0, other ? 6 : 0));
        tidy(1);
        for (uint64_t i = n + 1; i <= n + 3; i++)
            ck_assert_int_eq(kind_of(i), 0);
        ck_assert_int_eq(kind_of(n + 5), other ? NB_CHANGE_TRAIN : 0);
    }
}
END_TEST

START_TEST(a_bounded_number_of_states_is_kept)
{
    append(1, train("a", 0, 0));
    for (uint64_t i = 2; i <= 100; i++) {
        append(i, relabel("a", i - 1, (int64_t)i));
        if (i % 7 == 0)
            tidy(1);
    }
    append(101, train("last", 0, 0));
    tidy(1);
    ck_assert_uint_eq(rows_of(NB_TABLE_KEPT), 8);
    expect_walk(MODEL, 0, "92 93 94 95 96 97 98 99 100+ 101+ ");
}
END_TEST

START_TEST(scores_stay_at_the_first_learning)
{
    struct nb_change a = train("a", 0, 0);
    struct nb_string value;
    struct nb_store_key key = nb_store_key_sequence(MODEL, 1);
    a.score = str("1");
    append(1, a);
    append(2, train("b", 0, 0));
    a.replaced = a.first = 1;
    a.score = str("2");
    append(3, a);
    expect_totals(3, 2, 1);
    ck_assert_int_eq(nb_store_get(&view, NB_TABLE_SCORES, nb_store_key_string(&key), &value, NULL),
                     0);
    ck_assert(value.length == 1 && value.bytes[0] == '2');
    struct nb_change gone = untrain("a", 3);
    gone.first = 1;
    gone.score = str("2");
    append(4, gone);
    expect_totals(4, 1, 0);
    ck_assert_int_eq(nb_store_get(&view, NB_TABLE_SCORES, nb_store_key_string(&key), &value, NULL),
                     NB_NOT_FOUND);
}
END_TEST

START_TEST(a_model_that_is_gone_leaves_nothing)
{
    size_t deleted;
    size_t sum = 0;
    struct nb_change other = train("a", 0, 0);
    for (uint64_t i = 1; i <= 9; i++) {
        char id[8];
        snprintf(id, sizeof id, "%d", (int)(i % 5));
        append(i, train(id, i > 5 ? i - 5 : 0, i > 5 ? i - 5 : 0));
    }
    other.model = MODEL + 1;
    append(10, other);
    do {
        ck_assert_int_eq(nb_ledger_clear(&view, MODEL, 4, &deleted, NULL), 0);
        ck_assert_uint_le(deleted, 4);
        sum += deleted;
    } while (deleted == 4);
    ck_assert_uint_ge(sum, 9);
    expect_walk(MODEL, 0, "");
    expect_walk(0, 0, "10+ ");
    ck_assert_uint_eq(current("1"), 0);
    ck_assert_uint_eq(rows_of(NB_TABLE_GARBAGE), 0);
}
END_TEST

/* A rebuild copies all entries and gives the same indexes. */
static int index_again(void *user, struct nb_entry *entry, struct nb_error *error)
{
    struct nb_change *changes = user;
    (void)error;
    changes[entry->number].kind = entry->change.kind;
    return 0;
}

static void empty_indexes(void)
{
    static const enum nb_table tables[] = {NB_TABLE_ENTRIES, NB_TABLE_DOCUMENTS, NB_TABLE_SCORES,
                                           NB_TABLE_WORDS, NB_TABLE_GARBAGE};
    struct nb_store_key prefix = nb_store_key_model(MODEL);
    size_t deleted;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        ck_assert_int_eq(
            nb_store_clear(&view, tables[i], nb_store_key_string(&prefix), 1000, &deleted, NULL),
            0);
}

START_TEST(indexes_are_made_again)
{
    struct nb_change seen[8] = {{0}};
    struct nb_change scored = train("a", 0, 0);
    scored.score = str("1");
    append(1, scored);
    append(2, train("b", 0, 0));
    scored.replaced = scored.first = 1;
    append(3, scored);
    append(4, untrain("b", 2));
    append(5, train("b", 0, 0));
    struct nb_ledger_totals before = totals;
    empty_indexes();
    totals = (struct nb_ledger_totals){0};
    ck_assert_int_eq(nb_ledger_walk(&view, 0, 0, index_again, seen, NULL), 0);
    for (uint64_t i = 1; i <= 5; i++) {
        struct nb_entry entry = {0};
        ck_assert(seen[i].kind != 0);
        ck_assert_int_eq(nb_ledger_read(&view, i, &entry, NULL), 0);
        ck_assert_int_eq(nb_ledger_copy(&view, &entry, &totals, &scratch, NULL), 0);
        nb_entry_deinit(&entry);
    }
    expect_totals(before.entries, before.current, before.scores);
    ck_assert_uint_eq(current("a"), 3);
    ck_assert_uint_eq(current("b"), 5);
    expect_walk(MODEL, 0, "1 2 3+ 4 5+ ");
    ck_assert(!drop(5, 100));
    expect_walk(MODEL, 0, "3+ 5+ ");
}
END_TEST

/* Whatever a crash left behind of a model: its number is not given again. */
START_TEST(numbers_are_above_everything)
{
    static const enum nb_table tables[] = {
        NB_TABLE_STATE,   NB_TABLE_LABELS,  NB_TABLE_ENTRIES,    NB_TABLE_DOCUMENTS,
        NB_TABLE_ROWS,    NB_TABLE_WORDS,   NB_TABLE_WEIGHTS,    NB_TABLE_SCORES,
        NB_TABLE_GARBAGE, NB_TABLE_ORPHANS, NB_TABLE_QUARANTINE, NB_TABLE_WAITING,
        NB_TABLE_KEPT,    NB_TABLE_TWIN};
    struct nb_serials serials;
    uint32_t given;
    ck_assert_int_eq(nb_serials_load(&view, &serials, NULL), 0);
    ck_assert_uint_eq(serials.model, 0);
    ck_assert_uint_eq(serials.entry, 0);
    for (uint32_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        struct nb_store_key key = nb_store_key_model(10 + i);
        ck_assert_int_eq(nb_store_put(&view, tables[i], nb_store_key_string(&key), str("x"), NULL),
                         0);
        ck_assert_int_eq(nb_serials_load(&view, &serials, NULL), 0);
        ck_assert_uint_eq(serials.model, 10 + i);
    }
    ck_assert_int_eq(nb_serials_model(&serials, &view, &given, NULL), 0);
    ck_assert_uint_eq(given, 24);
    ck_assert_int_eq(nb_serials_load(&view, &serials, NULL), 0);
    ck_assert_uint_eq(serials.model, 24); /* it has no row yet */
    append(1000, (struct nb_change){.kind = NB_CHANGE_DELETE, .model = 3});
    ck_assert_int_eq(nb_serials_load(&view, &serials, NULL), 0);
    ck_assert_uint_eq(nb_serials_entry(&serials), 1001);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("ledger");
    TCase *t = tcase_create("ledger");
    suite_add_tcase(s, t);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, entries_are_found);
    tcase_add_test(t, entries_of_many_pieces_read_back);
    tcase_add_test(t, missing_pieces_are_found);
    tcase_add_test(t, superseded_documents_are_dropped);
    tcase_add_test(t, what_was_new_stays_under_its_number);
    tcase_add_test(t, the_newest_entry_stays);
    tcase_add_test(t, the_first_entry_of_a_model_is_found);
    tcase_add_test(t, what_had_another_label_is_kept_for_a_time);
    tcase_add_test(t, what_is_forgotten_goes_with_all_that_was_kept);
    tcase_add_test(t, a_bounded_number_of_states_is_kept);
    tcase_add_test(t, scores_stay_at_the_first_learning);
    tcase_add_test(t, a_model_that_is_gone_leaves_nothing);
    tcase_add_test(t, indexes_are_made_again);
    tcase_add_test(t, numbers_are_above_everything);
    return test_run(s);
}
