/* SPDX-License-Identifier: Apache-2.0 */
#include "server/nodes/nodes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "config/config.h"
#include "core/base/clock.h"
#include "core/model/live/relay.h"
#include "core/model/live/state.h"
#include "core/model/live/stream_states.h"
#include "core/nodes/queue.h"
#include "core/nodes/replica.h"
#include "server/base/log.h"
#include "server/nodes/member.h"
#include "server/nodes/schema.h"

/* ---- starting and stopping ------------------------------------------------------------------- */

static int worker_start(struct nb_nodes *n, unsigned which, struct nb_error *error)
{
    struct nb_stream_worker *l = &n->workers[which];
    int rc = nb_nodes_conninfo(n->config, which, &l->conninfo, error);
    if (rc != 0)
        return rc;
    l->nodes = n;
    l->which = which;
    l->is_first = true;
    for (unsigned i = 0; i < which; i++)
        if (n->workers[i].nodes != NULL && strcmp(n->workers[i].conninfo, l->conninfo) == 0)
            l->is_first = false;
    l->end = &l->first;
    l->whole = nb_clock_monotonic();
    (void)snprintf(l->reason, sizeof l->reason, "it has not reached the database yet");
    atomic_store(&l->last, atomic_load(&n->engine->stream_states.places[which].applied));
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->changed, NULL);
    l->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (l->wake < 0)
        return nb_error_errno(error, errno, "an eventfd");
    rc = pthread_create(&l->thread, NULL, nb_follow_main, l);
    l->is_started = rc == 0;
    return rc == 0 ? 0 : nb_error_errno(error, rc, "starting a thread for the other nodes");
}

static void worker_stop(struct nb_stream_worker *l)
{
    if (!l->is_started)
        return;
    pthread_mutex_lock(&l->lock);
    if (l->replica != NULL)
        nb_replica_stop(l->replica);
    pthread_mutex_unlock(&l->lock);
    nb_publish_wake(l);
    (void)pthread_join(l->thread, NULL); /* it fails for an invalid thread only */
    nb_replica_free(&l->replica);
}

static void worker_free(struct nb_stream_worker *l)
{
    if (l->nodes == NULL)
        return;
    nb_publish_deinit(l);
    free(l->members);
    free(l->conninfo);
    if (l->wake >= 0)
        close(l->wake);
    pthread_cond_destroy(&l->changed);
    pthread_mutex_destroy(&l->lock);
}

static int open_queue(struct nb_nodes *n, struct nb_error *error)
{
    bool takes = n->config->nodes_queue;
    const struct nb_queue_limits limits = {takes ? n->config->nodes_queue_bytes : 0,
                                           takes ? n->config->nodes_queue_entries : 0};
    struct nb_queue_state state;
    if (!takes && !nb_queue_is_left(n->engine))
        return 0;
    int rc = nb_queue_new(n->engine, &limits, &n->queue, error);
    if (rc != 0)
        return rc;
    nb_queue_state(n->queue, &state);
    if (state.entries > 0)
        nb_log(NB_LOG_INFO, "nodes: %llu changes wait in the queue, and are published first",
               (unsigned long long)state.entries);
    return 0;
}

int nb_nodes_start(struct nb_engine *engine, const struct nb_config *config,
                   struct nb_nodes **nodes, struct nb_error *error)
{
    struct nb_nodes *n = calloc(1, sizeof *n);
    if (n == NULL)
        return nb_error_no_memory(error);
    n->engine = engine;
    n->config = config;
    n->worker_count = (unsigned)config->nodes_streams;
    nb_member_name(config, n->name);
    nb_stream_identify(n);
    pthread_mutex_init(&n->members_lock, NULL);
    int rc = nb_nodes_read_follow(config, &n->follow, error);
    if (rc == 0)
        rc = open_queue(n, error);
    for (unsigned i = 0; rc == 0 && i < n->worker_count; i++)
        if (n->follow >> i & 1)
            rc = worker_start(n, i, error);
    *nodes = n;
    if (rc != 0)
        nb_nodes_stop(nodes);
    return rc;
}

void nb_nodes_stop(struct nb_nodes **nodes)
{
    struct nb_nodes *n = *nodes;
    *nodes = NULL;
    if (n == NULL)
        return;
    atomic_store(&n->stops, true);
    for (unsigned i = 0; i < n->worker_count; i++)
        worker_stop(&n->workers[i]);
    nb_queue_free(&n->queue);
    for (unsigned i = 0; i < n->worker_count; i++)
        worker_free(&n->workers[i]);
    pthread_mutex_destroy(&n->members_lock);
    free(n);
}

/* ---- state ----------------------------------------------------------------------------------- */

bool nb_nodes_have_caught_up(struct nb_nodes *n)
{
    return nb_stream_states_has_caught_up(n->engine, n->follow);
}

bool nb_nodes_follow(struct nb_nodes *n, struct nb_string name)
{
    return (n->follow >> nb_relay_stream(name, n->worker_count) & 1) != 0;
}

/* An error of one stream counts for all; a refusal has precedence over errors that may pass. */
static void add_stream(struct nb_nodes *n, unsigned which, struct nb_nodes_state *state)
{
    struct nb_stream_worker *l = &n->workers[which];
    uint64_t applied = atomic_load(&n->engine->stream_states.places[which].applied);
    uint64_t last = atomic_load(&l->last);
    if (!l->is_started)
        return;
    state->connected &= atomic_load(&l->is_following);
    state->applied += applied;
    state->behind += last > applied ? last - applied : 0;
    state->is_outrun |= atomic_load(&l->is_outrun);
    state->put_back += atomic_load(&l->put_back);
    pthread_mutex_lock(&l->lock);
    uint64_t lag = last > applied ? nb_clock_monotonic() - l->whole : 0;
    state->lag_nanoseconds = lag > state->lag_nanoseconds ? lag : state->lag_nanoseconds;
    if (state->reason[0] == '\0' || (l->is_refused && !state->is_refused))
        (void)snprintf(state->reason, sizeof state->reason, "%s", l->reason);
    state->is_refused |= l->is_refused;
    pthread_mutex_unlock(&l->lock);
}

void nb_nodes_stream_state(struct nb_nodes *n, unsigned which, struct nb_nodes_state *state)
{
    bool follows = (n->follow >> which & 1) != 0;
    *state = (struct nb_nodes_state){
        .streams = n->worker_count, .follows = follows, .connected = follows};
    add_stream(n, which, state);
}

void nb_nodes_state(struct nb_nodes *n, struct nb_nodes_state *state)
{
    *state = (struct nb_nodes_state){.streams = n->worker_count,
                                     .follows = true,
                                     .connected = true,
                                     .caught_up = nb_nodes_have_caught_up(n),
                                     .queues = n->queue != NULL};
    for (unsigned i = 0; i < n->worker_count; i++)
        add_stream(n, i, state);
    if (state->queues)
        nb_queue_state(n->queue, &state->queue);
}
