/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of this node as one of several, for the files of this folder. Each stream that the node
 * follows has a worker: one thread with one connection. The worker checks that the stream is still
 * the same one, reads it, and writes waiting messages into it (stream.c).
 */
#ifndef NB_SERVER_NODES_STREAM_WORKER_H
#define NB_SERVER_NODES_STREAM_WORKER_H

#include <pthread.h>

#include "core/model/relayed.h"
#include "server/nodes/database.h"
#include "server/nodes/nodes.h"

struct nb_replica;

struct nb_stream_worker {
    struct nb_nodes *nodes;
    unsigned which;
    char *conninfo; /* owned */
    bool is_first;  /* the first worker of its database, which reads the members */
    pthread_t thread;
    int wake;                      /* a bell: a message waits, or an answer is wanted */
    struct nb_replica *replica;    /* NULL: the node does not follow the stream */
    atomic_bool is_outrun;         /* the stream begins after this node's position */
    atomic_uint_fast64_t put_back; /* lost entries that this node has put back */

    /* The next members belong to the worker's thread. */
    struct nb_database *database;
    uint64_t announced; /* when the node last reported */

    struct nb_member *members; /* owned; the lock of the nodes guards this and the next members */
    size_t member_count;
    uint64_t members_read; /* when `members` were read, by nb_clock_monotonic */
    char reason[NB_ERROR_TEXT];
};

struct nb_nodes {
    struct nb_engine *engine;
    const struct nb_config *config;
    atomic_bool stops;
    uint64_t follow; /* a bit for each stream */
    char name[NB_MEMBER_NAME_MOST + 1];
    pthread_mutex_t lock;
    unsigned worker_count;
    struct nb_stream_worker workers[NB_STREAMS_MOST];
};

/* The worker's thread: connects, and follows the stream until the node stops. */
void *nb_follow_main(void *worker);

/* Gives this node's name: the configured one, or one made of the machine's name and the port. */
void nb_member_name(const struct nb_config *config, char name[NB_MEMBER_NAME_MOST + 1]);
/* Reports this node's position in the stream; from then on no node deletes changes after this
 * position. `digested` is as in struct nb_replica. Returns the codes of nb_database_run. */
int nb_member_announce(struct nb_database *database, const struct nb_config *config,
                       unsigned stream, uint64_t applied, struct nb_point digested,
                       struct nb_error *error);
/* If it is time, reports about this node, reads the reports of the other nodes, and deletes changes
 * that no node needs. On the worker's thread. Returns the codes of nb_database_run. */
int nb_member_round(struct nb_stream_worker *worker, struct nb_error *error);

#endif
