/* SPDX-License-Identifier: Apache-2.0
 *
 * Events in the log: hostile bytes cannot leave their line or their value, in any form of the log.
 */
#include <check.h>
#include <jansson.h>
#include <string.h>
#include <unistd.h>

#include "server/base/log.h"
#include "server/base/systemd.h"
#include "server/base/time.h"
#include "tests/unit/run.h"

static struct nb_string str(const char *text)
{
    return (struct nb_string){text, strlen(text)};
}

static const struct {
    const char *value, *text;
} values[] = {
    {"a@b.example", "a@b.example"},
    {"", "\"\""},
    {"two words", "\"two words\""},
    {"x=y", "\"x=y\""},
    {"say \"hi\"\\", "\"say \\\"hi\\\"\\\\\""},
    {"line\r\nverdict=ham", "\"line\\x0d\\x0averdict=ham\""},
    {"\x1b[2J", "\"\\x1b[2J\""},
    {"caf\xc3\xa9", "\"caf\\xc3\\xa9\""},
    {"\xff\xfe", "\"\\xff\\xfe\""},
    {"\xe2\x80\xae", "\"\\xe2\\x80\\xae\""}, /* reverses the direction of text */
    {"\x7f", "\"\\x7f\""},
};

START_TEST(text_quotes_what_is_not_plain)
{
    struct nb_buffer out = {0};
    const struct nb_log_field field = nb_log_text("id", str(values[_i].value));
    ck_assert_int_eq(nb_log_write_text(&out, "verdict", &field, 1), 0);
    ck_assert_int_eq(nb_buffer_append(&out, "", 1), 0);
    ck_assert_msg(strncmp(out.bytes, "verdict id=", 11) == 0, "%s", out.bytes);
    ck_assert_str_eq(out.bytes + 11, values[_i].text);
    nb_buffer_deinit(&out);
}
END_TEST

START_TEST(json_reads_back_and_is_visible_ascii)
{
    struct nb_buffer out = {0};
    const struct nb_log_field field = nb_log_text("id", str(values[_i].value));
    ck_assert_int_eq(nb_json_log_line(&out, "info", "verdict", &field, 1), 0);
    for (size_t i = 0; i < out.length; i++)
        ck_assert_msg(out.bytes[i] >= 0x20 && out.bytes[i] < 0x7f, "row %d: byte %zu", _i, i);
    json_t *line = json_loadb(out.bytes, out.length, 0, NULL);
    ck_assert_msg(line != NULL, "row %d: %.*s", _i, (int)out.length, out.bytes);
    ck_assert_str_eq(json_string_value(json_object_get(line, "message")), "verdict");
    const char *back = json_string_value(json_object_get(line, "id"));
    json_t *same = json_string(values[_i].value); /* NULL: it is not UTF-8 */
    ck_assert_str_eq(back, same != NULL ? values[_i].value : "\xef\xbf\xbd\xef\xbf\xbd");
    json_decref(same);
    json_decref(line);
    nb_buffer_deinit(&out);
}
END_TEST

START_TEST(every_character_survives_json)
{
    static const char all[] = "\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf"
                              "\xbf";
    struct nb_buffer out = {0};
    const struct nb_log_field field = nb_log_text("id", str(all));
    ck_assert_int_eq(nb_json_log_line(&out, "info", "x", &field, 1), 0);
    json_t *line = json_loadb(out.bytes, out.length, 0, NULL);
    ck_assert_str_eq(json_string_value(json_object_get(line, "id")), all);
    json_decref(line);
    nb_buffer_deinit(&out);
}
END_TEST

START_TEST(numbers_and_counts)
{
    struct nb_buffer out = {0};
    const struct nb_log_field fields[] = {nb_log_number("probability", 0.98765),
                                          nb_log_count("us", 341)};
    ck_assert_int_eq(nb_log_write_text(&out, "verdict", fields, 2), 0);
    ck_assert_int_eq(nb_buffer_append(&out, "", 1), 0);
    ck_assert_str_eq(out.bytes, "verdict probability=0.9877 us=341");
    out.length = 0;
    ck_assert_int_eq(nb_json_log_line(&out, "info", "verdict", fields, 2), 0);
    json_t *line = json_loadb(out.bytes, out.length, 0, NULL);
    ck_assert_double_eq(json_real_value(json_object_get(line, "probability")), 0.98765);
    ck_assert_int_eq(json_integer_value(json_object_get(line, "us")), 341);
    json_decref(line);
    nb_buffer_deinit(&out);
}
END_TEST

START_TEST(a_long_value_is_cut_between_characters)
{
    char text[2 * NB_LOG_VALUE_MOST];
    for (size_t i = 0; i + 1 < sizeof text; i += 2)
        memcpy(text + i, "\xc3\xa9", 2);
    memmove(text + 1, text, sizeof text - 1);
    text[0] = 'x';
    const struct nb_log_field field = nb_log_text("id", (struct nb_string){text, sizeof text});
    ck_assert_uint_eq(field.text.length, NB_LOG_VALUE_MOST - 1);
}
END_TEST

/* Captures what nb_log_event writes to standard error. */
static void event_line(nb_log_form *form, char *line, size_t room)
{
    int pair[2], own = dup(STDERR_FILENO);
    const struct nb_log_field field = nb_log_text("id", str("a\nb"));
    ck_assert_int_eq(pipe(pair), 0);
    ck_assert_int_ge(dup2(pair[1], STDERR_FILENO), 0);
    nb_log_set_form(form);
    nb_log_event(NB_LOG_INFO, "verdict", &field, 1);
    nb_log_event(NB_LOG_DEBUG, "not wanted", &field, 1);
    nb_log_set_form(NULL);
    ck_assert_int_ge(dup2(own, STDERR_FILENO), 0);
    close(own);
    close(pair[1]);
    ssize_t length = read(pair[0], line, room - 1);
    ck_assert_int_gt(length, 0);
    line[length] = '\0';
    close(pair[0]);
}

START_TEST(an_event_is_one_line)
{
    char line[300];
    event_line(NULL, line, sizeof line);
    ck_assert_str_eq(line, "bayesd: info: verdict id=\"a\\x0ab\"\n");
    event_line(nb_json_log_line, line, sizeof line);
    ck_assert_ptr_nonnull(strstr(line, "\"id\":\"a\\nb\"}\n"));
    ck_assert_ptr_eq(strchr(line, '\n'), line + strlen(line) - 1);
}
END_TEST

/* Of 250 lines in ten seconds 100 pass, and the first line after them is told of the others. */
/* systemd's JOURNAL_NATIVE_PROTOCOL: a value with a line feed is framed by its length. */
START_TEST(a_field_of_the_journal_keeps_its_bytes)
{
    static const char expected[] = "MESSAGE=a b=c\nBAYESD_ID=\nBAYESD_USER\n"
                                   "\x09\0\0\0\0\0\0\0x\nMESSAGE\n";
    struct nb_buffer entry = {0};
    ck_assert_int_eq(nb_journal_field(&entry, "MESSAGE", str("a b=c")), 0);
    ck_assert_int_eq(nb_journal_field(&entry, "BAYESD_ID", (struct nb_string){NULL, 0}), 0);
    ck_assert_int_eq(nb_journal_field(&entry, "BAYESD_USER", str("x\nMESSAGE")), 0);
    ck_assert_uint_eq(entry.length, sizeof expected - 1);
    ck_assert_mem_eq(entry.bytes, expected, entry.length);
    nb_buffer_deinit(&entry);
}
END_TEST

START_TEST(lines_of_one_kind_are_bounded)
{
    struct nb_log_bound bound = {0};
    const uint64_t ten = NB_LOG_BOUND_SECONDS * UINT64_C(1000000000);
    uint64_t dropped, passed = 0;
    for (uint64_t i = 0; i < 250; i++) {
        passed += nb_log_bound_take(&bound, ten + i, &dropped) ? 1 : 0;
        ck_assert_uint_eq(dropped, 0);
    }
    ck_assert_uint_eq(passed, NB_LOG_BOUND);
    ck_assert(nb_log_bound_take(&bound, 2 * ten, &dropped));
    ck_assert_uint_eq(dropped, 250 - NB_LOG_BOUND);
    ck_assert(nb_log_bound_take(&bound, 2 * ten + 1, &dropped));
    ck_assert_uint_eq(dropped, 0);
    ck_assert(nb_log_bound_take(&bound, 9 * ten, &dropped)); /* after some without a line */
    ck_assert_uint_eq(dropped, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("log");
    TCase *tcase = tcase_create("log");
    int rows = sizeof values / sizeof values[0];
    tcase_add_loop_test(tcase, text_quotes_what_is_not_plain, 0, rows);
    tcase_add_loop_test(tcase, json_reads_back_and_is_visible_ascii, 0, rows);
    tcase_add_test(tcase, every_character_survives_json);
    tcase_add_test(tcase, numbers_and_counts);
    tcase_add_test(tcase, a_long_value_is_cut_between_characters);
    tcase_add_test(tcase, an_event_is_one_line);
    tcase_add_test(tcase, lines_of_one_kind_are_bounded);
    tcase_add_test(tcase, a_field_of_the_journal_keeps_its_bytes);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
