/* SPDX-License-Identifier: Apache-2.0
 *
 * What this node's place among others consists of, for the files of this folder.
 */
#ifndef NB_SERVER_NODES_NODES_STATE_H
#define NB_SERVER_NODES_NODES_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/base/error.h"
#include "core/model/live/relayed.h"
#include "server/nodes/database.h"
#include "server/nodes/latency.h"
#include "server/nodes/told.h"

struct nb_config;
struct nb_engine;
struct nb_published_row;
struct nb_queue;
struct nb_replica;

/* One of the streams that this node follows. A thread reads it, and one writes what this node
 * publishes; each has a connection of its own. */
struct nb_lane {
    struct nb_nodes *nodes;
    unsigned which;
    char *conninfo; /* owned */
    bool is_started;
    pthread_t reader, writer;
    int wake; /* an eventfd: something is in the stream */
    atomic_bool is_following;
    atomic_bool is_outrun;                /* the stream begins after what this node has */
    atomic_uint_fast64_t last;            /* of the stream, as far as it is known */
    atomic_uint_fast64_t made;            /* of the stream; 0: not known yet */
    atomic_uint_fast64_t publishes_after; /* nb_clock_monotonic: the others go first (place.h) */
    atomic_uint_fast64_t put_back;        /* entries that the database had lost */
    pthread_rwlock_t using;               /* held while `replica` is used by other threads */
    struct nb_replica *replica;
    struct nb_database *database; /* the reader's */
    uint64_t announced;           /* when; the reader's, as what follows */
    unsigned twice;               /* entries could not be put back, so often */

    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    char reason[NB_ERROR_TEXT];
    bool is_refused;
    uint64_t whole;           /* when it had all that the stream had */
    uint64_t asked, answered; /* nb_look_ask */
    struct nb_published_row *first, **end;
    size_t entries, bytes;
    size_t doubts; /* of them that may be in the stream */
    struct nb_known_member *members;
    size_t member_count;
    uint64_t members_read;                /* when, by nb_clock_monotonic */
    uint32_t kinds;                       /* of operations that all members know, and ... */
    char oldest[NB_MEMBER_NAME_MOST + 1]; /* ... the name of the one that knows no more */
};

struct nb_nodes {
    struct nb_engine *engine;
    const struct nb_config *config;
    atomic_bool stops;
    struct nb_latency publishing;
    uint64_t follow; /* a bit for each stream */
    char name[NB_MEMBER_NAME_MOST + 1];
    char identity[256];
    struct nb_queue *queue; /* NULL: changes are not kept while the database is away */
    unsigned lane_count;
    struct nb_lane lanes[NB_STREAMS_MOST];
};

#endif
