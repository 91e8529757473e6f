/* SPDX-License-Identifier: Apache-2.0
 *
 * The command line of bayesc: one table of options per command, and what is made of it (parsing,
 * --help). Main thread.
 */
#ifndef NB_CLIENT_OPTIONS_H
#define NB_CLIENT_OPTIONS_H

#include <stdio.h>

#include "server/client/client.h"

enum nb_option_type {
    NB_OPTION_SWITCH, /* bool */
    NB_OPTION_TEXT,   /* const char *, borrowed */
    NB_OPTION_COUNT,  /* uint64_t */
    NB_OPTION_NUMBER, /* double */
    NB_OPTION_LIST    /* struct nb_list */
};

struct nb_option {
    const char *name; /* without the dashes */
    char letter;      /* or 0 */
    enum nb_option_type type;
    const char *value; /* what --help calls the value; NULL for a switch */
    size_t offset;     /* in the command's options */
    double least, most;
    const char *help; /* lines after the first are indented by --help */
};

struct nb_command {
    const char *name;
    const char *arguments; /* as the usage line shows them */
    const char *summary;   /* for the list of commands; a full sentence without its point */
    const char *details;   /* the rest of --help; or NULL */
    const struct nb_option *options;
    size_t option_count;
    const void *defaults; /* the options as they are when none is given */
    size_t options_size;
    size_t least, most; /* arguments */
    uint64_t patience;  /* see struct nb_client */
    bool passes_mail;   /* standard input is a mail that must come out whatever goes wrong */
    int (*run)(struct nb_client *client, const void *options, char **arguments, size_t count,
               struct nb_error *error);
};

enum { NB_OPTIONS_ROOM = 8192 }; /* bytes of the largest options struct */

/* Reads argv[1 ...] (argv[0] is the command's name). `options` are the command's, filled with their
 * defaults first; *count arguments are left at *arguments. Returns 0, 1 when --help was asked for,
 * or NB_CLIENT_USAGE. */
int nb_options_parse(const struct nb_command *command, int argc, char **argv, void *options,
                     struct nb_client *client, char ***arguments, size_t *count,
                     struct nb_error *error);

/* `bayesc COMMAND --help` */
void nb_options_help_command(const struct nb_command *command, FILE *out);

#endif
