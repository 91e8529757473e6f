/* SPDX-License-Identifier: Apache-2.0
 *
 * Patterns: a pattern represents all graphs that mean the same independences. It has the edges of
 * these graphs; an edge is an arrow if all of them have the arrow, else a line. Pure functions; any
 * thread.
 *
 * Two graphs are observationally equivalent, that is, no data can tell them apart, if and only if
 * they have the same edges and the same v-structures a -> c <- b with a and b not adjacent (Verma
 * and Pearl 1990, theorem 1).
 */
#ifndef NB_CORE_NETWORKS_NETWORK_PATTERN_H
#define NB_CORE_NETWORKS_NETWORK_PATTERN_H

#include "core/base/error.h"
#include "core/networks/network/graph.h"

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
