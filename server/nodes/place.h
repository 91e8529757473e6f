/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether the stream is the one of this node and goes on where it is; and what a node does with one
 * that has lost its end, because another server has taken the place of the database that was
 * behind, or a backup of it was put back: it puts back what it has made of that, at the same
 * positions, with the same ids. On the lane's reader. For server/nodes alone.
 */
#ifndef NB_SERVER_NODES_PLACE_H
#define NB_SERVER_NODES_PLACE_H

#include "core/base/error.h"

struct nb_lane;
struct nb_nodes;

/* What all nodes of a stream have in common. Before the others. */
void nb_place_identify(struct nb_nodes *nodes);
/* Looks at the stream, and makes the engine its replica. The lane is connected. Returns 0,
 * NB_STOPPING (a later try may succeed) or a code: this node must not follow. */
int nb_place_find(struct nb_lane *lane, struct nb_error *error);

#endif
