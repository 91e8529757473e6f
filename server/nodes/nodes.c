/* SPDX-License-Identifier: Apache-2.0
 *
 * Two threads for each stream that the node follows; whatever goes wrong with the database, they
 * begin anew from what was delivered.
 */
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
#include "core/model/live/standing.h"
#include "core/model/live/state.h"
#include "core/nodes/operation.h"
#include "core/nodes/queue.h"
#include "core/nodes/replica.h"
#include "server/base/log.h"
#include "server/nodes/follow.h"
#include "server/nodes/look.h"
#include "server/nodes/member.h"
#include "server/nodes/nodes_state.h"
#include "server/nodes/place.h"
#include "server/nodes/publish.h"
#include "server/nodes/schema.h"

/* ---- start and stop -------------------------------------------------------------------------- */

static int start_threads(struct nb_lane *l, struct nb_error *error)
{
    int rc = pthread_create(&l->reader, NULL, nb_follow_main, l);
    if (rc == 0) {
        rc = pthread_create(&l->writer, NULL, nb_publish_main, l);
        l->is_started = rc == 0;
        if (rc != 0) {
            atomic_store(&l->nodes->stops, true);
            (void)pthread_join(l->reader, NULL); /* it fails for an invalid thread only */
        }
    }
    return rc == 0 ? 0 : nb_error_errno(error, rc, "starting a thread for the other nodes");
}

static int lane_start(struct nb_nodes *n, unsigned which, struct nb_error *error)
{
    struct nb_lane *l = &n->lanes[which];
    char *conninfo = NULL;
    int rc = nb_nodes_conninfo(n->config, which, &conninfo, error);
    l->nodes = n;
    l->which = which;
    l->conninfo = conninfo;
    l->end = &l->first;
    l->kinds = NB_OPERATION_KINDS; /* until it has heard of the others */
    l->whole = nb_clock_monotonic();
    (void)snprintf(l->reason, sizeof l->reason, "it has not reached the database yet");
    atomic_store(&l->last, atomic_load(&n->engine->standing.places[which].applied));
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->changed, NULL);
    pthread_rwlock_init(&l->using, NULL);
    l->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (rc == 0 && l->wake < 0)
        rc = nb_error_errno(error, errno, "an eventfd");
    return rc == 0 ? start_threads(l, error) : rc;
}

static void lane_stop(struct nb_lane *l)
{
    if (!l->is_started)
        return;
    pthread_rwlock_rdlock(&l->using);
    if (l->replica != NULL)
        nb_replica_stop(l->replica);
    pthread_rwlock_unlock(&l->using);
    nb_look_wake(l);
    (void)pthread_join(l->reader, NULL); /* these fail for an invalid thread only */
    (void)pthread_join(l->writer, NULL);
    nb_replica_free(&l->replica);
}

static void lane_free(struct nb_lane *l)
{
    if (l->nodes == NULL)
        return;
    nb_publish_deinit(l);
    free(l->members);
    free(l->conninfo);
    if (l->wake >= 0)
        close(l->wake);
    pthread_rwlock_destroy(&l->using);
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
    n->lane_count = (unsigned)config->nodes_streams;
    nb_member_name(config, n->name);
    nb_place_identify(n);
    int rc = nb_nodes_read_follow(config, &n->follow, error);
    if (rc == 0)
        rc = open_queue(n, error);
    for (unsigned i = 0; rc == 0 && i < n->lane_count; i++)
        if (n->follow >> i & 1)
            rc = lane_start(n, i, error);
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
    for (unsigned i = 0; i < n->lane_count; i++)
        lane_stop(&n->lanes[i]);
    nb_queue_free(&n->queue);
    for (unsigned i = 0; i < n->lane_count; i++)
        lane_free(&n->lanes[i]);
    free(n);
}

/* ---- how it stands --------------------------------------------------------------------------- */

bool nb_nodes_have_caught_up(struct nb_nodes *n)
{
    return nb_standing_has_caught_up(n->engine, n->follow);
}

bool nb_nodes_follow(struct nb_nodes *n, struct nb_string name)
{
    return (n->follow >> nb_relay_stream(name, n->lane_count) & 1) != 0;
}

static void add_queue(struct nb_nodes *n, struct nb_nodes_state *state)
{
    struct nb_queue_state queue;
    state->queues = n->queue != NULL;
    if (!state->queues)
        return;
    nb_queue_state(n->queue, &queue);
    state->queued = queue.entries;
    state->queued_bytes = queue.bytes;
    state->queue_refused = queue.refused;
}

/* What is wrong with one of them is wrong with all; a refusal goes before what may pass. */
static void add_lane(struct nb_lane *l, struct nb_nodes_state *state)
{
    struct nb_lane_state one;
    nb_nodes_lane(l->nodes, l->which, &one);
    state->connected &= one.connected;
    state->applied += one.applied;
    state->behind += one.behind;
    state->is_outrun |= atomic_load(&l->is_outrun);
    state->put_back += atomic_load(&l->put_back);
    pthread_mutex_lock(&l->lock);
    uint64_t lag = one.behind > 0 ? nb_clock_monotonic() - l->whole : 0;
    state->lag_nanoseconds = lag > state->lag_nanoseconds ? lag : state->lag_nanoseconds;
    if (state->reason[0] == '\0' || (l->is_refused && !state->is_refused))
        (void)snprintf(state->reason, sizeof state->reason, "%s", l->reason);
    state->is_refused |= l->is_refused;
    pthread_mutex_unlock(&l->lock);
}

void nb_nodes_state(struct nb_nodes *n, struct nb_nodes_state *state)
{
    *state = (struct nb_nodes_state){.connected = true, .publishing = &n->publishing};
    for (unsigned i = 0; i < n->lane_count; i++)
        if (n->lanes[i].is_started)
            add_lane(&n->lanes[i], state);
    state->caught_up = nb_nodes_have_caught_up(n);
    add_queue(n, state);
}

unsigned nb_nodes_lanes(struct nb_nodes *n)
{
    return n->lane_count;
}

void nb_nodes_lane(struct nb_nodes *n, unsigned which, struct nb_lane_state *state)
{
    struct nb_lane *l = &n->lanes[which];
    uint64_t applied = atomic_load(&n->engine->standing.places[which].applied);
    uint64_t last = atomic_load(&l->last);
    *state = (struct nb_lane_state){.follows = (n->follow >> which & 1) != 0,
                                    .connected = atomic_load(&l->is_following),
                                    .applied = applied,
                                    .behind = last > applied ? last - applied : 0};
    if (!state->follows)
        state->applied = state->behind = 0;
}
