/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "core/base/names.h"
#include "server/client/base/client.h"
#include "server/client/base/flags.h"
#include "server/client/base/manual.h"
#include "server/client/commands/commands.h"
#include "tests/unit/run.h"

static const struct nb_flag FLAGS[] = {
    NB_SWITCH("quick", 'q', is_quiet),
    {NB_FLAG_ROW("name", 'n', TEXT, verdict), .usual_text = "default"},
    NB_COUNT("count", 'c', connections, 4, 1, 64),
    NB_NUMBER("share", 0, split, 0.5, 0, 1),
    NB_LIST("list", 'l', ids),
    NB_SOURCE_FLAG,
};
static const struct nb_command COMMAND = {.name = "models", NB_FLAGS(FLAGS), .most = 1};

/* The result of a parse. */
struct parsed {
    struct nb_command_options options;
    struct nb_client client;
    struct nb_asked asked;
    struct nb_error error;
};

/* `words` ends in NULL. */
static int parse(const struct nb_command *command, const char *const *words, struct parsed *parsed)
{
    static char *argv[200];
    int argc = 0;
    for (char **old = argv; *old != NULL; old++)
        free(*old);
    argv[argc++] = strdup(command->name);
    for (; *words != NULL; words++)
        argv[argc++] = strdup(*words);
    argv[argc] = NULL;
    *parsed = (struct parsed){.client.model = "mail"};
    parsed->asked.command = command;
    parsed->asked.client = &parsed->client;
    int rc = nb_flags_parse(argc, argv, &parsed->options, &parsed->asked, &parsed->error);
    ck_assert(rc >= 0 || rc == parsed->error.code);
    return rc;
}

#define PARSE(parsed, ...) parse(&COMMAND, (const char *const[]){__VA_ARGS__, NULL}, parsed)

START_TEST(every_type_is_set)
{
    struct parsed p;
    ck_assert_int_eq(parse(&COMMAND, (const char *const[]){NULL}, &p), 0);
    ck_assert(!p.options.is_quiet);
    ck_assert_uint_eq(p.options.connections, 4);
    ck_assert_str_eq(p.options.verdict, "default");
    ck_assert_uint_eq(p.asked.count, 0);

    ck_assert_int_eq(PARSE(&p, "-q", "--name=x y", "-c", "7", "file", "--share", "1e-1", "-la",
                           "--list", "b", "--model", "sms", "--timeout=3", "--json"),
                     0);
    ck_assert(p.options.is_quiet);
    ck_assert_str_eq(p.options.verdict, "x y");
    ck_assert_uint_eq(p.options.connections, 7);
    ck_assert_double_eq(p.options.split, 0.1);
    ck_assert_uint_eq(p.options.ids.count, 2);
    ck_assert_str_eq(p.options.ids.items[0], "a");
    ck_assert_str_eq(p.options.ids.items[1], "b");
    ck_assert_str_eq(p.client.model, "sms");
    ck_assert_uint_eq(p.client.daemon.timeout, 3);
    ck_assert(p.client.json);
    ck_assert_uint_eq(p.asked.count, 1);
    ck_assert_str_eq(p.asked.arguments[0], "file");
    ck_assert(nb_flag_is_given(&p.asked, "count") && !nb_flag_is_given(&p.asked, "source"));
}
END_TEST

START_TEST(what_follows_two_dashes_is_an_argument)
{
    struct parsed p;
    ck_assert_int_eq(PARSE(&p, "-q", "--", "--name"), 0);
    ck_assert_uint_eq(p.asked.count, 1);
    ck_assert_str_eq(p.asked.arguments[0], "--name");
    ck_assert_int_eq(PARSE(&p, "-"), 0);
    ck_assert_str_eq(p.asked.arguments[0], "-");
}
END_TEST

static const struct {
    const char *words[4];
    const char *text; /* part of the message */
} mistakes[] = {
    {{"--nonsense"}, "--nonsense is not an option of models"},
    {{"-x"}, "-x is not an option of models"},
    {{"-qx"}, "-x is not an option of models"},
    {{"--name"}, "--name needs a value"},
    {{"-c"}, "-c needs a value"},
    {{"--quick=yes"}, "--quick=yes is not an option"},
    {{"--count", "0"}, "--count '0': a number from 1 to 64 is needed"},
    {{"--count", "65"}, "from 1 to 64"},
    {{"--count", "1.5"}, "from 1 to 64"},
    {{"--count", "-1"}, "from 1 to 64"},
    {{"--count", ""}, "from 1 to 64"},
    {{"--count", "7 "}, "from 1 to 64"},
    {{"--count", "7x"}, "from 1 to 64"},
    {{"--count", "nan"}, "from 1 to 64"},
    {{"--share", "inf"}, "from 0 to 1"},
    {{"--share", "1e999"}, "from 0 to 1"},
    {{"--share", "-0.1"}, "from 0 to 1"},
    {{"--timeout", "0"}, "--timeout '0'"},
    {{"a", "b"}, "models takes at most 1 argument"},
};

START_TEST(a_mistake_is_named)
{
    struct parsed p;
    ck_assert_int_eq(parse(&COMMAND, mistakes[_i].words, &p), NB_CLIENT_USAGE);
    ck_assert_msg(strstr(p.error.text, mistakes[_i].text) != NULL, "row %d: %s", _i, p.error.text);
}
END_TEST

START_TEST(a_list_has_an_end)
{
    const char *words[2 * NB_FLAG_LIST_MOST + 3];
    struct parsed p;
    size_t count = 0;
    while (count < 2 * NB_FLAG_LIST_MOST) {
        words[count++] = "--list";
        words[count++] = "x";
    }
    words[count] = NULL;
    ck_assert_int_eq(parse(&COMMAND, words, &p), 0);
    ck_assert_uint_eq(p.options.ids.count, NB_FLAG_LIST_MOST);
    words[count++] = "-lx";
    words[count] = NULL;
    ck_assert_int_eq(parse(&COMMAND, words, &p), NB_CLIENT_USAGE);
    ck_assert_ptr_nonnull(strstr(p.error.text, "more than 64 times"));
}
END_TEST

START_TEST(a_long_value_does_not_overflow)
{
    char value[20000];
    struct parsed p;
    memset(value, '9', sizeof value);
    value[sizeof value - 1] = '\0';
    ck_assert_int_eq(PARSE(&p, "--count", value), NB_CLIENT_USAGE);
    ck_assert_int_eq(PARSE(&p, value, value), NB_CLIENT_USAGE);
    ck_assert_int_eq(PARSE(&p, "--name", value), 0);
    ck_assert_str_eq(p.options.verdict, value);
    memcpy(value, "--", 2);
    ck_assert_int_eq(PARSE(&p, value), NB_CLIENT_USAGE);
}
END_TEST

static char *help_of(const struct nb_command *command)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    ck_assert_ptr_nonnull(out);
    nb_flags_help(command, out);
    ck_assert_int_eq(fclose(out), 0);
    return text;
}

START_TEST(help_is_the_manual_page)
{
    struct parsed p;
    ck_assert_int_eq(PARSE(&p, "--help", "--nonsense"), 1);
    ck_assert_int_eq(PARSE(&p, "-h"), 1);
    char *text = help_of(&NB_COMMAND_DERIVE);
    ck_assert_ptr_nonnull(
        strstr(text, "Usage: bayesc derive [OPTION]... OLD NEW\n\nMakes a model "));
    ck_assert_ptr_nonnull(strstr(text, "  -s, --strength N          "));
    ck_assert_ptr_nonnull(strstr(text, "  -u, --url URL             Address of the daemon;"));
    ck_assert_msg(strstr(text, "--model") == NULL, "derive takes no --model");
    ck_assert_msg(strstr(text, "\\f") == NULL && strstr(text, "\\-") == NULL, "%s", text);
    free(text);
    ck_assert_str_eq(nb_manual_summary("models").text, "Lists the models");
    ck_assert_str_eq(nb_manual_usage("models").text, "bayesc models [OPTION]...");
    ck_assert_str_eq(nb_manual_usage("nonsense").text, "");
}
END_TEST

static const struct nb_command *const COMMANDS[] = {
    &NB_COMMAND_TRAIN,        &NB_COMMAND_CLASSIFY,     &NB_COMMAND_EXPLAIN,  &NB_COMMAND_FILTER,
    &NB_COMMAND_UNTRAIN,      &NB_COMMAND_MODELS,       &NB_COMMAND_STATS,    &NB_COMMAND_EVALUATE,
    &NB_COMMAND_EXPORT,       &NB_COMMAND_IMPORT,       &NB_COMMAND_UNDO,     &NB_COMMAND_BACKUP,
    &NB_COMMAND_QUARANTINE,   &NB_COMMAND_REFIT,        &NB_COMMAND_SAMPLE,   &NB_COMMAND_NETWORK,
    &NB_COMMAND_RENAME_LABEL, &NB_COMMAND_DELETE_LABEL, &NB_COMMAND_DERIVE,   &NB_COMMAND_CLUSTER,
    &NB_COMMAND_NODES,        &NB_COMMAND_CREATE,       &NB_COMMAND_SET,      &NB_COMMAND_SHOW,
    &NB_COMMAND_DELETE,       &NB_COMMAND_BENCH,        &NB_COMMAND_RESTORE,  &NB_COMMAND_EM,
    &NB_COMMAND_WATCH,        &NB_COMMAND_STATUS,       &NB_COMMAND_SUSPECTS,
};

/* Lines of --help fit a terminal, each flag is explained, no two flags have the same name or
 * letter, and a verb takes flags that there are. */
START_TEST(tables_of_commands_are_sound)
{
    const struct nb_command *command = COMMANDS[_i];
    char *text = help_of(command);
    (void)strtok(text, "\n"); /* the usage, which completion reads, is one line */
    for (char *line = strtok(NULL, "\n"); line != NULL; line = strtok(NULL, "\n"))
        ck_assert_msg(strlen(line) <= 100, "%s: %s", command->name, line);
    free(text);
    for (size_t i = 0; i < command->flag_count; i++) {
        const struct nb_flag *one = &command->flags[i];
        FILE *out = fopen("/dev/null", "w");
        ck_assert_ptr_nonnull(out);
        ck_assert_msg(nb_manual_print_option(command->name, one->name, out),
                      "--%s of %s is not in the manual page", one->name, command->name);
        ck_assert_int_eq(fclose(out), 0);
        for (size_t k = 0; k < i; k++) {
            const struct nb_flag *other = &command->flags[k];
            ck_assert_str_ne(one->name, other->name);
            ck_assert_msg(one->letter == 0 || one->letter != other->letter, "%s", one->name);
            ck_assert_msg(one->offset != other->offset, "%s and %s", one->name, other->name);
        }
    }
    for (size_t i = 0; i < command->verb_count; i++) {
        char flags[64];
        (void)snprintf(flags, sizeof flags, "%s", command->verbs[i].flags);
        for (char *name = strtok(flags, " "); name != NULL; name = strtok(NULL, " ")) {
            size_t k = 0;
            while (k < command->flag_count && strcmp(command->flags[k].name, name) != 0)
                k++;
            ck_assert_msg(k < command->flag_count, "%s of %s", name, command->verbs[i].name);
        }
    }
}
END_TEST

static const struct nb_subcommand VERBS[] = {
    {"list", "", 0, 0, "", NULL, NULL}, {"put", "FILE [MORE]", 1, 2, "quick list", NULL, NULL}};
static const struct nb_command WITH_VERBS = {
    .name = "models", .model_from = 3, NB_FLAGS(FLAGS), NB_VERBS(VERBS), .most = 4};

static const struct {
    const char *words[5];
    const char *verb, *text; /* NULL: part of the message */
    size_t count;
} VERB_CASES[] = {
    {{NULL}, "list", NULL, 0},
    {{"put", "a", NULL}, "put", NULL, 1},
    {{"-q", "m", "put", "a", NULL}, "put", NULL, 1},
    {{"m", "list", NULL}, "list", NULL, 0},
    {{"m", NULL}, "list", NULL, 0},
    {{"put", NULL}, NULL, "it is: bayesc models put FILE [MORE]", 0},
    {{"list", "put", NULL}, NULL, "it is: bayesc models list", 0},
    {{"--name=x", "put", "a", NULL}, NULL, "--name is not an option of models put", 0},
    {{"-q", NULL}, NULL, "--quick is not an option of models list", 0},
    {{"-mx", "gut", NULL}, NULL, "there is no models 'gut'", 0},
};

START_TEST(a_verb_takes_its_own_words_and_flags)
{
    const struct nb_subcommand *verb = NULL;
    struct parsed p;
    ck_assert_int_eq(parse(&WITH_VERBS, VERB_CASES[_i].words, &p), 0);
    int rc = nb_verb_find(&p.asked, &verb, &p.error);
    if (VERB_CASES[_i].verb == NULL) {
        ck_assert_int_eq(rc, NB_CLIENT_USAGE);
        ck_assert_msg(strstr(p.error.text, VERB_CASES[_i].text) != NULL, "%s", p.error.text);
        return;
    }
    ck_assert_msg(rc == 0, "%s", p.error.text);
    ck_assert_str_eq(verb->name, VERB_CASES[_i].verb);
    ck_assert_uint_eq(p.asked.count, VERB_CASES[_i].count);
}
END_TEST

START_TEST(a_source_is_a_short_printable_name)
{
    static const char *const right[] = {"x", "a b", "\xC3\xA4", "a/b&c", "\xF0\x9F\x98\x80"};
    static const char *const wrong[] = {
        "",     "a\nb",  "a\x1B[2J", "\x7F",         "\xC2\x85",
        "\xFF", "a\xC3", "\xC0\x80", "\xED\xA0\x80", "\xF5\x80\x80\x80"};
    char longest[NB_SOURCE_MOST + 2];
    struct nb_error error = {0};
    ck_assert_int_eq(nb_source_check(NULL, &error), 0);
    for (size_t i = 0; i < sizeof right / sizeof *right; i++)
        ck_assert_msg(nb_source_check(right[i], &error) == 0, "row %zu", i);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_msg(nb_source_check(wrong[i], &error) == NB_CLIENT_USAGE, "row %zu", i);
    memset(longest, 'x', sizeof longest);
    longest[NB_SOURCE_MOST] = '\0';
    ck_assert_int_eq(nb_source_check(longest, &error), 0);
    longest[NB_SOURCE_MOST] = 'x';
    longest[NB_SOURCE_MOST + 1] = '\0';
    ck_assert_int_eq(nb_source_check(longest, &error), NB_CLIENT_USAGE);
}
END_TEST

START_TEST(codes_have_exit_statuses)
{
    static const struct {
        int code, status;
    } table[] = {
        {NB_NO_MEMORY, EX_OSERR},
        {NB_INVALID, EX_DATAERR},
        {NB_NOT_FOUND, EX_NOINPUT},
        {NB_IO, EX_IOERR},
        {NB_DISK_FULL, EX_IOERR},
        {NB_EXISTS, EX_CANTCREAT},
        {NB_DAMAGED, EX_DATAERR},
        {NB_CALL_UNREACHABLE, EX_UNAVAILABLE},
        {NB_CALL_FORBIDDEN, EX_NOPERM},
        {NB_CALL_BUSY, EX_TEMPFAIL},
        {NB_CALL_PROTOCOL, EX_PROTOCOL},
        {NB_CALL_BAD_URL, EX_USAGE},
        {NB_CLIENT_USAGE, EX_USAGE},
        {NB_STOPPING, 130},
        {-9999, EX_DATAERR},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        ck_assert_msg(nb_exit_status(table[i].code) == table[i].status, "row %zu", i);
}
END_TEST

START_TEST(options_may_stand_before_the_command)
{
    static const struct {
        const char *words[6];
        bool expected;
    } CASES[] = {
        {{NULL}, true},
        {{"--quick", NULL}, true},
        {{"-q", "-n", "x", "--count=3", NULL}, true},
        {{"-nx", "--name", "quick", NULL}, true},
        {{"--json", "-m", "mail", NULL}, true}, /* --json and -m are flags of every command */
        {{"-n", NULL}, false}, /* the name of the command would be the value of -n */
        {{"path", NULL}, false},
        {{"-q", "path", "-q", NULL}, false},
        {{"--typo", NULL}, false},
        {{"-Z", NULL}, false},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        char *argv[8] = {(char *)(uintptr_t) "bayesc"};
        int argc = 1;
        for (; CASES[i].words[argc - 1] != NULL; argc++)
            argv[argc] = (char *)(uintptr_t)CASES[i].words[argc - 1];
        ck_assert_msg(nb_flags_are_before(&COMMAND, argc, argv) == CASES[i].expected, "case %zu",
                      i);
        for (int k = 1; k < argc; k++)
            ck_assert_ptr_eq(argv[k], CASES[i].words[k - 1]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("flags");
    TCase *all = tcase_create("all");
    tcase_add_test(all, every_type_is_set);
    tcase_add_test(all, what_follows_two_dashes_is_an_argument);
    tcase_add_loop_test(all, a_mistake_is_named, 0, (int)(sizeof mistakes / sizeof *mistakes));
    tcase_add_test(all, a_list_has_an_end);
    tcase_add_test(all, a_long_value_does_not_overflow);
    tcase_add_test(all, help_is_the_manual_page);
    tcase_add_test(all, options_may_stand_before_the_command);
    tcase_add_loop_test(all, tables_of_commands_are_sound, 0,
                        (int)(sizeof COMMANDS / sizeof *COMMANDS));
    tcase_add_loop_test(all, a_verb_takes_its_own_words_and_flags, 0,
                        (int)(sizeof VERB_CASES / sizeof *VERB_CASES));
    tcase_add_test(all, a_source_is_a_short_printable_name);
    tcase_add_test(all, codes_have_exit_statuses);
    suite_add_tcase(suite, all);
    return test_run(suite);
}
