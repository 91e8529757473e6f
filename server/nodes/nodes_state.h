/* SPDX-License-Identifier: Apache-2.0
 *
 * What this node's place consists of, for the files of this folder, in a build with the library.
 */
#ifndef NB_SERVER_NODES_NODES_STATE_H
#define NB_SERVER_NODES_NODES_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "server/nodes/lag.h"
#include "server/nodes/latency.h"
#include "server/nodes/stream.h"

struct nb_config;
struct nb_engine;
struct nb_known;
struct nb_members;
struct nb_nodes;
struct nb_queue;
struct nb_replica;

/* One of the streams, which a thread of its own follows, on a connection of its own. */
struct nb_lane {
    struct nb_nodes *nodes;
    unsigned which;
    char name[NB_STREAM_FULL_MOST + 1];
    pthread_t thread;
    bool is_started; /* the thread */
    atomic_bool is_following;
    atomic_bool is_outrun;        /* the stream begins after what this node has */
    atomic_uint_fast64_t last;    /* of the stream */
    atomic_uint copies, replicas; /* that are whole, and that the stream is to have; 0: unknown */
    pthread_mutex_t lock;         /* of what follows */
    char reason[NB_ERROR_TEXT];
    struct nb_lag lag;
    bool is_refused;
    pthread_rwlock_t using; /* held while `stream` and `replica` are used by other threads */
    struct nb_stream stream;
    struct nb_replica *replica;
    /* The thread's: */
    uint64_t created;     /* of the stream */
    uint64_t short_since; /* when it was found to have less than this node; 0: it has all */
};

struct nb_nodes {
    struct nb_engine *engine;
    const struct nb_config *config;
    atomic_bool stops;
    struct nb_latency publishing;
    char identity[256];
    pthread_mutex_t lock;     /* of what follows */
    uint32_t kinds;           /* of operations that all members know, and ... */
    char oldest[80];          /* ... the name of the one that knows no more */
    uint64_t refused;         /* of the queue, that were logged */
    bool is_queue_unreadable; /* that was logged */
    struct nb_queue *queue;   /* NULL: changes are not kept while the stream is away */
    struct nb_members *members;
    struct nb_known *known;
    unsigned lane_count;
    struct nb_lane lanes[NB_STREAMS_MOST];
};

#endif
