/* SPDX-License-Identifier: Apache-2.0
 *
 * What a node does with changes of documents while the stream is away: they wait in its outbox, and
 * are published later in their order, one after the other; those that come meanwhile wait behind
 * them. A client is told that its change is queued. The message id is the outbox's identity and the
 * number of the entry, by which every node knows a change that it has made (core/live/once.h). With
 * several streams there is one queue, so that one of them that is away holds up those behind.
 *
 * A queue is made before a replica and outlives it: a node that starts while the stream is away has
 * none yet. Any thread, except where it says otherwise.
 */
#ifndef NB_CORE_REPLICA_QUEUE_H
#define NB_CORE_REPLICA_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/live/relayed.h"
#include "core/outbox/outbox.h"
#include "core/replica/operation.h"

struct nb_batch;
struct nb_carried;
struct nb_engine;
struct nb_queue;
struct nb_replica;

enum nb_queue_stream {
    NB_QUEUE_AWAY,     /* changes are queued */
    NB_QUEUE_THERE,    /* changes are queued while there are older ones, which are published */
    NB_QUEUE_FORBIDDEN /* the node must not follow: nothing is queued or published */
};

/* Opens the outbox in the folder and takes the engine's changes; before anybody uses it. The caller
 * frees it after the last use of the engine. Returns 0 or a code of nb_outbox_open. */
int nb_queue_new(struct nb_engine *engine, const char *folder,
                 const struct nb_outbox_limits *limits, struct nb_queue **queue,
                 struct nb_error *error);
void nb_queue_free(struct nb_queue **queue);

/* How one of the streams is now. */
void nb_queue_set(struct nb_queue *queue, unsigned which, enum nb_queue_stream stream);

struct nb_queue_state {
    uint64_t entries, bytes;    /* that wait */
    uint64_t refused;           /* that were not made when they were published, since the start; */
    char reason[NB_ERROR_TEXT]; /* of the last one */
    char unreadable[NB_ERROR_TEXT]; /* why the oldest cannot be read, and so none of them is
                                       published; "": it can, or nobody has tried */
};
void nb_queue_state(struct nb_queue *queue, struct nb_queue_state *state);

/* ---- for core/replica; `queue` may be NULL --------------------------------------------------- */

/* Whether changes for a stream have to wait in the queue, or behind it. */
bool nb_queue_takes(struct nb_queue *queue, unsigned which);
/* Queues what may be, and ends the batch as nb_relay's `submit` does. A change that takes more than
 * `most` bytes of a message is refused, and those that came with it are queued. */
void nb_queue_submit(struct nb_queue *queue, struct nb_batch *batch, size_t most,
                     void (*done)(struct nb_batch *, void *), void *done_user);

/* Sets outbox and entry of a message that was queued; leaves those of others. */
void nb_queue_read_id(const char *id, struct nb_relayed *relayed);
/* A message was delivered: if it is this node's it waits no longer. */
void nb_queue_delivered(struct nb_queue *queue, const struct nb_relayed *relayed);
/* Publishes the oldest, if it is for this stream, unless it is on its way; with the id that it had
 * before if it was published less than about `same_for` milliseconds ago. The stream's follower's
 * thread. */
typedef int nb_queue_publish(struct nb_replica *replica, const char *id,
                             const struct nb_buffer *message, struct nb_error *error);
void nb_queue_go_on(struct nb_queue *queue, unsigned which, int64_t same_for,
                    nb_queue_publish *publish, struct nb_replica *replica);
/* The message of this id was not taken: it is published again. */
void nb_queue_refused(struct nb_queue *queue, const char *id);
/* The change was not made: why. */
void nb_queue_note(struct nb_queue *queue, uint64_t outbox, const struct nb_error *why);

#endif
