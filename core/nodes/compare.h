/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether nodes have learned the same: the digest of their stores (digest.h) says so, at one
 * position for all:
 * that of a message which changes nothing and asks for it. Now and then a node publishes one, if no
 * other has; each node that comes to it notes its digest, which members tell each other. A store
 * that takes too long to read has none: it makes no changes meanwhile. On the follower's thread.
 */
#ifndef NB_CORE_NODES_COMPARE_H
#define NB_CORE_NODES_COMPARE_H

#include <stdint.h>

struct nb_operation;
struct nb_replica;

/* When it begins to follow. */
void nb_compare_begin(struct nb_replica *replica);
/* The operation at the position was applied, and nothing after it: notes the digest, if it asks for
 * that, and this node has not done it lately. */
void nb_compare_note(struct nb_replica *replica, const struct nb_operation *operation,
                     uint64_t position);
/* Asks for it, if it is time. */
void nb_compare_tick(struct nb_replica *replica, uint64_t now);

#endif
