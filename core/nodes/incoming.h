/* SPDX-License-Identifier: Apache-2.0
 *
 * Applies the operations that the stream delivers. On the follower's thread.
 */
#ifndef NB_CORE_NODES_INCOMING_H
#define NB_CORE_NODES_INCOMING_H

#include "core/model/live/relayed.h"

struct nb_engine;
struct nb_operation;
struct nb_replica;

/* Applies the operation, or passes it to the writer; NULL: skips it, because of `why`. Returns 0,
 * or NB_STOPPING: the stream must deliver it again. */
int nb_incoming(struct nb_replica *replica, struct nb_operation *operation,
                const struct nb_relayed *here, const struct nb_error *why, struct nb_error *error);
/* Waits until the writer has applied all operations. NB_STOPPING: one failed for a reason that may
 * pass. Then `delivered` goes back to the last one applied, and the stream must deliver the later
 * ones again. */
int nb_incoming_settle(struct nb_replica *replica, struct nb_error *error);
/* A task of the writer (nb_writer_run): stores the position, if no change has done it. */
int nb_incoming_store(struct nb_engine *engine, void *unused, struct nb_error *error);

#endif
