/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether the stream is the one of this node, and goes on where it is. On the lane's thread. For
 * server/nodes alone, in a build with the library.
 */
#ifndef NB_SERVER_NODES_PLACE_H
#define NB_SERVER_NODES_PLACE_H

#include "core/base/error.h"

struct nb_lane;
struct nb_nodes;
struct nb_stream_state;

/* What all nodes of a stream have in common. Before the others. */
void nb_place_identify(struct nb_nodes *nodes);
/* Connects, unless it is connected, finds or makes the stream, and makes the engine its replica.
 * Returns 0, NB_STOPPING (a later try may succeed) or a code: this node must not follow. */
int nb_place_find(struct nb_lane *lane, struct nb_error *error);
/* Looks whether the stream goes on where this node is. Returns as nb_place_find. */
int nb_place_check(struct nb_lane *lane, const struct nb_stream_state *state,
                   struct nb_error *error);

/* Writes what an administrator should know of the stream, or "". Any thread. */
void nb_place_warning(struct nb_lane *lane, char text[NB_ERROR_TEXT]);

#endif
