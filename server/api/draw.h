/* SPDX-License-Identifier: Apache-2.0
 *
 * Pictures of a network: DOT for Graphviz, and SVG. Pure functions; any thread.
 *
 * The SVG is laid out here and not by Graphviz: a picture of some dozen nodes needs no library that
 * parses, allocates and exits on its own terms inside a daemon. Nodes lie in rows, each below all
 * its parents (Sugiyama, Tagawa and Toda 1981: layers by the longest path, and in a layer by the
 * mean place of the parents). Names are escaped; the size of the picture is bounded by the nodes.
 */
#ifndef NB_SERVER_API_DRAW_H
#define NB_SERVER_API_DRAW_H

#include "core/base/buffer.h"
#include "core/networks/network/network.h"

/* Append the picture. Return 0 or NB_NO_MEMORY. */
int nb_network_dot(const struct nb_network *network, struct nb_string name, struct nb_buffer *out);
int nb_network_svg(const struct nb_network *network, struct nb_string name, struct nb_buffer *out);

#endif
