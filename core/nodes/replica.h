/* SPDX-License-Identifier: Apache-2.0
 *
 * A node of several that share what they learn. What is asked of its engine is published as
 * operations (operation.h) into a stream for all nodes; what the stream delivers is applied by the
 * engine's writer, in the order of the stream, with the position in it in the same transactions.
 * With several streams each model is in one of them, by its name, and a node has a replica for each
 * stream that it follows; they share the engine and nothing else. So each operation is applied
 * once, whatever dies when, and a client gets the receipt that one node alone would give. How
 * messages travel is the transport's business (server/nodes).
 *
 * Threads: one thread, the follower, calls nb_replica_deliver, nb_replica_tick, nb_replica_settle
 * and nb_replica_note_end. All others are for any thread, except where it says otherwise.
 */
#ifndef NB_CORE_NODES_REPLICA_H
#define NB_CORE_NODES_REPLICA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/string.h"
#include "core/model/live/relayed.h"
#include "core/nodes/replica_settings.h"

struct nb_engine;
struct nb_replica;

/* Follows one of the engine's streams, which was made at `made`; the caller frees it after the last
 * use of the engine, before it is closed. NB_CONFLICT: the store follows another stream, or
 * another number of them, or has changes that are in none. Other codes: of the store. */
int nb_replica_new(struct nb_engine *engine, const struct nb_replica_settings *settings,
                   uint64_t made, struct nb_replica **replica, struct nb_error *error);
/* Waits for the writer to finish what was delivered; who still waits for an answer is told that the
 * daemon stops. Then the engine has no relay any more. */
void nb_replica_free(struct nb_replica **replica);

/* Whether the store is that of one of several nodes. Before anybody uses the engine. */
bool nb_replica_is_shared(const struct nb_engine *engine);

/* The position of the last operation that is on this node's disk; and the last one delivered, with
 * its checksum (core/model/live/stream_states.h). */
uint64_t nb_replica_applied(const struct nb_replica *replica);
struct nb_point nb_replica_delivered(struct nb_replica *replica);

/* Half of the digest that its store had last when the nodes compared them, and where; 0: nowhere.
 * Nodes have the same at one position, if they have learned the same. */
struct nb_point nb_replica_digested(struct nb_replica *replica);

struct nb_delivery {
    uint64_t position, checksum;
    struct nb_string id, message;
};

/* Takes the message at the position behind the last one; one that was delivered before is passed
 * over. Returns when the writer has it, not when it is applied. What is no operation is passed
 * over, by all nodes: NB_CORRUPT says so. NB_VERSION: this node cannot apply it, so that it must
 * not follow any further, from now on. NB_STOPPING: it failed for a reason that may pass (a full
 * disk), which the text says; what is behind nb_replica_delivered is to be delivered again. */
int nb_replica_deliver(struct nb_replica *replica, const struct nb_delivery *delivery,
                       struct nb_error *error);
/* What was delivered last is the end of the stream: notes, once, that the node has caught up. */
void nb_replica_note_end(struct nb_replica *replica);
/* Tells clients that have waited too long, publishes what is due, and sees to what has failed for a
 * reason that may pass: then nb_replica_delivered goes back to what was applied, and what is behind
 * it is to be delivered again. To be called some times a second. */
void nb_replica_tick(struct nb_replica *replica);
/* Waits until all that was delivered is applied. NB_STOPPING: some of it failed, as above. */
int nb_replica_settle(struct nb_replica *replica);

/* A message that was published is in the stream already, and was delivered. */
void nb_replica_find(struct nb_replica *replica, struct nb_string id);
/* The node stops: the follower's calls return soon. */
void nb_replica_stop(struct nb_replica *replica);

#endif
