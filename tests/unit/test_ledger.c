/* SPDX-License-Identifier: Apache-2.0
 *
 * The stored forms: what is written reads back, and what is cut or damaged is refused.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "core/store/ledger.h"

static struct nb_string bytes_of(const struct nb_buffer *b)
{
    return (struct nb_string){b->bytes, b->length};
}

static void fill(struct nb_rows *rows, unsigned *seed, uint32_t most_gap)
{
    uint32_t row = 0;
    int size = rand_r(seed) % 300;
    rows->size = 0;
    for (int i = 0; i < size; i++) {
        row += 1 + (uint32_t)rand_r(seed) % most_gap;
        uint32_t count = rand_r(seed) % 4 == 0 ? 1 + (uint32_t)rand_r(seed) % 1000 : 1;
        ck_assert_int_eq(nb_rows_add(rows, row - 1, count), 0);
    }
}

START_TEST(bags_read_back)
{
    unsigned seed = (unsigned)_i + 1;
    struct nb_rows rows = {0};
    struct nb_rows back = {0};
    struct nb_buffer out = {0};
    fill(&rows, &seed, _i % 2 ? 3 : 1000000);
    ck_assert_int_eq(nb_bag_encode(&rows, &out), 0);
    ck_assert_int_eq(nb_bag_decode(bytes_of(&out), UINT32_MAX, &back, NULL), 0);
    ck_assert_uint_eq(rows.size, back.size);
    for (size_t i = 0; i < rows.size; i++) {
        ck_assert_uint_eq(rows.counts[i].row, back.counts[i].row);
        ck_assert_uint_eq(rows.counts[i].count, back.counts[i].count);
    }
    if (rows.size > 0) {
        uint32_t last = rows.counts[rows.size - 1].row;
        ck_assert_int_eq(nb_bag_decode(bytes_of(&out), last, &back, NULL), NB_CORRUPT);
    }
    nb_rows_deinit(&rows);
    nb_rows_deinit(&back);
    nb_buffer_deinit(&out);
}
END_TEST

START_TEST(rows_sort)
{
    struct nb_rows rows = {0};
    static const uint32_t numbers[] = {7, 3, 9, 0, 4};
    for (size_t i = 0; i < 5; i++)
        ck_assert_int_eq(nb_rows_add(&rows, numbers[i], numbers[i] + 1), 0);
    nb_rows_sort(&rows);
    for (size_t i = 0; i < 5; i++) {
        ck_assert(i == 0 || rows.counts[i].row > rows.counts[i - 1].row);
        ck_assert_uint_eq(rows.counts[i].count, rows.counts[i].row + 1);
    }
    nb_rows_deinit(&rows);
}
END_TEST

/* Against the C library's sort, with rows that take one byte to four, and for sizes 0 and 1. */
START_TEST(row_counts_sort)
{
    static const uint32_t most[] = {200, 60000, 10000000, UINT32_MAX};
    struct nb_row_count counts[1000];
    struct nb_row_count scratch[1000];
    struct nb_rows expected = {0};
    unsigned seed = (unsigned)_i + 1;
    size_t size = _i < 8 ? (size_t)_i / 4 : (size_t)rand_r(&seed) % 1000;
    for (size_t i = 0; i < size; i++) {
        uint32_t row = ((uint32_t)rand_r(&seed) << 16 ^ (uint32_t)rand_r(&seed)) % most[_i % 4];
        counts[i] = (struct nb_row_count){.row = row, .count = (uint32_t)i};
        ck_assert_int_eq(nb_rows_add(&expected, row, (uint32_t)i), 0);
    }
    nb_rows_sort(&expected);
    nb_row_counts_sort(counts, size, scratch);
    for (size_t i = 0; i < size; i++)
        ck_assert_uint_eq(counts[i].row, expected.counts[i].row);
    /* What stood beside a row still does, and equal rows keep their order. */
    for (size_t i = 0; i < size; i++)
        ck_assert(i == 0 || counts[i].row != counts[i - 1].row ||
                  counts[i].count > counts[i - 1].count);
    for (size_t i = 0; i < size; i++)
        for (size_t k = 0; k < expected.size; k++)
            if (expected.counts[k].count == counts[i].count)
                ck_assert_uint_eq(expected.counts[k].row, counts[i].row);
    nb_rows_deinit(&expected);
}
END_TEST

static void write_sample(struct nb_buffer *out)
{
    static const unsigned char ids[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    struct nb_entry entry = {.kind = NB_ENTRY_LEARNED,
                             .truncated = true,
                             .id = {"an id\0x", 7},
                             .label = 300,
                             .time = 1234567890123,
                             .replaced = 77,
                             .tokens = 1000,
                             .first_row = 5,
                             .new_count = 2,
                             .new_ids = ids,
                             .bag = {"\x02\x05\x03", 3}};
    ck_assert_int_eq(nb_entry_write(&entry, out), 0);
}

START_TEST(entries_read_back)
{
    struct nb_buffer out = {0};
    struct nb_entry back;
    write_sample(&out);
    ck_assert_int_eq(nb_entry_read(&back, bytes_of(&out), NULL), 0);
    ck_assert_uint_eq(back.kind, NB_ENTRY_LEARNED);
    ck_assert(back.truncated);
    ck_assert_uint_eq(back.id.length, 7);
    ck_assert_int_eq(memcmp(back.id.bytes, "an id\0x", 7), 0);
    ck_assert_uint_eq(back.label, 300);
    ck_assert_int_eq(back.time, 1234567890123);
    ck_assert_uint_eq(back.replaced, 77);
    ck_assert_uint_eq(back.tokens, 1000);
    ck_assert_uint_eq(back.first_row, 5);
    ck_assert_uint_eq(back.new_count, 2);
    ck_assert_uint_eq(nb_entry_new_id(&back, 0), 0x0807060504030201u);
    ck_assert_uint_eq(nb_entry_new_id(&back, 1), 9);
    ck_assert_uint_eq(back.bag.length, 3);
    nb_buffer_deinit(&out);
}
END_TEST

START_TEST(cut_entries_are_refused)
{
    struct nb_buffer out = {0};
    struct nb_entry back;
    struct nb_error error;
    write_sample(&out);
    /* Cut inside the bag it is still an entry: the store's checksum tells. */
    for (size_t length = 0; length + 3 < out.length; length++) {
        int rc = nb_entry_read(&back, (struct nb_string){out.bytes, length}, &error);
        ck_assert_msg(rc == NB_CORRUPT, "%zu", length);
    }
    nb_buffer_deinit(&out);
}
END_TEST

START_TEST(ranges_read_back)
{
    struct nb_model *model = nb_model_new();
    struct nb_model *copy = nb_model_new();
    struct nb_buffer out = {0};
    uint32_t label;
    uint64_t mark;
    for (int i = 0; i < 5; i++) {
        char name[2] = {(char)('a' + i), '\0'};
        ck_assert_int_eq(nb_model_label(model, (struct nb_string){name, 1}, &label), 0);
        ck_assert_int_eq(nb_model_label(copy, (struct nb_string){name, 1}, &label), 0);
    }
    for (uint32_t i = 0; i < 100; i++) {
        uint32_t row;
        ck_assert_int_eq(nb_model_append(model, i * 7919u, &row), 0);
        for (uint32_t l = 0; l < i % 6 && l < 5; l++) {
            struct nb_row_count count = {row, i + l + 1};
            ck_assert_int_eq(nb_model_add(model, l, &count, 1, 1, NULL), 0);
        }
    }
    ck_assert_int_eq(nb_range_write(model, 0, 100, 42, &out), 0);
    ck_assert_int_eq(nb_range_read(copy, 0, bytes_of(&out), &mark, NULL), 0);
    ck_assert_uint_eq(mark, 42);
    ck_assert_uint_eq(nb_model_rows(copy), 100);
    for (uint32_t row = 0; row < 100; row++) {
        ck_assert_uint_eq(nb_model_row_id(model, row), nb_model_row_id(copy, row));
        for (uint32_t l = 0; l < 5; l++)
            ck_assert_uint_eq(nb_model_count(model, row, l), nb_model_count(copy, row, l));
    }
    ck_assert_uint_eq(nb_model_vocabulary(model, NB_FIELDS), nb_model_vocabulary(copy, NB_FIELDS));
    for (size_t length = 0; length < out.length; length++) {
        struct nb_model *broken = nb_model_new();
        for (int i = 0; i < 5; i++)
            ck_assert_int_eq(
                nb_model_label(broken, nb_model_label_name(model, (uint32_t)i), &label), 0);
        ck_assert_int_ne(
            nb_range_read(broken, 0, (struct nb_string){out.bytes, length}, &mark, NULL), 0);
        nb_model_free(&broken);
    }
    nb_buffer_deinit(&out);
    nb_model_free(&model);
    nb_model_free(&copy);
}
END_TEST

/* A feature has one row: neither a range nor two of them may bring it again. */
START_TEST(ranges_with_a_row_twice_are_refused)
{
    struct nb_model *model = nb_model_new();
    struct nb_buffer out = {0};
    uint64_t mark;
    uint32_t row;
    for (uint32_t i = 0; i < 40; i++)
        ck_assert_int_eq(nb_model_append(model, 1 + i % (uint32_t)_i, &row), 0);
    ck_assert_int_eq(nb_range_write(model, 0, 40, 1, &out), 0);
    struct nb_model *copy = nb_model_new();
    ck_assert_int_eq(nb_range_read(copy, 0, bytes_of(&out), &mark, NULL), _i < 40 ? NB_CORRUPT : 0);
    if (_i >= 40)
        ck_assert_int_eq(nb_range_read(copy, 40, bytes_of(&out), &mark, NULL), NB_CORRUPT);
    nb_buffer_deinit(&out);
    nb_model_free(&model);
    nb_model_free(&copy);
}
END_TEST

START_TEST(small_records_read_back)
{
    struct nb_buffer out = {0};
    struct nb_state_record state = {.last = UINT64_MAX, .replay = 5, .rows = UINT32_MAX};
    struct nb_state_record back;
    ck_assert_int_eq(nb_state_write(&state, &out), 0);
    ck_assert_int_eq(nb_state_read(&back, bytes_of(&out), NULL), 0);
    ck_assert_uint_eq(back.last, UINT64_MAX);
    ck_assert_uint_eq(back.replay, 5);
    ck_assert_uint_eq(back.rows, UINT32_MAX);
    out.length--;
    ck_assert_int_eq(nb_state_read(&back, bytes_of(&out), NULL), NB_CORRUPT);
    out.length = 0;
    struct nb_string name;
    uint64_t documents;
    ck_assert_int_eq(nb_label_write((struct nb_string){"spam", 4}, 12345, &out), 0);
    ck_assert_int_eq(nb_label_read(bytes_of(&out), &name, &documents, NULL), 0);
    ck_assert_uint_eq(name.length, 4);
    ck_assert_uint_eq(documents, 12345);
    out.length--;
    ck_assert_int_eq(nb_label_read(bytes_of(&out), &name, &documents, NULL), NB_CORRUPT);
    nb_buffer_deinit(&out);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("ledger");
    TCase *t = tcase_create("ledger");
    tcase_add_loop_test(t, bags_read_back, 0, 50);
    tcase_add_test(t, rows_sort);
    tcase_add_loop_test(t, row_counts_sort, 0, 60);
    tcase_add_test(t, entries_read_back);
    tcase_add_test(t, cut_entries_are_refused);
    tcase_add_test(t, ranges_read_back);
    tcase_add_loop_test(t, ranges_with_a_row_twice_are_refused, 1, 41);
    tcase_add_test(t, small_records_read_back);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    SRunner *runner = srunner_create(suite());
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
