/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc: finds the command, reads its options, runs it, and turns what went wrong into a sentence
 * and an exit status.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "server/base/version.h"
#include "server/client/commands.h"
#include "server/client/filter.h"

enum { TIMEOUT_SECONDS = 60 };

static const struct nb_command *const COMMANDS[] = {
    &NB_COMMAND_TRAIN,   &NB_COMMAND_CLASSIFY, &NB_COMMAND_EXPLAIN, &NB_COMMAND_FILTER,
    &NB_COMMAND_UNTRAIN, &NB_COMMAND_MODELS,   &NB_COMMAND_STATS,   &NB_COMMAND_EVALUATE,
    &NB_COMMAND_EXPORT,  &NB_COMMAND_IMPORT,
};
enum { COMMAND_COUNT = sizeof COMMANDS / sizeof COMMANDS[0] };

/* ---- failing -----------------------------------------------------------------------------------
 */

void nb_client_warn(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    /* A progress bar may stand on the line. */
    (void)fputs(isatty(STDERR_FILENO) ? "\r\033[Kbayesc: " : "bayesc: ", stderr);
    (void)vfprintf(stderr, format, arguments);
    (void)fputc('\n', stderr);
    va_end(arguments);
}

int nb_client_exit(int code)
{
    static const struct {
        int code, status;
    } STATUSES[] = {
        {NB_NO_MEMORY, EX_OSERR},
        {NB_NOT_FOUND, EX_NOINPUT},
        {NB_IO, EX_IOERR},
        {NB_DISK_FULL, EX_IOERR},
        {NB_EXISTS, EX_CANTCREAT},
        {NB_CLIENT_UNREACHABLE, EX_UNAVAILABLE},
        {NB_CLIENT_FORBIDDEN, EX_NOPERM},
        {NB_CLIENT_BUSY, EX_TEMPFAIL},
        {NB_CLIENT_PROTOCOL, EX_PROTOCOL},
        {NB_CLIENT_USAGE, EX_USAGE},
    };
    for (size_t i = 0; i < sizeof STATUSES / sizeof STATUSES[0]; i++)
        if (STATUSES[i].code == code)
            return STATUSES[i].status;
    return EX_DATAERR;
}

/* ---- the surroundings --------------------------------------------------------------------------
 */

static const char *variable(const char *name, const char *otherwise)
{
    const char *value = getenv(name);
    return value != NULL && *value != '\0' ? value : otherwise;
}

static const struct nb_command *find_command(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(COMMANDS[i]->name, name) == 0)
            return COMMANDS[i];
    return NULL;
}

static void print_help(FILE *out)
{
    (void)fputs("Usage: bayesc COMMAND [OPTION]... [ARGUMENT]...\n"
                "Teaches and asks a bayesd, the daemon that learns to tell texts apart.\n\n",
                out);
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        (void)fprintf(out, "  %-10s %s\n", COMMANDS[i]->name, COMMANDS[i]->summary);
    (void)fputs("\n`bayesc COMMAND --help` tells more; `bayesc --version` the version.\n"
                "The daemon is http://127.0.0.1:8763 unless --url or BAYESC_URL says otherwise.\n",
                out);
}

/* ---- running -----------------------------------------------------------------------------------
 */

static int run(const struct nb_command *command, struct nb_client *client, const void *options,
               char **arguments, size_t count, struct nb_error *error)
{
    int rc = nb_client_read_token(client, error);
    if (rc == 0)
        rc = nb_call_setup(error);
    if (rc != 0 && command->passes_mail)
        return nb_filter_give_up(options, error->text);
    if (rc == 0) {
        rc = command->run(client, options, arguments, count, error);
        nb_call_teardown();
    }
    if (rc == 0 && fflush(stdout) != 0)
        rc = nb_error_set(error, NB_IO, "standard output cannot be written");
    return rc;
}

static int parse_and_run(const struct nb_command *command, int argc, char **argv)
{
    _Alignas(max_align_t) char options[NB_OPTIONS_ROOM];
    struct nb_error error = {0};
    char **arguments = NULL;
    size_t count = 0;
    struct nb_client client = {
        .url = variable("BAYESC_URL", "http://127.0.0.1:8763"),
        .token_file = variable("BAYESC_TOKEN_FILE", NULL),
        .model = variable("BAYESC_MODEL", "mail"),
        .timeout = command->passes_mail ? NB_FILTER_SECONDS : TIMEOUT_SECONDS,
        .is_hasty = command->passes_mail,
        .patience = command->patience,
    };
    if (command->options_size > sizeof options)
        abort(); /* a mistake in the program: tests run every command */
    int rc = nb_options_parse(command, argc, argv, options, &client, &arguments, &count, &error);
    if (rc == 1) {
        nb_options_help_command(command, stdout);
        return fflush(stdout) == 0 ? EX_OK : EX_IOERR;
    }
    bool is_usage = rc != 0;
    if (is_usage && command->passes_mail && !isatty(STDIN_FILENO))
        return nb_filter_give_up(NULL, error.text);
    if (rc == 0)
        rc = run(command, &client, options, arguments, count, &error);
    nb_buffer_deinit(&client.token);
    if (rc < 0)
        nb_client_warn("%s%s%s%s", error.text, is_usage ? " (bayesc " : "",
                       is_usage ? command->name : "", is_usage ? " --help tells more)" : "");
    return rc < 0 ? nb_client_exit(rc) : rc;
}

int main(int argc, char **argv)
{
    /* A daemon or a reader that has gone is an error of write(): a mail may still have to go out.
     */
    (void)signal(SIGPIPE, SIG_IGN);
    const char *name = argc > 1 ? argv[1] : "";
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        print_help(stdout);
        return fflush(stdout) == 0 ? EX_OK : EX_IOERR;
    }
    if (strcmp(name, "--version") == 0) {
        (void)puts("bayesc " NB_PROGRAM_VERSION);
        return fflush(stdout) == 0 ? EX_OK : EX_IOERR;
    }
    const struct nb_command *command = find_command(name);
    if (command != NULL)
        return parse_and_run(command, argc - 1, argv + 1);
    if (*name == '\0')
        print_help(stderr);
    else
        nb_client_warn("'%s' is no command (bayesc --help lists them)", name);
    return EX_USAGE;
}
