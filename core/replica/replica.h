/* SPDX-License-Identifier: Apache-2.0
 *
 * A node of several that share what they learn. What is asked of its engine is published as
 * operations (operation.h) into a stream for all nodes; what the stream delivers is applied by the
 * engine's writer, in the order of the stream, with the position in it in the same transactions.
 * With several streams each model is in one of them, by its name, and a node has a replica for each
 * stream; they share the engine and nothing else. So each operation is applied once, whatever dies
 * when, and a client gets the receipt that one node alone would give. How messages travel is the
 * transport's business (server/nodes).
 *
 * Threads: one thread, the follower, calls nb_replica_deliver, nb_replica_tick and
 * nb_replica_settle. All others are for any thread, except where it says otherwise.
 */
#ifndef NB_CORE_REPLICA_REPLICA_H
#define NB_CORE_REPLICA_REPLICA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/string.h"
#include "core/replica/replica_settings.h"

struct nb_engine;
struct nb_replica;

/* Follows one of the engine's streams; the caller frees it after the last use of the engine, before
 * it is closed. `stream` is the name of all of them; this one was made at `created` and has `last`
 * messages so far. NB_CONFLICT: the store belongs to another cluster, or to another stream of that
 * name (joining.h), is ahead of the stream, has changes that are in none, or other models of it
 * than the settings say (`follow`). NB_STOPPING: the stream does not say what it has. Other codes:
 * of the store. */
int nb_replica_new(struct nb_engine *engine, const struct nb_replica_settings *settings,
                   struct nb_string stream, uint64_t created, uint64_t last,
                   struct nb_replica **replica, struct nb_error *error);
/* The stream says that it was made at another time than before. If this node has nothing of it, or
 * the stream has what was delivered, the store takes over the time; for the recent messages that is
 * compared. Follower. Returns 0; NB_CONFLICT: it is another stream, or a server of it has other
 * messages; NB_STOPPING: the stream does not answer, or the node stops. */
int nb_replica_begin(struct nb_replica *replica, uint64_t created, uint64_t last,
                     struct nb_error *error);
/* Waits for the writer to finish what was delivered; who still waits for an answer is told that the
 * daemon stops. Then the engine has no relay any more. */
void nb_replica_free(struct nb_replica **replica);

/* The name of the streams that the store belongs to, borrowed; NULL: it belongs to none. Before
 * anybody uses the engine. */
const char *nb_replica_stream(const struct nb_engine *engine);

/* The position of the last operation that is on this node's disk, and of the last delivered. */
uint64_t nb_replica_applied(const struct nb_replica *replica);
uint64_t nb_replica_delivered(const struct nb_replica *replica);

/* The nb_chain_hash of the one that was delivered last, by which the follower sees whether the
 * stream still has it: a stream that has lost its end goes on with others. */
uint64_t nb_replica_delivered_hash(const struct nb_replica *replica);

/* What it was given up to the last one, for other nodes to compare; and whether this node was given
 * the same as another one that tells so: 1 yes, 0 no, -1 it is not known, because this node has not
 * come so far, or was there too long ago. */
struct nb_chained nb_replica_told(struct nb_replica *replica);
int nb_replica_agrees(struct nb_replica *replica, struct nb_chained told);

/* Half of the digest that its store had last when the nodes compared them, and where; 0: nowhere.
 * Nodes with the same patterns have the same at one position, if they have learned the same. */
struct nb_chained nb_replica_digested(struct nb_replica *replica);

struct nb_delivery {
    uint64_t position;
    const char *id;
    struct nb_witness witness;
    struct nb_string message;
};

/* Takes the message at a position; one that was delivered before is passed over. Positions ascend;
 * some may be missing. Returns when the writer has it, not when it is applied. What is no operation
 * is passed over, by all nodes, and so is what has no id: NB_CORRUPT says so. What is about a model
 * that this node does not have passes by. NB_VERSION: this node cannot apply it, so that it must
 * not follow any further, from now on. NB_CONFLICT: neither must it, because it was given something
 * else before than the stream has. NB_STOPPING: the node stops, or the stream does not say who is
 * right; the message is to be delivered again. */
int nb_replica_deliver(struct nb_replica *replica, const struct nb_delivery *delivery,
                       struct nb_error *error);
/* Whether it was given what the stream has, as far as that is known: before it begins to follow.
 * Returns 0, NB_CONFLICT or NB_STOPPING; NB_VERSION: it has come to what it cannot apply.
 * Follower. */
int nb_replica_verify(struct nb_replica *replica, struct nb_error *error);
/* Tries again what failed for a reason that may have passed (a full disk), and tells clients that
 * have waited too long. To be called some times a second. */
void nb_replica_tick(struct nb_replica *replica);
/* Waits until all that was delivered is applied. Returns 0 or NB_STOPPING. */
int nb_replica_settle(struct nb_replica *replica);

/* The stream has acknowledged the message of this id: a majority of its servers have it, at
 * `position`. Also if it had it before. A client has no answer before that. */
void nb_replica_acknowledge(struct nb_replica *replica, const char *id, uint64_t position);
/* The message of this id will not come: its client is told why. */
void nb_replica_refuse(struct nb_replica *replica, const char *id, const struct nb_error *why);
/* The node stops: the follower's calls return soon. */
void nb_replica_stop(struct nb_replica *replica);

#endif
