/* SPDX-License-Identifier: Apache-2.0
 *
 * What a node does with changes of documents while the database is away: they wait in its store,
 * and are published later in their order, many at once. A client is told that its change is queued.
 * The message id is the queue's identity and the number of the entry, by which every node knows a
 * change that it has made (core/model/live/stream_states.h). Each stream has a line of its own.
 *
 * A queue is made before a replica and outlives it: a node that starts while the database is away
 * has none yet. Any thread, except where it says otherwise.
 *
 * Stored form: the messages as core/model/live/messages.h says; in META under "queue" alone the
 * identity, 8 bytes, and the next number, a varint.
 */
#ifndef NB_CORE_NODES_QUEUE_H
#define NB_CORE_NODES_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/model/live/relayed.h"
#include "core/nodes/operation.h"

struct nb_batch;
struct nb_engine;
struct nb_queue;
struct nb_replica;

enum nb_queue_stream {
    NB_QUEUE_AWAY,     /* changes are queued */
    NB_QUEUE_THERE,    /* changes are queued while there are older ones, which are published */
    NB_QUEUE_FORBIDDEN /* the node must not follow: nothing is queued or published */
};

/* What may wait in all lines together. */
struct nb_queue_limits {
    uint64_t bytes, entries;
};

/* Reads what waits and takes the engine's changes; before anybody uses it. The caller frees it
 * after the last use of the engine. Returns 0 or a code. */
int nb_queue_new(struct nb_engine *engine, const struct nb_queue_limits *limits,
                 struct nb_queue **queue, struct nb_error *error);
void nb_queue_free(struct nb_queue **queue);
/* Whether something waits in a store of which nobody has made the queue. */
bool nb_queue_is_left(struct nb_engine *engine);
/* Queues a message with an id of its own, behind all others. Returns 0 or a code of the store. */
int nb_queue_adopt(struct nb_engine *engine, unsigned stream, struct nb_string id,
                   struct nb_string message, struct nb_error *error);

/* How one of the streams is now. */
void nb_queue_set(struct nb_queue *queue, unsigned which, enum nb_queue_stream stream);

struct nb_queue_state {
    uint64_t entries, bytes;    /* that wait */
    uint64_t refused;           /* that were not made when they were published, since the start; */
    char reason[NB_ERROR_TEXT]; /* of the last one */
};
void nb_queue_state(struct nb_queue *queue, struct nb_queue_state *state);

/* ---- for core/nodes; `queue` may be NULL --------------------------------------------------- */

/* Whether changes for a stream have to wait in the queue, or behind it. */
bool nb_queue_takes(struct nb_queue *queue, unsigned which);
/* Queues what may be, as nb_relay's `submit` does. A change that takes more than `most` bytes of a
 * message is refused, and those that came with it are queued. */
int nb_queue_submit(struct nb_queue *queue, unsigned which, struct nb_batch *batch, size_t most,
                    void (*done)(struct nb_batch *, void *), void *done_user,
                    struct nb_error *error);

/* Sets outbox and entry of a message that was queued; leaves those of others. */
void nb_queue_read_id(struct nb_string id, struct nb_relayed *relayed);
/* A message of this id is in the stream, and was delivered or is: one of this node waits no
 * longer. */
void nb_queue_delivered(struct nb_queue *queue, unsigned which, struct nb_string id);
/* Drops what was delivered, and publishes what is next, unless enough is on its way. The stream's
 * follower's thread. */
typedef int nb_queue_publish(struct nb_replica *replica, const char *id, struct nb_string message,
                             bool lasts, struct nb_error *error);
void nb_queue_go_on(struct nb_queue *queue, unsigned which, nb_queue_publish *publish,
                    struct nb_replica *replica);
/* The change was not made: why. */
void nb_queue_note(struct nb_queue *queue, uint64_t outbox, const struct nb_error *why);

#endif
