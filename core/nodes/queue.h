/* SPDX-License-Identifier: Apache-2.0
 *
 * The queue for changes of documents while the database is away. They wait in the node's store, and
 * are published later in their order, many at once. The client learns that its change is queued.
 * The message id consists of a number of the queue and one of the entry, so that every node
 * recognizes a change that it has applied (core/model/live/stream_states.h). Each stream has a line
 * of its own. Any thread, except where it says otherwise.
 */
#ifndef NB_CORE_NODES_QUEUE_H
#define NB_CORE_NODES_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/string.h"

struct nb_batch;
struct nb_engine;
struct nb_queue;

/* Limits for all lines together; no entries: nothing is queued, and what waits is published. */
struct nb_queue_limits {
    uint64_t bytes, entries;
};

/* Makes the engine's queue and reads the stored entries; to be called before anybody uses the
 * engine. The caller frees the queue after the last use of the engine. Returns 0 or a code. */
int nb_queue_new(struct nb_engine *engine, const struct nb_queue_limits *limits,
                 struct nb_queue **queue, struct nb_error *error);
void nb_queue_free(struct nb_queue **queue);

struct nb_queue_state {
    bool is_used;               /* it takes changes, or had some at the start */
    uint64_t entries, bytes;    /* waiting */
    uint64_t refused;           /* changes that failed when they were published, since the start */
    char reason[NB_ERROR_TEXT]; /* why the last of these failed */
};
void nb_queue_state(struct nb_queue *queue, struct nb_queue_state *state);

/* A node that takes over another node's store hands over changes from its own one: those in its
 * queue, and those that it has applied but the other node has not, because the database lost them
 * and continued with others. The new store queues them. They are published with their former ids,
 * so that each is applied once. No other thread may use the engines. Sets *queued and *lost to the
 * numbers of changes of both kinds. Returns 0, NB_CONFLICT (the stores have different numbers of
 * streams) or a code of a store. */
int nb_hand_over(struct nb_engine *from, struct nb_engine *to, uint64_t *queued, uint64_t *lost,
                 struct nb_error *error);

/* ---- for replicas ---------------------------------------------------------------------------- */

/* Whether changes for a stream that can be reached, or not, have to wait: behind others, or because
 * they can. */
bool nb_queue_takes(struct nb_queue *queue, unsigned which, bool is_there);
/* Queues the changes of a batch that may be queued, as `submit` of nb_relay does. A change that is
 * too large for a message is refused; the others of its batch are queued. */
int nb_queue_submit(struct nb_queue *queue, unsigned which, struct nb_batch *batch,
                    void (*done)(struct nb_batch *, void *), void *done_user,
                    struct nb_error *error);
typedef void nb_queue_visit(void *user, struct nb_string id, struct nb_string message);
/* Visits the first entries of a line, at most `most`, and `bytes` without the last; returns how
 * many. On the thread of the stream's
 * follower, as the next function. */
size_t nb_queue_take(struct nb_queue *queue, unsigned which, size_t most, size_t bytes,
                     nb_queue_visit *visit, void *user);
/* Drops the entries that were taken last; if that fails, they stay. */
void nb_queue_drop(struct nb_queue *queue, unsigned which);
/* Notes why a change of a queue failed, if this node has published it. */
void nb_queue_note(struct nb_queue *queue, unsigned which, uint64_t outbox,
                   const struct nb_error *why);

#endif
