/* SPDX-License-Identifier: Apache-2.0
 *
 * What the stream has is read and given to the replica. For server/nodes alone.
 */
#ifndef NB_SERVER_NODES_FOLLOW_H
#define NB_SERVER_NODES_FOLLOW_H

struct nb_lane;

/* The reader's thread: connects, and follows the stream until the node stops. */
void *nb_follow_main(void *lane);

#endif
