/* SPDX-License-Identifier: Apache-2.0
 *
 * Draws a network as DOT for Graphviz or as SVG. Pure functions; any thread.
 *
 * This module lays out the SVG itself: for some dozen nodes, a daemon needs no Graphviz library
 * that parses, allocates and exits on its own terms. Nodes lie in rows, each below all its parents
 * (Sugiyama, Tagawa and Toda 1981: layers by the longest path, and in a layer by the mean place of
 * the parents). Names are escaped; the number of nodes bounds the size of the picture.
 */
#ifndef NB_SERVER_API_DRAW_H
#define NB_SERVER_API_DRAW_H

#include "core/base/buffer.h"
#include "core/networks/network/network.h"

/* Append the picture to `out`. Return 0 or NB_NO_MEMORY. */
int nb_network_dot(const struct nb_network *network, struct nb_string name, struct nb_buffer *out);
int nb_network_svg(const struct nb_network *network, struct nb_string name, struct nb_buffer *out);

#endif
