/* SPDX-License-Identifier: Apache-2.0
 *
 * The members of a replica, for the files of this folder.
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
    struct nb_stream_place *place; /* in the engine; only atomic members are read here */
    struct nb_relay relay;
    atomic_bool is_stopping;
    /* The follower's members: */
    uint64_t expire_at;         /* when clients that have waited too long are answered */
    uint64_t compare_at;        /* when digests are requested */
    uint64_t compared_last;     /* when the last digest came; 0: never */
    struct nb_error stopped_by; /* code not 0: following has ended, because of this */
    pthread_mutex_t lock;       /* of what follows; taken last, not while calling the engine */
    pthread_cond_t changed;
    struct nb_point delivered, digested;
    uint64_t instance, published; /* a random number and a counter, for the ids of its messages */
    struct nb_awaited *awaited[NB_AWAITED_BUCKETS];
    size_t carried, carried_bytes; /* operations that the writer has, and their bytes */
    struct nb_error failure;       /* code not 0: one of these has failed, and all behind it */
};

#endif
