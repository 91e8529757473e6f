/* SPDX-License-Identifier: Apache-2.0
 *
 * Publishes the changes that clients ask of this node as operations. Each client waits until its
 * operations come back. Any thread.
 */
#ifndef NB_CORE_NODES_OUTGOING_H
#define NB_CORE_NODES_OUTGOING_H

#include "core/model/live/relayed.h"

struct nb_replica;

/* The relay of the replica's engine; its functions are called as core/model/live/relay.h says. */
struct nb_relay nb_outgoing_relay(struct nb_replica *replica);
/* Publishes a message. Returns as `publish` of struct nb_replica_settings does, or NB_TOO_LARGE. */
int nb_outgoing_publish(struct nb_replica *replica, const char *id, struct nb_string message,
                        bool lasts, struct nb_error *error);

/* The outcome of an operation; one member is set. */
struct nb_answer {
    struct nb_batch **batch; /* with which a change was applied; set to NULL if a client keeps it */
    const struct nb_relayed_change_done *done; /* a change of a model succeeded */
    const struct nb_error *why;                /* why the operation failed */
};
/* Answers the client that waits for the operation with this id, if there is one. */
void nb_outgoing_answer(struct nb_replica *replica, struct nb_string id,
                        const struct nb_answer *answer);
/* Answers all clients whose time is over at `now`, with `why`. Called some times a second on the
 * follower's thread. */
void nb_outgoing_expire(struct nb_replica *replica, uint64_t now, const struct nb_error *why);
/* Whether the client that waits for this id has sent a batch of one change (nb_batch_new). */
bool nb_outgoing_is_single(struct nb_replica *replica, struct nb_string id);

#endif
