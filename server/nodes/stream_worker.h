/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of this node as one of several, for the files of this folder. Each stream that the node
 * follows has a worker: one thread with one connection. The worker checks that the stream is still
 * the same one, reads it, and writes waiting messages into it (stream.c).
 */
#ifndef NB_SERVER_NODES_STREAM_WORKER_H
#define NB_SERVER_NODES_STREAM_WORKER_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/base/error.h"
#include "core/model/live/relayed.h"
#include "server/nodes/database.h"

struct nb_config;
struct nb_engine;
struct nb_member;
struct nb_queue;
struct nb_replica;

enum { NB_MEMBER_NAME_MOST = 64 };

struct nb_stream_worker {
    struct nb_nodes *nodes;
    unsigned which;
    char *conninfo; /* owned */
    bool is_first;  /* the first worker of its database, which reads the members */
    bool is_started;
    pthread_t thread;
    int wake;                      /* an eventfd: a message waits, or an answer is wanted */
    struct nb_replica *replica;    /* NULL: the node does not follow the stream */
    atomic_bool is_outrun;         /* the stream begins after this node's position */
    atomic_uint_fast64_t put_back; /* lost entries that this node has put back */
    atomic_uint_fast64_t whole;    /* when this node last had the whole stream */

    /* The next members belong to the worker's thread. */
    struct nb_database *database;
    uint64_t made;      /* when the stream was created */
    uint64_t announced; /* when the node last reported */

    struct nb_member *members; /* owned; members_lock of the nodes guards this and the next two */
    size_t member_count;
    uint64_t members_read; /* when `members` were read, by nb_clock_monotonic */

    pthread_mutex_t lock; /* guards `reason` */
    char reason[NB_ERROR_TEXT];
};

struct nb_nodes {
    struct nb_engine *engine;
    const struct nb_config *config;
    atomic_bool stops;
    uint64_t follow; /* a bit for each stream */
    char name[NB_MEMBER_NAME_MOST + 1];
    char identity[256]; /* the same for all nodes of a stream */
    struct nb_queue *queue;
    bool has_queue; /* the queue takes changes, or had some at the start */
    pthread_mutex_t members_lock;
    unsigned worker_count;
    struct nb_stream_worker workers[NB_STREAMS_MOST];
};

/* Sets `identity`. To be called before the other functions. */
void nb_stream_identify(struct nb_nodes *nodes);
/* The main function of the worker's thread: connects, and follows the stream until the node stops.
 */
void *nb_follow_main(void *worker);

#endif
