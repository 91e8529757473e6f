/* SPDX-License-Identifier: Apache-2.0
 *
 * What a replica consists of, for the files of this folder.
 */
#ifndef NB_CORE_REPLICA_REPLICA_STATE_H
#define NB_CORE_REPLICA_REPLICA_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/live/relayed.h"
#include "core/replica/awaited.h"
#include "core/replica/replica_settings.h"

struct nb_carried;
struct nb_engine;

struct nb_replica {
    struct nb_engine *engine;
    struct nb_replica_settings settings;
    struct nb_relay relay;
    atomic_uint_fast64_t delivered;
    uint64_t hash; /* of the message there; the follower's */
    atomic_bool is_stopping;
    pthread_mutex_t lock; /* of what follows; taken last, and not while the engine is called */
    pthread_cond_t changed;
    struct nb_awaiting awaiting;
    size_t carried, carried_bytes;
    struct nb_carried *failed, **failed_end; /* in the order of the stream */
};

#endif
