/* SPDX-License-Identifier: Apache-2.0
 *
 * What is asked of this node goes out: it is published as operations, and who asked waits until
 * they come back. Any thread.
 */
#ifndef NB_CORE_NODES_OUTGOING_H
#define NB_CORE_NODES_OUTGOING_H

#include "core/model/live/relayed.h"

struct nb_replica;

/* The relay of the replica's engine; its functions are called as core/model/live/relay.h says. */
struct nb_relay nb_outgoing_relay(struct nb_replica *replica);
/* Publishes a message. Returns as `publish` of struct nb_replica_settings, or NB_TOO_LARGE. */
int nb_outgoing_publish(struct nb_replica *replica, const char *id, struct nb_string message,
                        bool lasts, struct nb_error *error);

/* What became of an operation: one of three. */
struct nb_answer {
    struct nb_batch **batch; /* a change was applied with it; NULL then: a client keeps it */
    const struct nb_relayed_change_done *done; /* a change of a model was done */
    const struct nb_error *why;                /* it was not made */
};
/* Tells the client that waits for the operation of this id, if there is one. */
void nb_outgoing_answer(struct nb_replica *replica, struct nb_string id,
                        const struct nb_answer *answer);
/* Tells all that have waited until `now` why they wait no longer; some times a second. The
 * follower's thread. */
void nb_outgoing_expire(struct nb_replica *replica, uint64_t now, const struct nb_error *why);
/* Whether the client that waits has sent a batch of one change (nb_batch_new). */
bool nb_outgoing_is_single(struct nb_replica *replica, struct nb_string id);

#endif
