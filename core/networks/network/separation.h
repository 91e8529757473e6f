/* SPDX-License-Identifier: Apache-2.0
 *
 * d-separation (Pearl 1988): what a graph alone says of independence. Pure functions; any thread.
 */
#ifndef NB_CORE_NETWORKS_NETWORK_SEPARATION_H
#define NB_CORE_NETWORKS_NETWORK_SEPARATION_H

#include "core/base/error.h"
#include "core/networks/network/graph.h"

/* A set of nodes: a byte for each, 0 or 1. */
typedef unsigned char nb_node_set;

/* Sets *separated to whether `given` d-separates every node of `from` from every node of `to` in a
 * graph of arrows: whether no path between them is active. On a path, a node at which two arrows
 * meet lets through if it or a descendant of it is given; any other node if it is not given.
 * (Koller and Friedman 2009, algorithm 3.1: linear in the edges.) The three sets share no node.
 * Returns 0 or NB_NO_MEMORY. */
int nb_graph_separates(const struct nb_graph *graph, const nb_node_set *from, const nb_node_set *to,
                       const nb_node_set *given, bool *separated);

#endif
