/* SPDX-License-Identifier: Apache-2.0
 *
 * A Bayes net (Pearl 1988): nodes with states, parents, and for each node a table of P(node |
 * parents). It is built node by node and not changed afterwards. Then any thread may read it;
 * before that it belongs to one thread.
 *
 *     nb_network_new, nb_network_add for every node, nb_network_set_parents where there are some,
 *     nb_network_close, nb_network_set_table for every node
 *
 * Every error names the node. NB_INVALID: the network contradicts itself; NB_UNUSABLE: a value
 * cannot be used; NB_TOO_LARGE: a limit, which the error names.
 */
#ifndef NB_CORE_NETWORKS_NETWORK_NETWORK_H
#define NB_CORE_NETWORKS_NETWORK_NETWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/string.h"
#include "core/networks/network/graph.h"

enum {
    NB_NETWORK_NODES = 256,  /* nodes of a network: a graph takes the square of their number, ... */
    NB_NETWORK_STATES = 255, /* ... and a state of a column is a byte (columns.h) */
    NB_NETWORK_NAME_BYTES = 64 /* of a node, and of a state */
};

/* Sums of a table's row may be off by this: people write .333, .333 and .334 too, but not .33. */
#define NB_NETWORK_SUM_TOLERANCE 1e-6

struct nb_network_node {
    char *name;
    char **states;
    uint32_t state_count;
    uint32_t *parents; /* in the order in which they were given */
    size_t parent_count;
    /* A row of state_count probabilities for each combination of the parents' states, the last
     * parent's changing fastest. As given: rows sum to 1 within the tolerance. */
    double *table;
    size_t rows;
};

struct nb_network {
    struct nb_network_node *nodes;
    size_t count, room;
    size_t cells, most_cells; /* numbers in all tables */
    uint32_t *order;          /* parents before children; NULL before nb_network_close */
};

/* `most_cells` bounds the numbers in all tables. NULL: out of memory. */
struct nb_network *nb_network_new(size_t most_cells);
void nb_network_free(struct nb_network **network);

/* Checks the name of a node or a state: 1 to NB_NETWORK_NAME_BYTES bytes of UTF-8 without control
 * characters. `what` begins the error's sentence: "the name of a node". Returns 0 or
 * NB_UNUSABLE. */
int nb_network_check_name(struct nb_string name, const char *what, struct nb_error *error);
/* Appends a copy of a state to the list of a node or a column. Returns 0 or NB_NO_MEMORY. */
int nb_network_append_state(char ***states, uint32_t *count, struct nb_string state,
                            struct nb_error *error);

/* Adds a node with at least one state. Returns 0, NB_INVALID (a name twice), NB_UNUSABLE,
 * NB_TOO_LARGE or NB_NO_MEMORY. */
int nb_network_add(struct nb_network *network, struct nb_string name, struct nb_error *error);
/* Adds a state to the node that was added last. Returns as nb_network_add. */
int nb_network_add_state(struct nb_network *network, struct nb_string state,
                         struct nb_error *error);
/* Adds a parent, which must already be a node. Returns 0, NB_INVALID (unknown, twice, the node
 * itself) or NB_NO_MEMORY. */
int nb_network_add_parent(struct nb_network *network, size_t node, struct nb_string parent,
                          struct nb_error *error);
/* After all nodes and parents: finds the order and makes room for the tables. Returns 0,
 * NB_INVALID (a cycle, or there is no node), NB_TOO_LARGE or NB_NO_MEMORY. */
int nb_network_close(struct nb_network *network, struct nb_error *error);
/* Fills a row of a node's table; `count` probabilities. Returns 0 or NB_INVALID. */
int nb_network_set_row(struct nb_network *network, size_t node, size_t row, const double *values,
                       size_t count, struct nb_error *error);

/* Returns the number of the node, or of the node's state, with this name; SIZE_MAX: there is
 * none. */
size_t nb_network_find(const struct nb_network *network, struct nb_string name);
size_t nb_network_find_state(const struct nb_network_node *node, struct nb_string state);

/* Returns the row of the node's table for these states of all nodes. */
size_t nb_network_row(const struct nb_network *network, size_t node, const uint32_t *states);

/* Returns the graph of arrows from parents to children. The caller frees it; NULL: out of
 * memory. */
struct nb_graph *nb_network_graph(const struct nb_network *network);

#endif
