/* SPDX-License-Identifier: Apache-2.0
 *
 * What is asked of this node goes out: it is published as operations, and who asked waits until
 * they come back.
 */
#ifndef NB_CORE_NODES_OUTGOING_H
#define NB_CORE_NODES_OUTGOING_H

#include "core/model/live/relayed.h"

struct nb_buffer;
struct nb_replica;

/* The relay of the replica's engine; its functions are called as core/model/live/relay.h says. */
struct nb_relay nb_outgoing_relay(struct nb_replica *replica);

/* Publishes a message. Returns as `publish` of struct nb_replica_settings,
 * or NB_TOO_LARGE. Any thread. */
int nb_outgoing_publish(struct nb_replica *replica, const char *id, const struct nb_buffer *message,
                        struct nb_error *error);
/* The same of a message that is published as long as it takes. */
int nb_outgoing_publish_queued(struct nb_replica *replica, const char *id,
                               const struct nb_buffer *message, struct nb_error *error);

#endif
