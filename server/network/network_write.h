/* SPDX-License-Identifier: Apache-2.0
 *
 * Networks and what was learned as JSON. Pure functions; any thread.
 */
#ifndef NB_SERVER_NETWORK_NETWORK_WRITE_H
#define NB_SERVER_NETWORK_NETWORK_WRITE_H

#include "core/networks/network/columns.h"
#include "core/networks/network/network_learn.h"
#include "server/json/emit.h"

/* The member "nodes"; every probability reads back to the last bit. */
void nb_emit_nodes(struct nb_emitter *e, const struct nb_network *network);

/* {"nodes": [...]}, which nb_network_read reads. Returns 0 or NB_NO_MEMORY. */
int nb_network_write(const struct nb_network *network, struct nb_buffer *out);

/* The members "directed", "undirected", "separated", "conflicts", "tests" and "untested" of what
 * was learned from the columns. */
void nb_emit_learned(struct nb_emitter *e, const struct nb_columns *columns,
                     const struct nb_learned *learned);

/* A list of two names. */
void nb_emit_pair(struct nb_emitter *e, const char *a, const char *b);

#endif
