/* SPDX-License-Identifier: Apache-2.0
 *
 * The queue for changes of documents while the database is away. They wait in the node's store, and
 * are published later in their order, many at once. The client learns that its change is queued.
 * The message id consists of the queue's identity and the number of the entry, so that every node
 * recognizes a change that it has applied (core/model/live/stream_states.h). Each stream has a line
 * of its own.
 *
 * A queue is made before a replica and outlives it: a node that starts while the database is away
 * has no replica yet. Any thread, except where it says otherwise.
 *
 * Stored form: the messages as core/model/live/messages.h says; META has under "queue" only the
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
    NB_QUEUE_THERE,    /* older entries are being published; new ones queue behind them */
    NB_QUEUE_FORBIDDEN /* the node must not follow: nothing is queued or published */
};

/* Limits for all lines together. */
struct nb_queue_limits {
    uint64_t bytes, entries;
};

/* Makes the engine's queue and reads the stored entries; to be called before anybody uses the
 * engine. The caller frees the queue after the last use of the engine. Returns 0 or a code. */
int nb_queue_new(struct nb_engine *engine, const struct nb_queue_limits *limits,
                 struct nb_queue **queue, struct nb_error *error);
void nb_queue_free(struct nb_queue **queue);
/* Whether entries wait in a store whose queue was not made. */
bool nb_queue_is_left(struct nb_engine *engine);
/* Queues a message with an id of its own, behind all others. Returns 0 or a code of the store. */
int nb_queue_adopt(struct nb_engine *engine, unsigned stream, struct nb_string id,
                   struct nb_string message, struct nb_error *error);

/* Sets the state of one of the streams. */
void nb_queue_set(struct nb_queue *queue, unsigned which, enum nb_queue_stream stream);

struct nb_queue_state {
    uint64_t entries, bytes;    /* waiting */
    uint64_t refused;           /* changes that failed when they were published, since the start */
    char reason[NB_ERROR_TEXT]; /* why the last of these failed */
};
void nb_queue_state(struct nb_queue *queue, struct nb_queue_state *state);

/* ---- for core/nodes; `queue` may be NULL ----------------------------------------------------- */

/* Whether changes for a stream have to wait in the queue, or behind it. */
bool nb_queue_takes(struct nb_queue *queue, unsigned which);
/* Queues the changes of a batch that may be queued, as `submit` of nb_relay does. A change whose
 * message takes more than `most` bytes is refused; the others of its batch are queued. */
int nb_queue_submit(struct nb_queue *queue, unsigned which, struct nb_batch *batch, size_t most,
                    void (*done)(struct nb_batch *, void *), void *done_user,
                    struct nb_error *error);

/* Sets outbox and entry from the id of a queued message; leaves them if another kind of message has
 * it. */
void nb_queue_read_id(struct nb_string id, struct nb_relayed *relayed);
/* Notes that the message with this id is in the stream. If this node queued it, it waits no longer.
 */
void nb_queue_delivered(struct nb_queue *queue, unsigned which, struct nb_string id);
/* Drops delivered entries and publishes the next ones, unless enough are on their way. On the
 * thread of the stream's follower. */
typedef int nb_queue_publish(struct nb_replica *replica, const char *id, struct nb_string message,
                             bool lasts, struct nb_error *error);
void nb_queue_go_on(struct nb_queue *queue, unsigned which, nb_queue_publish *publish,
                    struct nb_replica *replica);
/* Notes why a queued change failed. */
void nb_queue_note(struct nb_queue *queue, uint64_t outbox, const struct nb_error *why);

#endif
