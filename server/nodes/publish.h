/* SPDX-License-Identifier: Apache-2.0
 *
 * What this node sends into the stream. For server/nodes alone, in a build with the library.
 */
#ifndef NB_SERVER_NODES_PUBLISH_H
#define NB_SERVER_NODES_PUBLISH_H

#include <nats/nats.h>

#include "core/base/error.h"
#include "core/base/string.h"

struct nb_witness;

/* As `publish` of nb_replica_settings; `user` is the struct nb_lane. */
int nb_publish(void *user, const char *id, const struct nb_witness *witness, struct nb_string bytes,
               struct nb_error *error);
/* For nb_stream_open: a message was acknowledged, or not. On a thread of the library. */
void nb_publish_acknowledged(jsCtx *context, natsMsg *message, jsPubAck *ack, jsPubAckErr *failed,
                             void *user);

#endif
