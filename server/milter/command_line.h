/* SPDX-License-Identifier: Apache-2.0
 *
 * The options of bayesd-milter, from the command line and the file that it names. Main thread; read
 * once, options do not change.
 */
#ifndef NB_SERVER_MILTER_COMMAND_LINE_H
#define NB_SERVER_MILTER_COMMAND_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "server/http/call/call.h"

/* A file of options: lines "name = value", "name" for a switch, comments that begin with '#'. Main
 * thread. */
enum { NB_OPTION_LINES_MOST = 64 * 1024 /* bytes of a file */ };

enum nb_milter_command { NB_MILTER_SERVE, NB_MILTER_VERSION, NB_MILTER_HELP };

/* What to do with a mail that bayesd would reject. Indexes of the names in command_line.c. */
enum nb_milter_on_reject {
    NB_MILTER_REJECT,
    NB_MILTER_QUARANTINE,
    NB_MILTER_DISCARD,
    NB_MILTER_TAG
};

/* What to do with a mail that has no verdict. */
enum nb_milter_on_failure { NB_MILTER_ACCEPT, NB_MILTER_TEMPFAIL };

struct nb_milter_options {
    enum nb_milter_command command;
    const char *file;         /* file with more options, or NULL */
    struct nb_buffer texts;   /* owned: the text of that file; all strings point into it or into the
                                 command line */
    const char *socket;       /* accepted by nb_milter_socket_check */
    mode_t socket_mode;       /* permissions of a Unix socket */
    const char *socket_group; /* group of a Unix socket, or NULL */
    const char *pid_file;     /* or NULL */
    enum nb_milter_on_reject on_reject;
    enum nb_milter_on_failure on_failure;
    uint64_t pause;         /* seconds without requests after bayesd has hung */
    size_t max_bytes;       /* most bytes of a mail that are sent to bayesd */
    size_t max_connections; /* most connections of mail servers at the same time */
    bool skip_authenticated;
    bool is_quiet;
    struct nb_call_target target; /* without its token, which nb_access_token_read adds */
};

/* Reads the command line and the file that it names into `options`, which need not be set before.
 * The command line overrides the file. Returns 0, NB_INVALID, or what nb_option_lines_read returns;
 * nothing is owned after a failure. Uses getopt_long, so that only one thread may call it. */
int nb_milter_options_read(int argc, char **argv, struct nb_milter_options *options,
                           struct nb_error *error);

/* Frees the texts and the token. */
void nb_milter_options_deinit(struct nb_milter_options *options);

/* Prints what --help prints. */
void nb_milter_options_help(FILE *out);

#endif
