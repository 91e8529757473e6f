/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/config.h"
#include "core/base/platform/poller.h"
#include "core/base/system.h"
#include "core/model/relayed.h"
#include "core/model/state.h"
#include "core/nodes/replica.h"
#include "server/base/log.h"
#include "server/nodes/stream_worker.h"

/* ---- starting and stopping ------------------------------------------------------------------- */

enum { SAME_MILLISECONDS = 30000 };

static void wake(void *worker)
{
    const struct nb_stream_worker *l = worker;
    nb_bell_ring(l->wake);
}

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
    (void)snprintf(l->reason, sizeof l->reason, "it has not reached the database yet");
    l->wake = nb_bell_new();
    if (l->wake < 0)
        return nb_error_errno(error, errno, "a bell for a thread");
    const struct nb_replica_settings settings = {
        .wake = wake,
        .user = l,
        .stream = which,
        .queue_entries = n->config->nodes_queue ? n->config->nodes_queue_entries : 0,
        .queue_bytes = n->config->nodes_queue_bytes,
        .patience = n->config->nodes_patience * UINT64_C(1000000000),
        .same_for = SAME_MILLISECONDS,
        .compare_every = (int64_t)n->config->nodes_digest_seconds * 1000};
    rc = nb_replica_new(n->engine, &settings, &l->replica, error);
    int failed = rc == 0 ? pthread_create(&l->thread, NULL, nb_follow_main, l) : 0;
    if (failed != 0)
        rc = nb_error_errno(error, failed, "starting a thread for the other nodes");
    if (rc != 0)
        nb_replica_free(&l->replica);
    return rc;
}

static void worker_stop(struct nb_stream_worker *l)
{
    if (l->nodes == NULL)
        return;
    if (l->replica != NULL) {
        wake(l);
        (void)pthread_join(l->thread, NULL); /* fails only for an invalid thread */
    }
    nb_replica_free(&l->replica);
    free(l->members);
    free(l->conninfo);
    if (l->wake >= 0)
        close(l->wake);
}

int nb_nodes_start(struct nb_engine *engine, const struct nb_config *config,
                   struct nb_nodes **nodes, struct nb_error *error)
{
    if (config->nodes_database[0] == '\0')
        return engine->stream_states.is_known
                   ? nb_error_set(error, NB_CONFLICT,
                                  "the store is that of one of several nodes, and the "
                                  "configuration has no [nodes] database")
                   : 0;
    struct nb_nodes *n = calloc(1, sizeof *n);
    if (n == NULL)
        return nb_error_no_memory(error);
    n->engine = engine;
    n->config = config;
    n->worker_count = (unsigned)config->nodes_streams;
    nb_member_name(config, n->name);
    pthread_mutex_init(&n->lock, NULL);
    int rc = nb_nodes_read_follow(config, &n->follow, error);
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
    pthread_mutex_destroy(&n->lock);
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

/* Adds the state of a stream to `state`. An error of one stream counts for all; a refusal takes
 * precedence over errors that may pass. */
static void add_stream(struct nb_nodes *n, struct nb_stream_worker *l, struct nb_nodes_state *state)
{
    struct nb_replica *r = l->replica;
    if (r == NULL)
        return;
    uint64_t applied = atomic_load(&r->place->applied), last = atomic_load(&r->last);
    uint64_t lag = last > applied ? nb_clock_monotonic() - atomic_load(&r->looked) : 0;
    int stream = atomic_load(&r->stream);
    bool is_refused = stream == NB_REPLICA_FORBIDDEN;
    state->connected &= stream == NB_REPLICA_THERE;
    state->applied += applied;
    state->behind += last > applied ? last - applied : 0;
    state->is_outrun |= atomic_load(&l->is_outrun);
    state->put_back += atomic_load(&l->put_back);
    state->queued += atomic_load(&r->queued);
    state->queued_bytes += atomic_load(&r->queued_bytes);
    state->refused += atomic_load(&r->refused);
    state->lag_nanoseconds = lag > state->lag_nanoseconds ? lag : state->lag_nanoseconds;
    pthread_mutex_lock(&n->lock);
    if (state->reason[0] == '\0' || (is_refused && !state->is_refused))
        (void)snprintf(state->reason, sizeof state->reason, "%s", l->reason);
    pthread_mutex_unlock(&n->lock);
    state->is_refused |= is_refused;
}

void nb_nodes_state(struct nb_nodes *n, int which, struct nb_nodes_state *state)
{
    bool follows = which == NB_NODES_ALL || (n->follow >> which & 1) != 0;
    *state = (struct nb_nodes_state){
        .streams = n->worker_count, .follows = follows, .connected = follows};
    for (unsigned i = 0; i < n->worker_count; i++)
        if (which == NB_NODES_ALL || which == (int)i)
            add_stream(n, &n->workers[i], state);
}
