/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/run.h"
#include "tokenizer/decode.h"

#define BYTES(literal) literal, sizeof(literal) - 1

enum { GUESSED = 1, DAMAGED = 2, UNLIKELY = 4 };

static const struct {
    const char *bytes;
    size_t length;
    const char *given, *charset, *utf8;
    unsigned mark, told;
} cases[] = {
    {BYTES(""), "", "utf-8", "", 0, 0},
    {BYTES("plain"), "", "utf-8", "plain", 0, 0},
    {BYTES("M\xC3\xBCll"), "", "utf-8", "M\xC3\xBCll", 0, 0},
    {BYTES("M\xFCll"), "", "windows-1252", "M\xC3\xBCll", 0, GUESSED},
    {BYTES("M\x81ll"), "", "windows-1252", "M\xC2\x81ll", 0, GUESSED | UNLIKELY},
    {BYTES("caf\xE9"), "", "windows-1252", "caf\xC3\xA9", 0, GUESSED},
    {BYTES("\x80 5"), "", "windows-1252", "\xE2\x82\xAC 5", 0, GUESSED},
    {BYTES("\xC0\xAF"), "", "windows-1252", "\xC3\x80\xC2\xAF", 0, GUESSED}, /* overlong */
    {BYTES("\xED\xA0\xBD"), "", "windows-1252", NULL, 0, GUESSED},           /* a surrogate */
    {BYTES("\xF0\x9F\x98\x80"), "", "utf-8", "\xF0\x9F\x98\x80", 0, 0},
    {BYTES("\xF0\x9F\x98"), "", "windows-1252", NULL, 0, GUESSED}, /* an emoji that is cut */
    /* More characters are UTF-8 than bytes are not: the others are read as windows-1252. */
    {BYTES("\xC3\xBC\xC3\xB6\xE4"), "", "utf-8", "\xC3\xBC\xC3\xB6\xC3\xA4", 0, DAMAGED},
    {BYTES("\xC3\xBC\xE4\xF6"), "", "windows-1252", NULL, 0, GUESSED},
    {BYTES("\xEF\xBB\xBF\xC3\xBC"), "", "utf-8", "\xC3\xBC", 3, 0},
    {BYTES("\xEF\xBB\xBF\xFC"), "", "utf-8", "\xC3\xBC", 3, DAMAGED},
    {BYTES("\xEF\xBB\xBF"), "", "utf-8", "", 3, 0},
    {BYTES("\xFF\xFE\xFC\0"), "", "utf-16le", "\xC3\xBC", 2, 0},
    {BYTES("\xFE\xFF\0\xFC"), "", "utf-16be", "\xC3\xBC", 2, 0},
    {BYTES("\xFF\xFE\0\0\xFC\0\0\0"), "", "utf-32le", "\xC3\xBC", 4, 0},
    {BYTES("\0\0\xFE\xFF\0\0\0\xFC"), "", "utf-32be", "\xC3\xBC", 4, 0},
    {BYTES("a\0\xFC\0"), "", "utf-16le", "a\xC3\xBC", 0, GUESSED},
    {BYTES("\0a\0\xFC"), "", "utf-16be", "a\xC3\xBC", 0, GUESSED},
    {BYTES("a\0\0\0\xFC\0\0\0"), "", "utf-32le", "a\xC3\xBC", 0, GUESSED},
    {BYTES("\0\0\0a\0\0\0\xFC"), "", "utf-32be", "a\xC3\xBC", 0, GUESSED},
    {BYTES("a text with a \0 in it"), "", "utf-8", NULL, 0, 0},
    /* A mark wins over a name, a name over the bytes, and a name that says nothing is none. */
    {BYTES("\xEF\xBB\xBF\xC3\xBC"), "cp850", "utf-8", "\xC3\xBC", 3, 0},
    {BYTES("M\x81ll"), "cp850", "cp850", "M\xC3\xBCll", 0, 0},
    {BYTES("\xC3\xBC"), "iso-8859-1", "iso-8859-1", "\xC3\x83\xC2\xBC", 0, 0},
    {BYTES("\xC3\xBC"), "unknown-8bit", "utf-8", "\xC3\xBC", 0, 0},
    {BYTES("M\xFCll"), "us-ascii", "windows-1252", "M\xC3\xBCll", 0, GUESSED},
    {BYTES("\xC3\xBC\xFC"), "utf-8", "utf-8", "\xC3\xBC\xC3\xBC", 0, 0},
};

START_TEST(finds_the_charset_and_decodes)
{
    struct nb_buffer out = {0};
    struct nb_error error = {0};
    struct nb_text_charset found;
    struct nb_string text = {cases[_i].bytes, cases[_i].length};
    int rc = nb_text_decode_whole(&text, nb_string_of(cases[_i].given), 1000, &out, &found, &error);
    ck_assert_msg(rc == 0, "case %d: %s", _i, error.text);
    ck_assert_str_eq(found.name, cases[_i].charset);
    ck_assert_uint_eq(found.mark, cases[_i].mark);
    unsigned told = (found.is_guessed ? GUESSED : 0) | (found.is_damaged ? DAMAGED : 0) |
                    (found.is_unlikely ? UNLIKELY : 0);
    ck_assert_msg(told == cases[_i].told, "case %d: %u", _i, told);
    if (cases[_i].utf8 != NULL)
        ck_assert_msg(nb_string_equals(text, cases[_i].utf8), "case %d: '%.*s'", _i,
                      (int)text.length, text.bytes);
    nb_buffer_deinit(&out);
}
END_TEST

/* However a text is cut into pieces, the census is the same. */
START_TEST(pieces_count_as_the_whole)
{
    struct nb_census whole = {0};
    nb_census_add(&whole, cases[_i].bytes, cases[_i].length);
    nb_census_end(&whole);
    for (size_t size = 1; size < 5; size++) {
        struct nb_census pieces = {0};
        for (size_t at = 0; at < cases[_i].length; at += size) {
            size_t left = cases[_i].length - at;
            nb_census_add(&pieces, cases[_i].bytes + at, left < size ? left : size);
        }
        nb_census_end(&pieces);
        ck_assert_uint_eq(pieces.bytes, whole.bytes);
        ck_assert_uint_eq(pieces.sequences, whole.sequences);
        ck_assert_uint_eq(pieces.strays, whole.strays);
        ck_assert_uint_eq(pieces.undefined, whole.undefined);
        ck_assert_int_eq(memcmp(pieces.nuls, whole.nuls, sizeof whole.nuls), 0);
        ck_assert_str_eq(nb_text_charset_of(&pieces, nb_string_of(cases[_i].given)).name,
                         cases[_i].charset);
    }
}
END_TEST

START_TEST(names_the_line_of_the_first_stray)
{
    static const struct {
        const char *text;
        uint64_t line;
    } lines[] = {{"\xFC", 1},           {"a\nb\xFC\n\xFC", 2}, {"a\rb\r\xFC", 3},
                 {"a\r\nb\r\n\xFC", 3}, {"a\n\r\xFC", 3},      {"a\r\n\r\nM\xFCll", 3}};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct nb_census census = {0};
        nb_census_add(&census, lines[i].text, strlen(lines[i].text));
        nb_census_end(&census);
        ck_assert_msg(census.first_stray == lines[i].line, "%zu: line %ju", i,
                      (uintmax_t)census.first_stray);
    }
}
END_TEST

START_TEST(counts_line_ends)
{
    static const char TEXT[] = "a,\"x\ny\rz\r\n\"\r\nb\rc\n";
    struct nb_census census = {0};
    nb_census_add(&census, TEXT, sizeof TEXT - 1);
    nb_census_end(&census);
    ck_assert_uint_eq(census.lone_lf, 1);
    ck_assert_uint_eq(census.lone_cr, 1);
    ck_assert_uint_eq(census.quoted_lf, 1);
    ck_assert_uint_eq(census.quoted_cr, 1);
    ck_assert_uint_eq(census.crlf, 2);
}
END_TEST

/* The limit is exact: as many bytes as come out fit, one less does not. */
START_TEST(keeps_to_the_limit)
{
    static const struct {
        const char *bytes, *given;
        size_t length, full;
    } texts[] = {{"M\xFCll", "", 4, 5},
                 {"\xC3\xBC\xC3\xB6\xE4", "", 5, 6},
                 {"a\0\xFC\0", "", 4, 3},
                 {"\x81\x81", "cp850", 2, 4}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct nb_buffer out = {0};
        struct nb_error error = {0};
        struct nb_text_charset found;
        struct nb_string text = {texts[i].bytes, texts[i].length}, again = text;
        struct nb_string given = nb_string_of(texts[i].given);
        ck_assert_int_eq(nb_text_decode_whole(&text, given, texts[i].full, &out, &found, &error),
                         0);
        ck_assert_uint_eq(text.length, texts[i].full);
        ck_assert_int_eq(
            nb_text_decode_whole(&again, given, texts[i].full - 1, &out, &found, &error),
            NB_TOO_LARGE);
        ck_assert_str_ne(error.text, "");
        nb_buffer_deinit(&out);
    }
}
END_TEST

START_TEST(a_charset_that_is_none_is_refused)
{
    struct nb_buffer out = {0};
    struct nb_error error = {0};
    struct nb_text_charset found;
    struct nb_string text = nb_string_of("M\xFCll");
    ck_assert_int_eq(
        nb_text_decode_whole(&text, nb_string_of("no-such"), 100, &out, &found, &error),
        NB_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(error.text, "no-such"));
    nb_buffer_deinit(&out);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("decode");
    TCase *tests = tcase_create("decode");
    int count = sizeof cases / sizeof *cases;
    tcase_add_loop_test(tests, finds_the_charset_and_decodes, 0, count);
    tcase_add_loop_test(tests, pieces_count_as_the_whole, 0, count);
    tcase_add_test(tests, names_the_line_of_the_first_stray);
    tcase_add_test(tests, counts_line_ends);
    tcase_add_test(tests, keeps_to_the_limit);
    tcase_add_test(tests, a_charset_that_is_none_is_refused);
    suite_add_tcase(suite, tests);
    return test_run(suite);
}
