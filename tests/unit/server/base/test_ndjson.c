/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/ndjson.h"
#include "tests/unit/run.h"

enum { SEED = 1763 };

/* Writes everything that the splitter gives for `text` in pieces of `piece` bytes: "number:line|"
 * for each line, "number:!|" for one that is too long. */
static void split(const char *text, size_t length, size_t piece, size_t most, struct nb_buffer *out)
{
    struct nb_splitter splitter;
    struct nb_ndjson_line line;
    int rc;
    nb_splitter_init(&splitter, most);
    for (size_t at = 0; at < length; at += piece) {
        /* A copy in its own memory, so that a read beyond the piece is found. */
        size_t size = length - at < piece ? length - at : piece;
        char *copy = malloc(size);
        memcpy(copy, text + at, size);
        struct nb_string input = {copy, size};
        while ((rc = nb_splitter_next(&splitter, &input, &line)) == 1) {
            nb_buffer_printf(out, "%d:", (int)line.number);
            if (line.is_too_long)
                nb_buffer_puts(out, "!");
            nb_buffer_append(out, line.text.bytes, line.text.length);
            nb_buffer_puts(out, "|");
            ck_assert_uint_le(splitter.rest.length, most);
        }
        ck_assert_int_eq(rc, 0);
        ck_assert_uint_eq(input.length, 0);
        free(copy);
    }
    while (nb_splitter_last(&splitter, &line) == 1) {
        nb_buffer_printf(out, "%d:", (int)line.number);
        if (line.is_too_long)
            nb_buffer_puts(out, "!");
        nb_buffer_append(out, line.text.bytes, line.text.length);
        nb_buffer_puts(out, "|");
    }
    nb_splitter_deinit(&splitter);
    nb_buffer_append(out, "", 1);
}

static const struct {
    const char *text;
    const char *lines;
} cases[] = {
    {"", ""},
    {"\n", ""},
    {"a", "1:a|"},
    {"a\n", "1:a|"},
    {"a\nb", "1:a|2:b|"},
    {"a\n\nb\n", "1:a|3:b|"},
    {"a\r\nb\r\n", "1:a\r|2:b\r|"},
    {" \t\r\na\n", "2:a|"},
    {"12345678\n", "1:12345678|"},
    {"123456789\nx\n", "1:!|2:x|"},
    {"x\n123456789", "1:x|2:!|"},
    {"123456789123456789123456789\n12345678\n123456789\n", "1:!|2:12345678|3:!|"},
    {"         \nx", "1:!|2:x|"}, /* blank, but too long to find out */
    {"a\n  ", "1:a|"},
};

START_TEST(splits_each_case_whatever_the_pieces)
{
    size_t length = strlen(cases[_i].text);
    for (size_t piece = 1; piece <= length + 1; piece++) {
        struct nb_buffer got = {0};
        split(cases[_i].text, length, piece, 8, &got);
        ck_assert_msg(strcmp(got.bytes, cases[_i].lines) == 0, "case %d, pieces of %zu: %s", _i,
                      piece, got.bytes);
        nb_buffer_deinit(&got);
    }
}
END_TEST

START_TEST(splits_random_texts_alike)
{
    printf("seed %d\n", SEED);
    srand48(SEED);
    for (int round = 0; round < 300; round++) {
        char text[400];
        size_t length = (size_t)lrand48() % sizeof text;
        for (size_t i = 0; i < length; i++)
            text[i] = "ab \n"[lrand48() % 4];
        size_t most = (size_t)lrand48() % 12;
        struct nb_buffer whole = {0}, pieces = {0};
        split(text, length, length + 1, most, &whole);
        split(text, length, 1 + (size_t)lrand48() % 20, most, &pieces);
        ck_assert_msg(strcmp(whole.bytes, pieces.bytes) == 0, "seed %d round %d", SEED, round);
        nb_buffer_deinit(&whole);
        nb_buffer_deinit(&pieces);
    }
}
END_TEST

START_TEST(holds_nothing_of_a_line_that_is_too_long)
{
    struct nb_splitter splitter;
    struct nb_ndjson_line line;
    char piece[1000];
    memset(piece, 'x', sizeof piece);
    nb_splitter_init(&splitter, 5000);
    for (int i = 0; i < 1000; i++) {
        struct nb_string input = {piece, sizeof piece};
        ck_assert_int_eq(nb_splitter_next(&splitter, &input, &line), 0);
        ck_assert_uint_le(splitter.rest.capacity, 16384);
    }
    ck_assert_uint_eq(splitter.rest.capacity, 0);
    struct nb_string end = {"\nnext\n", 6};
    ck_assert_int_eq(nb_splitter_next(&splitter, &end, &line), 1);
    ck_assert(line.is_too_long);
    ck_assert_uint_eq(line.text.length, 0);
    ck_assert_int_eq(nb_splitter_next(&splitter, &end, &line), 1);
    ck_assert(!line.is_too_long);
    ck_assert_uint_eq(line.number, 2);
    nb_splitter_deinit(&splitter);
}
END_TEST

START_TEST(does_not_copy_a_line_that_is_whole)
{
    struct nb_splitter splitter;
    struct nb_ndjson_line line;
    const char *text = "one\ntwo\n";
    struct nb_string input = {text, 8};
    nb_splitter_init(&splitter, 100);
    ck_assert_int_eq(nb_splitter_next(&splitter, &input, &line), 1);
    ck_assert_ptr_eq(line.text.bytes, text);
    ck_assert_uint_eq(splitter.rest.capacity, 0);
    nb_splitter_deinit(&splitter);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ndjson");
    TCase *tcase = tcase_create("ndjson");
    tcase_add_loop_test(tcase, splits_each_case_whatever_the_pieces, 0,
                        (int)(sizeof cases / sizeof cases[0]));
    tcase_add_test(tcase, splits_random_texts_alike);
    tcase_add_test(tcase, holds_nothing_of_a_line_that_is_too_long);
    tcase_add_test(tcase, does_not_copy_a_line_that_is_whole);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
