/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc: finds the command, reads its options, runs it, and reports a failure as a sentence and an
 * exit status.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "core/base/names.h"
#include "server/base/version.h"
#include "server/client/base/client.h"
#include "server/client/base/manual.h"
#include "server/client/base/terminal.h"
#include "server/client/commands/commands.h"
#include "server/http/call/call.h"

enum { TIMEOUT_SECONDS = 60 };

enum { GROUP_MOST = 10 };

/* All commands, as --help lists them. */
static const struct {
    const char *title;
    const struct nb_command *commands[GROUP_MOST]; /* those behind the last are NULL */
} GROUPS[] = {
    {"Teach and correct",
     {&NB_COMMAND_TRAIN, &NB_COMMAND_UNTRAIN, &NB_COMMAND_UNDO, &NB_COMMAND_QUARANTINE,
      &NB_COMMAND_SUSPECTS}},
    {"Ask", {&NB_COMMAND_CLASSIFY, &NB_COMMAND_EXPLAIN, &NB_COMMAND_FILTER, &NB_COMMAND_WATCH}},
    {"See what a model knows, how good and how fast it is",
     {&NB_COMMAND_STATUS, &NB_COMMAND_MODELS, &NB_COMMAND_STATS, &NB_COMMAND_EVALUATE,
      &NB_COMMAND_CHALLENGER, &NB_COMMAND_BENCH}},
    {"Make and change models and labels",
     {&NB_COMMAND_CREATE, &NB_COMMAND_SET, &NB_COMMAND_SHOW, &NB_COMMAND_DELETE,
      &NB_COMMAND_RENAME_LABEL, &NB_COMMAND_DELETE_LABEL, &NB_COMMAND_DERIVE, &NB_COMMAND_REFIT}},
    {"Find topics, and labels for what has none", {&NB_COMMAND_CLUSTER, &NB_COMMAND_EM}},
    {"Keep copies",
     {&NB_COMMAND_EXPORT, &NB_COMMAND_IMPORT, &NB_COMMAND_BACKUP, &NB_COMMAND_RESTORE}},
    {"Look at several nodes", {&NB_COMMAND_NODES}},
    {"See what a model believes", {&NB_COMMAND_SAMPLE, &NB_COMMAND_NETWORK}},
};
enum { COMMANDS_MOST = GROUP_MOST * sizeof GROUPS / sizeof GROUPS[0] };

/* ---- environment and commands ---------------------------------------------------------------- */

static const char *variable(const char *name, const char *otherwise)
{
    const char *value = getenv(name);
    return value != NULL && *value != '\0' ? value : otherwise;
}

/* Returns the command at `i`; some places in the groups are empty. */
static const struct nb_command *command_at(size_t i)
{
    return GROUPS[i / GROUP_MOST].commands[i % GROUP_MOST];
}

static const struct nb_command *find_command(const char *name)
{
    for (size_t i = 0; i < COMMANDS_MOST; i++)
        if (command_at(i) != NULL && strcmp(command_at(i)->name, name) == 0)
            return command_at(i);
    return NULL;
}

/* Moves argv[at] to argv[1]; the words before it follow it. */
static void move_forward(char **argv, int at)
{
    char *name = argv[at];
    memmove(argv + 2, argv + 1, (size_t)(at - 1) * sizeof *argv);
    argv[1] = name;
}

/* Finds the command, even after its options, and moves its name to argv[1]. If a word before the
 * name is not an option of the command, the command's parser reports it later. */
static const struct nb_command *choose_command(int argc, char **argv)
{
    int first = 0;
    for (int i = 1; i < argc; i++) {
        const struct nb_command *command = find_command(argv[i]);
        if (command == NULL)
            continue;
        first = first == 0 ? i : first;
        if (!nb_flags_are_before(command, i, argv))
            continue;
        move_forward(argv, i);
        return command;
    }
    if (first == 0 || argv[1][0] != '-')
        return NULL;
    move_forward(argv, first);
    return find_command(argv[1]);
}

/* Returns the command that the word is probably a misspelling of, or NULL. */
static const char *near_command(const char *word)
{
    const char *near = NULL;
    for (size_t i = 0; i < COMMANDS_MOST; i++)
        if (command_at(i) != NULL &&
            nb_near_is(nb_string_of(word), nb_string_of(command_at(i)->name)))
            near = command_at(i)->name;
    return near;
}

/* Reports that no word is a command: the first one, or one after options that is nearly one. */
static void complain(int argc, char **argv)
{
    const char *name = argv[1], *near = near_command(name);
    for (int i = 2; *name == '-' && i < argc; i++)
        if ((near = near_command(argv[i])) != NULL)
            name = argv[i];
    if (*name == '-')
        nb_message("no command is given (bayesc --help lists them)");
    else
        nb_message("'%s' is not a command%s%s%s (bayesc --help lists them)", name,
                   near != NULL ? ": did you mean " : "", near != NULL ? near : "",
                   near != NULL ? "?" : "");
}

static int print_help(FILE *out)
{
    enum { SUMMARY_COLUMN = 16 };
    (void)fputs("Usage: bayesc COMMAND [OPTION]... [ARGUMENT]...\n"
                "Trains and asks bayesd, the daemon that learns to tell texts apart.\n",
                out);
    for (size_t i = 0; i < COMMANDS_MOST; i++) {
        const struct nb_command *command = command_at(i);
        if (i % GROUP_MOST == 0)
            (void)fprintf(out, "\n%s%s:%s\n", nb_colour(out, NB_COLOUR_BOLD),
                          GROUPS[i / GROUP_MOST].title, nb_colour(out, NB_COLOUR_PLAIN));
        if (command == NULL)
            continue;
        int width = fprintf(out, "  %s", command->name);
        nb_terminal_wrap(nb_manual_summary(command->name).text, (size_t)width, SUMMARY_COLUMN, out);
    }
    (void)fputs("\n`bayesc help COMMAND` tells more, `bayesc --version` prints the version.\n",
                out);
    nb_terminal_wrap("The daemon is at http://127.0.0.1:8763, unless --url or BAYESC_URL names "
                     "another place.",
                     0, 0, out);
    return fflush(out) == 0 ? EX_OK : EX_IOERR;
}

/* ---- running --------------------------------------------------------------------------------- */

static int run(struct nb_asked *asked, struct nb_error *error)
{
    const struct nb_command *command = asked->command;
    const struct nb_subcommand *verb = NULL;
    struct nb_call_target *daemon = &asked->client->daemon;
    int rc = nb_access_token_read(daemon->token_file, &daemon->token, error);
    if (rc == 0)
        rc = nb_call_setup(error);
    if (rc != 0)
        return command->give_up != NULL ? command->give_up(asked->options, error->text) : rc;
    if (command->verbs != NULL)
        rc = nb_verb_find(asked, &verb, error);
    const struct nb_exchange *exchange = verb != NULL ? verb->exchange : command->exchange;
    if (rc == 0)
        rc = exchange != NULL ? nb_exchange_run(exchange, asked, error)
                              : (verb != NULL ? verb->run : command->run)(asked, error);
    nb_call_teardown();
    if (rc == 0 && (fflush(stdout) != 0 || ferror(stdout) != 0))
        rc = nb_error_set(error, NB_IO, "standard output cannot be written");
    return rc;
}

/* Returns whether standard output is a pipe whose reader has gone, as in `bayesc ... | head`. */
static bool has_no_reader(void)
{
    struct pollfd output = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

/* Ends like a program that did not ignore the signal: silently, and the shell sees the reason. */
static void end_by_signal(void)
{
    (void)signal(SIGPIPE, SIG_DFL);
    (void)raise(SIGPIPE);
}

static struct nb_client client_of(const struct nb_command *command)
{
    return (struct nb_client){
        .daemon = {.url = variable("BAYESC_URL", "http://127.0.0.1:8763"),
                   .token_file = variable("BAYESC_TOKEN_FILE", NULL),
                   .ca_file = variable("BAYESC_CA_FILE", NULL),
                   .certificate = variable("BAYESC_CERT", NULL),
                   .key = variable("BAYESC_KEY", NULL),
                   .timeout = command->deadline > 0 ? command->deadline : TIMEOUT_SECONDS,
                   .has_deadline = command->deadline > 0,
                   .patience = command->patience},
        .model = variable("BAYESC_MODEL", "mail"),
    };
}

/* Reports a wrong command line. A mail on standard input must still be passed on. */
static int refuse(const struct nb_command *command, const struct nb_error *error)
{
    if (command->give_up != NULL && !isatty(STDIN_FILENO))
        return command->give_up(NULL, error->text);
    nb_message("%s (bayesc %s --help tells more)", error->text, command->name);
    return nb_exit_status(error->code);
}

static int parse_and_run(const struct nb_command *command, int argc, char **argv)
{
    struct nb_command_options options = {.source = NULL};
    struct nb_error error = {0};
    struct nb_client client = client_of(command);
    struct nb_asked asked = {.client = &client, .command = command, .options = &options};
    int rc = nb_flags_parse(argc, argv, &options, &asked, &error);
    if (rc == 1) {
        nb_flags_help(command, stdout);
        return fflush(stdout) == 0 ? EX_OK : EX_IOERR;
    }
    if (rc != 0)
        return refuse(command, &error);
    rc = run(&asked, &error);
    nb_buffer_deinit(&client.daemon.token);
    if (rc == NB_IO && command->give_up == NULL && has_no_reader())
        end_by_signal();
    if (rc == NB_CALL_FORBIDDEN && client.daemon.token_file == NULL)
        nb_message("%s: --token-file FILE or BAYESC_TOKEN_FILE names the file of a token",
                   error.text);
    else if (rc < 0)
        nb_message("%s", error.text);
    return rc < 0 ? nb_exit_status(rc) : rc;
}

/* Returns the place of the word "help" where a command could stand, perhaps after options, with at
 * most a command after it; else 0. */
static int help_at(int argc, char **argv)
{
    int i = 1;
    while (i < argc && find_command(argv[i]) == NULL && strcmp(argv[i], "help") != 0)
        i++;
    bool is_help = i < argc && strcmp(argv[i], "help") == 0;
    return is_help && (i == 1 || (*argv[1] == '-' && i + 2 >= argc)) ? i : 0;
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

int main(int argc, char **argv)
{
    /* Writing to a daemon or a reader that has gone must fail, not end the program: a mail may
     * still have to be passed on. */
    (void)signal(SIGPIPE, SIG_IGN);
    const char *name = argc > 1 ? argv[1] : "";
    int help = help_at(argc, argv);
    if (help > 0 && help + 1 < argc) {
        const struct nb_command *about = find_command(argv[help + 1]);
        if (about == NULL) {
            complain(argc - help, argv + help);
            return EX_USAGE;
        }
        nb_flags_help(about, stdout);
        return fflush(stdout) == 0 ? EX_OK : EX_IOERR;
    }
    const struct nb_command *command = choose_command(argc, argv);
    if (help > 0 || is_help(name) || (command == NULL && *name == '-' && is_help(argv[argc - 1])))
        return print_help(stdout);
    if (strcmp(name, "--version") == 0) {
        (void)puts("bayesc " NB_PROGRAM_VERSION);
        return fflush(stdout) == 0 ? EX_OK : EX_IOERR;
    }
    if (command != NULL)
        return parse_and_run(command, argc - 1, argv + 1);
    if (*name == '\0')
        (void)print_help(stderr);
    else
        complain(argc, argv);
    return EX_USAGE;
}
