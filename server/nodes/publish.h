/* SPDX-License-Identifier: Apache-2.0
 *
 * What this node writes into a stream: the lane's writer takes all that waits, and one transaction
 * adds it. It takes the next positions, whose row it locks, so that positions are in the order of
 * commits, and a reader never sees one before those below it. What is published meanwhile is in the
 * next one. For server/nodes alone.
 */
#ifndef NB_SERVER_NODES_PUBLISH_H
#define NB_SERVER_NODES_PUBLISH_H

#include <stdbool.h>

#include "core/base/error.h"
#include "core/base/string.h"

struct nb_lane;

/* As `publish` of nb_replica_settings; `user` is the struct nb_lane. Any thread. */
int nb_publish(void *user, const char *id, struct nb_string message, bool lasts,
               struct nb_error *error);
/* The message of this id was delivered: it is not sent any more. The reader. */
void nb_publish_delivered(struct nb_lane *lane, struct nb_string id);
/* The writer's thread. */
void *nb_publish_main(void *lane);
/* Frees what waits still. When the thread has ended. */
void nb_publish_deinit(struct nb_lane *lane);

#endif
