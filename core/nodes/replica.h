/* SPDX-License-Identifier: Apache-2.0
 *
 * A replica makes an engine one of several nodes that share what they learn. It publishes the
 * changes that clients ask for as operations (operation.h) into a stream for all nodes. The
 * engine's writer applies the delivered operations in the order of the stream, and stores the
 * position in the same transactions. So each operation is applied once, whatever dies when, and a
 * client gets the receipt that a single node would give. With several streams each model is in one
 * of them, by its name, and a node has a replica for each stream that it follows; replicas share
 * only the engine. How messages travel is the transport's business (server/nodes).
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

/* Makes a replica for one of the engine's streams, which was made at `made`. The caller frees it
 * after the last use of the engine, before the engine is closed. NB_CONFLICT: the store follows
 * another stream or another number of streams, or has changes that are in no stream. Other codes
 * are the store's. */
int nb_replica_new(struct nb_engine *engine, const struct nb_replica_settings *settings,
                   uint64_t made, struct nb_replica **replica, struct nb_error *error);
/* Waits until the writer has applied all delivered operations, and tells waiting clients that the
 * daemon stops. The engine has no relay afterwards. */
void nb_replica_free(struct nb_replica **replica);

/* Whether the store belongs to one of several nodes. To be called before anybody uses the engine.
 */
bool nb_replica_is_shared(const struct nb_engine *engine);

/* Return the position of the last operation on this node's disk, and that of the last one
 * delivered, with its checksum (core/model/live/stream_states.h). */
uint64_t nb_replica_applied(const struct nb_replica *replica);
struct nb_point nb_replica_delivered(struct nb_replica *replica);

/* Returns half of this store's digest from the last comparison of the nodes, and its position; 0:
 * no comparison yet. Nodes that have learned the same have the same digest at the same position. */
struct nb_point nb_replica_digested(struct nb_replica *replica);

struct nb_delivery {
    uint64_t position, checksum;
    struct nb_string id, message;
};

/* Takes the next message of the stream; skips one that was delivered before. Returns when the
 * writer has the message, not when it is applied. NB_CORRUPT: the message is no operation; all
 * nodes skip it. NB_VERSION: this node cannot apply it, and must not follow the stream any further.
 * NB_STOPPING: applying failed for a reason that may pass (a full disk), which the text gives; the
 * messages behind nb_replica_delivered must be delivered again. */
int nb_replica_deliver(struct nb_replica *replica, const struct nb_delivery *delivery,
                       struct nb_error *error);
/* Says that the last delivered message is the end of the stream: notes, once, that the node has
 * caught up. */
void nb_replica_note_end(struct nb_replica *replica);
/* Answers clients that have waited too long, publishes what is due, and handles failures for a
 * reason that may pass: then nb_replica_delivered goes back to the last applied message, and the
 * later ones must be delivered again. To be called some times a second. */
void nb_replica_tick(struct nb_replica *replica);
/* Waits until all delivered messages are applied. NB_STOPPING: some failed, as above. */
int nb_replica_settle(struct nb_replica *replica);

/* Notes that the published message with this id is in the stream already, and was delivered. */
void nb_replica_find(struct nb_replica *replica, struct nb_string id);
/* Begins to stop: the follower's calls return soon. */
void nb_replica_stop(struct nb_replica *replica);

#endif
