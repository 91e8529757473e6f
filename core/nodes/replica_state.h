/* SPDX-License-Identifier: Apache-2.0
 *
 * What a replica consists of, for the files of this folder.
 */
#ifndef NB_CORE_NODES_REPLICA_STATE_H
#define NB_CORE_NODES_REPLICA_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/model/live/relayed.h"
#include "core/model/live/stream_states.h"
#include "core/nodes/replica_settings.h"

struct nb_awaited;
struct nb_engine;

enum { NB_AWAITED_BUCKETS = 4096 };

struct nb_replica {
    struct nb_engine *engine;
    struct nb_replica_settings settings;
    struct nb_stream_place *place; /* of the engine's standing: what is atomic there is read here */
    struct nb_relay relay;
    atomic_bool is_stopping;
    /* The follower's: */
    uint64_t expire_at;     /* when it tells clients that they have waited too long; */
    uint64_t compare_at;    /* when it asks for digests, */
    uint64_t compared_last; /* and when it has had one; 0: never */
    struct nb_error
        stopped_by;       /* code 0: it may follow; else it has come to what it cannot apply */
    pthread_mutex_t lock; /* of what follows; taken last, and not while the engine is called */
    pthread_cond_t changed;
    struct nb_point delivered, digested;
    uint64_t instance, published; /* random, and a number: in the ids of its messages */
    struct nb_awaited *awaited[NB_AWAITED_BUCKETS];
    size_t carried, carried_bytes; /* that the writer has */
    struct nb_error failure;       /* code not 0: one of them has failed, and all behind it */
};

#endif
