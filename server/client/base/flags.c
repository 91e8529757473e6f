/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/base/flags.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/names.h"
#include "core/base/string.h"
#include "server/client/base/manual.h"

#define AT(its_name, its_letter, its_type, its_member)                                             \
    .name = (its_name), .letter = (its_letter), .type = NB_FLAG_##its_type,                        \
    .offset = offsetof(struct nb_client, its_member)

/* Flags of every command; they set members of the client. */
static const struct nb_flag COMMON[] = {
    {AT("model", 'm', TEXT, model)},
    {AT("url", 'u', TEXT, daemon.url)},
    {AT("token-file", 0, TEXT, daemon.token_file)},
    {AT("ca-file", 0, TEXT, daemon.ca_file)},
    {AT("cert", 0, TEXT, daemon.certificate)},
    {AT("key", 0, TEXT, daemon.key)},
    {AT("timeout", 0, COUNT, daemon.timeout), .least = 1, .most = 86400},
    {AT("after", 0, COUNT, daemon.after), .most = 9e15},
    {AT("json", 0, SWITCH, json)},
};
enum { COMMON_COUNT = sizeof COMMON / sizeof COMMON[0], FLAGS_MOST = 48 };
static_assert(FLAGS_MOST <= 64, "a bit for each in asked->given");
enum { MODEL = 0, JSON = COMMON_COUNT - 1 /* indexes in COMMON */ };
/* What getopt_long returns for a flag: its index + LONG_FLAG for the long form, its letter for the
 * short one. HELP is the index of --help. */
enum { LONG_FLAG = 256, HELP = FLAGS_MOST * 2 };

static const struct nb_flag *flag_at(const struct nb_command *command, size_t i)
{
    assert(i < command->flag_count + COMMON_COUNT);
    return i < command->flag_count ? &command->flags[i] : &COMMON[i - command->flag_count];
}

static size_t flag_total(const struct nb_command *command)
{
    return command->flag_count + COMMON_COUNT;
}

/* Returns whether the command has no use for this common flag. Such a flag is refused, not
 * ignored. */
static bool is_unused(const struct nb_command *command, const struct nb_flag *flag)
{
    if (flag < COMMON || flag >= COMMON + COMMON_COUNT)
        return false;
    unsigned which = flag == &COMMON[MODEL]  ? NB_UNUSED_MODEL
                     : flag == &COMMON[JSON] ? NB_UNUSED_JSON
                                             : NB_UNUSED_DAEMON;
    return (command->unused & which) != 0;
}

/* ---- values ---------------------------------------------------------------------------------- */

static int bad_value(const struct nb_flag *flag, const char *text, struct nb_error *error)
{
    return nb_error_set(error, NB_CLIENT_USAGE, "--%s '%s': a number from %g to %g is needed",
                        flag->name, text, flag->least, flag->most);
}

static int set_number(const struct nb_flag *flag, const char *text, void *at,
                      struct nb_error *error)
{
    char *end;
    errno = 0;
    double number = strtod(text, &end);
    bool is_number = end != text && *end == '\0' && errno == 0 && isfinite(number) &&
                     number >= flag->least && number <= flag->most;
    if (!is_number || (flag->type == NB_FLAG_COUNT && number != floor(number)))
        return bad_value(flag, text, error);
    if (flag->type == NB_FLAG_COUNT)
        *(uint64_t *)at = (uint64_t)number;
    else
        *(double *)at = number;
    return 0;
}

static int add_to_list(const struct nb_flag *flag, const char *text, struct nb_flag_list *list,
                       struct nb_error *error)
{
    if (list->count == NB_FLAG_LIST_MOST)
        return nb_error_set(error, NB_CLIENT_USAGE, "--%s is given more than %d times", flag->name,
                            NB_FLAG_LIST_MOST);
    list->items[list->count++] = text;
    return 0;
}

static int set_value(const struct nb_flag *flag, const char *text, void *base,
                     struct nb_error *error)
{
    void *at = (char *)base + flag->offset;
    switch (flag->type) {
    case NB_FLAG_SWITCH:
        *(bool *)at = true;
        return 0;
    case NB_FLAG_TEXT:
        *(const char **)at = text;
        return 0;
    case NB_FLAG_LIST:
        return add_to_list(flag, text, at, error);
    case NB_FLAG_COUNT:
    case NB_FLAG_NUMBER:
    default:
        return set_number(flag, text, at, error);
    }
}

/* ---- the command line ------------------------------------------------------------------------ */

struct getopt_tables {
    struct option longs[FLAGS_MOST];
    char shorts[2 * FLAGS_MOST + 4]; /* "+" first: getopt_long stops at the first argument */
    int indexes[LONG_FLAG];          /* by letter: the index of the flag + 1, 0: none */
};

static void fill_tables(const struct nb_command *command, struct getopt_tables *tables)
{
    *tables = (struct getopt_tables){.shorts = "+:h"};
    size_t total = flag_total(command), length = 3;
    assert(total < FLAGS_MOST);
    for (size_t i = 0; i < total; i++) {
        const struct nb_flag *flag = flag_at(command, i);
        int argument = flag->type == NB_FLAG_SWITCH ? no_argument : required_argument;
        tables->longs[i] = (struct option){flag->name, argument, NULL, LONG_FLAG + (int)i};
        if (flag->letter == 0)
            continue;
        tables->indexes[(unsigned char)flag->letter] = (int)i + 1;
        tables->shorts[length++] = flag->letter;
        if (argument == required_argument)
            tables->shorts[length++] = ':';
    }
    assert(length < sizeof tables->shorts);
    tables->longs[total] = (struct option){"help", no_argument, NULL, LONG_FLAG + HELP};
}

static int index_of(const struct getopt_tables *tables, int got)
{
    if (got == 'h')
        return HELP;
    assert(got >= LONG_FLAG || (got > 0 && tables->indexes[got] > 0)); /* a letter of a flag */
    return got >= LONG_FLAG ? got - LONG_FLAG : tables->indexes[got] - 1;
}

static int check_count(const struct nb_command *command, size_t count, struct nb_error *error)
{
    if (count >= command->least && count <= command->most)
        return 0;
    if (count > command->most)
        return nb_error_set(error, NB_CLIENT_USAGE, "%s takes at most %zu argument%s",
                            command->name, command->most, command->most == 1 ? "" : "s");
    return nb_error_set(error, NB_CLIENT_USAGE, "it is: %s", nb_manual_usage(command->name).text);
}

static const struct nb_subcommand *verb_of(const struct nb_command *command, const char *name)
{
    for (size_t i = 0; i < command->verb_count; i++)
        if (strcmp(command->verbs[i].name, name) == 0)
            return &command->verbs[i];
    return NULL;
}

/* Returns whether the first argument is the model. A setting, NAME=VALUE, is not a model. */
static bool has_model(const struct nb_command *command, const struct nb_client *client,
                      const char *first, size_t count)
{
    if (count > 0 && count < command->model_from && command->is_model != NULL)
        return !client->names_model && command->is_model(first);
    if (count > 0 && count < command->model_from && command->verbs != NULL)
        return !client->names_model && verb_of(command, first) == NULL;
    return command->model_from > 0 && count >= command->model_from &&
           !(command->takes_settings && strchr(first, '=') != NULL);
}

/* Refuses a command line that names the model twice: it is unclear which name is meant. */
static int check_model(const struct nb_client *client, const char *first, struct nb_error *error)
{
    if (!client->names_model || strcmp(first, client->model) == 0)
        return 0;
    return nb_error_set(error, NB_CLIENT_USAGE,
                        "--model %s and '%s' name two models: leave one of them out", client->model,
                        first);
}

bool nb_flags_are_before(const struct nb_command *command, int argc, char **argv)
{
    struct getopt_tables tables;
    fill_tables(command, &tables);
    optind = 0;
    opterr = 0;
    int got;
    do
        got = getopt_long(argc, argv, tables.shorts, tables.longs, NULL);
    while (got != -1 && got != ':' && got != '?');
    return got == -1 && optind == argc;
}

/* Returns the flag that was probably meant by "--NAME" or "--NAME=VALUE"; NULL: no flag is similar.
 */
static const struct nb_flag *meant(const struct nb_command *command, const char *word)
{
    word += strspn(word, "-");
    struct nb_string name = {word, strcspn(word, "=")};
    for (size_t i = 0; i < flag_total(command); i++)
        if (nb_near_is(name, nb_string_of(flag_at(command, i)->name)))
            return flag_at(command, i);
    return NULL;
}

static int unknown_flag(const struct nb_command *command, const char *word, struct nb_error *error)
{
    const struct nb_flag *flag = meant(command, word);
    return nb_error_set(error, NB_CLIENT_USAGE, "%s is not an option of %s%s%s%s", word,
                        command->name, flag != NULL ? ": did you mean --" : "",
                        flag != NULL ? flag->name : "", flag != NULL ? "?" : "");
}

/* Sets the option of each flag that has a usual value. */
static void set_usual(const struct nb_command *command, struct nb_command_options *options)
{
    for (size_t i = 0; i < command->flag_count; i++) {
        const struct nb_flag *flag = &command->flags[i];
        void *at = (char *)options + flag->offset;
        if (flag->type == NB_FLAG_COUNT)
            *(uint64_t *)at = (uint64_t)flag->usual;
        else if (flag->type == NB_FLAG_NUMBER)
            *(double *)at = flag->usual;
        else if (flag->type == NB_FLAG_TEXT)
            *(const char **)at = flag->usual_text;
    }
}

int nb_flags_parse(int argc, char **argv, struct nb_command_options *options,
                   struct nb_asked *asked, struct nb_error *error)
{
    const struct nb_command *command = asked->command;
    struct nb_client *client = asked->client;
    struct getopt_tables tables;
    fill_tables(command, &tables);
    set_usual(command, options);
    optind = 0; /* makes glibc begin anew */
    opterr = 0; /* errors are reported by the caller */
    int got;
    /* Without the "+": options and arguments may be mixed. */
    while ((got = getopt_long(argc, argv, tables.shorts + 1, tables.longs, NULL)) != -1) {
        const char *at = argv[optind - 1];
        if (got == ':')
            return nb_error_set(error, NB_CLIENT_USAGE, "%s needs a value", at);
        if (got == '?' && optopt != 0 && optopt < LONG_FLAG)
            return nb_error_set(error, NB_CLIENT_USAGE, "-%c is not an option of %s", optopt,
                                command->name);
        if (got == '?')
            return unknown_flag(command, at, error);
        int i = index_of(&tables, got);
        if (i == HELP)
            return 1;
        const struct nb_flag *flag = flag_at(command, (size_t)i);
        bool is_own = (size_t)i < command->flag_count;
        if (is_unused(command, flag))
            return nb_error_set(error, NB_CLIENT_USAGE, "--%s: %s has no use of it", flag->name,
                                command->name);
        int rc = set_value(flag, optarg, is_own ? (void *)options : (void *)client, error);
        if (rc != 0)
            return rc;
        client->names_model |= flag == &COMMON[MODEL];
        asked->given |= is_own ? UINT64_C(1) << i : 0;
    }
    asked->arguments = argv + optind;
    asked->count = (size_t)(argc - optind);
    int rc = check_count(command, asked->count, error);
    if (rc != 0 || !has_model(command, client, *asked->arguments, asked->count))
        return rc;
    rc = check_model(client, *asked->arguments, error);
    client->model = *asked->arguments++;
    client->names_model = true;
    asked->count--;
    return rc;
}

bool nb_flag_is_given(const struct nb_asked *asked, const char *name)
{
    for (size_t i = 0; i < asked->command->flag_count; i++)
        if (strcmp(asked->command->flags[i].name, name) == 0)
            return (asked->given >> i & 1) != 0;
    return false;
}

/* ---- verbs ----------------------------------------------------------------------------------- */

/* Refuses the flags of other verbs instead of ignoring them. */
static int check_flags(const struct nb_asked *asked, const struct nb_subcommand *verb,
                       struct nb_error *error)
{
    for (size_t i = 0; i < asked->command->flag_count; i++) {
        const char *name = asked->command->flags[i].name, *at = strstr(verb->flags, name);
        size_t length = strlen(name);
        bool takes = at != NULL && (at == verb->flags || at[-1] == ' ') && at[length] <= ' ';
        if (!takes && (asked->given >> i & 1) != 0)
            return nb_error_set(error, NB_CLIENT_USAGE, "--%s is not an option of %s %s", name,
                                asked->command->name, verb->name);
    }
    return 0;
}

int nb_verb_find(struct nb_asked *asked, const struct nb_subcommand **verb, struct nb_error *error)
{
    const struct nb_command *command = asked->command;
    assert(command->verbs != NULL && command->verb_count > 0);
    *verb = asked->count == 0 ? command->verbs : verb_of(command, asked->arguments[0]);
    if (*verb == NULL)
        return nb_error_set(error, NB_CLIENT_USAGE, "there is no %s '%s': it is %s", command->name,
                            asked->arguments[0], nb_manual_usage(command->name).text);
    asked->arguments += asked->count > 0;
    asked->count -= asked->count > 0;
    if (asked->count < (*verb)->least || asked->count > (*verb)->most)
        return nb_error_set(error, NB_CLIENT_USAGE, "it is: bayesc %s %s %s", command->name,
                            (*verb)->name, (*verb)->arguments);
    return check_flags(asked, *verb, error);
}

/* ---- help ------------------------------------------------------------------------------------ */

void nb_flags_help(const struct nb_command *command, FILE *out)
{
    bool reads_documents = false;
    (void)fprintf(out, "Usage: %s\n", nb_manual_usage(command->name).text);
    nb_manual_print(command->name, out);
    for (size_t i = 0; i < command->flag_count; i++)
        reads_documents = reads_documents || strcmp(command->flags[i].name, "columns") == 0;
    if (reads_documents)
        nb_manual_print("DOCUMENTS", out);
    (void)fputs("\nOptions:\n", out);
    for (size_t i = 0; i < flag_total(command); i++) {
        if (i == command->flag_count && i > 0)
            (void)fputs("\nOptions of every command:\n", out);
        if (!is_unused(command, flag_at(command, i)))
            (void)nb_manual_print_option(command->name, flag_at(command, i)->name, out);
    }
    (void)nb_manual_print_option(command->name, "help", out);
}

/* ---- the source ------------------------------------------------------------------------------ */

static bool is_printable(struct nb_string name)
{
    const unsigned char *at = (const unsigned char *)name.bytes, *end = at + name.length;
    for (; at < end; at += nb_utf8_sequence(at, end))
        if (nb_utf8_control(at, end) > 0)
            return false;
    return true;
}

int nb_source_check(const char *source, struct nb_error *error)
{
    if (source == NULL)
        return 0;
    struct nb_string name = nb_string_of(source);
    if (name.length == 0 || name.length > NB_SOURCE_MOST || !nb_utf8_is_valid(name) ||
        !is_printable(name))
        return nb_error_set(error, NB_CLIENT_USAGE,
                            "--source '%.100s': 1 to %d bytes of UTF-8 without control characters "
                            "are needed",
                            source, NB_SOURCE_MOST);
    return 0;
}
