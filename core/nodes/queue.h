/* SPDX-License-Identifier: Apache-2.0
 *
 * The queue for changes of documents while the database is away. The changes wait in the node's
 * store, and are published later in their order, many at once. The client learns that its change is
 * queued. The message id consists of a number of the queue and a number of the entry, so that every
 * node recognizes a change that it has applied (core/model/live/relayed.h). Each stream has
 * its own line of entries. Any thread, except where noted.
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

/* Limits for all lines together. With `entries` 0 nothing is queued, but waiting entries are still
 * published. */
struct nb_queue_limits {
    uint64_t bytes, entries;
};

/* Makes the engine's queue and counts the stored entries. To be called before any other use of the
 * engine. The caller frees the queue after the last use of the engine. Returns 0 or a code. */
int nb_queue_new(struct nb_engine *engine, const struct nb_queue_limits *limits,
                 struct nb_queue **queue, struct nb_error *error);
void nb_queue_free(struct nb_queue **queue);

struct nb_queue_state {
    bool is_used;            /* the queue takes changes, or had entries at the start */
    uint64_t entries, bytes; /* number of waiting changes, and their bytes */
    uint64_t refused;        /* changes that failed after they were published, since the start */
};
void nb_queue_state(struct nb_queue *queue, struct nb_queue_state *state);

/* Hands over changes when a node replaces its store `from` by a copy of another node's store, `to`.
 * These are the changes in its queue, and those that it has applied but the other node has not,
 * because the database lost them and continued with others. The new store queues them. They are
 * published with their former ids, so that each is applied once. No other thread may use the
 * engines. Sets *queued and *lost to the numbers of changes of both kinds. Returns 0, NB_CONFLICT
 * (the stores have different numbers of streams) or a code of a store. */
int nb_hand_over(struct nb_engine *from, struct nb_engine *to, uint64_t *queued, uint64_t *lost,
                 struct nb_error *error);

/* ---- for replicas ---------------------------------------------------------------------------- */

/* Whether new changes for stream `which` go to the queue. If the stream can be reached
 * (`is_there`), they do if others wait there already; if not, they do if the queue is enabled. */
bool nb_queue_takes(struct nb_queue *queue, unsigned which, bool is_there);
/* Queues the changes of a batch; called like `submit` of nb_relay. A change that is too large for a
 * message is refused; the others of its batch are queued. */
int nb_queue_submit(struct nb_queue *queue, unsigned which, struct nb_batch *batch,
                    void (*done)(struct nb_batch *, void *), void *done_user,
                    struct nb_error *error);
typedef void nb_queue_visit(void *user, struct nb_string id, struct nb_string message);
/* Visits the first entries of a line: at most `most` entries, and at most `bytes` bytes without the
 * last entry. Returns their number. On the thread of the stream's follower, like the next function.
 */
size_t nb_queue_take(struct nb_queue *queue, unsigned which, size_t most, size_t bytes,
                     nb_queue_visit *visit, void *user);
/* Drops the entries that nb_queue_take visited last; if that fails, they stay. */
void nb_queue_drop(struct nb_queue *queue, unsigned which);
/* Counts a change of the queue `outbox` that has failed with `code`, if this node published entries
 * of that queue last, and the change was not made before (NB_EXISTS). */
void nb_queue_note(struct nb_queue *queue, unsigned which, uint64_t outbox, int code);

#endif
