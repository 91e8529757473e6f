/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a store may follow a stream: it is of the same cluster, and what it has is in the stream.
 *
 * A stream is known by the time at which it was made. But of a stream that several nodes have made
 * at the same moment nats-server (2.9) says the time of another one of them after it has started
 * again. So where the time differs the message is compared that the store has made last: if the
 * stream has it at the same position, it is the same stream, and the store takes over the time. On
 * the follower's thread.
 */
#ifndef NB_CORE_REPLICA_JOINING_H
#define NB_CORE_REPLICA_JOINING_H

#include <stdint.h>

#include "core/base/error.h"

struct nb_replica;

/* Makes the store one of the stream, which was made at `created` and has `last` messages, or finds
 * that it is. `place` and `settings` of the replica are set; all that was delivered is applied.
 * Returns 0; NB_CONFLICT as nb_replica_new; NB_STOPPING: the stream does not say what it has; or
 * another code, of the store. */
int nb_joining_begin(struct nb_replica *replica, uint64_t created, uint64_t last,
                     struct nb_error *error);

#endif
