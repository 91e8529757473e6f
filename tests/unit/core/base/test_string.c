/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/number.h"
#include "core/base/string.h"
#include "tests/unit/run.h"

static const struct nb_string NOTHING = {NULL, 0};

/* ---- ASCII ----------------------------------------------------------------------------------- */

START_TEST(classes_are_those_of_the_c_locale)
{
    for (int c = 0; c < 256; c++) {
        char as_char = (char)c;
        ck_assert_msg(nb_ascii_is_digit(c) == (isdigit(c) != 0), "%d", c);
        ck_assert_msg(nb_ascii_is_letter(c) == (isalpha(c) != 0), "%d", c);
        ck_assert_msg(nb_ascii_is_alphanumeric(c) == (isalnum(c) != 0), "%d", c);
        ck_assert_msg(nb_ascii_is_space(c) == (isspace(c) != 0), "%d", c);
        ck_assert_msg(nb_ascii_is_digit(as_char) == (isdigit(c) != 0), "%d", c);
        ck_assert_msg(nb_ascii_is_letter(as_char) == (isalpha(c) != 0), "%d", c);
        ck_assert_msg(nb_ascii_is_space(as_char) == (isspace(c) != 0), "%d", c);
        ck_assert_msg(nb_ascii_lower(as_char) == (char)tolower(c), "%d", c);
        ck_assert_msg(nb_ascii_upper(as_char) == (char)toupper(c), "%d", c);
    }
}
END_TEST

/* ---- texts ----------------------------------------------------------------------------------- */

START_TEST(texts_are_compared)
{
    static const struct {
        const char *a, *b;
        bool same, same_nocase, starts, starts_nocase;
    } table[] = {
        {"", "", true, true, true, true},
        {"a", "", false, false, true, true},
        {"", "a", false, false, false, false},
        {"ham", "ham", true, true, true, true},
        {"Ham", "hAM", false, true, false, true},
        {"hams", "ham", false, false, true, true},
        {"HAMS", "ham", false, false, false, true},
        {"ham", "hams", false, false, false, false},
        {"[", "{", false, false, false, false}, /* only letters have a case */
        {"\xC3\x84", "\xC3\xA4", false, false, false, false},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct nb_string a = nb_string_of(table[i].a), b = nb_string_of(table[i].b);
        ck_assert_msg(nb_string_same(a, b) == table[i].same, "row %zu", i);
        ck_assert_msg(nb_string_equals(a, table[i].b) == table[i].same, "row %zu", i);
        ck_assert_msg(nb_string_equals_nocase(a, table[i].b) == table[i].same_nocase, "row %zu", i);
        ck_assert_msg(nb_string_starts(a, table[i].b) == table[i].starts, "row %zu", i);
        ck_assert_msg(nb_string_starts_nocase(a, table[i].b) == table[i].starts_nocase, "row %zu",
                      i);
    }
    ck_assert(nb_string_same(NOTHING, nb_string_of("")));
    ck_assert(nb_string_equals(NOTHING, "") && nb_string_equals_nocase(NOTHING, ""));
    ck_assert(nb_string_starts(NOTHING, "") && !nb_string_starts_nocase(NOTHING, "x"));
    ck_assert(nb_string_same(nb_string_of(NULL), NOTHING));
    ck_assert(!nb_string_equals((struct nb_string){"ham\0", 4}, "ham"));
}
END_TEST

START_TEST(texts_have_an_order)
{
    static const char *const sorted[] = {"", "A", "AA", "B", "a", "a\x01", "b", "\xC3\xA4"};
    int count = sizeof sorted / sizeof *sorted;
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < count; j++) {
            int order = nb_string_compare(nb_string_of(sorted[i]), nb_string_of(sorted[j]));
            ck_assert_int_eq((order > 0) - (order < 0), (i > j) - (i < j));
        }
    }
    ck_assert_int_eq(nb_string_compare(NOTHING, NOTHING), 0);
}
END_TEST

/* A page without access lies behind the text: nothing there may be read. */
START_TEST(texts_are_copied)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *two = mmap(NULL, page * 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(two, MAP_FAILED);
    ck_assert_int_eq(mprotect(two + page, page, PROT_NONE), 0);
    memcpy(two + page - 4, "text", 4);
    char *copy = nb_string_copy((struct nb_string){two + page - 4, 4});
    ck_assert_str_eq(copy, "text");
    free(copy);
    munmap(two, page * 2);
    copy = nb_string_copy(NOTHING);
    ck_assert_str_eq(copy, "");
    free(copy);
}
END_TEST

START_TEST(white_space_is_trimmed)
{
    static const struct {
        struct nb_string from;
        const char *trimmed, *start, *end;
    } table[] = {
        {{"", 0}, "", "", ""},
        {{" ", 1}, "", "", ""},
        {{"a", 1}, "a", "a", "a"},
        {{" \t\n\v\f\ra b\r\f\v\n\t ", 15},
         "a b",
         "\n\v\f\ra b\r\f\v\n\t ",
         " \t\n\v\f\ra b\r\f\v\n"},
        {{"  \xC2\xA0 ", 5}, "\xC2\xA0", "\xC2\xA0 ", "  \xC2\xA0"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct nb_string from = table[i].from;
        ck_assert_msg(nb_string_equals(nb_string_trim(from), table[i].trimmed), "row %zu", i);
        ck_assert_msg(nb_string_equals(nb_string_trim_start(from, " \t"), table[i].start),
                      "row %zu", i);
        ck_assert_msg(nb_string_equals(nb_string_trim_end(from, " \t"), table[i].end), "row %zu",
                      i);
    }
    ck_assert_uint_eq(nb_string_trim(NOTHING).length, 0);
    ck_assert_uint_eq(nb_string_trim((struct nb_string){"\0a\0", 3}).length, 3);
}
END_TEST

/* ---- numbers --------------------------------------------------------------------------------- */

START_TEST(hexadecimal_digits_have_values)
{
    static const char digits[] = "0123456789abcdef", capitals[] = "0123456789ABCDEF";
    int found = 0;
    for (int i = 0; i < 16; i++) {
        ck_assert_int_eq(nb_hex_digit(digits[i]), i);
        ck_assert_int_eq(nb_hex_digit(capitals[i]), i);
    }
    for (int c = 0; c < 256; c++)
        found += nb_hex_digit((char)c) >= 0;
    ck_assert_int_eq(found, 22);
}
END_TEST

START_TEST(hexadecimal_numbers_are_read)
{
    static const struct {
        const char *text;
        bool good;
        uint64_t value;
    } table[] = {
        {"0", true, 0},
        {"ff", true, 255},
        {"0123456789aBcDeF", true, UINT64_C(0x0123456789ABCDEF)},
        {"ffffffffffffffff", true, UINT64_MAX},
        {"", false, 0},
        {"00000000000000000", false, 0},
        {"0x1", false, 0},
        {" 1", false, 0},
        {"1g", false, 0},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        uint64_t value = 77;
        ck_assert_msg(nb_hex_read(nb_string_of(table[i].text), &value) == table[i].good, "row %zu",
                      i);
        ck_assert_uint_eq(value, table[i].good ? table[i].value : 77);
    }
}
END_TEST

START_TEST(whole_numbers_are_read)
{
    static const struct {
        const char *text;
        bool good;
        uint64_t value;
    } table[] = {
        {"0", true, 0},
        {"007", true, 7},
        {"18446744073709551615", true, UINT64_MAX},
        {"18446744073709551616", false, 0},
        {"99999999999999999999", false, 0},
        {"", false, 0},
        {"-1", false, 0},
        {"+1", false, 0},
        {" 1", false, 0},
        {"1 ", false, 0},
        {"1.0", false, 0},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        uint64_t value = 77;
        ck_assert_msg(nb_number_read_whole(nb_string_of(table[i].text), &value) == table[i].good,
                      "row %zu", i);
        ck_assert_uint_eq(value, table[i].good ? table[i].value : 77);
    }
    uint64_t value;
    ck_assert(!nb_number_read_whole((struct nb_string){"1\0", 2}, &value));
}
END_TEST

START_TEST(numbers_are_put_as_digits)
{
    static const uint64_t numbers[] = {
        0, 1, 9, 10, 100, 1234, UINT32_MAX, UINT64_C(10000000000000000000), UINT64_MAX};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char want[NB_NUMBER_DIGITS + 1], got[NB_NUMBER_DIGITS + 1] = {0};
        snprintf(want, sizeof want, "%llu", (unsigned long long)numbers[i]);
        ck_assert_uint_eq(nb_number_put(got, numbers[i]), strlen(want));
        ck_assert_str_eq(got, want);
    }
}
END_TEST

/* ---- UTF-8 ----------------------------------------------------------------------------------- */

/* Returns a bit for each fault of the functions with one character. */
static unsigned faults_of(uint32_t c)
{
    unsigned char bytes[NB_UTF8_MOST];
    unsigned length = nb_utf8_encode(c, bytes), faults = 0;
    bool is_surrogate = c >= 0xD800 && c <= 0xDFFF,
         is_control = c < 0x20 || (c >= 0x7F && c < 0xA0);
    faults |= nb_utf8_sequence(bytes, bytes + length) != (is_surrogate ? 0 : length);
    if (length > 1)
        faults |= (unsigned)(nb_utf8_sequence(bytes, bytes + length - 1) != 0) << 1;
    for (unsigned i = 1; i < length; i++)
        faults |= (unsigned)!nb_utf8_is_continuation(bytes[i]) << 2;
    faults |= (unsigned)(nb_utf8_control(bytes, bytes + length) != (is_control ? length : 0)) << 3;
    return faults;
}

START_TEST(every_character_is_written_and_recognised)
{
    for (uint32_t c = 0; c <= 0x10FFFF; c++) {
        unsigned faults = faults_of(c);
        if (faults != 0)
            ck_abort_msg("U+%04X: %x", c, faults);
    }
}
END_TEST

/* Of all sequences of three bytes and all of four that begin alike, as many are well formed as
 * RFC 3629 has characters: no other form passes. */
START_TEST(nothing_else_is_well_formed)
{
    size_t threes = 0, fours = 0;
    for (uint32_t i = 0; i < 1u << 24; i++) {
        const unsigned char three[] = {(unsigned char)(i >> 16), (unsigned char)(i >> 8),
                                       (unsigned char)i};
        threes += nb_utf8_sequence(three, three + 3) == 3;
        const unsigned char four[] = {(unsigned char)(i >> 16), (unsigned char)(i >> 8),
                                      (unsigned char)i, 0x80};
        fours += nb_utf8_sequence(four, four + 4) == 4;
    }
    ck_assert_uint_eq(threes, 0x10000 - 0x800 - 0x800);
    ck_assert_uint_eq(fours, (0x110000 - 0x10000) / 64);
}
END_TEST

START_TEST(a_text_is_valid_or_not)
{
    ck_assert(nb_utf8_is_valid(NOTHING));
    ck_assert(nb_utf8_is_valid(nb_string_of("a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80")));
    ck_assert(!nb_utf8_is_valid(nb_string_of("a\xC3")));
    ck_assert(!nb_utf8_is_valid(nb_string_of("\x80")));
    ck_assert(!nb_utf8_is_valid(nb_string_of("\xED\xA0\x80")));
    ck_assert(!nb_utf8_is_valid(nb_string_of("\xC0\xAF")));
}
END_TEST

START_TEST(a_text_is_cut_between_characters)
{
    struct nb_string s = nb_string_of("a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80");
    static const size_t lengths[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10};
    for (size_t most = 0; most < sizeof lengths / sizeof *lengths; most++) {
        ck_assert_uint_eq(nb_utf8_cut(s, most).length, lengths[most]);
        ck_assert_ptr_eq(nb_utf8_cut(s, most).bytes, s.bytes);
    }
    /* Five bytes that begin no character: nothing is whole, and any place will do. */
    ck_assert_uint_eq(nb_utf8_cut(nb_string_of("\x80\x80\x80\x80\x80"), 4).length, 4);
}
END_TEST

/* ---- lines ----------------------------------------------------------------------------------- */

START_TEST(lines_are_walked)
{
    static const char text[] = "From a\n\r\n\nb\r\r\nFrom";
    const char *end = text + sizeof text - 1, *line = text;
    static const size_t lengths[] = {7, 2, 1, 4, 4};
    static const bool empty[] = {false, true, true, false, false};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        const char *next = nb_lines_next(line, end);
        ck_assert_uint_eq((size_t)(next - line), lengths[i]);
        ck_assert_msg(nb_lines_is_empty(line, end) == empty[i], "line %zu", i);
        ck_assert_msg(nb_lines_is_empty(line, next) == empty[i], "line %zu", i);
        ck_assert_msg(nb_lines_is_separator(line, end) == (i == 0), "line %zu", i);
        line = next;
    }
    ck_assert_ptr_eq(line, end);
    ck_assert_ptr_eq(nb_lines_next(end, end), end);
    ck_assert(!nb_lines_is_empty(end, end));
    ck_assert(!nb_lines_is_empty("\r", &"\r"[1]));
    ck_assert_uint_eq(nb_lines_separator(nb_string_of(text)), 7);
    ck_assert_uint_eq(nb_lines_separator(nb_string_of("From a")), 0);
    ck_assert_uint_eq(nb_lines_separator(nb_string_of("from a\n")), 0);
    ck_assert_uint_eq(nb_lines_separator(NOTHING), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("string");
    TCase *all = tcase_create("all");
    tcase_add_test(all, classes_are_those_of_the_c_locale);
    tcase_add_test(all, texts_are_compared);
    tcase_add_test(all, texts_have_an_order);
    tcase_add_test(all, texts_are_copied);
    tcase_add_test(all, white_space_is_trimmed);
    tcase_add_test(all, hexadecimal_digits_have_values);
    tcase_add_test(all, hexadecimal_numbers_are_read);
    tcase_add_test(all, whole_numbers_are_read);
    tcase_add_test(all, numbers_are_put_as_digits);
    tcase_add_test(all, every_character_is_written_and_recognised);
    tcase_add_test(all, nothing_else_is_well_formed);
    tcase_add_test(all, a_text_is_valid_or_not);
    tcase_add_test(all, a_text_is_cut_between_characters);
    tcase_add_test(all, lines_are_walked);
    suite_add_tcase(suite, all);
    return test_run(suite);
}
