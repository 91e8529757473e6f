/* SPDX-License-Identifier: Apache-2.0
 *
 * A graph of few nodes, of a network or of a pattern. Its edges may have a direction.
 * Nodes are numbers from 0. A graph belongs to one thread at a time.
 *
 * An undirected edge is two marks, one each way; a directed one is one mark.
 */
#ifndef NB_CORE_NETWORKS_NETWORK_GRAPH_H
#define NB_CORE_NETWORKS_NETWORK_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"

struct nb_graph {
    size_t count;         /* number of nodes */
    unsigned char *marks; /* owned: [from * count + to] */
};

/* A graph without edges, or a copy of one. The caller frees it; NULL: out of memory. */
struct nb_graph *nb_graph_new(size_t count);
struct nb_graph *nb_graph_copy(const struct nb_graph *graph);
void nb_graph_free(struct nb_graph **graph);

static inline bool nb_graph_mark(const struct nb_graph *g, size_t from, size_t to)
{
    return g->marks[from * g->count + to] != 0;
}
static inline bool nb_graph_is_adjacent(const struct nb_graph *g, size_t a, size_t b)
{
    return nb_graph_mark(g, a, b) || nb_graph_mark(g, b, a);
}
static inline bool nb_graph_is_arrow(const struct nb_graph *g, size_t from, size_t to)
{
    return nb_graph_mark(g, from, to) && !nb_graph_mark(g, to, from);
}
static inline bool nb_graph_is_line(const struct nb_graph *g, size_t a, size_t b)
{
    return nb_graph_mark(g, a, b) && nb_graph_mark(g, b, a);
}
/* Makes the edge an arrow, makes it a line, or removes it, whatever it was. */
void nb_graph_arrow(struct nb_graph *graph, size_t from, size_t to);
void nb_graph_line(struct nb_graph *graph, size_t a, size_t b);
void nb_graph_cut(struct nb_graph *graph, size_t a, size_t b);

/* Whether arrows lead from one node to the other. A node always leads to itself. `scratch` has room
 * for two numbers for each node. */
bool nb_graph_leads(const struct nb_graph *graph, size_t from, size_t to, uint32_t *scratch);

/* Fills `order` (room for all nodes) so that arrows point to later nodes; of the nodes that may
 * come next, the one with the smallest number does. Returns the number of nodes in it: fewer than
 * all if arrows make a cycle, or if there is a line. */
size_t nb_graph_sort(const struct nb_graph *graph, uint32_t *order);

/* d-separation (Pearl 1988): the independences that follow from a graph alone. Pure functions; any
 * thread. */

/* A set of nodes: a byte for each, 0 or 1. */
typedef unsigned char nb_node_set;

/* Sets *separated to whether `given` d-separates every node of `from` from every node of `to` in a
 * graph of arrows: whether no path between them is active. A path is active if every node between
 * its ends lets it through: a node at which two arrows meet does if it or a descendant of it is
 * given, any other node if it is not given. (Koller and Friedman 2009, algorithm 3.1: linear in the
 * edges.) The three sets share no node. Returns 0 or NB_NO_MEMORY. */
int nb_graph_separates(const struct nb_graph *graph, const nb_node_set *from, const nb_node_set *to,
                       const nb_node_set *given, bool *separated);

/* Patterns: a pattern represents all graphs that mean the same independences. It has the edges of
 * these graphs; an edge is an arrow if all of them have the arrow, else a line. Pure functions; any
 * thread.
 *
 * Two graphs are observationally equivalent, that is, no data can tell them apart, if and only if
 * they have the same edges and the same v-structures a -> c <- b with a and b not adjacent (Verma
 * and Pearl 1990, theorem 1). */

/* Turns lines into arrows if the other direction would make a new v-structure or a cycle (Meek
 * 1995, rules 1 to 3; the fourth only applies to arrows that are known from elsewhere). A line with
 * both directions forbidden stays a line; so do the lines that `kept` marks at [a * count + b], a <
 * b (NULL: none). Returns 0 or NB_NO_MEMORY. */
int nb_pattern_orient(struct nb_graph *pattern, const unsigned char *kept);

/* The pattern of a graph of arrows. The caller frees it; NULL: out of memory. */
struct nb_graph *nb_pattern_of(const struct nb_graph *graph);

/* Looks for a graph of arrows that has the pattern's arrows, no other v-structures, and no cycle
 * (Dor and Tarsi 1992). Sets *extension, which the caller frees, to the graph, or to NULL if there
 * is none. Returns 0 or NB_NO_MEMORY. */
int nb_pattern_extend(const struct nb_graph *pattern, struct nb_graph **extension);

/* A difference between two graphs of arrows; NB_PATTERN_SAME: they are equivalent. */
enum nb_pattern_difference {
    NB_PATTERN_SAME,
    NB_PATTERN_EDGE,       /* a and b are adjacent in one of them */
    NB_PATTERN_V_STRUCTURE /* a -> c <- b is a v-structure in one of them */
};
struct nb_pattern_answer {
    enum nb_pattern_difference difference;
    bool is_in_first; /* the graph that has it */
    size_t a, b, c;
};
/* Compares two graphs of the same nodes; returns the first difference that it finds. */
struct nb_pattern_answer nb_pattern_compare(const struct nb_graph *first,
                                            const struct nb_graph *second);

#endif
