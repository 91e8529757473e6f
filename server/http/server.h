/* SPDX-License-Identifier: Apache-2.0
 *
 * The data that all requests of the daemon share, and the configuration in force. Any thread.
 */
#ifndef NB_SERVER_HTTP_SERVER_H
#define NB_SERVER_HTTP_SERVER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/config.h"
#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/base/string.h"
#include "server/base/log.h"
#include "server/http/budget.h"

struct nb_access;
struct nb_challengers;
struct nb_config;
struct nb_engine;
struct nb_evaluations;
struct nb_events;
struct nb_limits;
struct nb_metrics;
struct nb_nodes;
struct nb_route;
struct nb_scratch_pool;
struct nb_tls;
struct nb_user_map;
struct nb_work_pool;

/* The options and the objects made from them, as one immutable value. A
 * reload replaces the value; a request keeps the one that it began with to its end. So every
 * request sees one configuration, and nobody waits for a reload.
 *
 * Everything else that is made from options and reloaded with them (certificates, lists) is a
 * member here: nb_configuration_new makes it, and if that fails the old value stays in force. */
struct nb_configuration {
    struct nb_config config;   /* owned */
    struct nb_access *access;  /* owned */
    struct nb_tls *tls;        /* owned; NULL: there is no certificate */
    struct nb_user_map *users; /* owned; NULL: every name is a user */
    atomic_uint holders;       /* private to server.c */
};

/* Takes over the strings of `config`, also on failure, and makes the other members. The caller
 * holds the result. Returns 0, NB_NO_MEMORY, or NB_INVALID for contradictory options. */
int nb_configuration_new(struct nb_config *config, const struct nb_configuration **made,
                         struct nb_error *error);

/* Releases a hold; the last holder frees the value. *configuration may be NULL. */
void nb_configuration_release(const struct nb_configuration **configuration);

/* Made before the serving threads start and freed after they have ended. The counters and flags are
 * for any thread; nothing else changes in between. All pointers are borrowed; their targets are
 * thread-safe or read-only. */
struct nb_server {
    pthread_mutex_t lock; /* guards in_force; no other lock is taken while it is held */
    const struct nb_configuration *in_force; /* private to nb_configurations_...; held */
    const struct nb_config *startup; /* the options at the start, for those that need a restart */
    const struct nb_route *routes;   /* HTTP routes; in metrics, line protocols' routes follow */
    size_t route_count;
    struct nb_engine *engine;
    struct nb_metrics *metrics;
    struct nb_nodes *nodes; /* the other nodes that share learning; NULL: there are none */
    /* Return whether this node has ever caught up with the others, and whether it follows the model
     * with this name. */
    bool (*has_caught_up)(struct nb_nodes *nodes);
    bool (*follows)(struct nb_nodes *nodes, struct nb_string name);
    /* Appends the URLs of the nodes that follow a model, each with a NUL behind, up to `most`
     * bytes. Returns 0 or NB_NO_MEMORY. */
    int (*list_followers)(struct nb_nodes *nodes, struct nb_string model, size_t most,
                          struct nb_buffer *urls);
    struct nb_events *events; /* for somebody to look at; NULL: there is nobody to tell */
    struct nb_limits *limits;
    struct nb_evaluations *evaluations;
    struct nb_challengers *challengers; /* keeps them up with their models */
    struct nb_scratch_pool *scratch;
    struct nb_work_pool *work; /* long work, and ... */
    struct nb_work_pool
        *loads; /* ... models that have to be loaded, which do not wait for long work */
    struct nb_work_pool *streams; /* classifying lines, apart from whole documents */
    const char *spool_directory;  /* where long replies wait (budget.h) */
    uint64_t started;             /* when the daemon began (nb_clock_monotonic) */

    atomic_bool is_stopping;       /* requests that come now are answered with 503 */
    atomic_bool is_cutting;        /* requests that still run are aborted */
    atomic_size_t running;         /* requests between first call and completion */
    atomic_size_t waiting_changes; /* changes that the writer has and has not reported back yet */
    atomic_size_t suspended;       /* requests that wait for the writer or for long work */
    atomic_size_t backups;         /* backups that are being sent */
    atomic_bool has_told_memory;  /* a warning was logged: [store] memory is smaller than a model */
    struct nb_log_bound refusals; /* lines about requests that were answered with 4xx */
    struct nb_budget budgets[NB_BUDGETS];
    nb_spare_place spare; /* the memory that is kept for the next large body */
};

/* Puts the first configuration in force, and holds it. */
void nb_configurations_begin(struct nb_server *server, const struct nb_configuration *first);
/* Releases the configuration in force, after all other threads have ended. */
void nb_configurations_end(struct nb_server *server);

/* Returns the configuration in force, held for the caller, who must release it. */
const struct nb_configuration *nb_configurations_take(struct nb_server *server);

/* Puts `next` in force and takes over its hold. Holders of the old value keep it. */
void nb_configurations_put(struct nb_server *server, const struct nb_configuration *next);

#endif
