/* SPDX-License-Identifier: Apache-2.0
 *
 * The messages that a replica (replica.h) publishes: changes that clients request from this node,
 * and changes that the writer finds due. They wait for the follower. A client gets its answer when
 * its message is in the stream, on the database's disk, and applied on this node, on its disk.
 */
#ifndef NB_CORE_NODES_OUTGOING_H
#define NB_CORE_NODES_OUTGOING_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/model/live/relayed.h"
#include "core/nodes/queue.h"

struct nb_awaited;
struct nb_operation;

struct nb_replica_settings {
    /* Wakes the follower: a message waits, or a thread wants to know the end of the stream. Any
     * thread. */
    void (*wake)(void *user);
    /* Warns the administrator. On the follower's thread. */
    void (*warn)(void *user, const struct nb_error *why);
    void *user;
    unsigned stream;        /* index of the stream that the replica follows */
    struct nb_queue *queue; /* borrowed */
    uint64_t patience;      /* nanoseconds that a client waits for its change to be applied */
    /* In milliseconds. Nodes that find the same work due within the same period `same_for` (above
     * 0) publish it with the same id. After each `compare_every`, nodes compare what they have
     * learned (replica.c); 0: never. */
    int64_t same_for, compare_every;
};

/* Whether the stream can be reached. */
enum nb_replica_stream {
    NB_REPLICA_AWAY,     /* changes of clients are queued or refused */
    NB_REPLICA_THERE,    /* changes of clients are published, after those in the queue */
    NB_REPLICA_FORBIDDEN /* the node must not follow: nothing is queued or published */
};

enum { NB_AWAITED_MOST = 65536 }; /* messages of this node that wait at once */

struct nb_replica {
    /* Set by the follower, for any thread: */
    atomic_int stream;             /* enum nb_replica_stream */
    atomic_uint_fast64_t last;     /* number of the stream's end when it was last read */
    atomic_uint_fast64_t asked;    /* last ticket of threads that want to know the end; and ... */
    atomic_uint_fast64_t answered; /* ... the last ticket for which `last` is new enough */

    struct nb_engine *engine;
    struct nb_replica_settings settings;
    struct nb_stream_place *place; /* in the engine; only atomic members are read here */
    struct nb_relay relay;
    uint64_t instance; /* a random number, for the ids of this replica's messages */

    /* For the follower only: */
    struct nb_point delivered;  /* the last operation, with its checksum (stream_states.h) */
    int64_t compared;           /* period in which a digest was requested last (compare_every) */
    uint64_t compared_last;     /* when the last digest was taken; 0: never */
    struct nb_error stopped_by; /* code not 0: the reason why following has ended */
    size_t taken;               /* number of the messages that were taken last, ... */
    bool is_taken_queued;       /* ... whether they came from the queue, and if not ... */
    uint64_t taken_end;         /* ... the number after the last of them */

    pthread_mutex_t
        lock; /* guards the members below; taken last, not held in calls of the engine */
    pthread_cond_t changed;
    /* The half of this store's digest from the last comparison of the nodes, and its position; 0:
     * no comparison yet. Nodes that have learned the same have the same half at the same position.
     */
    struct nb_point digested;
    /* Messages that wait for their answers, by number; those before `sent` are in the stream. */
    struct nb_awaited *awaited[NB_AWAITED_MOST]; /* by number % NB_AWAITED_MOST; NULL: answered */
    uint64_t first, sent, next;
    size_t waiting_bytes;          /* bytes of the messages that are not sent yet */
    size_t carried, carried_bytes; /* operations that the writer has, and their bytes */
    struct nb_error failure; /* code not 0: one of these operations and all later ones failed */
};

/* Visits the next messages that wait to be published, or, if there are none, the next ones in the
 * queue, in their order: at most 256 messages, and at most 4 MiB without the last one. `visit` must
 * not call the replica. Returns their number. On the follower's thread, like the next function. */
size_t nb_replica_take(struct nb_replica *replica, nb_queue_visit *visit, void *user);
/* Notes that the messages taken last are in the stream, and how many of them have been delivered.
 * Without this call they are taken again, unless they were delivered. */
void nb_replica_sent(struct nb_replica *replica, size_t delivered);

/* ---- for replica.c; any thread --------------------------------------------------------------- */

/* Returns the relay for the replica's engine (core/model/live/relayed.h). */
struct nb_relay nb_outgoing_relay(struct nb_replica *replica);
/* Publishes an operation that all nodes find due, if the stream can be reached. The id consists of
 * the operation's kind, `of`, and the time in units of `same_for` milliseconds. */
void nb_outgoing_propose(struct nb_replica *replica, const struct nb_operation *operation,
                         uint64_t of, int64_t same_for);

/* The outcome of an operation; one member is set. */
struct nb_answer {
    struct nb_batch **batch; /* the batch of an applied change; set to NULL if a client keeps it */
    const struct nb_relayed_change_done *done; /* a change of a model succeeded */
    const struct nb_error *why;                /* why the operation failed */
};
/* Answers the client that waits for the operation with this id, if there is one. */
void nb_outgoing_answer(struct nb_replica *replica, struct nb_string id,
                        const struct nb_answer *answer);
/* Answers all clients whose patience has ended by `now` with NB_STOPPING and the text `why`. */
void nb_outgoing_expire(struct nb_replica *replica, uint64_t now, const char *why);
/* Whether the client that waits for this id has sent a batch of one change (nb_batch_new). */
bool nb_outgoing_is_single(struct nb_replica *replica, struct nb_string id);

#endif
