/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define AT(member) offsetof(struct nb_client, member)

/* Options that every command has. */
static const struct nb_option COMMON[] = {
    {"model", 'm', NB_OPTION_TEXT, "NAME", AT(model), 0, 0,
     "the model (default: $BAYESC_MODEL, or mail)"},
    {"url", 'u', NB_OPTION_TEXT, "URL", AT(url), 0, 0,
     "where the daemon is, also unix:/PATH (default: $BAYESC_URL, or\nhttp://127.0.0.1:8763)"},
    {"token-file", 0, NB_OPTION_TEXT, "FILE", AT(token_file), 0, 0,
     "its first line is the access token (default: $BAYESC_TOKEN_FILE)"},
    {"timeout", 0, NB_OPTION_COUNT, "SECONDS", AT(timeout), 1, 86400,
     "give up when nothing comes for so long"},
    {"json", 0, NB_OPTION_SWITCH, NULL, AT(json), 0, 0, "print JSON"},
};
enum { COMMON_COUNT = sizeof COMMON / sizeof COMMON[0], OPTIONS_MOST = 48, HELP_COLUMN = 28 };
enum { HELP = OPTIONS_MOST * 2 }; /* getopt's value of --help; an option's is its index + 256 */

static const struct nb_option *option_at(const struct nb_command *command, size_t i)
{
    return i < command->option_count ? &command->options[i] : &COMMON[i - command->option_count];
}

static size_t option_total(const struct nb_command *command)
{
    return command->option_count + COMMON_COUNT;
}

/* ---- values ------------------------------------------------------------------------------------
 */

static int bad_value(const struct nb_option *option, const char *text, struct nb_error *error)
{
    return nb_error_set(error, NB_CLIENT_USAGE, "--%s '%s': a number from %g to %g is needed",
                        option->name, text, option->least, option->most);
}

static int set_number(const struct nb_option *option, const char *text, void *at,
                      struct nb_error *error)
{
    char *end;
    errno = 0;
    double number = strtod(text, &end);
    bool is_number = end != text && *end == '\0' && errno == 0 && isfinite(number) &&
                     number >= option->least && number <= option->most;
    if (!is_number || (option->type == NB_OPTION_COUNT && number != floor(number)))
        return bad_value(option, text, error);
    if (option->type == NB_OPTION_COUNT)
        *(uint64_t *)at = (uint64_t)number;
    else
        *(double *)at = number;
    return 0;
}

static int add_to_list(const struct nb_option *option, const char *text, struct nb_list *list,
                       struct nb_error *error)
{
    if (list->count == NB_LIST_MOST)
        return nb_error_set(error, NB_CLIENT_USAGE, "--%s is given more than %d times",
                            option->name, NB_LIST_MOST);
    list->items[list->count++] = text;
    return 0;
}

static int set_value(const struct nb_option *option, const char *text, void *base,
                     struct nb_error *error)
{
    void *at = (char *)base + option->offset;
    switch (option->type) {
    case NB_OPTION_SWITCH:
        *(bool *)at = true;
        return 0;
    case NB_OPTION_TEXT:
        *(const char **)at = text;
        return 0;
    case NB_OPTION_LIST:
        return add_to_list(option, text, at, error);
    case NB_OPTION_COUNT:
    case NB_OPTION_NUMBER:
    default:
        return set_number(option, text, at, error);
    }
}

/* ---- the command line --------------------------------------------------------------------------
 */

struct getopt_tables {
    struct option longs[OPTIONS_MOST];
    char shorts[2 * OPTIONS_MOST + 3];
    int values[256]; /* by letter: the option's index + 1 */
};

static void fill_tables(const struct nb_command *command, struct getopt_tables *tables)
{
    *tables = (struct getopt_tables){.shorts = ":h"};
    size_t total = option_total(command), length = 2;
    for (size_t i = 0; i < total; i++) {
        const struct nb_option *option = option_at(command, i);
        int argument = option->value == NULL ? no_argument : required_argument;
        tables->longs[i] = (struct option){option->name, argument, NULL, 256 + (int)i};
        if (option->letter == 0)
            continue;
        tables->values[(unsigned char)option->letter] = (int)i + 1;
        tables->shorts[length++] = option->letter;
        if (argument == required_argument)
            tables->shorts[length++] = ':';
    }
    tables->longs[total] = (struct option){"help", no_argument, NULL, 256 + HELP};
}

static int index_of(const struct getopt_tables *tables, int got)
{
    if (got == 'h')
        return HELP;
    return got >= 256 ? got - 256 : tables->values[got] - 1;
}

static int check_count(const struct nb_command *command, size_t count, struct nb_error *error)
{
    if (count >= command->least && count <= command->most)
        return 0;
    if (count > command->most)
        return nb_error_set(error, NB_CLIENT_USAGE, "%s takes at most %zu argument%s",
                            command->name, command->most, command->most == 1 ? "" : "s");
    return nb_error_set(error, NB_CLIENT_USAGE, "%s needs %s", command->name, command->arguments);
}

int nb_options_parse(const struct nb_command *command, int argc, char **argv, void *options,
                     struct nb_client *client, char ***arguments, size_t *count,
                     struct nb_error *error)
{
    struct getopt_tables tables;
    fill_tables(command, &tables);
    if (command->options_size > 0)
        memcpy(options, command->defaults, command->options_size);
    optind = 0; /* of glibc: begins anew */
    opterr = 0; /* the message is ours */
    int got;
    while ((got = getopt_long(argc, argv, tables.shorts, tables.longs, NULL)) != -1) {
        const char *at = argv[optind - 1];
        if (got == ':')
            return nb_error_set(error, NB_CLIENT_USAGE, "%s needs a value", at);
        if (got == '?' && optopt != 0 && optopt < 256)
            return nb_error_set(error, NB_CLIENT_USAGE, "-%c is no option of %s", optopt,
                                command->name);
        if (got == '?')
            return nb_error_set(error, NB_CLIENT_USAGE, "%s is no option of %s", at, command->name);
        int i = index_of(&tables, got);
        if (i == HELP)
            return 1;
        bool is_own = (size_t)i < command->option_count;
        int rc = set_value(option_at(command, (size_t)i), optarg, is_own ? options : client, error);
        if (rc != 0)
            return rc;
    }
    *arguments = argv + optind;
    *count = (size_t)(argc - optind);
    return check_count(command, *count, error);
}

/* ---- help --------------------------------------------------------------------------------------
 */

static void print_help_text(const char *text, FILE *out)
{
    for (const char *line = text; *line != '\0';) {
        int length = (int)strcspn(line, "\n");
        (void)fprintf(out, "%.*s\n", length, line);
        line += length;
        if (*line == '\n')
            (void)fprintf(out, "%*s", HELP_COLUMN, "");
        line += *line == '\n';
    }
}

static void print_option(const struct nb_option *option, FILE *out)
{
    char left[64];
    char letter[] = {'-', option->letter, ',', ' ', '\0'};
    int width =
        snprintf(left, sizeof left, "  %s--%s%s%s", option->letter != 0 ? letter : "", option->name,
                 option->value != NULL ? " " : "", option->value != NULL ? option->value : "");
    if (width >= HELP_COLUMN - 1)
        (void)fprintf(out, "%s\n%*s", left, HELP_COLUMN, "");
    else
        (void)fprintf(out, "%-*s", HELP_COLUMN, left);
    print_help_text(option->help, out);
}

void nb_options_help_command(const struct nb_command *command, FILE *out)
{
    (void)fprintf(out, "Usage: bayesc %s [OPTION]...%s%s\n%s.\n", command->name,
                  command->arguments[0] != '\0' ? " " : "", command->arguments, command->summary);
    if (command->details != NULL)
        (void)fprintf(out, "\n%s", command->details);
    (void)fputs("\nOptions:\n", out);
    for (size_t i = 0; i < option_total(command); i++)
        print_option(option_at(command, i), out);
    (void)fprintf(out, "%-*sprint this\n", HELP_COLUMN, "  -h, --help");
}
