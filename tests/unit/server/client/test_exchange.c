/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/client/base/client.h"
#include "server/client/base/terminal.h"
#include "server/client/commands/exchange.h"

static char old[] = "old\033[2J", new[] = "new";
static char *words[] = {old, new};
static const struct nb_client CLIENT = {.model = "mail"};
static const struct nb_exchange_input INPUT = {NB_ASKED(&CLIENT, NULL, words, 2)};

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
    nb_exchange_text(TEXTS[_i].text, &INPUT, reply);
    end_output(TEXTS[_i].printed);
    json_decref(reply);
}
END_TEST

START_TEST(a_reply_is_printed_as_the_options_say)
{
    static const struct nb_client WITH_JSON = {.model = "mail", .json = true};
    static const struct nb_exchange SAID = {.text = "{a}\n"}, SILENT = {.text = NULL};
    const struct nb_exchange_input json = {NB_ASKED(&WITH_JSON, NULL, words, 2)};
    struct nb_error error;
    json_t *reply = json_pack("{s:s}", "a", "b");
    begin_output();
    ck_assert_int_eq(nb_exchange_show(&SAID, &INPUT, reply, &error), 0);
    ck_assert_int_eq(nb_exchange_show(&SAID, &json, reply, &error), 0);
    ck_assert_int_eq(nb_exchange_show(&SILENT, &INPUT, reply, &error), 0);
    ck_assert_int_eq(nb_exchange_show(&SAID, &json, NULL, &error), 0); /* an empty reply */
    end_output("b\n{\"a\":\"b\"}\n{\"a\":\"b\"}\n");
    json_decref(reply);
}
END_TEST

static void add_own(struct nb_text_table *table, const char *name, const json_t *row)
{
    nb_table_cell(table, "%s!%d", name, (int)json_object_size(row));
}

static const struct nb_table_column COLUMNS[] = {
    NB_COLUMN(">", NULL, NB_CELL_INDEX, 0),       NB_COLUMN("name", "@", NB_CELL_TEXT, 0),
    NB_COLUMN("text", "t", NB_CELL_TEXT, 0),      NB_COLUMN(">count", "n", NB_CELL_COUNT, 0),
    NB_COLUMN(">share", "x", NB_CELL_GENERAL, 3), NB_COLUMN(">p", "x", NB_CELL_FIXED, 2),
    NB_COLUMN("json", NULL, NB_CELL_JSON, 0),     {.head = "own", .add = add_own},
};

static const struct {
    const char *rows, *printed;
} TABLES[] = {
    {"{\"a\":{\"t\":\"one\",\"n\":1234,\"x\":0.12345},\"b\":{}}",
     "   name  text  count  share     p  json                              own\n"
     "1  a     one   1,234  0.123  0.12  {\"t\":\"one\",\"n\":1234,\"x\":0.12345}  a!3\n"
     "2  b               0      -        {}                                b!0\n"},
    {"[{\"t\":\"x\"}]", "   name  text  count  share  p  json       own\n"
                        "1        x         0      -     {\"t\":\"x\"}  !1\n"},
    {"[]", "  name  text  count  share  p  json  own\n"},
};

START_TEST(a_table_shows_rows_by_columns)
{
    json_t *rows = json_loads(TABLES[_i].rows, 0, NULL);
    ck_assert_ptr_nonnull(rows);
    begin_output();
    nb_table_rows_print(NB_COLUMNS(COLUMNS), rows, stdout);
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
    tcase_add_loop_test(all, a_table_shows_rows_by_columns, 0, sizeof TABLES / sizeof TABLES[0]);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
