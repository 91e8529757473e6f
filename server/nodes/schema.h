/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the nodes' key, databases and streams from the configuration, and creates the tables. Main
 * thread.
 */
#ifndef NB_SERVER_NODES_SCHEMA_H
#define NB_SERVER_NODES_SCHEMA_H

#include <stdint.h>

#include "core/base/error.h"
#include "core/base/key.h"

struct nb_config;

/* Reads the key that all nodes share: 64 hexadecimal digits, with optional white space around them.
 * Returns 0, NB_INVALID, or the code of a file that cannot be read. */
int nb_nodes_read_key(const char *path, unsigned char key[NB_KEY_BYTES], struct nb_error *error);
/* Reads [nodes] follow: a bit for each stream. Returns 0 or NB_INVALID. */
int nb_nodes_read_follow(const struct nb_config *config, uint64_t *follow, struct nb_error *error);
/* Sets *conninfo to the database of a stream; the caller frees it. Returns 0, NB_INVALID or
 * NB_NO_MEMORY. */
int nb_nodes_conninfo(const struct nb_config *config, unsigned stream, char **conninfo,
                      struct nb_error *error);

/* Creates the tables that do not exist, and prints the rights that a role needs to use them.
 * Returns 0 or a code. */
int nb_nodes_init(const struct nb_config *config, struct nb_error *error);
/* Announces that this node joins, or joins anew: no change is deleted until the node has arrived.
 * Returns 0 or a code. */
int nb_nodes_announce(const struct nb_config *config, struct nb_error *error);

#endif
