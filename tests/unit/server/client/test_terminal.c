/* SPDX-License-Identifier: Apache-2.0
 *
 * Output for people: text that is safe to print, numbers, tables. Words of a document may be
 * hostile.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/string.h"
#include "server/client/base/terminal.h"
#include "tests/unit/run.h"

#define COUNT(table) (int)(sizeof(table) / sizeof(table)[0])

static const struct {
    const char *text;
    size_t most;
    const char *safe;
} texts[] = {
    {"", 10, ""},
    {"plain", 10, "plain"},
    {"plain", 5, "plain"},
    {"plain", 4, "plai"},
    {"plain", 0, ""},
    {"\x1B[2J\x1B]0;title\x07", 99, " [2J ]0;title "},
    {"a\r\nb\tc\x7F", 99, "a  b c "},
    {"\xC2\x9B"
     "31m",
     99, " 31m"}, /* CSI as a single character (U+009B) */
    {"\xC2\x80\xC2\x9F\xC2\xA0", 99, "  \xC2\xA0"},
    {"\xC3\xA4\xC3\xB6\xC3\xBC", 2, "\xC3\xA4\xC3\xB6"},
    {"\xF0\x9F\x98\x80x", 1, "\xF0\x9F\x98\x80"},
    {"\xE2\x82", 9, "\xE2\x82"}, /* a truncated sequence stays as it is */
};

START_TEST(control_characters_become_spaces)
{
    struct nb_buffer out = {0};
    ck_assert_int_eq(nb_buffer_puts(&out, "left from before"), 0);
    nb_terminal_safe(texts[_i].text, texts[_i].most, &out);
    ck_assert_str_eq(out.bytes, texts[_i].safe);
    ck_assert_uint_eq(out.length, strlen(texts[_i].safe));
    nb_buffer_deinit(&out);
}
END_TEST

START_TEST(a_text_is_shown)
{
    char text[3 * NB_SHOWN_BYTES];
    ck_assert_str_eq(nb_shown(NULL).text, "");
    ck_assert_str_eq(nb_shown("\x1B[2J\r\n\xC2\x9B!\xC3\xA4").text, " [2J   !\xC3\xA4");
    memset(text, 'x', sizeof text);
    memcpy(text + NB_SHOWN_BYTES - 2, "\xC3\xA4", 3);
    ck_assert_uint_eq(strlen(nb_shown(text).text), NB_SHOWN_BYTES - 2);
    text[NB_SHOWN_BYTES - 2] = 'x';
    text[NB_SHOWN_BYTES - 1] = 'x';
    text[NB_SHOWN_BYTES] = 'x';
    text[sizeof text - 1] = '\0';
    ck_assert_uint_eq(strlen(nb_shown(text).text), NB_SHOWN_BYTES - 1);
}
END_TEST

START_TEST(random_text_has_no_control_characters)
{
    struct nb_buffer out = {0};
    unsigned seed = 1763;
    for (int round = 0; round < 2000; round++) {
        char text[64];
        size_t length = (size_t)rand_r(&seed) % (sizeof text - 1);
        for (size_t i = 0; i < length; i++)
            text[i] = (char)(rand_r(&seed) % 255 + 1);
        text[length] = '\0';
        nb_terminal_safe(text, 20, &out);
        ck_assert_uint_le(nb_terminal_width(out.bytes), 20);
        const unsigned char *at = (const unsigned char *)out.bytes, *end = at + out.length;
        for (; at < end; at++)
            ck_assert_msg(nb_utf8_control(at, end) == 0, "round %d", round);
    }
    nb_buffer_deinit(&out);
}
END_TEST

START_TEST(width_counts_characters)
{
    ck_assert_uint_eq(nb_terminal_width(""), 0);
    ck_assert_uint_eq(nb_terminal_width("abc"), 3);
    ck_assert_uint_eq(nb_terminal_width("\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80"), 3);
}
END_TEST

START_TEST(no_colours_outside_of_a_terminal)
{
    FILE *out = tmpfile();
    ck_assert_ptr_nonnull(out);
    ck_assert_str_eq(nb_colour(out, NB_COLOUR_BOLD), "");
    ck_assert_int_eq(fclose(out), 0);
}
END_TEST

START_TEST(numbers_have_commas)
{
    static const struct {
        uint64_t number;
        const char *text;
    } table[] = {{0, "0"},
                 {999, "999"},
                 {1000, "1,000"},
                 {1234567, "1,234,567"},
                 {UINT64_MAX, "18,446,744,073,709,551,615"}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        ck_assert_str_eq(nb_figure_of(table[i].number).text, table[i].text);
}
END_TEST

START_TEST(seconds_have_units)
{
    static const struct {
        double seconds;
        const char *text;
    } table[] = {{0, "0.0 s"},          {3.21, "3.2 s"},     {10, "10 s"},
                 {59.4, "59 s"},        {59.6, "1 min 0 s"}, {125, "2 min 5 s"},
                 {3599, "59 min 59 s"}, {3840, "1 h 4 min"}, {1e6, "277 h 46 min"}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        ck_assert_str_eq(nb_figure_of_seconds(table[i].seconds).text, table[i].text);
}
END_TEST

/* Captures what nb_message prints on standard error for a text. */
static void print_message(const char *text, char *out, size_t room)
{
    FILE *file = tmpfile();
    int old = dup(STDERR_FILENO);
    ck_assert(file != NULL && old >= 0);
    ck_assert_int_ge(dup2(fileno(file), STDERR_FILENO), 0);
    nb_message("%s: %s", text, "reason");
    ck_assert_int_ge(dup2(old, STDERR_FILENO), 0);
    ck_assert_int_eq(close(old), 0);
    rewind(file);
    out[fread(out, 1, room - 1, file)] = '\0';
    ck_assert_int_eq(fclose(file), 0);
}

START_TEST(messages_do_not_control_the_terminal)
{
    char out[6000], longest[9000];
    print_message("a\x1B[2J\nb\xC2\x9B", out, sizeof out);
    ck_assert_str_eq(out, "bayesc: a [2J b : reason\n");
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    print_message(longest, out, sizeof out);
    ck_assert_uint_lt(strlen(out), 4200);
    ck_assert_int_eq(strncmp(out, "bayesc: xxx", 11), 0);
    ck_assert_int_eq(out[strlen(out) - 1], '\n');
}
END_TEST

/* ---- tables ---------------------------------------------------------------------------------- */

static char *print(struct nb_text_table *table)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    ck_assert_ptr_nonnull(out);
    nb_table_print(table, out);
    ck_assert_int_eq(fclose(out), 0);
    nb_table_deinit(table);
    return text;
}

START_TEST(columns_are_aligned)
{
    static const char *const head[] = {"name", ">number", "rest"};
    struct nb_text_table table;
    nb_table_head(&table, head, 3);
    nb_table_cell(&table, "%s", "\xC3\xA4\xC3\xB6");
    nb_table_cell(&table, "%d", 7);
    nb_table_cell(&table, "%s", "x");
    nb_table_cell(&table, "%s", "long name");
    nb_table_cell(&table, "%d", 12345678);
    nb_table_cell(&table, "%s", "");
    char *text = print(&table);
    ck_assert_str_eq(text, "name         number  rest\n"
                           "\xC3\xA4\xC3\xB6                7  x\n"
                           "long name  12345678  \n");
    free(text);
}
END_TEST

START_TEST(a_table_has_as_many_columns_as_it_says)
{
    const char *head[NB_TABLE_COLUMNS];
    struct nb_text_table table;
    for (size_t i = 0; i < NB_TABLE_COLUMNS; i++)
        head[i] = i % 2 == 0 ? "a" : ">b";
    nb_table_head(&table, head, NB_TABLE_COLUMNS);
    for (size_t i = 0; i < NB_TABLE_COLUMNS; i++)
        nb_table_cell(&table, "%zu", i);
    char *text = print(&table);
    ck_assert_ptr_nonnull(
        strstr(text, "\n0  1  2  3  4  5  6  7  8  9  10  11  12  13  14  15  16"));
    free(text);
}
END_TEST

START_TEST(cells_are_made_safe_and_cut)
{
    static const char *const head[] = {"a"};
    char cell[2000];
    struct nb_text_table table;
    memset(cell, 'x', sizeof cell);
    cell[sizeof cell - 1] = '\0';
    nb_table_head(&table, head, 1);
    nb_table_cell(&table, "%s", "\x1B[31mred\nline");
    nb_table_cell(&table, "%s", cell);
    char *text = print(&table);
    cell[NB_TABLE_CELL] = '\0';
    ck_assert_ptr_nonnull(strstr(text, "a\n [31mred line\nx"));
    ck_assert_uint_eq(strspn(strchr(text, 'x'), "x"), NB_TABLE_CELL - 3);
    ck_assert_ptr_nonnull(strstr(text, "x...\n"));
    free(text);
}
END_TEST

START_TEST(a_table_without_rows_has_a_head)
{
    static const char *const head[] = {"a", ">b"};
    struct nb_text_table table;
    nb_table_head(&table, head, 2);
    char *text = print(&table);
    ck_assert_str_eq(text, "a  b\n");
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("terminal");
    TCase *all = tcase_create("all");
    tcase_add_loop_test(all, control_characters_become_spaces, 0, COUNT(texts));
    tcase_add_test(all, a_text_is_shown);
    tcase_add_test(all, random_text_has_no_control_characters);
    tcase_add_test(all, width_counts_characters);
    tcase_add_test(all, no_colours_outside_of_a_terminal);
    tcase_add_test(all, numbers_have_commas);
    tcase_add_test(all, seconds_have_units);
    tcase_add_test(all, messages_do_not_control_the_terminal);
    tcase_add_test(all, columns_are_aligned);
    tcase_add_test(all, a_table_has_as_many_columns_as_it_says);
    tcase_add_test(all, cells_are_made_safe_and_cut);
    tcase_add_test(all, a_table_without_rows_has_a_head);
    suite_add_tcase(suite, all);
    return test_run(suite);
}
