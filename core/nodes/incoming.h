/* SPDX-License-Identifier: Apache-2.0
 *
 * What the stream delivers is applied. A change becomes a job of the writer, which groups it with
 * its neighbours; the follower goes on. An errand waits until all before it is done. On the
 * follower's thread.
 */
#ifndef NB_CORE_NODES_INCOMING_H
#define NB_CORE_NODES_INCOMING_H

#include "core/base/error.h"
#include "core/base/string.h"

struct nb_awaited;
struct nb_engine;
struct nb_operation;
struct nb_relayed;
struct nb_replica;

/* All take `awaited`, or NULL: nobody waits; all return 0 or NB_STOPPING. */
int nb_incoming_change(struct nb_replica *replica, const struct nb_operation *operation,
                       const struct nb_relayed *here, struct nb_awaited *awaited);
int nb_incoming_errand(struct nb_replica *replica, const struct nb_operation *operation,
                       const struct nb_relayed *here, struct nb_awaited *awaited);
/* What is not applied by any node: its client is told why, and the stream goes on. */
int nb_incoming_pass(struct nb_replica *replica, const struct nb_relayed *here,
                     struct nb_awaited *awaited, const struct nb_error *why);
/* A task of the writer (nb_writer_run): stores the position, if no change has done it. */
int nb_incoming_store(struct nb_engine *engine, void *unused, struct nb_error *error);

#endif
