/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/counts/counts.h"
#include "tests/unit/run.h"

/* xorshift64* (Vigna 2016): the same numbers everywhere. */
static uint64_t random_state;
static uint64_t random_next(void)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return random_state * UINT64_C(2685821657736338717);
}

static uint32_t random_below(uint32_t n)
{
    return (uint32_t)((random_next() >> 32) * n >> 32);
}

static void random_seed(uint64_t seed)
{
    printf("seed %llu\n", (unsigned long long)seed);
    random_state = seed * 2 + 1;
}

static struct nb_string str(const char *s)
{
    return (struct nb_string){s, strlen(s)};
}

static uint64_t word_id(unsigned field, uint64_t i)
{
    return nb_feature_id((enum nb_field)field, i * UINT64_C(0xD6E8FEB86659FD93));
}

static uint32_t append(struct nb_model *m, uint64_t id)
{
    uint32_t row = NB_NO_ROW;
    ck_assert_int_eq(nb_model_append(m, id, &row), 0);
    return row;
}

/* ---- rows and index -------------------------------------------------------------------------- */

/* Returns an id. The kinds spread ids like hashes, consecutively, all in one field, or in the top
 * bits only. */
static uint64_t spread(int kind, uint64_t i)
{
    switch (kind) {
    case 0:
        return word_id((unsigned)(i % NB_FIELDS), i + 1);
    case 1:
        return i;
    case 2:
        return i << 20;
    default:
        return (uint64_t)(i % NB_FIELDS) << NB_FIELD_SHIFT | i / NB_FIELDS;
    }
}

START_TEST(rows_are_found)
{
    enum { ROWS = 60000 };
    struct nb_model *m = nb_model_new();
    for (uint32_t i = 0; i < ROWS; i++) {
        ck_assert_uint_eq(nb_model_find(m, spread(_i, i)), NB_NO_ROW);
        ck_assert_uint_eq(append(m, spread(_i, i)), i);
        ck_assert_uint_eq(nb_model_find(m, spread(_i, i)), i);
    }
    ck_assert_uint_eq(nb_model_rows(m), ROWS);
    for (uint32_t i = 0; i < ROWS; i++) {
        ck_assert_uint_eq(nb_model_find(m, spread(_i, i)), i);
        ck_assert_uint_eq(nb_model_row_id(m, i), spread(_i, i));
    }
    for (uint32_t i = ROWS; i < 2 * ROWS; i++)
        ck_assert_uint_eq(nb_model_find(m, spread(_i, i)), NB_NO_ROW);
    nb_model_free(&m);
    ck_assert_ptr_null(m);
}
END_TEST

START_TEST(many_look_ups_equal_single_ones)
{
    random_seed(17);
    struct nb_model *m = nb_model_new();
    for (uint32_t i = 0; i < 5000; i++)
        append(m, word_id(i % NB_FIELDS, i));
    for (size_t size = 0; size < 300; size += size < 60 ? 1 : 37) {
        struct nb_feature features[300];
        uint32_t rows[300];
        for (size_t i = 0; i < size; i++) {
            uint32_t word = random_below(10000);
            features[i] = (struct nb_feature){word_id(word % NB_FIELDS, word), 1, 0};
        }
        nb_model_find_all(m, features, size, rows);
        for (size_t i = 0; i < size; i++)
            ck_assert_uint_eq(rows[i], nb_model_find(m, features[i].id));
    }
    nb_model_free(&m);
}
END_TEST

START_TEST(dropped_rows_have_no_features)
{
    static const struct nb_row_count counts[] = {{0, 1}, {1, 1}, {2, 1}};
    struct nb_model *m = nb_model_new();
    for (uint32_t i = 0; i < 3; i++)
        append(m, word_id(0, i));
    ck_assert(nb_model_have_features(m, counts, 3));
    ck_assert_int_eq(nb_model_drop_row(m, 1), 0);
    ck_assert(!nb_model_have_features(m, counts, 3));
    ck_assert(!nb_model_have_features(m, counts, 2));
    ck_assert(nb_model_have_features(m, counts, 1));
    ck_assert(nb_model_have_features(m, counts + 2, 1));
    ck_assert(nb_model_have_features(m, NULL, 0));
    nb_model_free(&m);
}
END_TEST

START_TEST(rows_that_get_ids_are_counted)
{
    struct nb_model *m = nb_model_new();
    uint32_t row;
    ck_assert_uint_eq(nb_model_named_rows(m), 0);
    append(m, word_id(0, 1));
    append(m, word_id(0, 2));
    ck_assert_uint_eq(nb_model_named_rows(m), 2);
    ck_assert_int_eq(nb_model_drop_row(m, 0), 0);
    ck_assert_uint_eq(nb_model_named_rows(m), 2);
    ck_assert_int_eq(nb_model_add_row(m, word_id(0, 3), &row), 0);
    ck_assert_uint_eq(nb_model_named_rows(m), 3);
    nb_model_truncate(m, 1);
    append(m, word_id(0, 4)); /* as many rows as before, and others */
    ck_assert_uint_eq(nb_model_named_rows(m), 4);
    nb_model_free(&m);
}
END_TEST

START_TEST(truncated_rows_are_gone_and_come_back)
{
    random_seed(5);
    struct nb_model *m = nb_model_new();
    uint32_t rows = 0;
    uint64_t serial = 0;
    uint64_t ids[4000];
    for (int round = 0; round < 300; round++) {
        for (uint32_t n = random_below(60); n > 0 && rows < 4000; n--, rows++) {
            ids[rows] =
                random_below(2) == 0 ? word_id(0, ++serial) : word_id(1, (uint64_t)round * 100 + n);
            ck_assert_uint_eq(append(m, ids[rows]), rows);
        }
        uint32_t keep = rows - random_below(rows / 4 + 1);
        nb_model_truncate(m, keep);
        for (uint32_t i = keep; i < rows; i++)
            ck_assert_uint_eq(nb_model_find(m, ids[i]), NB_NO_ROW);
        rows = keep;
        ck_assert_uint_eq(nb_model_rows(m), rows);
        for (uint32_t i = 0; i < rows; i++)
            ck_assert_uint_eq(nb_model_find(m, ids[i]), i);
    }
    nb_model_truncate(m, 0);
    for (uint64_t b = 0; b < m->index.bucket_count; b++)
        for (size_t place = 0; place < NB_BUCKET_PLACES; place++)
            ck_assert_uint_eq(m->index.buckets[b].places[place], 0);
    nb_model_free(&m);
}
END_TEST

START_TEST(dropped_rows_are_taken_again)
{
    enum { COUNT = 5000 };
    struct nb_model *m = nb_model_new();
    uint32_t row;
    for (uint64_t i = 0; i < COUNT; i++)
        append(m, word_id(0, i + 1));
    for (uint32_t i = 0; i < COUNT; i += 3)
        ck_assert_int_eq(nb_model_drop_row(m, i), 0);
    uint32_t dropped = nb_model_dropped_rows(m);
    ck_assert_uint_eq(dropped, COUNT / 3 + 1);
    size_t memory = nb_model_memory(m);
    for (uint32_t i = 0; i < COUNT; i++)
        ck_assert_uint_eq(nb_model_find(m, word_id(0, i + 1)), i % 3 == 0 ? NB_NO_ROW : i);
    /* New ids take the rows; taken back, they can be taken again. */
    for (int round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < dropped; i++) {
            ck_assert_int_eq(nb_model_add_row(m, word_id(1, i + 1), &row), 0);
            ck_assert_uint_eq(row % 3, 0);
            ck_assert_uint_eq(nb_model_find(m, word_id(1, i + 1)), row);
        }
        ck_assert_uint_eq(nb_model_dropped_rows(m), 0);
        if (round < 2)
            nb_model_return_rows(m, dropped);
        ck_assert_uint_eq(nb_model_find(m, word_id(1, 1)) == NB_NO_ROW, round < 2);
    }
    ck_assert_uint_eq(nb_model_rows(m), COUNT);
    ck_assert_uint_eq(nb_model_memory(m), memory);
    ck_assert_int_eq(nb_model_add_row(m, word_id(2, 1), &row), 0);
    ck_assert_uint_eq(row, COUNT);
    nb_model_free(&m);
}
END_TEST

START_TEST(rows_of_long_runs_are_taken_first)
{
    static const uint32_t dropped[] = {5, 7, 20, 21, 22, 23, 24, 30, 31, 32};
    struct nb_model *m = nb_model_new();
    uint32_t row;
    for (uint64_t i = 0; i < 60; i++)
        append(m, word_id(0, i + 1));
    for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++)
        ck_assert_int_eq(nb_model_drop_row(m, dropped[i]), 0);
    nb_model_sort_dropped(m);
    for (uint32_t i = 0; i < 5; i++) {
        ck_assert_int_eq(nb_model_add_row(m, word_id(1, i + 1), &row), 0);
        ck_assert_uint_eq(row, 24 - i);
    }
    /* Five of sixty rows in short runs wait. */
    ck_assert_int_eq(nb_model_add_row(m, word_id(1, 6), &row), 0);
    ck_assert_uint_eq(row, 60);
    nb_model_return_rows(m, 10);
    nb_model_truncate(m, 60);
    ck_assert_uint_eq(nb_model_dropped_rows(m), 10);
    /* With a third of all rows dropped, they are taken. */
    for (uint32_t i = 34; i < 60; i += 2)
        ck_assert_int_eq(nb_model_drop_row(m, i), 0);
    for (uint32_t i = 10; i < 20; i += 2)
        ck_assert_int_eq(nb_model_drop_row(m, i), 0);
    nb_model_sort_dropped(m);
    for (uint32_t i = 0; i < 6; i++)
        ck_assert_int_eq(nb_model_add_row(m, word_id(1, i + 1), &row), 0);
    ck_assert_uint_lt(row, 60);
    nb_model_free(&m);
}
END_TEST

START_TEST(a_reserved_index_does_not_grow)
{
    struct nb_model *m = nb_model_new();
    ck_assert_int_eq(nb_model_reserve(m, 30000), 0);
    const struct nb_bucket *buckets = m->index.buckets;
    for (uint32_t i = 0; i < 30000; i++)
        append(m, word_id(0, i));
    ck_assert_ptr_eq(m->index.buckets, buckets);
    ck_assert_int_eq(nb_model_reserve(m, 100), 0);
    ck_assert_ptr_eq(m->index.buckets, buckets);
    for (uint32_t i = 0; i < 30000; i++)
        ck_assert_uint_eq(nb_model_find(m, word_id(0, i)), i);
    nb_model_free(&m);
}
END_TEST

enum { BULK = 700, BULKS = 8, MORE = 301, ALIKE = 8 };

/* Groups of ALIKE ids with the same bucket and the same tag in the index, so that a look-up may
 * confuse them. */
static uint64_t alike_ids[BULK * BULKS + MORE];

static void find_alike_ids(const struct nb_index *index)
{
    uint64_t inverse = index->multiplier; /* the number of which the product with it is 1 */
    for (int i = 0; i < 6; i++)
        inverse *= 2 - index->multiplier * inverse;
    uint64_t at = 0;
    for (uint32_t i = 0; i < BULK * BULKS + MORE; i++) {
        if (i % ALIKE == 0)
            at = (uint64_t)(i * UINT32_C(0x9E3779B9)) << 32;
        do
            alike_ids[i] = inverse * at++;
        while (nb_feature_field(alike_ids[i]) >= NB_FIELDS);
    }
}

/* BULKS times BULK of them, in calls of BULK. The index does not grow, so they stay alike. */
static struct nb_model *model_of_alike(uint64_t ids[BULK * BULKS])
{
    struct nb_model *m = nb_model_new();
    ck_assert_int_eq(nb_model_reserve(m, BULK * BULKS + MORE), 0);
    find_alike_ids(&m->index);
    ck_assert_uint_eq(nb_index_where(&m->index, alike_ids[0]) >> m->index.row_bits,
                      nb_index_where(&m->index, alike_ids[ALIKE - 1]) >> m->index.row_bits);
    for (uint32_t i = 0; i < BULK * BULKS; i++)
        ids[i] = i % 11 == 3 ? NB_DROPPED_ID : alike_ids[i];
    for (uint32_t at = 0; at < BULK * BULKS; at += BULK)
        ck_assert_int_eq(nb_model_append_all(m, ids + at, BULK), 0);
    return m;
}

START_TEST(rows_are_appended_many_at_once)
{
    static uint64_t ids[BULK * BULKS];
    struct nb_model *m = model_of_alike(ids);
    ck_assert_uint_eq(nb_model_rows(m), BULK * BULKS);
    ck_assert_int_eq(nb_model_collect_dropped(m), 0);
    ck_assert_uint_eq(nb_model_dropped_rows(m), (BULK * BULKS + 7) / 11);
    for (uint32_t i = 0; i < BULK * BULKS; i++) {
        ck_assert_uint_eq(nb_model_row_id(m, i), ids[i]);
        ck_assert_uint_eq(nb_model_find(m, alike_ids[i]), i % 11 == 3 ? NB_NO_ROW : i);
    }
    nb_model_free(&m);
}
END_TEST

/* Wherever the first of both is: in the same call, in the first one, with many or few alike behind
 * it. */
START_TEST(an_id_that_is_appended_twice)
{
    static const struct {
        uint32_t first, second, size;
    } cases[] = {{0, 1, 2}, {0, 300, 301}, {0, 1, 300}, {298, 299, 300}, {5, 9, 10}};
    static uint64_t ids[BULK * BULKS];
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        struct nb_model *m = model_of_alike(ids);
        uint64_t more[MORE];
        for (uint32_t k = 0; k < MORE; k++)
            more[k] = alike_ids[BULK * BULKS + k];
        uint32_t c = (uint32_t)i / 2;
        more[cases[c].second] = i % 2 == 0 ? more[cases[c].first] : alike_ids[cases[c].first];
        ck_assert_msg(nb_model_append_all(m, more, cases[c].size) == NB_CORRUPT, "case %zu", i);
        nb_model_free(&m);
    }
}
END_TEST

START_TEST(an_id_without_a_field_is_not_appended)
{
    struct nb_model *m = nb_model_new();
    uint64_t ids[2] = {word_id(0, 1), (uint64_t)NB_FIELDS << NB_FIELD_SHIFT};
    ck_assert_int_eq(nb_model_append_all(m, ids, 2), NB_CORRUPT);
    nb_model_free(&m);
}
END_TEST

/* Appends rows until another thread makes the next index, and some more. Returns how many there
 * are. */
static uint32_t append_until_growth(struct nb_model *m)
{
    enum { MOST = 1 << 18, BEHIND = 100 };
    uint32_t rows = 0;
    while (m->growth == NULL && rows < MOST) {
        append(m, word_id(0, rows + 1));
        rows++;
    }
    ck_assert_ptr_nonnull(m->growth);
    for (unsigned i = 0; i < BEHIND; i++, rows++)
        append(m, word_id(0, rows + 1));
    return rows;
}

static void expect_found(const struct nb_model *m, uint32_t rows)
{
    for (uint32_t i = 0; i < rows; i++)
        ck_assert_uint_eq(nb_model_find(m, word_id(0, i + 1)), i);
}

/* The next index is made by another thread, and has all rows, also those that came meanwhile. */
START_TEST(an_index_is_made_ahead)
{
    struct nb_model *m = nb_model_new();
    uint32_t rows = append_until_growth(m);
    uint64_t before = m->index.room;
    size_t ahead = nb_growth_memory(m->growth);
    ck_assert_uint_gt(ahead, nb_index_memory(&m->index));
    expect_found(m, rows);
    for (; m->index.room == before; rows++)
        append(m, word_id(0, rows + 1));
    ck_assert_ptr_null(m->growth);
    ck_assert_uint_eq(nb_index_memory(&m->index), ahead);
    expect_found(m, rows);
    nb_model_free(&m);
}
END_TEST

/* Rows that other threads read are left alone. */
START_TEST(an_index_that_is_made_ahead_is_given_up)
{
    struct nb_model *m = nb_model_new();
    uint32_t rows = append_until_growth(m);
    size_t memory = nb_model_memory(m) - nb_growth_memory(m->growth);
    nb_model_truncate(m, rows - 10); /* has come after it began */
    ck_assert_ptr_nonnull(m->growth);
    rows -= 10;
    if (_i == 0) {
        nb_model_truncate(m, rows - 200);
        rows -= 200;
    } else if (_i == 1) {
        ck_assert_int_eq(nb_model_drop_row(m, 0), 0);
        nb_model_undrop_row(m, word_id(0, 1), &(uint32_t){0});
    }
    ck_assert_uint_eq(m->growth == NULL, _i < 2);
    if (_i < 2)
        ck_assert_uint_le(nb_model_memory(m), memory + 4096);
    uint64_t before = m->index.room;
    for (; _i < 2 && m->index.room == before; rows++)
        append(m, word_id(0, rows + 1));
    expect_found(m, rows);
    nb_model_free(&m);
}
END_TEST

/* ---- loading --------------------------------------------------------------------------------- */

enum { LOADED = NB_INDEXING_LEAST + 1000, LOADED_AT_ONCE = 1280 };

static uint64_t loaded_id(uint32_t row)
{
    return row % 1000 == 7 ? NB_DROPPED_ID : word_id(row % 3, row);
}

/* Loads `rows` rows and gives each a cell; row `twice` has the id of row 5. Returns the code of the
 * end of loading. */
static int load_many(struct nb_model *m, uint32_t rows, uint32_t twice)
{
    uint64_t ids[LOADED_AT_ONCE];
    const struct nb_cell cell = {0, 1, 1};
    ck_assert_int_eq(nb_model_begin_loading(m, rows), 0);
    for (uint32_t at = 0; at < rows; at += LOADED_AT_ONCE) {
        uint32_t size = rows - at < LOADED_AT_ONCE ? rows - at : LOADED_AT_ONCE;
        for (uint32_t i = 0; i < size; i++)
            ids[i] = loaded_id(at + i == twice ? 5 : at + i);
        ck_assert_int_eq(nb_model_append_all(m, ids, size), 0);
        for (uint32_t i = 0; i < size; i++)
            if (!nb_model_is_dropped(ids[i]))
                ck_assert_int_eq(nb_model_set_cells(m, at + i, &cell, 1), 0);
    }
    return nb_model_end_loading(m);
}

START_TEST(a_large_model_is_loaded)
{
    struct nb_model *m = nb_model_new();
    uint32_t label;
    ck_assert_int_eq(nb_model_label(m, str("a"), &label), 0);
    ck_assert_int_eq(load_many(m, LOADED, LOADED), 0);
    ck_assert_int_eq(nb_model_collect_dropped(m), 0);
    ck_assert_uint_eq(nb_model_rows(m), LOADED);
    for (uint32_t row = 0; row < LOADED; row++)
        ck_assert_uint_eq(nb_model_find(m, word_id(row % 3, row)),
                          nb_model_is_dropped(loaded_id(row)) ? NB_NO_ROW : row);
    append(m, word_id(0, LOADED));
    ck_assert_uint_eq(nb_model_find(m, word_id(0, LOADED)), LOADED);
    nb_model_free(&m);
}
END_TEST

START_TEST(a_large_model_with_an_id_twice_is_damaged)
{
    static const uint32_t twice[] = {6, LOADED / 2, LOADED - 1};
    for (size_t i = 0; i < sizeof twice / sizeof *twice; i++) {
        struct nb_model *m = nb_model_new();
        uint32_t label;
        ck_assert_int_eq(nb_model_label(m, str("a"), &label), 0);
        ck_assert_int_eq(load_many(m, LOADED, twice[i]), NB_CORRUPT);
        nb_model_free(&m);
    }
}
END_TEST

START_TEST(more_rows_than_were_announced_are_damage)
{
    struct nb_model *m = nb_model_new();
    static uint64_t ids[LOADED];
    for (uint32_t i = 0; i < LOADED; i++)
        ids[i] = loaded_id(i);
    ck_assert_int_eq(nb_model_begin_loading(m, NB_INDEXING_LEAST), 0);
    ck_assert_int_eq(nb_model_append_all(m, ids, NB_INDEXING_LEAST), 0);
    for (uint32_t i = 0; i < LOADED; i++)
        ids[i] = word_id(3, i);
    ck_assert_int_eq(nb_model_append_all(m, ids, LOADED), NB_CORRUPT);
    ck_assert_int_eq(nb_model_end_loading(m), 0);
    nb_model_free(&m);
}
END_TEST

/* ---- labels ---------------------------------------------------------------------------------- */

START_TEST(labels_are_numbered_and_sorted)
{
    static const char *const names[] = {"spam", "ham", "é", "", "spam2", "spa", "Spam", "z"};
    enum { N = sizeof names / sizeof *names };
    struct nb_model *m = nb_model_new();
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < N; i++) {
            uint32_t label = UINT32_MAX;
            ck_assert_int_eq(nb_model_label(m, str(names[i]), &label), 0);
            ck_assert_uint_eq(label, i);
        }
    }
    ck_assert_uint_eq(nb_model_label_count(m), N);
    for (uint32_t i = 0; i < N; i++) {
        struct nb_string name = nb_model_label_name(m, i);
        ck_assert_str_eq(name.bytes, names[i]);
        ck_assert_uint_eq(name.length, strlen(names[i]));
        ck_assert_uint_eq(nb_model_find_label(m, str(names[i])), i);
    }
    ck_assert_uint_eq(nb_model_find_label(m, str("sp")), UINT32_MAX);
    ck_assert_uint_eq(nb_model_find_label(m, str("zz")), UINT32_MAX);
    const uint32_t *sorted = nb_model_labels_sorted(m);
    for (uint32_t i = 1; i < N; i++)
        ck_assert_int_lt(strcmp(names[sorted[i - 1]], names[sorted[i]]), 0);
    nb_model_free(&m);
}
END_TEST

START_TEST(a_label_is_its_bytes)
{
    struct nb_model *m = nb_model_new();
    uint32_t a, b;
    ck_assert_int_eq(nb_model_label(m, (struct nb_string){"a\0b", 3}, &a), 0);
    ck_assert_int_eq(nb_model_label(m, (struct nb_string){"a\0c", 3}, &b), 0);
    ck_assert_uint_ne(a, b);
    ck_assert_uint_eq(nb_model_find_label(m, (struct nb_string){"a\0c", 3}), b);
    ck_assert_uint_eq(nb_model_find_label(m, str("a")), UINT32_MAX);
    nb_model_free(&m);
}
END_TEST

START_TEST(there_is_a_most_of_labels)
{
    struct nb_model *m = nb_model_new();
    char name[16];
    uint32_t label = 0;
    for (uint32_t i = 0; i < NB_LABELS_MOST; i++) {
        snprintf(name, sizeof name, "%05u", i);
        ck_assert_int_eq(nb_model_label(m, str(name), &label), 0);
        ck_assert_uint_eq(label, i);
    }
    ck_assert_int_eq(nb_model_label(m, str("one more"), &label), NB_TOO_LARGE);
    ck_assert_uint_eq(nb_model_label_count(m), NB_LABELS_MOST);
    /* A row that every label has: the longest run there can be. */
    uint32_t row = append(m, word_id(0, 1));
    struct nb_row_count c = {row, 1};
    for (uint32_t i = 0; i < NB_LABELS_MOST; i++)
        ck_assert_int_eq(nb_model_add(m, i, &c, 1, 1, NULL), 0);
    struct nb_cell cell;
    ck_assert_uint_eq(nb_model_cells(m, row, &cell, 1), NB_LABELS_MOST);
    ck_assert_uint_eq(cell.label, 0);
    nb_model_free(&m);
}
END_TEST

/* ---- counts against a plain table ------------------------------------------------------------ */

enum { WORDS = 90, LABELS_MOST = 70, DOCUMENT = 12 };

/* The expected contents of the model: counts in a table, and sums by adding everything up. */
struct table {
    uint32_t n[LABELS_MOST][WORDS], d[LABELS_MOST][WORDS];
    uint64_t documents[LABELS_MOST];
};

static unsigned word_field(uint32_t word)
{
    return word % NB_FIELDS;
}

struct document {
    uint32_t label;
    struct nb_row_count counts[DOCUMENT];
    size_t size;
};

static struct document random_document(uint32_t labels)
{
    struct document d = {.label = random_below(labels)};
    bool seen[WORDS] = {false};
    for (uint32_t n = random_below(DOCUMENT + 1); n > 0; n--) {
        uint32_t word = random_below(WORDS);
        word = random_below(3) == 0 ? word % 5 : word; /* some words are in most documents */
        if (!seen[word])
            d.counts[d.size++] = (struct nb_row_count){word, 1 + random_below(4)};
        seen[word] = true;
    }
    return d;
}

static void table_apply(struct table *t, const struct document *d, int sign)
{
    t->documents[d->label] += (uint64_t)(int64_t)sign;
    for (size_t i = 0; i < d->size; i++) {
        t->n[d->label][d->counts[i].row] += (uint32_t)sign * d->counts[i].count;
        t->d[d->label][d->counts[i].row] += (uint32_t)sign;
    }
}

static size_t model_apply(struct nb_model *m, const struct document *d, int sign)
{
    size_t fresh = SIZE_MAX;
    ck_assert_int_eq(nb_model_add(m, d->label, d->counts, d->size, sign, &fresh), 0);
    nb_model_add_documents(m, d->label, sign);
    return fresh;
}

static void compare_cells(const struct nb_model *m, const struct table *t, uint32_t labels,
                          uint32_t word)
{
    struct nb_cell cells[LABELS_MOST];
    size_t size = nb_model_cells(m, word, cells, LABELS_MOST);
    size_t at = 0;
    uint64_t occurrences = 0, documents = 0;
    for (uint32_t v = 0; v < labels; v++) {
        occurrences += t->n[v][word];
        documents += t->d[v][word];
        if (t->n[v][word] == 0)
            continue;
        ck_assert_uint_lt(at, size);
        ck_assert_uint_eq(cells[at].label, v);
        ck_assert_uint_eq(cells[at].occurrences, t->n[v][word]);
        ck_assert_uint_eq(cells[at].documents, t->d[v][word]);
        at++;
    }
    ck_assert_uint_eq(at, size);
    ck_assert_uint_eq(nb_row_occurrences(&m->pool, nb_model_row(m, word)), occurrences);
    ck_assert_uint_eq(nb_row_documents(&m->pool, nb_model_row(m, word)), documents);
    struct nb_cell few[2] = {{77, 77, 77}, {77, 77, 77}};
    ck_assert_uint_eq(nb_model_cells(m, word, few, 1), size);
    ck_assert_uint_eq(few[1].label, 77);
}

static bool field_is_asked(unsigned asked, uint32_t word)
{
    if (asked < NB_FIELDS)
        return asked == word_field(word);
    return nb_field_is_token((enum nb_field)word_field(word));
}

static void compare_sums(const struct nb_model *m, const struct table *t, uint32_t labels)
{
    for (unsigned field = 0; field <= NB_FIELDS; field++) {
        uint64_t vocabulary = 0;
        for (uint32_t w = 0; w < WORDS; w++) {
            bool any = false;
            for (uint32_t v = 0; v < labels; v++)
                any |= t->n[v][w] != 0;
            vocabulary += any && field_is_asked(field, w);
        }
        ck_assert_uint_eq(nb_model_vocabulary(m, field), vocabulary);
        for (uint32_t v = 0; v < labels; v++) {
            uint64_t n = 0, d = 0;
            for (uint32_t w = 0; w < WORDS; w++) {
                n += field_is_asked(field, w) ? t->n[v][w] : 0;
                d += field_is_asked(field, w) ? t->d[v][w] : 0;
            }
            ck_assert_uint_eq(nb_model_occurrences(m, v, field), n);
            ck_assert_uint_eq(nb_model_presences(m, v, field), d);
        }
    }
}

static void compare(const struct nb_model *m, const struct table *t, uint32_t labels)
{
    uint64_t all = 0;
    for (uint32_t v = 0; v < labels; v++) {
        ck_assert_uint_eq(nb_model_documents(m, v), t->documents[v]);
        all += t->documents[v];
    }
    ck_assert_uint_eq(nb_model_documents_all(m), all);
    for (uint32_t w = 0; w < WORDS; w++)
        compare_cells(m, t, labels, w);
    compare_sums(m, t, labels);
}

static struct nb_model *model_of(uint32_t labels)
{
    struct nb_model *m = nb_model_new();
    char name[24];
    for (uint32_t v = 0; v < labels; v++) {
        uint32_t label;
        snprintf(name, sizeof name, "label %u", v);
        ck_assert_int_eq(nb_model_label(m, str(name), &label), 0);
    }
    for (uint32_t w = 0; w < WORDS; w++)
        append(m, word_id(word_field(w), w));
    return m;
}

static const uint32_t label_counts[] = {1, 2, 3, 5, LABELS_MOST};

/* Returns how many token words of a document no label has yet. */
static size_t fresh_words(const struct table *t, uint32_t labels, const struct document *d)
{
    size_t fresh = 0;
    for (size_t i = 0; i < d->size; i++) {
        bool any = false;
        for (uint32_t v = 0; v < labels; v++)
            any |= t->n[v][d->counts[i].row] != 0;
        fresh += !any && nb_field_is_token((enum nb_field)word_field(d->counts[i].row));
    }
    return fresh;
}

START_TEST(any_history_equals_the_current_documents)
{
    enum { LIVING = 150, STEPS = 1500 };
    uint32_t labels = label_counts[_i];
    random_seed(100 + (uint64_t)_i);
    static struct table table;
    memset(&table, 0, sizeof table);
    struct nb_model *m = model_of(labels);
    struct document current[LIVING];
    size_t size = 0;
    for (int step = 0; step < STEPS; step++) {
        if (size < LIVING && random_below(100) < (step < STEPS / 2 ? 70 : 40)) {
            current[size] = random_document(labels);
            size_t fresh = fresh_words(&table, labels, &current[size]);
            table_apply(&table, &current[size], 1);
            ck_assert_uint_eq(model_apply(m, &current[size], 1), fresh);
            size++;
        } else if (size > 0) {
            size_t at = random_below((uint32_t)size);
            table_apply(&table, &current[at], -1);
            model_apply(m, &current[at], -1);
            current[at] = current[--size];
        }
        if (step % 50 == 0)
            compare(m, &table, labels);
    }
    compare(m, &table, labels);

    struct nb_model *again = model_of(labels); /* in one go, in another order */
    for (size_t i = size; i-- > 0;)
        model_apply(again, &current[(i * 7 + 3) % size], 1);
    if (size % 7 != 0)
        compare(again, &table, labels);
    nb_model_free(&again);

    while (size > 0)
        model_apply(m, &current[--size], -1);
    memset(&table, 0, sizeof table);
    compare(m, &table, labels);
    for (uint32_t w = 0; w < WORDS; w++)
        ck_assert(!nb_row_is_used(nb_model_row(m, w)));
    nb_model_free(&m);
}
END_TEST

START_TEST(a_change_is_an_addition_and_a_removal)
{
    random_seed(8);
    static struct table table;
    memset(&table, 0, sizeof table);
    struct nb_model *m = model_of(3);
    struct document now = random_document(3);
    bool there = false;
    for (int step = 0; step < 500; step++) {
        struct document next = random_document(3);
        bool takes = there;
        bool adds = !there || random_below(4) != 0;
        if (takes)
            table_apply(&table, &now, -1);
        if (adds)
            table_apply(&table, &next, 1);
        struct nb_model_change change = {
            .add_label = adds ? next.label : UINT32_MAX,
            .add = next.counts,
            .add_size = next.size,
            .take_label = takes ? now.label : UINT32_MAX,
            .take = now.counts,
            .take_size = now.size,
        };
        size_t fresh;
        uint64_t generation = nb_model_generation(m);
        ck_assert_int_eq(nb_model_change(m, &change, &fresh), 0);
        ck_assert_uint_ne(nb_model_generation(m), generation);
        compare(m, &table, 3);
        for (uint32_t v = 0; v < 3; v++)
            ck_assert_uint_eq(nb_model_count(m, 7, v), table.n[v][7]);
        there = adds;
        now = next;
    }
    nb_model_free(&m);
}
END_TEST

START_TEST(free_cells_are_used_again)
{
    struct nb_model *m = model_of(40);
    size_t memory = 0;
    for (int round = 0; round < 30; round++) {
        for (int sign = 1; sign >= -1; sign -= 2)
            for (uint32_t v = 0; v < 40; v++)
                for (uint32_t w = 0; w < WORDS; w++) {
                    struct nb_row_count c = {w, 1 + w};
                    ck_assert_int_eq(nb_model_add(m, v, &c, 1, sign, NULL), 0);
                }
        if (round == 0)
            memory = nb_model_memory(m);
    }
    ck_assert_uint_eq(nb_model_memory(m), memory);
    nb_model_free(&m);
}
END_TEST

START_TEST(a_count_that_would_wrap_is_refused_whole)
{
    struct nb_model *m = model_of(4);
    for (uint32_t v = 0; v < 4; v++) {
        struct nb_cell cell = {v, UINT32_MAX - 2, 5};
        ck_assert_int_eq(nb_model_set_cells(m, 40 + v, &cell, 1), 0);
    }
    for (uint32_t v = 0; v < 4; v++) {
        struct nb_row_count counts[] = {{0, 3}, {1, 1}, {40 + v, 3}, {2, 1}};
        uint64_t generation = nb_model_generation(m);
        uint64_t vocabulary = nb_model_vocabulary(m, NB_FIELDS);
        size_t fresh = 99;
        ck_assert_int_eq(nb_model_add(m, v, counts, 4, 1, &fresh), NB_TOO_LARGE);
        ck_assert_uint_eq(fresh, 99);
        ck_assert_uint_eq(nb_model_generation(m), generation);
        struct nb_cell cell;
        ck_assert_uint_eq(nb_model_cells(m, 0, &cell, 1), 0);
        ck_assert_uint_eq(nb_model_cells(m, 40 + v, &cell, 1), 1);
        ck_assert_uint_eq(cell.occurrences, UINT32_MAX - 2);
        ck_assert_uint_eq(nb_model_vocabulary(m, NB_FIELDS), vocabulary);
        counts[2].count = 2;
        ck_assert_int_eq(nb_model_add(m, v, counts, 4, 1, &fresh), 0);
        nb_model_cells(m, 40 + v, &cell, 1);
        ck_assert_uint_eq(cell.occurrences, UINT32_MAX);
        ck_assert_uint_eq(cell.documents, 6);
        ck_assert_int_eq(nb_model_add(m, v, counts, 4, -1, NULL), 0);
    }
    nb_model_free(&m);
}
END_TEST

/* Sums of 32 bits and more come and go with the cells. */
START_TEST(large_sums_of_documents_are_exact)
{
    enum { LARGE = 6 };
    struct nb_model *m = model_of(LARGE);
    struct nb_cell cells[LARGE];
    for (uint32_t v = 0; v < LARGE; v++)
        cells[v] = (struct nb_cell){v, UINT32_MAX - v, UINT32_MAX - v};
    ck_assert_int_eq(nb_model_set_cells(m, 7, cells, LARGE), 0);
    for (int i = 0; i < 40; i++) {
        struct nb_row_count one = {7, 1};
        uint32_t label = random_below(LARGE);
        int sign = cells[label].documents > UINT32_MAX - 3 ? -1 : random_below(2) == 0 ? 1 : -1;
        ck_assert_int_eq(nb_model_add(m, label, &one, 1, sign, NULL), 0);
        cells[label].documents += (uint32_t)sign;
        uint64_t sum = 0;
        for (uint32_t v = 0; v < LARGE; v++)
            sum += cells[v].documents;
        ck_assert_uint_eq(nb_row_documents(&m->pool, nb_model_row(m, 7)), sum);
    }
    nb_model_free(&m);
}
END_TEST

static void expect_cell(const struct nb_model *m, uint32_t row, uint32_t label, uint32_t n,
                        uint32_t d)
{
    struct nb_cell cell = nb_counts_of(m, nb_model_row(m, row), label);
    ck_assert_uint_eq(cell.occurrences, n);
    ck_assert_uint_eq(cell.documents, d);
    struct nb_two_documents two = nb_counts_of_two(m, row, label);
    ck_assert_uint_eq(two.own, d);
    ck_assert_uint_eq(two.all, nb_counts_documents(m, nb_model_row(m, row)));
}

enum { MANY = 1025 }; /* labels, more than the cells in a row can name */

/* Cells lie in the row or beside it while one of the forms has room for them. */
START_TEST(cells_have_the_smallest_form_that_fits)
{
    enum form { NARROW, WIDE, SPILLED };
    static const struct {
        struct nb_cell cells[3];
        uint32_t size;
        enum form form;
    } cases[] = {
        {{{0, 22, 15}, {1, 22, 15}}, 2, NARROW},
        {{{0, 23, 15}, {1, 1, 1}}, 2, WIDE},
        {{{0, 1, 1}, {1, 16, 16}}, 2, WIDE},
        {{{0, 22, 15}}, 1, NARROW},
        {{{1, 22, 15}}, 1, NARROW},
        {{{1, 9, 1}}, 1, WIDE},
        {{{0, 98302, 65535}, {1, 98302, 65535}}, 2, WIDE},
        {{{0, 98303, 65535}, {1, 1, 1}}, 2, SPILLED},
        {{{0, 1, 1}, {1, 65536, 65536}}, 2, SPILLED},
        {{{1, 32769, 1}}, 1, SPILLED},
        {{{2, 7, 4}}, 1, NARROW},
        {{{1023, 7, 4}}, 1, NARROW},
        {{{1024, 1, 1}}, 1, WIDE},
        {{{2, 8, 4}}, 1, WIDE},
        {{{2, 5, 5}}, 1, WIDE},
        {{{2, 16777214, 8388607}}, 1, WIDE},
        {{{2, 16777215, 8388607}}, 1, SPILLED},
        {{{2, 8388608, 8388608}}, 1, SPILLED},
        {{{1023, 8388608, 1}}, 1, WIDE},
        {{{0, 382, 255}, {1024, 382, 255}}, 2, WIDE},
        {{{1023, 383, 255}, {1024, 1, 1}}, 2, SPILLED},
        {{{1, 1, 1}, {2, 256, 256}}, 2, SPILLED},
        {{{0, 1, 1}, {1, 1, 1}, {2, 1, 1}}, 3, SPILLED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct nb_model *m = model_of(MANY);
        ck_assert_int_eq(nb_model_set_cells(m, 5, cases[i].cells, cases[i].size), 0);
        struct nb_row row = nb_model_row(m, 5);
        enum form form = nb_row_is_spilled(row)                         ? SPILLED
                         : nb_code_is_wide(nb_model_packed(m, 5)->code) ? WIDE
                                                                        : NARROW;
        ck_assert_msg(form == cases[i].form, "case %zu", i);
        uint64_t documents = 0, occurrences = 0;
        for (uint32_t k = 0; k < cases[i].size; k++) {
            const struct nb_cell *c = &cases[i].cells[k];
            expect_cell(m, 5, c->label, c->occurrences, c->documents);
            documents += c->documents;
            occurrences += c->occurrences;
        }
        ck_assert_uint_eq(nb_row_documents(&m->pool, row), documents);
        ck_assert_uint_eq(nb_row_occurrences(&m->pool, row), occurrences);
        ck_assert_uint_eq(nb_row_size(&m->pool, row), cases[i].size);
        expect_cell(m, 5, 7, 0, 0);
        nb_model_free(&m);
    }
}
END_TEST

/* A document more and less in each of some labels, at counts about where forms end. */
START_TEST(counts_change_across_all_forms)
{
    static const uint32_t labels[] = {0, 1, 2, 9, 1023, 1024};
    enum { LABELS = sizeof labels / sizeof *labels, ROUNDS = 40000, MOST = 300 };
    struct nb_model *m = model_of(MANY);
    struct nb_cell want[LABELS] = {{0}};
    uint32_t sizes[LABELS][MOST];
    random_seed(31);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint32_t v = random_below(round / 2000 % LABELS + 1);
        bool more = random_below(10) < (round / 4000 % 2 == 0 ? 7 : 3);
        if (more ? want[v].documents == MOST : want[v].documents == 0)
            continue;
        uint32_t *sized = &sizes[v][want[v].documents - !more];
        *sized = more ? 1 + random_below(round % 50 == 0 ? 200 : 2) : *sized;
        struct nb_row_count one = {5, *sized};
        ck_assert_int_eq(nb_model_add(m, labels[v], &one, 1, more ? 1 : -1, NULL), 0);
        want[v].documents += more ? 1 : UINT32_MAX;
        want[v].occurrences += more ? *sized : -*sized;
        if (round % 8 != 0)
            continue;
        uint64_t all = 0;
        for (uint32_t k = 0; k < LABELS; k++) {
            expect_cell(m, 5, labels[k], want[k].occurrences, want[k].documents);
            all += want[k].documents;
        }
        ck_assert_uint_eq(nb_row_documents(&m->pool, nb_model_row(m, 5)), all);
    }
    nb_model_free(&m);
}
END_TEST

/* Cells of all forms in one document, with features that have none, or no row: as they are read one
 * by one. */
START_TEST(cells_are_read_where_rows_are_found)
{
    static const struct nb_cell cells[][3] = {
        {{0, 22, 15}, {1, 22, 15}}, {{0, 3, 2}, {0}},
        {{1, 9, 2}, {0}},           {{0, 98302, 65535}, {1, 98302, 65535}},
        {{2, 7, 4}, {0}},           {{2, 8, 4}, {0}},
        {{0, 9, 9}, {4, 1, 1}},     {{0, 1, 1}, {1, 2, 2}, {2, 3, 3}},
    };
    enum { KINDS = sizeof cells / sizeof *cells, MOST = 400 };
    struct nb_feature features[MOST];
    uint32_t rows[MOST];
    uint64_t read[MOST], again[MOST];
    random_seed(37);
    for (unsigned kinds = 0; kinds <= KINDS; kinds += kinds < 4 ? 4 : 1) {
        struct nb_model *m = model_of(5);
        for (uint32_t row = 0; row < WORDS; row++) {
            const struct nb_cell *c = kinds == 0 ? NULL : cells[random_below(kinds)];
            size_t size = c == NULL ? 0 : c[2].occurrences > 0 ? 3 : c[1].occurrences > 0 ? 2 : 1;
            ck_assert_int_eq(nb_model_set_cells(m, row, c, size), 0);
        }
        for (size_t size = 0; size <= MOST; size += size < 140 ? 1 : 65) {
            for (size_t i = 0; i < size; i++) {
                uint32_t w = random_below(WORDS * 5 / 4);
                features[i] = (struct nb_feature){word_id(word_field(w), w), 1, 0};
            }
            nb_model_find_cells(m, features, size, rows, read);
            nb_model_read_cells(m, rows, size, again);
            for (size_t i = 0; i < size; i++) {
                ck_assert_uint_eq(rows[i], nb_model_find(m, features[i].id));
                ck_assert_uint_eq(read[i], nb_model_row_or_none(m, rows[i]).cells);
                ck_assert_uint_eq(again[i], read[i]);
            }
        }
        nb_model_free(&m);
    }
    struct nb_model *empty = nb_model_new();
    features[0] = (struct nb_feature){word_id(0, 1), 1, 0};
    nb_model_find_cells(empty, features, 1, rows, read);
    ck_assert_uint_eq(rows[0], NB_NO_ROW);
    ck_assert_uint_eq(read[0], 0);
    nb_model_free(&empty);
}
END_TEST

/* Every row of two segments is wide, some no more, and wide again: nothing is lost, and nothing is
 * taken twice. */
START_TEST(all_rows_of_a_segment_may_be_wide)
{
    enum { ROWS = (2 << NB_ROW_SEGMENT_BITS) + 3, ROUNDS = 3, STEP = 3 };
    struct nb_model *m = nb_model_new();
    uint32_t label, row;
    ck_assert_int_eq(nb_model_label(m, nb_string_of("a"), &label), 0);
    for (uint32_t i = 0; i < ROWS; i++)
        ck_assert_int_eq(nb_model_append(m, i + 1, &row), 0);
    size_t before = nb_model_memory(m);
    for (uint32_t i = 0; i < ROWS; i++)
        ck_assert_int_eq(
            nb_model_add(m, label, &(struct nb_row_count){i, 100 + i % 1000}, 1, 1, NULL), 0);
    size_t filled = nb_model_memory(m);
    ck_assert_uint_ge(filled - before, ROWS * sizeof(uint64_t));
    ck_assert_uint_le(filled - before, (ROWS + 64) * sizeof(uint64_t));
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (int sign = -1; sign <= 1; sign += 2)
            for (uint32_t i = round; i < ROWS; i += STEP)
                ck_assert_int_eq(nb_model_add(m, label, &(struct nb_row_count){i, 100 + i % 1000},
                                              1, sign, NULL),
                                 0);
        for (uint32_t i = 0; i < ROWS; i++)
            ck_assert_uint_eq(nb_model_count(m, i, label), 100 + i % 1000);
        ck_assert_uint_eq(nb_model_memory(m), filled);
    }
    nb_model_free(&m);
}
END_TEST

START_TEST(unused_rows_are_told)
{
    enum { SIZE = 300, ROWS = 5000 };
    random_seed(31);
    struct nb_model *m = nb_model_new();
    uint32_t label;
    ck_assert_int_eq(nb_model_label(m, str("a"), &label), 0);
    nb_model_add_documents(m, label, 20);
    for (uint32_t i = 0; i < ROWS; i++) {
        struct nb_row_count counts = {append(m, word_id(i % NB_FIELDS, i)), 1 + i % 5};
        for (uint32_t d = i % 3 == 0 ? 0 : 1 + i % 20; d > 0; d--)
            ck_assert_int_eq(nb_model_add(m, label, &counts, 1, 1, NULL), 0);
    }
    for (size_t size = 0; size < SIZE; size += size < 60 ? 1 : 37) {
        struct nb_feature features[SIZE];
        uint32_t rows[SIZE];
        bool unused[SIZE];
        for (size_t i = 0; i < size; i++) {
            uint32_t word = random_below(2 * ROWS);
            features[i] = (struct nb_feature){word_id(word % NB_FIELDS, word), 1, 0};
        }
        nb_model_find_use(m, features, size, rows, unused);
        for (size_t i = 0; i < size; i++) {
            ck_assert_uint_eq(rows[i], nb_model_find(m, features[i].id));
            ck_assert_int_eq(unused[i], rows[i] == NB_NO_ROW || nb_model_row_is_unused(m, rows[i]));
            ck_assert_int_eq(unused[i], rows[i] == NB_NO_ROW || rows[i] % 3 == 0);
        }
    }
    nb_model_free(&m);
}
END_TEST

START_TEST(loaded_cells_are_counted_and_checked)
{
    static const struct {
        struct nb_cell cells[3];
        size_t size;
        int rc;
    } cases[] = {
        {{{0, 3, 2}, {2, 1, 1}, {4, 9, 9}}, 3, 0},
        {{{0, 0, 0}}, 0, 0},
        {{{3, 5, 5}}, 1, 0},
        {{{2, 3, 2}, {0, 1, 1}}, 2, NB_CORRUPT}, /* order */
        {{{2, 3, 2}, {2, 1, 1}}, 2, NB_CORRUPT}, /* twice */
        {{{5, 3, 2}}, 1, NB_CORRUPT},            /* no such label */
        {{{1, 0, 0}}, 1, NB_CORRUPT},            /* nothing counted */
        {{{1, 2, 3}}, 1, NB_CORRUPT},            /* more documents than occurrences */
        {{{1, 2, 0}}, 1, NB_CORRUPT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct nb_model *m = model_of(5);
        uint64_t generation = nb_model_generation(m);
        ck_assert_int_eq(nb_model_set_cells(m, 11, cases[i].cells, cases[i].size), cases[i].rc);
        size_t size = cases[i].rc == 0 ? cases[i].size : 0;
        struct nb_cell cells[3];
        ck_assert_uint_eq(nb_model_cells(m, 11, cells, 3), size);
        uint64_t n = 0;
        for (size_t c = 0; c < size; c++) {
            ck_assert_mem_eq(&cells[c], &cases[i].cells[c], sizeof *cells);
            ck_assert_uint_eq(nb_model_occurrences(m, cells[c].label, 0), cells[c].occurrences);
            n += nb_model_presences(m, cells[c].label, NB_FIELDS);
        }
        ck_assert_uint_eq(nb_model_vocabulary(m, 0), size != 0);
        ck_assert_uint_eq(n != 0, size != 0);
        ck_assert_uint_eq(nb_model_generation(m) != generation, cases[i].rc == 0);
        nb_model_free(&m);
    }
}
END_TEST

START_TEST(changes_change_the_generation)
{
    struct nb_model *m = model_of(2);
    uint64_t before = nb_model_generation(m);
    struct nb_row_count c = {3, 1};
    nb_model_add(m, 0, &c, 1, 1, NULL);
    ck_assert_uint_ne(nb_model_generation(m), before);
    before = nb_model_generation(m);
    nb_model_add_documents(m, 0, 1);
    ck_assert_uint_ne(nb_model_generation(m), before);
    before = nb_model_generation(m);
    nb_model_read_lock(m);
    nb_model_find(m, 1);
    nb_model_unlock(m);
    ck_assert_uint_eq(nb_model_generation(m), before);
    nb_model_free(&m);
}
END_TEST

/* A model that is dropped and loaded again goes through the same changes. What was computed from
 * the counts of the first must not pass for the second's. */
START_TEST(generations_of_two_models_never_meet)
{
    enum { CHANGES = 50 };
    uint64_t seen[2][CHANGES];
    for (int round = 0; round < 2; round++) {
        struct nb_model *m = model_of(2);
        for (uint32_t i = 0; i < CHANGES; i++) {
            nb_model_add_documents(m, i % 2, 1);
            seen[round][i] = nb_model_generation(m);
            ck_assert_uint_ne(seen[round][i], 0); /* 0 stands for no view */
        }
        nb_model_free(&m);
    }
    for (int i = 0; i < CHANGES; i++)
        for (int j = 0; j < CHANGES; j++)
            ck_assert_uint_ne(seen[0][i], seen[1][j]);
}
END_TEST

/* Sums over parts grow with the labels and the parts, and are those of no field. */
START_TEST(values_are_summed_by_part)
{
    struct nb_model *m = nb_model_new();
    enum { LABELS = 9, PARTS = 12 };
    struct nb_row_count counts[PARTS + 1] = {{append(m, word_id(NB_FIELD_BODY, 1)), 2}};
    ck_assert_uint_eq(nb_model_parts(m), 0);
    for (unsigned part = 0; part < PARTS; part++)
        counts[part + 1] = (struct nb_row_count){append(m, nb_feature_value_id(part, 7)), part + 1};
    ck_assert_uint_eq(nb_model_parts(m), PARTS);
    for (uint32_t label = 0; label < LABELS; label++) {
        char name[8];
        uint32_t number;
        size_t fresh;
        (void)snprintf(name, sizeof name, "l%u", label);
        ck_assert_int_eq(nb_model_label(m, str(name), &number), 0);
        ck_assert_int_eq(nb_model_add(m, number, counts, label + 2, 1, &fresh), 0);
        ck_assert_uint_eq(fresh, label == 0 ? 2 : label % 2 == 0); /* presence is no token */
    }
    ck_assert_uint_eq(nb_model_vocabulary(m, NB_TOKEN_FIELDS), 1);
    ck_assert_uint_eq(nb_model_vocabulary(m, NB_ALL_TOKENS), 1 + (LABELS + 1) / 2);
    for (uint32_t label = 0; label < LABELS; label++) {
        uint64_t tokens = 2;
        for (unsigned part = 0; part < PARTS; part++) {
            unsigned field = NB_FIRST_PART + part;
            ck_assert_uint_eq(nb_model_occurrences(m, label, field), part <= label ? part + 1 : 0);
            ck_assert_uint_eq(nb_model_presences(m, label, field), part <= label);
            ck_assert_uint_eq(nb_model_vocabulary(m, field), part < LABELS);
            tokens += part <= label && part % 2 == 0 ? part + 1 : 0;
        }
        ck_assert_uint_eq(nb_model_occurrences(m, label, NB_TOKEN_FIELDS), 2);
        ck_assert_uint_eq(nb_model_occurrences(m, label, NB_ALL_TOKENS), tokens);
        ck_assert_uint_eq(nb_model_occurrences(m, label, NB_FIRST_PART + PARTS), 0);
    }
    for (uint32_t label = 0; label < LABELS; label++)
        ck_assert_int_eq(nb_model_add(m, label, counts, label + 2, -1, NULL), 0);
    for (unsigned field = 0; field < NB_FIRST_PART + PARTS; field++) {
        ck_assert_uint_eq(nb_model_vocabulary(m, field), 0);
        ck_assert_uint_eq(nb_model_occurrences(m, LABELS - 1, field), 0);
    }
    nb_model_free(&m);
}
END_TEST

static nb_int128 sum_of(const struct nb_model *m, uint32_t label, unsigned attribute)
{
    return (nb_int128)nb_model_moments(m, label, attribute).sum;
}

/* Sums of numbers begin with the first one, grow with labels and parts, and forget exactly. */
START_TEST(numbers_are_summed)
{
    struct nb_model *m = nb_model_new();
    enum { LABELS = 9 };
    uint64_t bits = 0;
    ck_assert(nb_decimal_read(str("-2.5"), &bits));
    nb_int128 number = nb_decimal_fixed(bits);
    struct nb_row_count counts[] = {{append(m, nb_feature_value_id(0, 7)), 1},
                                    {append(m, nb_feature_number_id(0, bits)), 1}};
    ck_assert_uint_eq(nb_model_parts(m), 2);
    uint32_t numbers[LABELS];
    for (uint32_t i = 0; i < LABELS; i++) {
        char name[8];
        (void)snprintf(name, sizeof name, "l%u", i);
        ck_assert_int_eq(nb_model_label(m, str(name), &numbers[i]), 0);
        for (uint32_t n = 0; n <= i; n++)
            ck_assert_int_eq(nb_model_add(m, numbers[i], counts, 2, 1, NULL), 0);
        if (i == 4)
            append(m, nb_feature_number_id(30, bits));
    }
    for (uint32_t i = 0; i < LABELS; i++) {
        ck_assert_uint_eq(nb_model_moments(m, numbers[i], 0).count, i + 1);
        ck_assert(sum_of(m, numbers[i], 0) == number * (nb_int128)(i + 1));
        ck_assert_uint_eq(nb_model_moments(m, numbers[i], 15).count, 0);
        ck_assert_uint_eq(nb_model_moments(m, numbers[i], 200).count, 0);
        ck_assert_int_eq(nb_model_add(m, numbers[i], counts, 2, -1, NULL), 0);
        ck_assert_uint_eq(nb_model_moments(m, numbers[i], 0).count, i);
        ck_assert(sum_of(m, numbers[i], 0) == number * (nb_int128)i);
    }
    nb_model_free(&m);
}
END_TEST

/* A row that was dropped can become one of a part that no row had. */
START_TEST(a_dropped_row_becomes_a_value)
{
    struct nb_model *m = nb_model_new();
    uint32_t label, row;
    ck_assert_int_eq(nb_model_label(m, str("a"), &label), 0);
    for (unsigned i = 0; i < 100; i++)
        append(m, word_id(NB_FIELD_BODY, i));
    for (uint32_t i = 0; i < 100; i++)
        ck_assert_int_eq(nb_model_drop_row(m, i), 0);
    nb_model_sort_dropped(m);
    ck_assert_int_eq(nb_model_add_row(m, nb_feature_value_id(300, 1), &row), 0);
    ck_assert_uint_lt(row, 100);
    const struct nb_row_count count = {row, 3};
    ck_assert_int_eq(nb_model_add(m, label, &count, 1, 1, NULL), 0);
    ck_assert_uint_eq(nb_model_occurrences(m, label, NB_FIRST_PART + 300), 3);
    nb_model_free(&m);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("model");
    TCase *rows = tcase_create("rows");
    tcase_set_timeout(rows, 60);
    tcase_add_loop_test(rows, rows_are_found, 0, 4);
    tcase_add_test(rows, many_look_ups_equal_single_ones);
    tcase_add_test(rows, dropped_rows_have_no_features);
    tcase_add_test(rows, truncated_rows_are_gone_and_come_back);
    tcase_add_test(rows, dropped_rows_are_taken_again);
    tcase_add_test(rows, rows_of_long_runs_are_taken_first);
    tcase_add_test(rows, rows_that_get_ids_are_counted);
    tcase_add_test(rows, a_reserved_index_does_not_grow);
    tcase_add_test(rows, an_index_is_made_ahead);
    tcase_add_loop_test(rows, an_index_that_is_made_ahead_is_given_up, 0, 3);
    tcase_add_test(rows, rows_are_appended_many_at_once);
    tcase_add_test(rows, an_id_that_is_appended_twice);
    tcase_add_test(rows, an_id_without_a_field_is_not_appended);
    tcase_add_test(rows, a_large_model_is_loaded);
    tcase_add_test(rows, a_large_model_with_an_id_twice_is_damaged);
    tcase_add_test(rows, more_rows_than_were_announced_are_damage);
    suite_add_tcase(suite, rows);
    TCase *labels = tcase_create("labels");
    tcase_set_timeout(labels, 60);
    tcase_add_test(labels, labels_are_numbered_and_sorted);
    tcase_add_test(labels, a_label_is_its_bytes);
    tcase_add_test(labels, there_is_a_most_of_labels);
    suite_add_tcase(suite, labels);
    TCase *counts = tcase_create("counts");
    tcase_set_timeout(counts, 60);
    tcase_add_loop_test(counts, any_history_equals_the_current_documents, 0,
                        (int)(sizeof label_counts / sizeof *label_counts));
    tcase_add_test(counts, a_change_is_an_addition_and_a_removal);
    tcase_add_test(counts, free_cells_are_used_again);
    tcase_add_test(counts, a_count_that_would_wrap_is_refused_whole);
    tcase_add_test(counts, large_sums_of_documents_are_exact);
    tcase_add_test(counts, cells_have_the_smallest_form_that_fits);
    tcase_add_test(counts, cells_are_read_where_rows_are_found);
    tcase_add_test(counts, all_rows_of_a_segment_may_be_wide);
    tcase_add_test(counts, counts_change_across_all_forms);
    tcase_add_test(counts, unused_rows_are_told);
    tcase_add_test(counts, loaded_cells_are_counted_and_checked);
    tcase_add_test(counts, values_are_summed_by_part);
    tcase_add_test(counts, numbers_are_summed);
    tcase_add_test(counts, a_dropped_row_becomes_a_value);
    tcase_add_test(counts, changes_change_the_generation);
    tcase_add_test(counts, generations_of_two_models_never_meet);
    suite_add_tcase(suite, counts);
    return test_run(suite);
}
