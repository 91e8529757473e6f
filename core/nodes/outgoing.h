/* SPDX-License-Identifier: Apache-2.0
 *
 * What a replica (replica.h) publishes: the changes that clients ask of this node, and those that
 * the writer finds due. They wait for the follower. A client gets its answer when its message is in
 * the stream, on the database's disk, and applied and on this node's disk, too.
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
    /* Wakes the follower: a message waits, or an answer is wanted. Any thread. */
    void (*wake)(void *user);
    /* Passes on something that the administrator should know. Follower's thread. */
    void (*warn)(void *user, const struct nb_error *why);
    void *user;
    unsigned stream;        /* index of the stream that the replica follows */
    struct nb_queue *queue; /* borrowed */
    uint64_t patience;      /* nanoseconds that a client waits for its change to come back */
    /* Milliseconds, above 0, during which nodes that find the same work due publish it with the
     * same id; and after which nodes compare what they have learned (replica.c), 0: they do not. */
    int64_t same_for, compare_every;
};

/* Whether the stream can be reached. */
enum nb_replica_stream {
    NB_REPLICA_AWAY,     /* changes of clients are queued or refused */
    NB_REPLICA_THERE,    /* they are published, behind those in the queue */
    NB_REPLICA_FORBIDDEN /* the node must not follow: nothing is queued or published */
};

enum { NB_AWAITED_MOST = 65536 }; /* messages of this node */

struct nb_replica {
    /* Set by the follower, for any thread: */
    atomic_int stream;             /* enum nb_replica_stream */
    atomic_uint_fast64_t last;     /* the end of the stream, as far as known */
    atomic_uint_fast64_t asked;    /* tickets given to threads that want to know the end; and ... */
    atomic_uint_fast64_t answered; /* ... the last one for which `last` is new enough */

    struct nb_engine *engine;
    struct nb_replica_settings settings;
    struct nb_stream_place *place; /* in the engine; only atomic members are read here */
    struct nb_relay relay;
    uint64_t instance; /* a random number, for the ids of its messages */

    /* The follower's members: */
    struct nb_point delivered;  /* the last operation, with its checksum (stream_states.h) */
    int64_t compared;           /* the turn in which a digest was asked for last */
    uint64_t compared_last;     /* when the last digest came; 0: never */
    struct nb_error stopped_by; /* code not 0: following has ended, because of this */
    size_t taken;               /* messages taken last ... */
    bool is_taken_queued;       /* ... whether from the queue, else ... */
    uint64_t taken_end;         /* ... the number behind them */

    pthread_mutex_t lock; /* of what follows; taken last, not while calling the engine */
    pthread_cond_t changed;
    /* Half of this store's digest from the last comparison of the nodes, and its position; 0: no
     * comparison yet. Nodes that have learned the same have the same one at the same position. */
    struct nb_point digested;
    /* Messages that wait for their answers, by number; those before `sent` are in the stream. */
    struct nb_awaited *awaited[NB_AWAITED_MOST]; /* at number % NB_AWAITED_MOST; NULL: it is over */
    uint64_t first, sent, next;
    size_t waiting_bytes;          /* of those that are not sent */
    size_t carried, carried_bytes; /* operations that the writer has, and their bytes */
    struct nb_error failure;       /* code not 0: one of these has failed, and all behind it */
};

/* Visits the next messages that wait to be published, or else those that wait in the queue, in
 * their order: at most 256, and 4 MiB without the last. `visit` must not call the replica. Returns
 * how many there were. On the follower's thread, as the next function. */
size_t nb_replica_take(struct nb_replica *replica, nb_queue_visit *visit, void *user);
/* Notes that the messages taken last are in the stream, and how many of them were delivered before.
 * Without this they are taken again, unless they were delivered. */
void nb_replica_sent(struct nb_replica *replica, size_t delivered);

/* ---- for replica.c; any thread --------------------------------------------------------------- */

/* The relay of the replica's engine; its functions are called as core/model/live/relayed.h says. */
struct nb_relay nb_outgoing_relay(struct nb_replica *replica);
/* Publishes an operation that all nodes find due, if the stream is there. Its id is made of its
 * kind, `of`, and the time in units of `same_for` milliseconds. */
void nb_outgoing_propose(struct nb_replica *replica, const struct nb_operation *operation,
                         uint64_t of, int64_t same_for);

/* The outcome of an operation; one member is set. */
struct nb_answer {
    struct nb_batch **batch; /* with which a change was applied; set to NULL if a client keeps it */
    const struct nb_relayed_change_done *done; /* a change of a model succeeded */
    const struct nb_error *why;                /* why the operation failed */
};
/* Answers the client that waits for the operation with this id, if there is one. */
void nb_outgoing_answer(struct nb_replica *replica, struct nb_string id,
                        const struct nb_answer *answer);
/* Answers all clients whose time is over at `now` with NB_STOPPING and the text `why`. */
void nb_outgoing_expire(struct nb_replica *replica, uint64_t now, const char *why);
/* Whether the client that waits for this id has sent a batch of one change (nb_batch_new). */
bool nb_outgoing_is_single(struct nb_replica *replica, struct nb_string id);

#endif
