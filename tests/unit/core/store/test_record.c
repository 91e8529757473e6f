/* SPDX-License-Identifier: Apache-2.0
 *
 * The stored forms beside changes, to the byte: records, bags, ranges of rows, features. And every
 * cut of them is an error.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/feature_hash.h"
#include "core/base/random.h"
#include "core/store/features.h"
#include "core/store/range.h"
#include "core/store/record.h"
#include "core/store/rows.h"

static struct nb_string string_of(const struct nb_buffer *b)
{
    return (struct nb_string){b->bytes, b->length};
}

static void expect_hex(const struct nb_buffer *out, const char *want)
{
    char hex[512] = "";
    ck_assert_uint_lt(out->length, sizeof hex / 2);
    for (size_t i = 0; i < out->length; i++)
        snprintf(hex + 2 * i, 3, "%02x", (unsigned char)out->bytes[i]);
    ck_assert_str_eq(hex, want);
}

typedef int reader(struct nb_string stored, struct nb_error *error);

/* Every cut is found, in a copy of exactly its size; and so is a byte too much. */
static void expect_cuts_found(const struct nb_buffer *out, reader *read, size_t from)
{
    for (size_t length = from; length <= out->length + 1; length++) {
        char *copy = calloc(1, length + (length == 0));
        struct nb_error error = {0};
        ck_assert_ptr_nonnull(copy);
        if (length > 0)
            memcpy(copy, out->bytes, length < out->length ? length : out->length);
        int rc = read((struct nb_string){copy, length}, &error);
        ck_assert_msg(rc == (length == out->length ? 0 : NB_CORRUPT), "length %zu: %d", length, rc);
        free(copy);
    }
}

static int read_state(struct nb_string stored, struct nb_error *error)
{
    struct nb_state_record state;
    return nb_state_read(&state, stored, error);
}

START_TEST(states)
{
    const struct nb_state_record state = {
        .last = 300,
        .replay = 2,
        .tail = 3,
        .vocabulary = 4,
        .rows = 5,
        .labels = 6,
        .weights = 11,
        .totals = {.entries = 7, .living = 8, .unlabelled = 1, .scores = 9, .dropped = 10},
        .twin = {.ranges = 12, .oldest = 13, .first = 14, .next = 15}};
    struct nb_state_record back;
    struct nb_buffer out = {0};
    ck_assert_int_eq(nb_state_write(&state, &out), 0);
    expect_hex(&out, "ac02"
                     "0203040506"
                     "0b"
                     "070801090a"
                     "0c0d0e0f");
    ck_assert_int_eq(nb_state_read(&back, string_of(&out), NULL), 0);
    ck_assert_uint_eq(back.last, 300);
    ck_assert_uint_eq(back.rows, 5);
    ck_assert_uint_eq(back.weights, 11);
    ck_assert_uint_eq(back.totals.scores, 9);
    ck_assert_uint_eq(back.totals.dropped, 10);
    ck_assert_uint_eq(back.twin.ranges, 12);
    ck_assert_uint_eq(back.twin.next, 15);
    expect_cuts_found(&out, read_state, 0);
    nb_buffer_deinit(&out);
}
END_TEST

static int read_label(struct nb_string stored, struct nb_error *error)
{
    struct nb_label_record label;
    return nb_label_read(&label, stored, error);
}

START_TEST(labels)
{
    const struct nb_label_record label = {.name = {"spam", 4}, .documents = 128, .tokens = 5};
    struct nb_buffer out = {0};
    ck_assert_int_eq(nb_label_write(&label, &out), 0);
    expect_hex(&out, "047370616d"
                     "8001"
                     "05");
    expect_cuts_found(&out, read_label, 0);
    nb_buffer_deinit(&out);
}
END_TEST

static int read_key(struct nb_string stored, struct nb_error *error)
{
    struct nb_own_key key;
    return nb_own_key_read(&key, stored, error);
}

START_TEST(keys)
{
    struct nb_own_key key = {.present = false};
    struct nb_own_key back;
    struct nb_buffer out = {0};
    ck_assert_int_eq(nb_own_key_write(&key, &out), 0);
    ck_assert_uint_eq(out.length, 0);
    ck_assert_int_eq(nb_own_key_read(&back, string_of(&out), NULL), 0);
    ck_assert(!back.present);
    key.present = key.hashes_features = true;
    memset(key.bytes, 7, sizeof key.bytes);
    ck_assert_int_eq(nb_own_key_write(&key, &out), 0);
    ck_assert_uint_eq(out.length, 1 + NB_KEY_BYTES);
    ck_assert_int_eq(nb_own_key_read(&back, string_of(&out), NULL), 0);
    ck_assert(back.present && back.hashes_features);
    ck_assert_int_eq(memcmp(back.bytes, key.bytes, sizeof key.bytes), 0);
    expect_cuts_found(&out, read_key, 1); /* no bytes are no key */
    nb_buffer_deinit(&out);
}
END_TEST

static int read_model(struct nb_string stored, struct nb_error *error)
{
    struct nb_model_record record;
    return nb_model_record_read(&record, stored, error);
}

START_TEST(models)
{
    struct nb_model_record record = {.number = 3, .settings = {"ab", 2}, .key = {"k", 1}};
    struct nb_buffer out = {0};
    ck_assert_int_eq(nb_model_record_write(&record, &out), 0);
    expect_hex(&out, "03"
                     "026162"
                     "016b");
    expect_cuts_found(&out, read_model, 0);
    out.bytes[0] = 0; /* no model has the number 0 */
    ck_assert_int_eq(read_model(string_of(&out), NULL), NB_CORRUPT);
    nb_buffer_deinit(&out);
}
END_TEST

START_TEST(bags)
{
    static const struct nb_row_count counts[] = {{0, 1},   {3, 2},   {4, 1},   {200, 300},
                                                 {201, 1}, {202, 1}, {203, 1}, {205, 1}};
    struct nb_rows rows = {0};
    struct nb_rows back = {0};
    struct nb_buffer out = {0};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        ck_assert_int_eq(nb_rows_add(&rows, counts[i].row, counts[i].count), 0);
    ck_assert_int_eq(nb_bag_encode(&rows, &out), 0);
    expect_hex(&out, "0401" /* runs: one of two bytes, */
                     "00090f0304"
                     "04"   /* the third; */
                     "06"   /* it is longer by 3 than the shortest */
                     "0200" /* counts */
                     "0407"
                     "00"
                     "d404");
    ck_assert_int_eq(nb_bag_decode(string_of(&out), 206, &back, NULL), 0);
    ck_assert_uint_eq(back.size, rows.size);
    for (size_t i = 0; i < rows.size; i++)
        ck_assert(back.counts[i].row == counts[i].row && back.counts[i].count == counts[i].count);
    ck_assert_int_eq(nb_bag_decode(string_of(&out), 205, &back, NULL), NB_CORRUPT);
    nb_rows_deinit(&rows);
    nb_rows_deinit(&back);
    nb_buffer_deinit(&out);
}
END_TEST

START_TEST(damaged_bags)
{
    static const struct {
        const char *bytes;
        size_t length;
        uint32_t limit; /* of a bag that would be sound with one row more */
    } cases[] = {
        {"\x01\0\x24\0\0\0", 6, 9},                            /* the row is too high */
        {"\x01\0\x1d\0\0\0", 6, 8},                            /* the end of its run */
        {"\x01\0\x03\0\x08\0\0", 7, 4},                        /* of a long one */
        {"\x01\0\0\0", 4, 9},                                  /* there are no counts */
        {"\x01\0\0\0\0", 5, 9},                                /* there is half of them */
        {"\x02\0\0\0", 4, 9},                                  /* a run is missing */
        {"\x01\x01\x01\0", 4, 9},                              /* its low byte is */
        {"\x01\x02\0\0\0\0\0\0", 8, 9},                        /* more high bytes than runs */
        {"\x01\0\0\x01\0\0", 6, 9},                            /* and than it says */
        {"\x01\0\0\x02\0\0", 6, 9},                            /* the bit of no run */
        {"\x01\0\x03\0", 4, 9},                                /* its length is missing */
        {"\x01\0\x03\0\x80", 5, 9},                            /* a varint has no end */
        {"\x81", 1, 9},                                        /* nor the first */
        {"\x01\0\0\0\x01\0\x04\0", 8, 9},                      /* a count of no row */
        {"\x01\0\0\0\x01\0\x03\0", 8, 9},                      /* the count is missing */
        {"\x01\0\0\0\x01\0\x03\0\xfc\xff\xff\xff\x1f", 13, 9}, /* 2^32 occurrences */
        {"\x01\0\0\0\x01\0\x03\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 18, 9}, /* 2^64 */
        {"\x01\0\x03\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\0\0", 16, 9},       /* rows */
        {"\x01\0\x03\0\x01\xff\xff\xff\xff\x01\0\0", 12, 9},      /* rows skipped */
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\0", 11, 9},    /* runs */
        {"\x01\0\x03\0\x80\x80\x80\x80\x01\0\0", 11, UINT32_MAX}, /* more than a bag has */
        {"\x02\0\x01\x03\0\xfe\xff\xff\x7f\0\0", 11, UINT32_MAX}, /* with those before */
        {"\x01\0\x20\0\0\0\x01\0\0\0\0\0", 12, 9}, /* the second part begins behind the limit */
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct nb_rows back = {0};
        struct nb_error error;
        int rc = nb_bag_decode((struct nb_string){cases[c].bytes, cases[c].length}, cases[c].limit,
                               &back, &error);
        ck_assert_msg(rc == NB_CORRUPT, "case %zu: %d", c, rc);
        nb_rows_deinit(&back);
    }
}
END_TEST

/* Runs of all lengths between rows that are not of them, in the fewest bytes. */
START_TEST(bags_with_runs)
{
    struct nb_rows rows = {0};
    struct nb_rows back = {0};
    struct nb_buffer out = {0};
    uint32_t row = 7;
    for (uint32_t length = 1; length < 200; length++, row += length % 3) {
        for (uint32_t i = 0; i < length; i++)
            ck_assert_int_eq(nb_rows_add(&rows, row++, 1), 0);
        ck_assert_int_eq(nb_rows_add(&rows, row++, length + 1), 0);
    }
    ck_assert_int_eq(nb_bag_encode(&rows, &out), 0);
    ck_assert_uint_lt(out.length, 199 * 8);
    ck_assert_int_eq(nb_bag_decode(string_of(&out), row, &back, NULL), 0);
    ck_assert_uint_eq(back.size, rows.size);
    for (size_t i = 0; i < rows.size; i++)
        ck_assert(back.counts[i].row == rows.counts[i].row &&
                  back.counts[i].count == rows.counts[i].count);
    nb_rows_deinit(&rows);
    nb_rows_deinit(&back);
    nb_buffer_deinit(&out);
}
END_TEST

/* A permutation of the rows `from`, `from` + step, ...: a multiplier that has no divisor with
 * `size` in common visits each once. */
static void add_scattered(struct nb_rows *rows, uint32_t from, uint32_t step, uint32_t size)
{
    const uint32_t multiplier = 7919; /* a prime above all sizes */
    for (uint32_t i = 0; i < size; i++)
        ck_assert_int_eq(nb_rows_add(rows, from + i * multiplier % size * step, i + 1), 0);
}

/* Known rows in order, then others in any order, which lie above or between them. */
START_TEST(bags_are_sorted)
{
    static const struct {
        uint32_t known, others, from, step;
    } cases[] = {
        {0, 0, 0, 1},        {1, 0, 0, 1},         {9, 0, 0, 1},          {9, 40, 1000, 3},
        {9, 40, 1, 7},       {500, 70, 1, 7},      {500, 300, 100000, 1}, {0, 1000, 0, 1},
        {5, 511, 1, 100000}, {5, 513, 1, 1000},    {5, 600, 1, 2000000},  {5, 600, 2048, 1},
        {0, 900, 5, 65536},  {3, 200, 1, 4194304}, {0, 64, 256, 256},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct nb_rows rows = {0};
        uint64_t sum = 0;
        for (uint32_t i = 0; i < cases[c].known; i++)
            ck_assert_int_eq(nb_rows_add(&rows, i * cases[c].step * 2, 1), 0);
        add_scattered(&rows, cases[c].from, cases[c].step * 2 + 2, cases[c].others);
        size_t size = rows.size;
        for (size_t i = 0; i < size; i++)
            sum += (uint64_t)rows.counts[i].row * rows.counts[i].count;
        nb_rows_sort(&rows);
        ck_assert_uint_eq(rows.size, size);
        for (size_t i = 0; i < size; i++)
            sum -= (uint64_t)rows.counts[i].row * rows.counts[i].count;
        ck_assert_msg(sum == 0, "case %zu lost rows", c);
        for (size_t i = 1; i < size; i++)
            ck_assert_msg(rows.counts[i - 1].row <= rows.counts[i].row, "case %zu, %zu", c, i);
        nb_rows_deinit(&rows);
    }
}
END_TEST

START_TEST(long_bags)
{
    struct nb_rows rows = {0};
    struct nb_rows back = {0};
    struct nb_buffer out = {0};
    ck_assert_int_eq(nb_bag_encode(&rows, &out), 0); /* of no feature: nothing */
    ck_assert_uint_eq(out.length, 0);
    for (uint32_t i = 0; i < 3000; i++)
        ck_assert_int_eq(nb_rows_add(&rows, i * i * 400 + i, i % 3 == 0 ? UINT32_MAX - i : i % 3),
                         0);
    ck_assert_int_eq(nb_bag_encode(&rows, &out), 0);
    ck_assert_int_eq(nb_bag_decode(string_of(&out), UINT32_MAX, &back, NULL), 0);
    ck_assert_uint_eq(back.size, rows.size);
    for (size_t i = 0; i < rows.size; i++)
        ck_assert(back.counts[i].row == rows.counts[i].row &&
                  back.counts[i].count == rows.counts[i].count);
    nb_rows_deinit(&rows);
    nb_rows_deinit(&back);
    nb_buffer_deinit(&out);
}
END_TEST

static void check_in_two_parts(const struct nb_rows *rows, size_t first)
{
    struct nb_bag_beginning beginning = {0};
    struct nb_buffer scratch = {0};
    struct nb_buffer out = {0};
    struct nb_rows back = {0};
    uint32_t limit = rows->size == 0 ? 0 : rows->counts[rows->size - 1].row + 1;
    ck_assert_int_eq(nb_buffer_append(&out, "before", 6), 0);
    ck_assert_int_eq(nb_bag_begin_encoding(rows->counts, first, &scratch, &beginning), 0);
    ck_assert_int_eq(nb_bag_end_encoding(&beginning, rows, &out), 0);
    ck_assert_mem_eq(out.bytes, "before", 6);
    struct nb_string bag = {out.bytes + 6, out.length - 6};
    ck_assert_int_eq(nb_bag_decode(bag, limit, &back, NULL), 0);
    ck_assert_uint_eq(back.size, rows->size);
    for (size_t i = 0; i < rows->size; i++)
        ck_assert(back.counts[i].row == rows->counts[i].row &&
                  back.counts[i].count == rows->counts[i].count);
    nb_bag_beginning_deinit(&beginning);
    nb_buffer_deinit(&scratch);
    nb_buffer_deinit(&out);
    nb_rows_deinit(&back);
}

/* Runs end before, at and behind the place where the parts meet, and so do the steps and the bytes
 * of bits. Rows and counts of all sizes. */
START_TEST(bags_in_two_parts_have_all_rows)
{
    static const size_t sizes[] = {0, 1, 2, 3, 9, 40, 255, 256, 257, 258, 511, 512, 513, 600};
    struct nb_random random = {.state = 1};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        struct nb_rows rows = {0};
        uint32_t row = 0;
        for (size_t i = 0; i < sizes[s]; i++) {
            row += nb_random_below(&random, 3) == 0 ? (uint32_t)nb_random_below(&random, 20000) : 0;
            bool once = nb_random_below(&random, 3) != 0;
            uint32_t count = once ? 1 : 1 + (uint32_t)nb_random_below(&random, 300);
            ck_assert_int_eq(nb_rows_add(&rows, row++, count), 0);
        }
        for (size_t first = 0; first <= sizes[s]; first++)
            check_in_two_parts(&rows, first);
        nb_rows_deinit(&rows);
    }
}
END_TEST

/* A list whose bytes are cut off anywhere does not read back, and nothing behind it is read. */
START_TEST(bags_cut_short)
{
    struct nb_rows rows = {0};
    struct nb_rows back = {0};
    struct nb_buffer out = {0};
    for (uint32_t i = 0; i < 100; i++)
        ck_assert_int_eq(nb_rows_add(&rows, i * i * 90 + i % 5, 1 + i % 7), 0);
    ck_assert_int_eq(nb_bag_encode(&rows, &out), 0);
    for (size_t length = 1; length < out.length; length++) {
        char *cut = malloc(length); /* a sanitizer sees what is read behind it */
        ck_assert_ptr_nonnull(cut);
        memcpy(cut, out.bytes, length);
        ck_assert_int_eq(nb_bag_decode((struct nb_string){cut, length}, UINT32_MAX, &back, NULL),
                         NB_CORRUPT);
        free(cut);
    }
    nb_rows_deinit(&rows);
    nb_rows_deinit(&back);
    nb_buffer_deinit(&out);
}
END_TEST

static struct nb_model *model_of_rows(uint32_t rows)
{
    struct nb_model *model = nb_model_new();
    uint32_t made;
    ck_assert_ptr_nonnull(model);
    ck_assert_int_eq(nb_model_label(model, (struct nb_string){"a", 1}, &made), 0);
    ck_assert_int_eq(nb_model_label(model, (struct nb_string){"b", 1}, &made), 0);
    ck_assert_int_eq(nb_model_label(model, (struct nb_string){"c", 1}, &made), 0);
    for (uint32_t i = 0; i < rows; i++)
        ck_assert_int_eq(nb_model_append(model, i + 1, &made), 0);
    return model;
}

static int read_range(struct nb_string stored, struct nb_error *error)
{
    struct nb_model *model = model_of_rows(0);
    uint64_t mark;
    int rc = nb_range_read(model, 0, stored, &mark, error);
    nb_model_free(&model);
    return rc;
}

static void add_documents(struct nb_model *model, uint32_t label, uint32_t row, uint32_t documents,
                          uint32_t more)
{
    for (uint32_t i = 0; i < documents; i++) {
        struct nb_row_count count = {row, i == 0 ? 1 + more : 1};
        ck_assert_int_eq(nb_model_add(model, label, &count, 1, 1, NULL), 0);
    }
}

static void expect_cell(const struct nb_model *model, uint32_t row, size_t i, uint32_t label,
                        uint32_t documents, uint32_t more)
{
    struct nb_cell cells[3];
    ck_assert_uint_lt(i, nb_model_cells(model, row, cells, 3));
    ck_assert_uint_eq(cells[i].label, label);
    ck_assert_uint_eq(cells[i].documents, documents);
    ck_assert_uint_eq(cells[i].occurrences, documents + more);
}

START_TEST(ranges)
{
    struct nb_model *model = model_of_rows(6);
    struct nb_model *back = model_of_rows(0);
    struct nb_buffer out = {0};
    uint64_t mark;
    add_documents(model, 1, 0, 1, 0);
    add_documents(model, 0, 1, 1, 4);
    add_documents(model, 1, 3, 9, 0);
    add_documents(model, 0, 4, 2, 0);
    add_documents(model, 1, 4, 1, 7);
    add_documents(model, 1, 5, 1, 0);
    add_documents(model, 2, 5, 1, 1);
    ck_assert_int_eq(nb_range_write(model, 0, 6, 300, &out), 0);
    expect_hex(&out, "ac02"
                     "06"
                     "0100000000000000"
                     "05" /* seen once, label 1 */
                     "0200000000000000"
                     "3e0304" /* label 0, one document, four occurrences more */
                     "0300000000000000"
                     "00"
                     "0400000000000000"
                     "5e" /* label 1, nine documents with one occurrence each */
                     "0500000000000000"
                     "130307" /* two documents of label 0; one of label 1, seven more */
                     "0600000000000000"
                     "080102020301"); /* two cells: label 1; label 2, one more */
    ck_assert_int_eq(nb_range_read(back, 0, string_of(&out), &mark, NULL), 0);
    ck_assert_uint_eq(mark, 300);
    ck_assert_uint_eq(nb_model_rows(back), 6);
    expect_cell(back, 0, 0, 1, 1, 0);
    expect_cell(back, 1, 0, 0, 1, 4);
    ck_assert_uint_eq(nb_model_cells(back, 2, NULL, 0), 0);
    expect_cell(back, 3, 0, 1, 9, 0);
    expect_cell(back, 4, 0, 0, 2, 0);
    expect_cell(back, 4, 1, 1, 1, 7);
    expect_cell(back, 5, 0, 1, 1, 0);
    expect_cell(back, 5, 1, 2, 1, 1);
    ck_assert_int_eq(nb_range_read(back, 0, string_of(&out), &mark, NULL), NB_CORRUPT);
    expect_cuts_found(&out, read_range, 0);
    nb_model_free(&model);
    nb_model_free(&back);
    nb_buffer_deinit(&out);
}
END_TEST

/* Counts around the usual ones, of each of the first labels alone and of both. */
START_TEST(ranges_with_all_counts)
{
    enum { DOCUMENTS = 12, MORE = 5, LABELS = 4, ROWS = DOCUMENTS * MORE * LABELS };
    struct nb_model *model = model_of_rows(ROWS);
    struct nb_model *back = model_of_rows(0);
    struct nb_buffer out = {0};
    uint64_t mark;
    for (uint32_t row = 0; row < ROWS; row++) {
        uint32_t label = row % LABELS;
        uint32_t documents = row / LABELS % DOCUMENTS + 1;
        add_documents(model, label % 3, row, documents, row / LABELS / DOCUMENTS);
        if (label == 3)
            add_documents(model, 1, row, MORE, documents);
    }
    ck_assert_int_eq(nb_range_write(model, 0, ROWS, 1, &out), 0);
    ck_assert_int_eq(nb_range_read(back, 0, string_of(&out), &mark, NULL), 0);
    for (uint32_t row = 0; row < ROWS; row++) {
        struct nb_cell cells[3];
        size_t size = nb_model_cells(model, row, cells, 3);
        ck_assert_uint_eq(size, row % LABELS == 3 ? 2 : 1);
        ck_assert_uint_eq(nb_model_cells(back, row, NULL, 0), size);
        for (size_t i = 0; i < size; i++)
            expect_cell(back, row, i, cells[i].label, cells[i].documents,
                        cells[i].occurrences - cells[i].documents);
    }
    nb_model_free(&model);
    nb_model_free(&back);
    nb_buffer_deinit(&out);
}
END_TEST

START_TEST(features_with_and_without_texts)
{
    static const unsigned char bytes[NB_KEY_BYTES] = {1};
    static const struct nb_string texts[] = {{"free", 4}, {"subject:free", 12}, {"", 0}};
    struct nb_features_coder *coder = nb_features_coder_new();
    struct nb_key *key = malloc(sizeof *key);
    struct nb_buffer out = {0};
    const uint64_t *ids;
    const struct nb_string *back;
    uint64_t want[3];
    ck_assert(coder != NULL && key != NULL);
    nb_key_restore(key, bytes);
    for (unsigned i = 0; i < 3; i++)
        want[i] =
            nb_feature_id((enum nb_field)i, nb_feature_hash(key, texts[i].bytes, texts[i].length));
    for (int with = 0; with < 2; with++) {
        out.length = 0;
        ck_assert_int_eq(nb_features_encode(coder, want, with ? texts : NULL, 3, &out), 0);
        ck_assert(nb_features_have_texts(string_of(&out)) == (with == 1));
        ck_assert_int_eq(nb_features_decode(coder, string_of(&out), 3, key, &ids, &back, NULL), 0);
        ck_assert((back != NULL) == (with == 1));
        for (unsigned i = 0; i < 3; i++)
            ck_assert_uint_eq(ids[i], want[i]);
        for (unsigned i = 0; with == 1 && i < 3; i++)
            ck_assert(back[i].length == texts[i].length &&
                      memcmp(back[i].bytes, texts[i].bytes, texts[i].length) == 0);
        for (size_t length = 0; length < out.length; length++)
            ck_assert_int_eq(nb_features_decode(coder, (struct nb_string){out.bytes, length}, 3,
                                                key, &ids, &back, NULL),
                             NB_CORRUPT);
        ck_assert_int_eq(nb_features_decode(coder, string_of(&out), 4, key, &ids, &back, NULL),
                         NB_CORRUPT);
    }
    nb_features_coder_free(&coder);
    free(key);
    nb_buffer_deinit(&out);
}
END_TEST

static struct nb_key *new_key(void)
{
    static const unsigned char bytes[NB_KEY_BYTES] = {1};
    struct nb_key *key = malloc(sizeof *key);
    ck_assert_ptr_nonnull(key);
    nb_key_restore(key, bytes);
    return key;
}

/* Encodes `count` texts of the fields, and expects them back. */
static void expect_back(const unsigned *fields, const struct nb_string *texts, size_t count,
                        struct nb_buffer *out)
{
    struct nb_features_coder *coder = nb_features_coder_new();
    struct nb_key *key = new_key();
    uint64_t *want = calloc(count, sizeof *want);
    const uint64_t *ids;
    const struct nb_string *back;
    ck_assert(coder != NULL && want != NULL);
    for (size_t i = 0; i < count; i++) {
        uint64_t hash = nb_feature_hash(key, texts[i].bytes, texts[i].length), number;
        want[i] = nb_feature_id((enum nb_field)fields[i], hash);
        if (fields[i] == NB_FIELD_VALUE) /* its part is some bits of the hash */
            want[i] = nb_decimal_of_feature(texts[i], &number)
                          ? nb_feature_number_id(nb_feature_part(want[i]), number)
                          : nb_feature_value_id(nb_feature_part(want[i]), hash);
    }
    out->length = 0;
    ck_assert_int_eq(nb_features_encode(coder, want, texts, count, out), 0);
    ck_assert_int_eq(nb_features_decode(coder, string_of(out), count, key, &ids, &back, NULL), 0);
    for (size_t i = 0; i < count; i++) {
        ck_assert_msg(ids[i] == want[i], "feature %zu of %zu", i, count);
        ck_assert(nb_string_same(back[i], texts[i]));
    }
    nb_features_coder_free(&coder);
    free(want);
    free(key);
}

START_TEST(texts_are_stored_without_what_they_share)
{
    static const struct {
        unsigned fields[4];
        const char *texts[4];
        const char *hex;
    } cases[] = {
        {{NB_FIELD_PAIR, NB_FIELD_PAIR, NB_FIELD_PAIR, NB_FIELD_PAIR},
         {"pair:a bc", "pair:bc d", "pair:x d", "pair:d"},
         "01"
         "a961206263" /* a bc */
         "01206400"   /* after bc: a blank and d */
         "a9782064"
         "0100"},
        {{NB_FIELD_NGRAM, NB_FIELD_NGRAM, NB_FIELD_NGRAM, NB_FIELD_NGRAM},
         {"ngram:\xC3\xA4"
          "bc",
          "ngram:bcd", "bcd", "ngram:dx"},
         "01"
         "aac3a46263"
         "016400"     /* after bc */
         "8a62636400" /* without a name */
         "aa647800"},
        {{NB_FIELD_URL, NB_FIELD_BODY, NB_FIELD_CASE, NB_FIELD_PAIR},
         {"url:a", "body:", "case", "pair:case b"},
         "01"
         "a66100"
         "a000"
         "886361736500"
         "a963617365206200"},
        {{NB_FIELD_PAIR, NB_FIELD_PAIR, NB_FIELD_URL, NB_FIELD_BODY},
         {"pair:a b", "pair:b c", "url:a\x01", "d"}, /* the byte of a mark: all have lengths */
         "01"
         "0908706169723a612062"
         "0908706169723a622063"
         "060675726c3a6101"
         "000164"},
        {{NB_FIELD_BODY, NB_FIELD_VALUE, NB_FIELD_PAIR, NB_FIELD_PAIR},
         {"a\x01", "v", "pair:a b", "pair:b c"},
         NULL},
        {{NB_FIELD_BODY, NB_FIELD_PAIR, NB_FIELD_VALUE, NB_FIELD_PAIR},
         {"a", "pair:a b", "", "pair:b c"},
         NULL}, /* the bytes of the part are those of a hash */
        {{NB_FIELD_BODY, NB_FIELD_VALUE, NB_FIELD_VALUE, NB_FIELD_VALUE},
         {"a", "size=12.5", "size=-0.0000000000001", "size=12.5 "},
         NULL},
    };
    struct nb_buffer out = {0};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct nb_string texts[4];
        for (size_t i = 0; i < 4; i++)
            texts[i] = nb_string_of(cases[c].texts[i]);
        expect_back(cases[c].fields, texts, 4, &out);
        if (cases[c].hex != NULL)
            expect_hex(&out, cases[c].hex);
    }
    nb_buffer_deinit(&out);
}
END_TEST

/* Words of few letters share much. Every so often a text is long: its tail is not left out. */
START_TEST(texts_of_any_kind_come_back)
{
    enum { COUNT = 400, MOST = 700 };
    static const unsigned any[] = {NB_FIELD_PAIR, NB_FIELD_NGRAM, NB_FIELD_VALUE, NB_FIELD_URL};
    static const char *const letters[] = {"a", "b", " ", "\xC3\xA4", "\xE2\x82\xAC"};
    char *memory = malloc((size_t)COUNT * MOST);
    unsigned fields[COUNT];
    struct nb_string texts[COUNT];
    struct nb_buffer out = {0};
    uint32_t random = 1;
    ck_assert_ptr_nonnull(memory);
    for (size_t i = 0; i < COUNT; i++) {
        char *text = memory + i * MOST;
        random = random * 1664525 + 1013904223;
        fields[i] = any[random >> 30];
        size_t length = 0;
        if ((random >> 20 & 3) != 0)
            length = (size_t)snprintf(text, MOST, "%s:", nb_field_name((enum nb_field)fields[i]));
        size_t parts = (random >> 10 & 63) == 0 ? 200 : random >> 8 & 7;
        for (size_t k = 0; k < parts; k++) {
            random = random * 1664525 + 1013904223;
            const char *letter = letters[(random >> 16) % 5];
            memcpy(text + length, letter, strlen(letter));
            length += strlen(letter);
        }
        texts[i] = (struct nb_string){text, length};
    }
    for (size_t count = 1; count <= COUNT; count += count < 10 ? 1 : 39)
        expect_back(fields, texts, count, &out);
    free(memory);
    nb_buffer_deinit(&out);
}
END_TEST

START_TEST(impossible_texts_are_found)
{
    static const struct {
        const char *bytes;
        size_t length;
    } cases[] = {
        {"\x01\x80x\x01", 4},       /* nothing goes on */
        {"\x01\x8Ax\x01x\x00", 6},  /* after one without a tail */
        {"\x01\x80xy\x01x\x00", 7}, /* the field's texts have no tails */
        {"\x01\x80xy", 4},          /* without a mark */
        {"\x01\x4A\x01x", 4},       /* a bit without a meaning */
        {"\x01\x0B\x01x", 4},       /* no field */
        {"\x01\x2B\x01x", 4},
        {"\x01\x8Bx\x00", 4},
        {"\x01\x9E\x02\x02x\x00", 6},   /* a value with a mark */
        {"\x04\x00\x01x", 4},           /* no form */
        {"\x01\x1E\x01x", 4},           /* a value without a part */
        {"\x01\x1E\x03\x00\x02x", 6},   /* of a part that there is not */
        {"\x01\x3E\x03\x00\x00x", 6},   /* without a name */
        {"\x01\x1E\x05\x00\x80x=y", 8}, /* a number that is none */
        {"\x01\x1E\x03\x00\x80"
         "1",
         6}, /* without a name */
    };
    struct nb_features_coder *coder = nb_features_coder_new();
    struct nb_key *key = new_key();
    ck_assert_ptr_nonnull(coder);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const uint64_t *ids;
        const struct nb_string *texts;
        struct nb_string stored = {cases[c].bytes, cases[c].length};
        for (size_t count = 1; count <= 2; count++)
            ck_assert_msg(nb_features_decode(coder, stored, count, key, &ids, &texts, NULL) ==
                              NB_CORRUPT,
                          "case %zu", c);
    }
    nb_features_coder_free(&coder);
    free(key);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("record");
    TCase *t = tcase_create("record");
    suite_add_tcase(s, t);
    tcase_add_test(t, states);
    tcase_add_test(t, labels);
    tcase_add_test(t, keys);
    tcase_add_test(t, models);
    tcase_add_test(t, bags);
    tcase_add_test(t, damaged_bags);
    tcase_add_test(t, bags_with_runs);
    tcase_add_test(t, damaged_bags);
    tcase_add_test(t, bags_with_runs);
    tcase_add_test(t, bags_are_sorted);
    tcase_add_test(t, long_bags);
    tcase_add_test(t, bags_in_two_parts_have_all_rows);
    tcase_add_test(t, bags_cut_short);
    tcase_add_test(t, ranges);
    tcase_add_test(t, ranges_with_all_counts);
    tcase_add_test(t, features_with_and_without_texts);
    tcase_add_test(t, texts_are_stored_without_what_they_share);
    tcase_add_test(t, texts_of_any_kind_come_back);
    tcase_add_test(t, impossible_texts_are_found);
    SRunner *runner = srunner_create(s);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
