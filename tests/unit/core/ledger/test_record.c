/* SPDX-License-Identifier: Apache-2.0
 *
 * The other stored forms, to the byte: records and ranges of rows. Every cut is an error.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "core/ledger/record.h"
#include "tests/unit/hex.h"
#include "tests/unit/run.h"

typedef int reader(struct nb_string stored, struct nb_error *error);

/* Expects every cut to be detected, in a copy of exactly its size, and also an extra byte. */
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
        .totals = {.entries = 7, .current = 8, .unlabelled = 1, .scores = 9, .dropped = 10},
        .twin = {.ranges = 12, .oldest = 13, .first = 14, .next = 15},
        .version = 16};
    struct nb_state_record back;
    struct nb_buffer out = {0};
    ck_assert_int_eq(nb_state_write(&state, &out), 0);
    expect_hex(&out, "ac02"
                     "0203040506"
                     "0b"
                     "070801090a"
                     "0c0d0e0f"
                     "10");
    ck_assert_int_eq(nb_state_read(&back, nb_buffer_string(&out), NULL), 0);
    ck_assert_uint_eq(back.last, 300);
    ck_assert_uint_eq(back.rows, 5);
    ck_assert_uint_eq(back.weights, 11);
    ck_assert_uint_eq(back.totals.scores, 9);
    ck_assert_uint_eq(back.totals.dropped, 10);
    ck_assert_uint_eq(back.twin.ranges, 12);
    ck_assert_uint_eq(back.twin.next, 15);
    ck_assert_uint_eq(back.version, 16);
    out.length--; /* as older versions wrote it */
    ck_assert_int_eq(nb_state_read(&back, nb_buffer_string(&out), NULL), 0);
    ck_assert_uint_eq(back.version, 0);
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
    ck_assert_int_eq(nb_own_key_read(&back, nb_buffer_string(&out), NULL), 0);
    ck_assert(!back.present);
    key.present = key.hashes_features = true;
    memset(key.bytes, 7, sizeof key.bytes);
    ck_assert_int_eq(nb_own_key_write(&key, &out), 0);
    ck_assert_uint_eq(out.length, 1 + NB_KEY_BYTES);
    ck_assert_int_eq(nb_own_key_read(&back, nb_buffer_string(&out), NULL), 0);
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
    ck_assert_int_eq(read_model(nb_buffer_string(&out), NULL), NB_CORRUPT);
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
    ck_assert_int_eq(nb_range_read(back, 0, nb_buffer_string(&out), &mark, NULL), 0);
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
    ck_assert_int_eq(nb_range_read(back, 0, nb_buffer_string(&out), &mark, NULL), NB_CORRUPT);
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
    ck_assert_int_eq(nb_range_read(back, 0, nb_buffer_string(&out), &mark, NULL), 0);
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

int main(void)
{
    Suite *s = suite_create("record");
    TCase *t = tcase_create("record");
    suite_add_tcase(s, t);
    tcase_add_test(t, states);
    tcase_add_test(t, labels);
    tcase_add_test(t, keys);
    tcase_add_test(t, models);
    tcase_add_test(t, ranges);
    tcase_add_test(t, ranges_with_all_counts);
    return test_run(s);
}
