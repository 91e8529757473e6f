/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/client/base/client.h"
#include "server/client/base/exchange.h"
#include "server/client/base/terminal.h"
#include "tests/unit/run.h"

static char old[] = "old\033[2J", new[] = "new";
static char *words[] = {old, new};
static struct nb_client client = {.model = "mail"};
static const struct nb_asked ASKED = {.client = &client, .arguments = words, .count = 2};

static char *printed;
static size_t printed_size;
static FILE *usual_output;

static void begin_output(void)
{
    usual_output = stdout;
    stdout = open_memstream(&printed, &printed_size);
    ck_assert_ptr_nonnull(stdout);
}

static void end_output(const char *expected)
{
    ck_assert_int_eq(fclose(stdout), 0);
    stdout = usual_output;
    ck_assert_str_eq(printed, expected);
    free(printed);
}

static const struct {
    const char *text, *reply, *printed;
} TEXTS[] = {
    {"{model}: {1}\n", "{}", "mail: new\n"},
    {"{0}\n", "{}", "old [2J\n"},
    {"{#a} of {#b.c}\n", "{\"a\":1234567,\"b\":{\"c\":2}}", "1,234,567 of 2\n"},
    {"{a.b}|{#a.c}|{x.y.z}\n", "{\"a\":{\"b\":\"text\\u001b\"}}", "text |0|\n"},
    {"{?a}a is {#a}\nend\n", "{\"a\":3}", "a is 3\nend\n"},
    {"{?a}a is {#a}\nend\n", "{\"a\":0}", "end\n"},
    {"{?a}a is {a}\n{?b}b is {b}", "{\"a\":\"\",\"b\":\"c\"}", "b is c"},
    {"{?a}never\n", "{}", ""},
    {"no line end", "{}", "no line end"},
    {"", "{}", ""},
};

START_TEST(a_text_shows_members_of_the_reply)
{
    json_t *reply = json_loads(TEXTS[_i].reply, 0, NULL);
    ck_assert_ptr_nonnull(reply);
    begin_output();
    nb_exchange_text(TEXTS[_i].text, &ASKED, reply);
    end_output(TEXTS[_i].printed);
    json_decref(reply);
}
END_TEST

START_TEST(a_reply_is_printed_as_the_options_say)
{
    static const struct nb_exchange SAID = {.text = "{a}\n"}, SILENT = {.text = NULL},
                                    TABLE = {.rows = "c", .columns = "x", .text = "{a}\n"};
    struct nb_client with_json = {.model = "mail", .json = true};
    const struct nb_asked json = {.client = &with_json, .arguments = words, .count = 2};
    struct nb_error error;
    json_t *reply = json_pack("{s:s}", "a", "b");
    json_t *with_rows = json_pack("{s:s, s:[{s:i}]}", "a", "b", "c", "x", 7);
    begin_output();
    ck_assert_int_eq(nb_exchange_show(&SAID, &ASKED, reply, &error), 0);
    ck_assert_int_eq(nb_exchange_show(&SAID, &json, reply, &error), 0);
    ck_assert_int_eq(nb_exchange_show(&SILENT, &ASKED, reply, &error), 0);
    ck_assert_int_eq(nb_exchange_show(&SAID, &json, NULL, &error), 0); /* an empty reply */
    ck_assert_int_eq(nb_exchange_show(&TABLE, &ASKED, with_rows, &error), 0);
    end_output("b\n{\"a\":\"b\"}\n{\"a\":\"b\"}\nx\n7\nb\n");
    json_decref(with_rows);
    json_decref(reply);
}
END_TEST

/* ---- the request ----------------------------------------------------------------------------- */

struct nb_command_options {
    const char *name;
    uint64_t count, most;
    double share;
    bool is_quick;
};

static const struct nb_flag FLAGS[] = {
    NB_TEXT("name", 0, name),           NB_COUNT("count", 0, count, 0, 0, 9),
    NB_COUNT("most", 0, most, 0, 1, 9), NB_NUMBER("share", 0, share, -1, 0, 1),
    NB_SWITCH("quick", 0, is_quick),
};
static const struct nb_command COMMAND = {.name = "models", NB_FLAGS(FLAGS)};
static const struct nb_exchange REQUEST = {.path = "/v1/{model}/{1}",
                                           .query = {"name", "n=count", "most", "share", "quick"}};

static const struct {
    struct nb_command_options options;
    const char *path;
} PATHS[] = {
    {{.share = -1}, "/v1/mail/new?n=0"},
    {{"a b", 1, 2, .5, true}, "/v1/mail/new?name=a%20b&n=1&most=2&share=0.5&quick=1"},
};

START_TEST(a_query_has_the_options_that_are_given)
{
    struct nb_asked asked = ASKED;
    struct nb_buffer path = {0};
    struct nb_error error;
    asked.command = &COMMAND;
    asked.options = &PATHS[_i].options;
    ck_assert_int_eq(nb_exchange_path(&REQUEST, &asked, &path, &error), 0);
    ck_assert_str_eq(path.bytes, PATHS[_i].path);
    nb_buffer_deinit(&path);
}
END_TEST

START_TEST(a_query_has_no_source_that_the_daemon_refuses)
{
    static const struct nb_exchange CHANGE = {.path = "/v1/{model}", .query = {"source=name"}};
    static const struct nb_command_options OPTIONS = {.name = "a\nb"};
    struct nb_asked asked = ASKED;
    struct nb_buffer path = {0};
    struct nb_error error;
    asked.command = &COMMAND;
    asked.options = &OPTIONS;
    ck_assert_int_eq(nb_exchange_path(&CHANGE, &asked, &path, &error), NB_CLIENT_USAGE);
    nb_buffer_deinit(&path);
}
END_TEST

/* ---- tables ---------------------------------------------------------------------------------- */

static const char COLUMNS[] =
    ">=#|name=@|text=t|>n|>share=x:.3g|>p=x:.2f|>percent=x:.1p|yes=b|in=l.1.c:t|json=:j";

static const struct {
    const char *rows, *printed;
} TABLES[] = {
    {"{\"a\":{\"t\":\"one\",\"n\":1234,\"x\":0.12345,\"b\":true,\"l\":[0,{\"c\":\"d\"}]},\"b\":{}}",
     "   name  text      n  share     p  percent  yes  in  json\n"
     "1  a     one   1,234  0.123  0.12   12.3 %  yes  d   "
     "{\"t\":\"one\",\"n\":1234,\"x\":0.12345,\"b\":true,\"l\":[0,{\"c\":\"d\"}]}\n"
     "2  b     -         -      -              -  -        {}\n"},
    {"[{\"t\":\"x\",\"b\":false}]", "   name  text  n  share  p  percent  yes  in  json\n"
                                    "1        x     -      -           -  no       "
                                    "{\"t\":\"x\",\"b\":false}\n"},
    {"[]", "  name  text  n  share  p  percent  yes  in  json\n"},
};

START_TEST(a_table_shows_rows_by_columns)
{
    json_t *rows = json_loads(TABLES[_i].rows, 0, NULL);
    ck_assert_ptr_nonnull(rows);
    begin_output();
    nb_table_print_rows(COLUMNS, rows, stdout);
    end_output(TABLES[_i].printed);
    json_decref(rows);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("exchange");
    TCase *all = tcase_create("all");
    tcase_add_loop_test(all, a_text_shows_members_of_the_reply, 0, sizeof TEXTS / sizeof TEXTS[0]);
    tcase_add_test(all, a_reply_is_printed_as_the_options_say);
    tcase_add_loop_test(all, a_query_has_the_options_that_are_given, 0,
                        sizeof PATHS / sizeof PATHS[0]);
    tcase_add_test(all, a_query_has_no_source_that_the_daemon_refuses);
    tcase_add_loop_test(all, a_table_shows_rows_by_columns, 0, sizeof TABLES / sizeof TABLES[0]);
    suite_add_tcase(suite, all);
    return test_run(suite);
}
