/* SPDX-License-Identifier: Apache-2.0
 *
 * What all requests of the daemon share. Made before the HTTP threads start and freed after they
 * have ended; the members say how they may be changed in between.
 */
#ifndef NB_SERVER_SERVER_H
#define NB_SERVER_SERVER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/engine/engine.h"
#include "server/filter.h"
#include "server/scratch.h"

struct nb_access;
struct nb_config;
struct nb_evaluations;
struct nb_metrics;

struct nb_server {
    const struct nb_config *config;     /* borrowed, read-only */
    const struct nb_access *access;     /* borrowed, read-only; NULL: nobody is asked */
    struct nb_engine *engine;           /* borrowed */
    struct nb_metrics *metrics;         /* borrowed */
    struct nb_evaluations *evaluations; /* borrowed; thread-safe */
    const char *spool_directory;        /* borrowed, read-only */
    struct nb_scratch_pool scratch;     /* thread-safe */
    bool is_loopback;                   /* reached from this machine alone */
    uint64_t started;                   /* nb_clock_monotonic */
    atomic_uint_fast64_t filter_actions[NB_FILTER_ACTIONS]; /* answered, by nb_filter_action */
    atomic_bool is_stopping;       /* requests that come now are answered with 503 */
    atomic_bool is_cutting;        /* requests that still run are broken off */
    atomic_size_t running;         /* requests between first call and completion */
    atomic_size_t waiting_changes; /* handed to the writer and not reported back yet */
    atomic_size_t suspended;       /* requests that wait for the writer */
    atomic_size_t held_bytes;      /* memory of bodies that are being received */
};

#endif
