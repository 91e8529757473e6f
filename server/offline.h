/* SPDX-License-Identifier: Apache-2.0
 *
 * What bayesd does instead of serving: with a store that no daemon has open, and with the
 * configuration. Each prints what it found on standard output. Main thread.
 *
 * All return 0, a code with *error set, or, where that is said, 1 for something that was found.
 */
#ifndef NB_SERVER_OFFLINE_H
#define NB_SERVER_OFFLINE_H

#include "core/base/error.h"

struct nb_config;

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

#endif
