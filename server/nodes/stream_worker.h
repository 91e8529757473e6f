/* SPDX-License-Identifier: Apache-2.0
 *
 * What this node's place among others consists of, for the files of this folder. Each stream that
 * the node follows has a worker: one thread with one connection, which puts what waits into the
 * stream (publish.c), reads what the stream has (follow.c), and sees whether the stream is still
 * the one that it was (stream.c). All functions are for the worker's thread, except where it says
 * otherwise.
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
struct nb_published_row;
struct nb_queue;
struct nb_replica;

enum { NB_MEMBER_NAME_MOST = 64, NB_LATENCY_BUCKETS = 14 };

/* How long it took to publish. */
struct nb_latency {
    atomic_uint_fast64_t counts[NB_LATENCY_BUCKETS + 1]; /* the last: above all bounds */
    atomic_uint_fast64_t nanoseconds;                    /* in all */
};
extern const double nb_latency_bounds[NB_LATENCY_BUCKETS]; /* the upper ones, in milliseconds */

struct nb_stream_worker {
    struct nb_nodes *nodes;
    unsigned which;
    char *conninfo; /* owned */
    bool is_first;  /* of those that have the same database: it reads the members */
    bool is_started;
    pthread_t thread;
    int wake; /* an eventfd: something waits, or is asked for */
    atomic_bool is_following;
    atomic_bool is_outrun;         /* the stream begins after what this node has */
    atomic_uint_fast64_t last;     /* of the stream, as far as it is known */
    atomic_uint_fast64_t put_back; /* entries that the database had lost */

    /* The thread's, as what follows. */
    struct nb_database *database;
    uint64_t made;        /* of the stream */
    uint64_t announced;   /* when */
    uint64_t put_behind;  /* entries were to be put back there, and were not: */
    unsigned put_in_vain; /* so often */

    struct nb_member *members; /* with members_lock of the nodes, as what follows; owned */
    size_t member_count;
    uint64_t members_read; /* when, by nb_clock_monotonic */

    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    struct nb_replica *replica; /* the thread makes it; it stays */
    char reason[NB_ERROR_TEXT];
    bool is_refused;
    uint64_t whole;                        /* when it had all that the stream had */
    uint64_t asked, answered;              /* nb_stream_worker_look */
    struct nb_published_row *first, **end; /* what waits to be published */
    size_t entries, bytes;
    size_t doubts; /* of them that may be in the stream */
};

struct nb_nodes {
    struct nb_engine *engine;
    const struct nb_config *config;
    atomic_bool stops;
    struct nb_latency publishing;
    uint64_t follow; /* a bit for each stream */
    char name[NB_MEMBER_NAME_MOST + 1];
    char identity[256];     /* what all nodes of a stream have in common */
    struct nb_queue *queue; /* NULL: changes are not kept while the database is away */
    pthread_mutex_t members_lock;
    unsigned worker_count;
    struct nb_stream_worker workers[NB_STREAMS_MOST];
};

/* ---- worker.c ---------------------------------------------------------------------------------
 */

/* Something waits, or is asked for. Any thread. */
void nb_stream_worker_wake(struct nb_stream_worker *worker);
/* As `look` of nb_replica_settings; `user` is the struct nb_stream_worker. Any thread but the
 * worker's. */
int nb_stream_worker_look(void *user, uint64_t *last, struct nb_error *error);
/* As `is_there` of nb_replica_settings. Any thread. */
bool nb_stream_worker_is_there(void *user, uint64_t *last);

/* ---- follow.c -------------------------------------------------------------------------------- */

/* The worker's thread: connects, and follows the stream until the node stops. */
void *nb_follow_main(void *worker);
/* ---- stream.c -------------------------------------------------------------------------------- */

/* Sets identity. Before the others. */
void nb_stream_identify(struct nb_nodes *nodes);
/* Looks whether the stream is the one of this node and goes on where it is, and makes the engine
 * its replica. The worker is connected. Where the stream has lost its end, because another server
 * has taken the place of the database that was behind, or a backup of it was put back, it puts back
 * what this node has made of that, at the same positions, with the same ids. Returns 0, NB_STOPPING
 * (a later try may succeed) or a code: this node must not follow. */
int nb_stream_find(struct nb_stream_worker *worker, struct nb_error *error);

/* ---- publish.c ------------------------------------------------------------------------------- */

/* As `publish` of nb_replica_settings; `user` is the struct nb_stream_worker. Any thread. */
int nb_publish(void *user, const char *id, struct nb_string message, bool lasts,
               struct nb_error *error);
/* Puts what waits into the stream, as much as one transaction takes; what is published meanwhile is
 * in the next one. *has is whether something was. Returns as nb_database_run. */
int nb_publish_some(struct nb_stream_worker *worker, bool *has, struct nb_error *error);
/* Begins the statement that adds entries to the stream behind its last, where it has `after` or is
 * empty; `is_exact`: where `after` is the last, and none of the ids is there. Otherwise an id that
 * is there is not added again. It gives no row if nothing was done; else one for each id that was
 * there, and its position; if there is none, a row without. */
void nb_publish_add_begin(const struct nb_stream_worker *worker, struct nb_point after,
                          bool is_exact, struct nb_sql *sql);
void nb_publish_add(struct nb_sql *sql, struct nb_string id, uint64_t checksum,
                    struct nb_string message);
/* The message of this id was delivered: it is not sent any more. */
void nb_publish_delivered(struct nb_stream_worker *worker, struct nb_string id);
/* Frees what waits still. When the thread has ended. */
void nb_publish_deinit(struct nb_stream_worker *worker);

#endif
