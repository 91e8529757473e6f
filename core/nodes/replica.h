/* SPDX-License-Identifier: Apache-2.0
 *
 * A replica makes an engine one of several nodes that share what they learn. It keeps the changes
 * that clients request as operations (operation.h) until they are published into a stream for all
 * nodes. The engine's writer applies the delivered operations in the order of the stream, and
 * stores the position in the same transactions. So each operation is applied exactly once,
 * whichever process fails at whatever time, and a client gets the receipt that a single node would
 * give. If there are several streams, the name of a model decides in which stream it is, and a node
 * has a replica for each stream that it follows; replicas share only the engine and the queue. The
 * transport of messages is in server/nodes.
 *
 * Threads: one thread, the follower, calls all functions but nb_replica_new, nb_replica_free and
 * nb_replica_is_shared.
 */
#ifndef NB_CORE_NODES_REPLICA_H
#define NB_CORE_NODES_REPLICA_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/string.h"
#include "core/model/live/relayed.h"
#include "core/nodes/outgoing.h"

struct nb_engine;

/* Makes a replica for one of the engine's streams. The caller frees it after the last use of the
 * engine, before the engine is closed, and after the follower has ended. Returns 0 or
 * NB_NO_MEMORY. */
int nb_replica_new(struct nb_engine *engine, const struct nb_replica_settings *settings,
                   struct nb_replica **replica, struct nb_error *error);
/* Waits until the writer has applied all delivered operations, and tells waiting clients that the
 * daemon stops. The engine has no relay afterwards. */
void nb_replica_free(struct nb_replica **replica);

/* Whether the store belongs to one of several nodes. To be called before any other use of the
 * engine. */
bool nb_replica_is_shared(const struct nb_engine *engine);

/* Follows the stream, which was made at `made`. NB_CONFLICT: the store follows another stream or
 * another number of streams, or has changes that are in no stream. Other codes are the store's. */
int nb_replica_join(struct nb_replica *replica, uint64_t made, struct nb_error *error);

/* ---- following ------------------------------------------------------------------------------- */

struct nb_delivery {
    uint64_t position, checksum;
    struct nb_string id, message;
};

/* Takes the next message of the stream; skips a message that was delivered before. Returns when the
 * writer has the message, not when it is applied. NB_CORRUPT: the message is no operation; all
 * nodes skip it. NB_VERSION: this node cannot apply it, and must stop following the stream.
 * NB_STOPPING: applying failed for a temporary reason (such as a full disk), which the text gives;
 * the messages after `delivered` must be delivered again. */
int nb_replica_deliver(struct nb_replica *replica, const struct nb_delivery *delivery,
                       struct nb_error *error);
/* Tells the replica that the last delivered message was the end of the stream when the replica's
 * `asked` had this value. Notes, once, that the node has caught up. */
void nb_replica_note_end(struct nb_replica *replica, uint64_t asked);
/* Answers clients that have waited too long, requests a comparison when it is due, and handles
 * failures for a temporary reason: then `delivered` goes back to the last applied message, and the
 * later ones must be delivered again. To be called some times a second. */
void nb_replica_tick(struct nb_replica *replica);
/* Waits until all delivered messages are applied. NB_STOPPING: some failed for a temporary reason.
 */
int nb_replica_settle(struct nb_replica *replica, struct nb_error *error);

#endif
