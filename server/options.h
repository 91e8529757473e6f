/* SPDX-License-Identifier: Apache-2.0
 *
 * The command line of bayesd. Main thread.
 */
#ifndef NB_SERVER_OPTIONS_H
#define NB_SERVER_OPTIONS_H

#include <stdio.h>

#include "core/base/error.h"

enum nb_action {
    NB_ACTION_SERVE,
    NB_ACTION_CHECK_CONFIG,
    NB_ACTION_PRINT_CONFIG,
    NB_ACTION_VERIFY,
    NB_ACTION_REBUILD,
    NB_ACTION_RESTORE,
    NB_ACTION_JOIN,
    NB_ACTION_NODES_INIT,
    NB_ACTION_NEW_TOKEN,
    NB_ACTION_LIST_TOKENS,
    NB_ACTION_REVOKE_TOKEN,
    NB_ACTION_VERSION,
    NB_ACTION_HELP
};

struct nb_options {
    enum nb_action action;
    const char *config; /* file, or NULL; this and all below point into the arguments */
    const char *data;   /* directory, or NULL */
    const char *listen; /* ADDRESS:PORT, or NULL */
    const char *backup; /* file to restore, or "-"; for NB_ACTION_RESTORE */
    const char *peer;   /* URL of a node; for NB_ACTION_JOIN */
    const char *token;  /* name; for NB_ACTION_NEW_TOKEN and NB_ACTION_REVOKE_TOKEN */
    const char *role;   /* for NB_ACTION_NEW_TOKEN; NULL: not given */
    char **arguments;   /* all arguments of the program */
    const char *models; /* for NB_ACTION_NEW_TOKEN; NULL: all models */
};

/* Reads the arguments. Returns 0, or NB_INVALID, whose message names the wrong argument. */
int nb_options_read(int argc, char **argv, struct nb_options *options, struct nb_error *error);

/* Prints the text of --help. */
void nb_options_help(FILE *out);

#endif
