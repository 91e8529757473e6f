/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads networks and questions about them from JSON, and writes networks and what was learned as
 * JSON. Pure functions; any thread. Reading is as strict as server/base/json_values.h; errors name
 * the node and the row.
 */
#ifndef NB_SERVER_API_NETWORK_JSON_H
#define NB_SERVER_API_NETWORK_JSON_H

#include "core/networks/network/columns.h"
#include "core/networks/network/graph.h"
#include "core/networks/network/inference.h"
#include "core/networks/network/network_learn.h"
#include "server/base/emit.h"

struct json_t;

/* Reads a network, {"nodes": [{"name", "states", "parents", "table"}, ...]}, with at most
 * `most_cells` probabilities. On success the caller owns *network. Returns 0, NB_INVALID,
 * NB_UNUSABLE, NB_TOO_LARGE or NB_NO_MEMORY. */
int nb_network_read(struct nb_string text, size_t most_cells, struct nb_network **network,
                    struct nb_error *error);

enum nb_network_verb {
    NB_NETWORK_PROBABILITIES, /* P(node | evidence) of `targets` */
    NB_NETWORK_SAMPLES,       /* `samples` samples, drawn with `seed` */
    NB_NETWORK_INDEPENDENT,   /* are `from` and `to` separated by `given`? */
    NB_NETWORK_EQUIVALENT     /* is the network equivalent to `other`, or to `graph`? */
};

/* A question about a network. */
struct nb_network_question {
    enum nb_network_verb verb;
    struct nb_network_evidence evidence;
    nb_node_set targets[NB_NETWORK_NODES];
    uint64_t samples, seed;
    nb_node_set from[NB_NETWORK_NODES], to[NB_NETWORK_NODES], given[NB_NETWORK_NODES];
    char *other;            /* owned: the name of a network; NULL: compare with `graph` */
    struct nb_graph *graph; /* owned; it has no cycle */
};
void nb_network_question_deinit(struct nb_network_question *question);

/* Reads a question about the network. On success the caller owns what `question` holds. Returns the
 * codes of nb_network_read. */
int nb_network_question_read(struct nb_string text, const struct nb_network *network,
                             struct nb_network_question *question, struct nb_error *error);

/* Writes the member "nodes". Every probability reads back to the last bit. */
void nb_emit_nodes(struct nb_emitter *e, const struct nb_network *network);

/* Writes {"nodes": [...]}, which nb_network_read reads. Returns 0 or NB_NO_MEMORY. */
int nb_network_write(const struct nb_network *network, struct nb_buffer *out);

/* Writes what was learned from the columns: the members "directed", "undirected", "separated",
 * "conflicts", "tests" and "untested". */
void nb_emit_learned(struct nb_emitter *e, const struct nb_columns *columns,
                     const struct nb_learned *learned);

/* Writes a list of two names. */
void nb_emit_pair(struct nb_emitter *e, const char *a, const char *b);

#endif
