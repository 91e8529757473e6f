/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes that were delivered and that the writer has. What fails for a reason that may pass is
 * refused by the writer together with all that follows (nb_standing_stage), comes back here, and is
 * tried again in order. On the follower's thread.
 */
#ifndef NB_CORE_NODES_CARRIED_H
#define NB_CORE_NODES_CARRIED_H

#include <stddef.h>

#include "core/base/error.h"

struct nb_awaited;
struct nb_operation;
struct nb_relayed;
struct nb_replica;

/* Hands the change at `here` to the writer, who ends `awaited` (NULL: nobody waits). On failure
 * `awaited` is still the caller's. */
int nb_carried_add(struct nb_replica *replica, const struct nb_operation *operation,
                   const struct nb_relayed *here, struct nb_awaited *awaited,
                   struct nb_error *error);

/* Waits until the writer has room for another one. */
void nb_carried_wait(struct nb_replica *replica);
/* Tries again what has failed. */
void nb_carried_retry(struct nb_replica *replica);
/* Waits until all is applied. Returns 0 or NB_STOPPING. */
int nb_carried_settle(struct nb_replica *replica);
/* Before something that may pass is tried again. */
void nb_carried_pause(void);
/* Waits until the writer has none, and forgets those that failed; their clients are told. */
void nb_carried_drop(struct nb_replica *replica, const struct nb_error *why);

#endif
