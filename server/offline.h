/* SPDX-License-Identifier: Apache-2.0
 *
 * What bayesd does instead of serving: with a store that no daemon has open, with the
 * configuration, and with the file of tokens. Each prints what it found on standard output. Main
 * thread.
 *
 * All return 0, a code with *error set, or, where that is said, 1 for something that was found.
 */
#ifndef NB_SERVER_OFFLINE_H
#define NB_SERVER_OFFLINE_H

#include "core/base/error.h"

struct nb_config;
struct nb_options;

/* Compares every count with what the documents say. 1: they differ. */
int nb_offline_verify(const struct nb_config *config, struct nb_error *error);

/* Makes the store anew from its documents. 1: something differed. */
int nb_offline_rebuild(const struct nb_config *config, struct nb_error *error);

/* Puts the backup in the file `backup` into the data directory, which has no store. 1: a count
 * differed in the store that was saved. */
int nb_offline_restore(const struct nb_config *config, const char *backup, struct nb_error *error);

/* Fetches the store of the node at the URL `peer` (see join.h). */
int nb_offline_join(const struct nb_config *config, const char *peer, struct nb_error *error);

/* Says whether the options go together. Takes over the strings of `config`. */
int nb_offline_check_config(struct nb_config *config, struct nb_error *error);

/* Prints the options in force, with hashes instead of tokens. */
int nb_offline_print_config(struct nb_config *config, struct nb_error *error);

/* bayesd --new-token, --list-tokens and --revoke-token keep the file of tokens. A daemon may be
 * running; it reads the file again on SIGHUP. */

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
