/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesd --new-token, --list-tokens and --revoke-token: keep the file of tokens. Main thread; the
 * daemon may be running, and reads the file again on SIGHUP.
 */
#ifndef NB_SERVER_TOKEN_COMMAND_H
#define NB_SERVER_TOKEN_COMMAND_H

#include "core/base/error.h"

struct nb_config;
struct nb_options;

/* Makes a token of options->token, role and models, writes its hash to the file, and prints it to
 * standard output: it is kept nowhere else. Returns 0, NB_INVALID for what is no name, role or
 * pattern, NB_EXISTS for a name that is taken, or what nb_token_file_update does. */
int nb_token_command_new(const struct nb_options *options, const struct nb_config *config,
                         struct nb_error *error);

/* Prints a line for each token: name, role, date, models. Returns 0 or what nb_token_file_read
 * does; a file that is not there has none. */
int nb_token_command_list(const struct nb_config *config, struct nb_error *error);

/* Removes the token of a name from the file. Returns 0, NB_NOT_FOUND, or what nb_token_file_update
 * does. */
int nb_token_command_revoke(const struct nb_options *options, const struct nb_config *config,
                            struct nb_error *error);

#endif
