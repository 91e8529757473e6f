/* SPDX-License-Identifier: Apache-2.0
 *
 * What a replica consists of, for the files of this folder.
 */
#ifndef NB_CORE_REPLICA_REPLICA_STATE_H
#define NB_CORE_REPLICA_REPLICA_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/chain/chain.h"
#include "core/live/relayed.h"
#include "core/live/standing.h"
#include "core/replica/awaited.h"
#include "core/replica/replica_settings.h"

struct nb_carried;
struct nb_engine;

struct nb_replica {
    struct nb_engine *engine;
    struct nb_replica_settings settings;
    struct nb_place *place;             /* of the engine's standing: `applied` alone is read here */
    char base[NB_STREAM_NAME_MOST + 1]; /* the name of all streams */
    char stream[NB_STREAM_FULL_MOST + 1]; /* its name */
    struct nb_relay relay;
    atomic_uint_fast64_t delivered;
    atomic_bool is_stopping;
    atomic_bool is_doubted; /* it was given something at another position than the stream says */
    atomic_bool is_astray;  /* it was given what the stream does not have, or what it cannot apply:
                               `astray` says so */
    /* The follower's (attest.h): */
    uint64_t handed; /* the last position that the writer was given; those between it */
    struct nb_relayed
        passed;            /* ... and `delivered` passed by, of which this is the last (part.h) */
    uint64_t passed_since; /* nanoseconds */
    struct nb_link link;   /* at `delivered` */
    struct nb_chain chain; /* added to with the lock held */
    struct nb_error astray;
    uint64_t news; /* the last position with something that others should confirm, by two: */
    uint64_t attested_by[2];
    unsigned attested;
    uint64_t attest_at, attest_wait; /* when they are told next; nanoseconds */
    uint64_t verified, answered;     /* when; 0: never */
    uint64_t compared;               /* so far with the stream's leader, when a node had differed */
    uint64_t warned_of;              /* a member */
    uint64_t compare_at;             /* when it asks for digests (compare.h), */
    uint64_t compared_last;          /* and when it has had one; 0: never */
    bool is_verified;                /* since the start, or that is not possible */
    pthread_mutex_t lock; /* of what follows; taken last, and not while the engine is called */
    pthread_cond_t changed;
    struct nb_chained tip;      /* of the chain */
    struct nb_chained digested; /* half of the digest at a position; 0: none */
    struct nb_awaiting awaiting;
    size_t carried, carried_bytes;
    struct nb_carried *failed, **failed_end; /* in the order of the stream */
};

#endif
