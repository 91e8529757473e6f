/* SPDX-License-Identifier: Apache-2.0
 *
 * The command line of bayesd-milter. Main thread, before others start; read-only afterwards.
 */
#ifndef NB_MILTER_OPTIONS_H
#define NB_MILTER_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include "core/base/error.h"
#include "server/client/client.h"

enum nb_milter_command { NB_MILTER_SERVE, NB_MILTER_VERSION, NB_MILTER_HELP };

/* What becomes of a mail that bayesd would reject. In the order of their names in options.c. */
enum nb_milter_on_reject {
    NB_MILTER_REJECT,
    NB_MILTER_QUARANTINE,
    NB_MILTER_DISCARD,
    NB_MILTER_TAG
};

/* What becomes of a mail for which there is no verdict. */
enum nb_milter_on_failure { NB_MILTER_ACCEPT, NB_MILTER_TEMPFAIL };

struct nb_milter_options {
    enum nb_milter_command command;
    const char *socket;   /* in libmilter's form; borrowed from the command line, as all texts */
    mode_t socket_mode;   /* of a socket that is a file */
    const char *pid_file; /* or NULL */
    enum nb_milter_on_reject on_reject;
    enum nb_milter_on_failure on_failure;
    size_t max_bytes; /* of a mail that are sent */
    bool skip_authenticated;
    bool is_quiet;
    struct nb_client client; /* without its token, which nb_client_read_token adds */
};

/* Fills `options` from the command line. NB_INVALID says what is wrong. */
int nb_milter_options_read(int argc, char **argv, struct nb_milter_options *options,
                           struct nb_error *error);

/* Prints what --help prints. */
void nb_milter_options_help(FILE *out);

#endif
