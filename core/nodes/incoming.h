/* SPDX-License-Identifier: Apache-2.0
 *
 * What the stream delivers is applied. On the follower's thread.
 */
#ifndef NB_CORE_NODES_INCOMING_H
#define NB_CORE_NODES_INCOMING_H

#include "core/model/live/relayed.h"

struct nb_engine;
struct nb_operation;
struct nb_replica;

/* Applies the operation, or has the writer do it; NULL: it is passed over, because of `why`.
 * Returns 0, or NB_STOPPING: it is to be delivered again. */
int nb_incoming(struct nb_replica *replica, struct nb_operation *operation,
                const struct nb_relayed *here, const struct nb_error *why, struct nb_error *error);
/* Waits until the writer has nothing. NB_STOPPING: something failed, for a reason that may pass;
 * then `delivered` is what was applied, and what is behind it is to be delivered again. */
int nb_incoming_settle(struct nb_replica *replica, struct nb_error *error);
/* A task of the writer (nb_writer_run): stores the position, if no change has done it. */
int nb_incoming_store(struct nb_engine *engine, void *unused, struct nb_error *error);

#endif
