/* SPDX-License-Identifier: Apache-2.0
 *
 * The stored form of bags, to the byte; damaged bags are detected.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/random.h"
#include "core/ledger/bag_coding.h"
#include "tests/unit/hex.h"
#include "tests/unit/run.h"

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
    ck_assert_int_eq(nb_bag_decode(nb_buffer_string(&out), 206, &back, NULL), 0);
    ck_assert_uint_eq(back.size, rows.size);
    for (size_t i = 0; i < rows.size; i++)
        ck_assert(back.counts[i].row == counts[i].row && back.counts[i].count == counts[i].count);
    ck_assert_int_eq(nb_bag_decode(nb_buffer_string(&out), 205, &back, NULL), NB_CORRUPT);
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
        {"\x01\0\x03\0\x80\x80\x80\x10\0\0", 10, 9},           /* of 2^24 rows */
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
        ck_assert_uint_lt(back.room, 100); /* damage takes no memory */
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
    ck_assert_int_eq(nb_bag_decode(nb_buffer_string(&out), row, &back, NULL), 0);
    ck_assert_uint_eq(back.size, rows.size);
    for (size_t i = 0; i < rows.size; i++)
        ck_assert(back.counts[i].row == rows.counts[i].row &&
                  back.counts[i].count == rows.counts[i].count);
    nb_rows_deinit(&rows);
    nb_rows_deinit(&back);
    nb_buffer_deinit(&out);
}
END_TEST

/* Adds a permutation of the rows `from`, `from` + step, ...: a multiplier that has no common
 * divisor with `size` visits each once. */
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
    ck_assert_int_eq(nb_bag_decode(nb_buffer_string(&out), UINT32_MAX, &back, NULL), 0);
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

int main(void)
{
    Suite *s = suite_create("bag");
    TCase *t = tcase_create("bag");
    suite_add_tcase(s, t);
    tcase_add_test(t, bags);
    tcase_add_test(t, damaged_bags);
    tcase_add_test(t, bags_with_runs);
    tcase_add_test(t, bags_are_sorted);
    tcase_add_test(t, long_bags);
    tcase_add_test(t, bags_in_two_parts_have_all_rows);
    tcase_add_test(t, bags_cut_short);
    return test_run(s);
}
