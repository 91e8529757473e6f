/* SPDX-License-Identifier: Apache-2.0
 *
 * A replica makes an engine one of several nodes that share what they learn. It keeps the changes
 * that clients request as operations (operation.h) until they are published into a stream for all
 * nodes (outgoing.c). The engine's writer applies the delivered operations in the order of the
 * stream, and stores the position in the same transactions, so that each is applied exactly once
 * (applying.c). A node has a replica for each stream that it follows. The transport of messages is
 * in server/nodes.
 *
 * Threads: one thread, the follower, calls all functions but nb_replica_new and nb_replica_free.
 */
#ifndef NB_CORE_NODES_REPLICA_H
#define NB_CORE_NODES_REPLICA_H

#include <pthread.h>

#include "core/model/relayed.h"

struct nb_awaited;
struct nb_batch;
struct nb_engine;

struct nb_replica_settings {
    /* Wakes the follower: a message waits, or a thread waits for `looked`. Any thread. */
    void (*wake)(void *user);
    void *user;
    unsigned stream;   /* index of the stream that the replica follows */
    uint64_t patience; /* nanoseconds that a client waits for its change to be applied */
    /* Limits of the queue. With 0 entries nothing is queued, but waiting entries are published. */
    uint64_t queue_entries, queue_bytes;
    /* In milliseconds. Nodes that find the same work due within the same period `same_for` (above
     * 0) publish it with the same id. After each `compare_every`, nodes compare what they have
     * learned (applying.c); 0: never. */
    int64_t same_for, compare_every;
};

/* Whether the stream can be reached. */
enum nb_replica_stream {
    NB_REPLICA_AWAY,     /* changes of clients are queued or refused */
    NB_REPLICA_THERE,    /* changes of clients are published, after those in the queue */
    NB_REPLICA_FORBIDDEN /* the node must not follow: nothing is queued or published */
};

enum {
    NB_AWAITED_MOST = 65536,  /* messages of this node that wait at once */
    NB_TAKEN_MOST = 256,      /* messages that are published or put back at once */
    NB_TAKEN_BYTES = 4 << 20, /* bytes that are published or read at once, without the last one */
};

struct nb_replica {
    /* Set by the follower, for any thread: */
    atomic_int stream;           /* enum nb_replica_stream */
    atomic_uint_fast64_t last;   /* number of the stream's end when it was last read; and ... */
    atomic_uint_fast64_t looked; /* ... when that reading began (nb_clock_monotonic) */
    /* Set by the writer or the follower, for any thread: */
    atomic_uint_fast64_t queued, queued_bytes; /* changes in the queue, and their bytes */
    atomic_uint_fast64_t refused; /* changes that some node had queued, and that failed then */

    struct nb_engine *engine;
    struct nb_replica_settings settings;
    struct nb_stream_place *place; /* in the engine; only atomic members are read here */
    struct nb_relay relay;
    uint64_t instance;   /* a random number, for the ids of this replica's messages */
    uint64_t next_entry; /* number of the next entry of the queue; for the writer only */

    /* For the follower only: */
    uint64_t made;             /* when the stream was made */
    struct nb_point delivered; /* the last operation, with its checksum (relayed.h) */
    int64_t compared;          /* period in which a digest was requested last (compare_every) */
    uint64_t compared_last;    /* when the last digest was taken; 0: never */
    size_t taken, taken_bytes; /* messages that were taken last, and their bytes */
    bool is_taken_queued;      /* whether they came from the queue */
    uint64_t taken_end;        /* the number after the last of them */

    pthread_mutex_t
        lock; /* guards the members below; taken last, not held in calls of the engine */
    pthread_cond_t changed;
    /* The half of this store's digest from the last comparison of the nodes, and its position; 0:
     * there is none. Nodes that have learned the same have the same half at the same position. */
    struct nb_point digested;
    /* Messages that wait for their answers, by number; those before `sent` are in the stream. */
    struct nb_awaited *awaited[NB_AWAITED_MOST]; /* by number % NB_AWAITED_MOST; NULL: answered */
    uint64_t first, sent, next;
    size_t carried, carried_bytes; /* operations that the writer has, and their bytes */
    struct nb_error failure; /* code not 0: one of these operations and all later ones failed */
};

/* Makes a replica for one of the engine's streams, and counts the entries in its queue. The caller
 * frees it after the last use of the engine, before the engine is closed, and after the follower
 * has ended. Returns 0, NB_NO_MEMORY or a code of the store. */
int nb_replica_new(struct nb_engine *engine, const struct nb_replica_settings *settings,
                   struct nb_replica **replica, struct nb_error *error);
/* Waits until the writer has applied all delivered operations, and tells waiting clients that the
 * daemon stops. The engine has no relay afterwards. */
void nb_replica_free(struct nb_replica **replica);

/* Follows the stream, which was made at `made`. NB_CONFLICT: the store follows another stream or
 * another number of streams, or has changes that are in no stream. Other codes are the store's. */
int nb_replica_join(struct nb_replica *replica, uint64_t made, struct nb_error *error);

/* ---- publishing ------------------------------------------------------------------------------ */

typedef void nb_replica_visit(void *user, struct nb_string id, struct nb_string message);
/* Visits the next messages that wait to be published, or, if there are none, the next ones in the
 * queue, in their order. `visit` must not call the replica. Returns their number. */
size_t nb_replica_take(struct nb_replica *replica, nb_replica_visit *visit, void *user);
/* Notes that the messages taken last are in the stream, and how many of them have been delivered.
 * Without this call they are taken again, unless they were delivered. */
void nb_replica_sent(struct nb_replica *replica, size_t delivered);

/* ---- following ------------------------------------------------------------------------------- */

/* Takes the next message of the stream; skips a message that was delivered before. Returns when the
 * writer has the message, not when it is applied. NB_CORRUPT: the message is no operation; all
 * nodes skip it. NB_VERSION: this node cannot apply it, and must stop following the stream.
 * NB_STOPPING: applying failed for a temporary reason (such as a full disk), which the text gives;
 * the messages after `delivered` must be delivered again. */
int nb_replica_deliver(struct nb_replica *replica, const struct nb_traced *message,
                       struct nb_error *error);
/* Tells the replica that the last delivered message was the end of the stream in a reading that
 * began at this time. Notes, once, that the node has caught up. */
void nb_replica_note_end(struct nb_replica *replica, uint64_t began);
/* Answers clients that have waited too long, requests a comparison when it is due, and handles
 * failures for a temporary reason, as nb_replica_settle. To be called some times a second. */
void nb_replica_tick(struct nb_replica *replica);
/* Waits until all delivered messages are applied. NB_STOPPING: some failed for a temporary reason:
 * `delivered` went back to the last applied one, and the later ones must be delivered again. */
int nb_replica_settle(struct nb_replica *replica, struct nb_error *error);

/* ---- clients that wait (outgoing.c); any thread ---------------------------------------------- */

struct nb_relay nb_outgoing_relay(struct nb_replica *replica);
/* Answers the client that waits for the operation with this id, if there is one. One of the others
 * is not NULL: the batch of an applied change, which is set to NULL if the client keeps it; the
 * result of a change of a model; or why the operation failed. */
void nb_outgoing_answer(struct nb_replica *replica, struct nb_string id, struct nb_batch **batch,
                        const struct nb_relayed_change_done *made, const struct nb_error *why);
/* Answers all clients whose patience has ended by `now` with NB_STOPPING and the text `why`. */
void nb_outgoing_expire(struct nb_replica *replica, uint64_t now, const char *why);
/* Whether the client that waits for this id has sent a batch of one change (nb_batch_new). */
bool nb_outgoing_is_single(struct nb_replica *replica, struct nb_string id);

/* ---- the queue (queue.c) --------------------------------------------------------------------- */

/* The id of a queued message consists of a number of the queue and a number of the entry, so that
 * every node recognizes a change that it has applied (nb_once_note). */

/* Counts the stored entries. Returns 0 or a code of the store. */
int nb_queue_count(struct nb_replica *replica, struct nb_error *error);
/* Queues the changes of a batch; called like `submit` of nb_relay. A change that is too large for a
 * message is refused; the others of its batch are queued. */
int nb_queue_submit(struct nb_replica *replica, struct nb_batch *batch,
                    void (*done)(struct nb_batch *, void *), void *done_user,
                    struct nb_error *error);
/* Visits the first entries and counts them in `taken`; drops these. The follower's thread. */
void nb_queue_take(struct nb_replica *replica, nb_replica_visit *visit, void *user);
void nb_queue_drop(struct nb_replica *replica);

/* Hands over changes when a node replaces its store `from` by a copy of another node's store, `to`:
 * those in its queues, and those that it has applied but the other node has not, because the
 * database lost them. The new store queues them with their former ids, so that each is applied
 * once. No other thread may use the stores. Sets *count to their number. Returns 0, NB_CONFLICT
 * (the stores have different numbers of streams) or a code of a store. */
int nb_hand_over(struct nb_engine *from, struct nb_engine *to, uint64_t *count,
                 struct nb_error *error);

#endif
