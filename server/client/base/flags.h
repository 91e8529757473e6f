/* SPDX-License-Identifier: Apache-2.0
 *
 * The command line of bayesc. Each command has a table of the flags that it takes; what they mean
 * is said in the manual page (manual.h), from which --help is printed. Main thread.
 */
#ifndef NB_CLIENT_FLAGS_H
#define NB_CLIENT_FLAGS_H

#include <stddef.h>
#include <stdio.h>

#include "server/client/base/client.h"

enum { NB_FLAG_LIST_MOST = 64 };

/* The values of a flag that may be given several times. */
struct nb_flag_list {
    const char *items[NB_FLAG_LIST_MOST]; /* borrowed from the command line */
    size_t count;
};

/* The type of the option that a flag sets, which is the member at `offset`. */
enum nb_flag_type {
    NB_FLAG_SWITCH, /* bool */
    NB_FLAG_TEXT,   /* const char *, borrowed from the command line */
    NB_FLAG_COUNT,  /* uint64_t */
    NB_FLAG_NUMBER, /* double */
    NB_FLAG_LIST    /* struct nb_flag_list */
};

struct nb_flag {
    const char *name; /* without the dashes */
    char letter;      /* the short form; 0: none */
    enum nb_flag_type type;
    size_t offset;      /* of the member in the options of the command */
    double least, most; /* allowed values of a count or a number */
};

/* The common flags that a command may refuse. */
enum { NB_UNUSED_MODEL = 1, NB_UNUSED_JSON = 2, NB_UNUSED_DAEMON = 4 /* all other common flags */ };

struct nb_exchange;

/* The options of a command: its table of flags and the default options. */
#define NB_COMMAND_FLAGS(table, usual)                                                             \
    .flags = (table), .flag_count = sizeof(table) / sizeof(table)[0], .defaults = &(usual),        \
    .options_size = sizeof(usual)

struct nb_command {
    const char *name;
    const struct nb_flag *flags;
    size_t flag_count;
    const void *defaults; /* the options when no flag is given */
    size_t options_size;
    size_t least, most; /* allowed number of arguments */
    size_t model_from; /* with at least this many arguments the first one is the model, unless it is
                          a setting; 0: never */
    bool (*is_model)(const char *first); /* tells whether fewer arguments begin with the model, if
                                          --model is not given; NULL: they do not */
    bool takes_settings;                 /* arguments may be NAME=VALUE */
    unsigned unused;   /* common flags that this command refuses: NB_UNUSED_... or'ed */
    uint64_t patience; /* see struct nb_call_target */
    uint64_t deadline; /* seconds for a whole request; 0: no limit while it makes progress */
    const struct nb_exchange *exchange; /* the only request of a command; NULL if it has `run` */
    int (*run)(struct nb_client *client, const void *options, char **arguments, size_t count,
               struct nb_error *error); /* runs any other command; else NULL */
    /* For a command that must pass standard input on even when it cannot start: passes it on,
     * prints the reason, and returns the exit status. `options` is NULL when they could not be
     * read. NULL for any other command. */
    int (*give_up)(const void *options, const char *reason);
};

enum { NB_COMMAND_OPTIONS_ROOM = 8192 }; /* bytes of the largest options struct */

/* Returns whether argv[1 ...] consists only of options of the command and their values, so that it
 * may stand before the name of the command. argv keeps its order. */
bool nb_flags_are_before(const struct nb_command *command, int argc, char **argv);

/* Reads argv[1 ...]; argv[0] is the name of the command. Copies the defaults into `options`, then
 * applies the flags to `options` or `client`. *arguments points to the remaining arguments in argv,
 * without the name of the model; argv may be reordered. Returns 0, 1 when --help was asked for, or
 * NB_CLIENT_USAGE. */
int nb_flags_parse(const struct nb_command *command, int argc, char **argv, void *options,
                   struct nb_client *client, char ***arguments, size_t *count,
                   struct nb_error *error);

/* Prints what `bayesc COMMAND --help` prints. */
void nb_flags_help(const struct nb_command *command, FILE *out);

/* The flag --source of commands that change a model. The daemon records this name with each change
 * and shows it with each document. */
enum { NB_SOURCE_MOST = 64 /* bytes */ };

/* clang-format off */
/* The row of a command's table of flags; the options have a member `const char *source`. */
#define NB_SOURCE_FLAG(type)                                                                       \
    {"source", 0, NB_FLAG_TEXT, offsetof(type, source), 0, 0}
/* clang-format on */

/* Returns 0 when `source` is NULL or a name that the daemon takes: 1 to 64 bytes of UTF-8 without
 * control characters. Otherwise NB_CLIENT_USAGE. */
int nb_source_check(const char *source, struct nb_error *error);

#endif
