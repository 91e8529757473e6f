/* SPDX-License-Identifier: Apache-2.0
 *
 * What a replica consists of, and what its files do for each other: outgoing.c has what clients of
 * this node ask for and wait for, incoming.c what the stream delivers, compare.c the digests.
 */
#ifndef NB_CORE_NODES_REPLICA_STATE_H
#define NB_CORE_NODES_REPLICA_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/model/live/relayed.h"
#include "core/model/live/standing.h"
#include "core/nodes/operation.h"
#include "core/nodes/replica.h"

struct nb_awaited;
struct nb_batch;
struct nb_buffer;
struct nb_engine;

struct nb_replica {
    struct nb_engine *engine;
    struct nb_replica_settings settings;
    struct nb_stream_place *place; /* of the engine's standing: what is atomic there is read here */
    struct nb_relay relay;
    atomic_bool is_stopping;
    /* The follower's: */
    uint64_t compare_at;    /* when it asks for digests, */
    uint64_t compared_last; /* and when it has had one; 0: never */
    struct nb_error astray; /* code 0: it may follow; else it has come to what it cannot apply */
    pthread_mutex_t lock;   /* of what follows; taken last, and not while the engine is called */
    pthread_cond_t changed;
    struct nb_point delivered, digested;
    uint64_t instance, published; /* random, and a number: in the ids of its messages */
    struct nb_awaited *awaited, **awaited_end; /* in the order in which they were published */
    size_t carried, carried_bytes;             /* that the writer has */
    struct nb_error failure; /* code not 0: one of them has failed, and all behind it */
};

/* ---- outgoing.c; any thread ------------------------------------------------------------------ */

/* The relay of the replica's engine; its functions are called as core/model/live/relay.h says. */
struct nb_relay nb_outgoing_relay(struct nb_replica *replica);
/* Publishes a message. Returns as `publish` of struct nb_replica_settings, or NB_TOO_LARGE. */
int nb_outgoing_publish(struct nb_replica *replica, const char *id, struct nb_string message,
                        bool lasts, struct nb_error *error);

/* What became of an operation: one of three. */
struct nb_outcome {
    struct nb_batch *
        *batch; /* a change was applied with it; NULL afterwards if a client keeps it */
    const struct nb_errand_done *done; /* an errand was done */
    const struct nb_error *why;        /* it was not made */
};
/* Tells the client that waits for the operation of this id, if there is one. */
void nb_outgoing_answer(struct nb_replica *replica, struct nb_string id,
                        const struct nb_outcome *outcome);
/* Tells all that have waited until `now` why they wait no longer. */
void nb_outgoing_expire(struct nb_replica *replica, uint64_t now, const struct nb_error *why);
/* Whether the client that waits has sent a batch of one change (nb_batch_new). */
bool nb_outgoing_is_single(struct nb_replica *replica, struct nb_string id);

/* ---- incoming.c; the follower's thread ------------------------------------------------------- */

/* Applies the operation, or has the writer do it; NULL: it is passed over, because of `why`.
 * Returns 0, or NB_STOPPING: it is to be delivered again. */
int nb_incoming(struct nb_replica *replica, struct nb_operation *operation,
                const struct nb_relayed *here, const struct nb_error *why, struct nb_error *error);
/* Waits until the writer has nothing. NB_STOPPING: something failed, for a reason that may pass;
 * then `delivered` is what was applied, and what is behind it is to be delivered again. */
int nb_incoming_settle(struct nb_replica *replica, struct nb_error *error);
/* A task of the writer (nb_writer_run): stores the position, if no change has done it. */
int nb_incoming_store(struct nb_engine *engine, void *unused, struct nb_error *error);

/* ---- compare.c; the follower's thread -------------------------------------------------------- */

/* When it begins to follow. */
void nb_compare_begin(struct nb_replica *replica);
/* The operation at the position was applied, and nothing after it: notes the digest, if it asks for
 * that, and this node has not done it lately. */
void nb_compare_note(struct nb_replica *replica, const struct nb_operation *operation,
                     uint64_t position);
/* Asks for it, if it is time. */
void nb_compare_tick(struct nb_replica *replica, uint64_t now);

#endif
