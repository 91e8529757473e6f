/* SPDX-License-Identifier: Apache-2.0
 *
 * The queue of changes that wait for the stream (core/replica/queue.h), as the node uses it;
 * nothing of it is done without `[cluster] queue`. For server/nodes alone.
 */
#ifndef NB_SERVER_NODES_WAITING_H
#define NB_SERVER_NODES_WAITING_H

#include "core/replica/queue.h"

struct nb_lane;
struct nb_nodes;

/* Opens it in the data directory. Returns 0 or a code. */
int nb_nodes_queue_open(struct nb_nodes *nodes, struct nb_error *error);
/* How the stream is now; and logs what was refused, and that the queue cannot be read. The lane's
 * thread. */
void nb_nodes_queue_set(struct nb_lane *lane, enum nb_queue_stream stream);

#endif
