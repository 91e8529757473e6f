/* SPDX-License-Identifier: Apache-2.0
 *
 * The data that all requests of the daemon share. Made before the serving threads start and freed
 * after they have ended. The counters and flags are for any thread; nothing else changes in
 * between.
 */
#ifndef NB_SERVER_REQUEST_SERVER_H
#define NB_SERVER_REQUEST_SERVER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/base/string.h"
#include "server/base/spare.h"
#include "server/request/budget.h"

struct nb_config;
struct nb_configurations;
struct nb_engine;
struct nb_evaluations;
struct nb_limits;
struct nb_metrics;
struct nb_nodes;
struct nb_work_pool;
struct nb_route;
struct nb_scratch_pool;

/* All pointers are borrowed; their targets are thread-safe or read-only. */
struct nb_server {
    struct nb_configurations *configurations; /* the one in force; a request has its own hold */
    const struct nb_config *startup;          /* as at the start; for options that need a restart */
    const struct nb_route *routes; /* of HTTP; in metrics the line protocols' routes follow */
    size_t route_count;
    struct nb_engine *engine;
    struct nb_metrics *metrics;
    struct nb_nodes *nodes; /* the other nodes that share learning; NULL: there are none */
    /* Whether this node has ever caught up with the others; whether it follows the model of this
     * name. */
    bool (*has_caught_up)(struct nb_nodes *nodes);
    bool (*follows)(struct nb_nodes *nodes, struct nb_string name);
    /* Appends the URLs of the nodes that follow a model, each with a NUL behind, up to `most`
     * bytes. Returns 0 or NB_NO_MEMORY. */
    int (*list_followers)(struct nb_nodes *nodes, struct nb_string model, size_t most,
                          struct nb_buffer *urls);
    struct nb_limits *limits;
    struct nb_evaluations *evaluations;
    struct nb_scratch_pool *scratch;
    struct nb_work_pool *work; /* long work, and ... */
    struct nb_work_pool
        *loads; /* ... models that have to be loaded, which do not wait for long work */
    struct nb_work_pool *streams; /* classifying lines, apart from whole documents */
    const char *spool_directory;  /* where long replies wait (spool.h) */
    uint64_t started;             /* nb_clock_monotonic */

    atomic_bool is_stopping;       /* requests that come now are answered with 503 */
    atomic_bool is_cutting;        /* requests that still run are aborted */
    atomic_size_t running;         /* requests between first call and completion */
    atomic_size_t waiting_changes; /* handed to the writer and not reported back yet */
    atomic_size_t suspended;       /* requests that wait for the writer or for long work */
    atomic_size_t backups;         /* backups that are being sent */
    atomic_bool has_told_memory; /* a warning was logged: [store] memory is smaller than a model */
    struct nb_budget budgets[NB_BUDGETS];
    nb_spare_place spare; /* for a large body */
};

#endif
