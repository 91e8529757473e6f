/* SPDX-License-Identifier: Apache-2.0
 *
 * The command line of bayesc. Each command has a table of the flags that it takes; the manual page
 * (manual.h), from which --help is printed, says what they mean. Main thread.
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
    size_t offset;             /* of the member of struct nb_command_options */
    double usual, least, most; /* of a count or a number: the value if the flag is not given, and
                                  the allowed ones; below `least` it counts as not given */
    const char *usual_text;    /* of a text, or NULL */
};

/* The options of all commands (commands/commands.h). A command uses those of its flags. */
struct nb_command_options;

/* Rows of a table of flags, by type. `member` is of struct nb_command_options. */
#define NB_FLAG_ROW(its_name, its_letter, its_type, its_member)                                    \
    .name = (its_name), .letter = (its_letter), .type = NB_FLAG_##its_type,                        \
    .offset = offsetof(struct nb_command_options, its_member)
/* clang-format off */
#define NB_SWITCH(name, letter, member) {NB_FLAG_ROW(name, letter, SWITCH, member)}
#define NB_TEXT(name, letter, member) {NB_FLAG_ROW(name, letter, TEXT, member)}
#define NB_LIST(name, letter, member) {NB_FLAG_ROW(name, letter, LIST, member)}
#define NB_COUNT(name, letter, member, usually, from, to)                                          \
    {NB_FLAG_ROW(name, letter, COUNT, member), .usual = (usually), .least = (from), .most = (to)}
#define NB_NUMBER(name, letter, member, usually, from, to)                                         \
    {NB_FLAG_ROW(name, letter, NUMBER, member), .usual = (usually), .least = (from), .most = (to)}
/* clang-format on */

/* The common flags that a command may refuse. */
enum { NB_UNUSED_MODEL = 1, NB_UNUSED_JSON = 2, NB_UNUSED_DAEMON = 4 /* all other common flags */ };

struct nb_exchange;
struct nb_command;

enum { NB_ASKED_MORE = 4 /* parameters beside those of options */ };

/* What the command line gives a command, and what the command adds for a request (exchange.h). All
 * members are borrowed. */
struct nb_asked {
    struct nb_client *client;
    const struct nb_command *command;
    const struct nb_command_options *options;
    char **arguments; /* without the name of the model */
    size_t count;
    uint64_t given; /* bit i: flag i of the command is on the command line */

    json_t *body; /* the body to begin with; NULL: an empty one if the exchange has fields */
    struct nb_call *call; /* the connection to use; NULL: one for this request */
    struct {
        const char *name, *value;
    } more[NB_ASKED_MORE]; /* further parameters of the query; those without a value are left out */
    const char *header;    /* one further header line, or NULL */
    struct nb_string content;    /* a body that is not JSON of the exchange */
    const char *type, *encoding; /* of `content` or of what `give` gives */
    ssize_t (*give)(void *user, char *bytes, size_t room); /* see struct nb_call_request */
    void *user;
};

/* An operation of a command, which its first argument names: "list" in `bayesc network list`. */
struct nb_subcommand {
    const char *name, *arguments; /* as in the usage */
    size_t least, most;           /* allowed number of further arguments */
    const char *flags;            /* names of the command's flags that it takes, between spaces */
    const struct nb_exchange *exchange; /* its request; NULL: it has `run` */
    int (*run)(struct nb_asked *asked, struct nb_error *error);
};

/* Expands an array into two members of a command: the array, its length. */
#define NB_FLAGS(table) .flags = (table), .flag_count = sizeof(table) / sizeof(table)[0]
#define NB_VERBS(table) .verbs = (table), .verb_count = sizeof(table) / sizeof(table)[0]

struct nb_command {
    const char *name;
    const struct nb_flag *flags;
    size_t flag_count;
    size_t least, most; /* allowed number of arguments */
    size_t model_from; /* with at least this many arguments the first one is the model, unless it is
                          a setting; 0: never */
    bool (*is_model)(const char *first); /* tells whether fewer arguments begin with the model, if
                                          --model is not given; NULL: if the first is no verb */
    bool takes_settings;                 /* arguments may be NAME=VALUE */
    unsigned unused;   /* common flags that this command refuses: NB_UNUSED_... or'ed */
    uint64_t patience; /* see struct nb_call_target */
    uint64_t deadline; /* seconds for a whole request; 0: no limit while it makes progress */
    const struct nb_exchange *exchange; /* the only request of a command; NULL if it has `run` or
                                           verbs */
    const struct nb_subcommand *verbs;  /* without an argument the first one runs */
    size_t verb_count;
    int (*run)(struct nb_asked *asked, struct nb_error *error); /* runs any other command */
    /* For a command that must pass standard input on even when it cannot start: passes it on,
     * prints the reason, and returns the exit status. `options` is NULL when they could not be
     * read. NULL for any other command. */
    int (*give_up)(const struct nb_command_options *options, const char *reason);
};

/* Returns whether argv[1 ...] consists only of options of the command and their values, so that it
 * may stand before the name of the command. argv keeps its order. */
bool nb_flags_are_before(const struct nb_command *command, int argc, char **argv);

/* Reads argv[1 ...]; argv[0] is the name of the command. Expects `command`, `client` and `options`
 * in `asked`, and fills in its other members of the command line. `options`, all zero, is the same
 * that `asked` has; it gets the usual values, then those of the flags. The arguments are in argv,
 * which may be reordered. Returns 0, 1 when --help was asked for, or NB_CLIENT_USAGE. */
int nb_flags_parse(int argc, char **argv, struct nb_command_options *options,
                   struct nb_asked *asked, struct nb_error *error);

/* Returns whether the flag of this name is on the command line. */
bool nb_flag_is_given(const struct nb_asked *asked, const char *name);

/* Finds the verb that the first argument names, removes that argument from `asked`, and checks the
 * other arguments and the flags. Returns 0 or NB_CLIENT_USAGE. */
int nb_verb_find(struct nb_asked *asked, const struct nb_subcommand **verb, struct nb_error *error);

/* Prints what `bayesc COMMAND --help` prints. */
void nb_flags_help(const struct nb_command *command, FILE *out);

/* Returns 0 when `source` is NULL or a name that the daemon takes: 1 to 64 bytes of UTF-8 without
 * control characters. Otherwise NB_CLIENT_USAGE. */
int nb_source_check(const char *source, struct nb_error *error);

#endif
