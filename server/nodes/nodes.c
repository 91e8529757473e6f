/* SPDX-License-Identifier: Apache-2.0
 *
 * One thread for each stream finds it and follows it; whatever goes wrong with the stream, it
 * begins anew from what it has delivered.
 */
#include "server/nodes/nodes.h"

#include <stdlib.h>

#include "config/config.h"

#ifdef NB_HAS_NATS

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/live/state.h"
#include "core/replica/operation.h"
#include "core/replica/replica.h"
#include "server/base/log.h"
#include "server/nodes/follow.h"
#include "server/nodes/known.h"
#include "server/nodes/members.h"
#include "server/nodes/nodes_state.h"
#include "server/nodes/place.h"
#include "server/nodes/waiting.h"

static const long REST_NANOSECONDS = 200000000;

static void rest(void)
{
    const struct timespec pause = {.tv_nsec = REST_NANOSECONDS};
    (void)nanosleep(&pause, NULL); /* it may wake early */
}

/* A stream that does not answer is no reason to take back that this node must not follow it.
 * Returns whether it must not. */
static bool say(struct nb_lane *l, bool is_refused, const struct nb_error *why)
{
    pthread_mutex_lock(&l->lock);
    if (l->is_refused && why->code == NB_STOPPING) {
        pthread_mutex_unlock(&l->lock);
        return true;
    }
    bool is_new = strcmp(l->reason, why->text) != 0;
    (void)snprintf(l->reason, sizeof l->reason, "%s", why->text);
    l->is_refused = is_refused;
    pthread_mutex_unlock(&l->lock);
    if (is_new && why->text[0] != '\0')
        nb_log(is_refused ? NB_LOG_ERROR : NB_LOG_WARNING, "cluster: %s", why->text);
    return is_refused;
}

static void *lane_main(void *argument)
{
    struct nb_lane *l = argument;
    struct nb_following f = {.gap = 0};
    while (!atomic_load(&l->nodes->stops)) {
        struct nb_error why = {0};
        int rc = nb_place_find(l, &why);
        if (rc == 0) {
            (void)say(l, false, &why); /* nothing is wrong */
            rc = nb_follow(l, &f, &why);
        }
        if (rc != 0) {
            bool is_refused = say(l, rc != NB_STOPPING, &why);
            nb_nodes_queue_set(l, is_refused ? NB_QUEUE_FORBIDDEN : NB_QUEUE_AWAY);
        }
        if (l->replica != NULL)
            nb_replica_tick(l->replica);
        if (!atomic_load(&l->nodes->stops))
            rest();
    }
    return NULL;
}

/* ---- start and stop -------------------------------------------------------------------------- */

static int lane_start(struct nb_nodes *n, unsigned which, struct nb_error *error)
{
    struct nb_lane *l = &n->lanes[which];
    l->nodes = n;
    l->which = which;
    nb_standing_name(n->config->cluster_stream, n->lane_count, which, l->name);
    (void)snprintf(l->reason, sizeof l->reason, "it has not found the stream yet");
    atomic_store(&l->last, atomic_load(&n->engine->standing.places[which].applied));
    pthread_mutex_init(&l->lock, NULL);
    pthread_rwlock_init(&l->using, NULL);
    int rc = pthread_create(&l->thread, NULL, lane_main, l);
    l->is_started = rc == 0;
    return rc == 0 ? 0 : nb_error_errno(error, rc, "starting the thread that follows the cluster");
}

static void lane_stop(struct nb_lane *l)
{
    if (!l->is_started)
        return;
    pthread_rwlock_rdlock(&l->using);
    if (l->replica != NULL)
        nb_replica_stop(l->replica);
    pthread_rwlock_unlock(&l->using);
    (void)pthread_join(l->thread, NULL); /* it fails for an invalid thread only */
    pthread_rwlock_wrlock(&l->using);
    struct nb_replica *replica = l->replica;
    l->replica = NULL;
    pthread_rwlock_unlock(&l->using);
    nb_replica_free(&replica);
}

/* When no thread of the library is there any more. */
static void lane_free(struct nb_lane *l)
{
    if (!l->is_started)
        return;
    pthread_rwlock_destroy(&l->using);
    pthread_mutex_destroy(&l->lock);
}

int nb_nodes_start(struct nb_engine *engine, const struct nb_config *config,
                   struct nb_nodes **nodes, struct nb_error *error)
{
    struct nb_nodes *n = calloc(1, sizeof *n);
    if (n == NULL)
        return nb_error_no_memory(error);
    n->engine = engine;
    n->config = config;
    n->known = nb_known_new();
    if (n->known == NULL) {
        free(n);
        return nb_error_no_memory(error);
    }
    n->lane_count = (unsigned)config->cluster_streams;
    pthread_mutex_init(&n->lock, NULL);
    n->kinds = NB_OPERATION_KINDS; /* until it has heard of the others */
    nb_place_identify(n);
    int rc = nb_nodes_queue_open(n, error);
    for (unsigned i = 0; rc == 0 && i < n->lane_count; i++)
        rc = lane_start(n, i, error);
    if (rc == 0)
        rc = nb_members_start(n, &n->members, error);
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
    nb_members_stop(&n->members);
    for (unsigned i = 0; i < n->lane_count; i++)
        lane_stop(&n->lanes[i]);
    nb_queue_free(&n->queue);
    for (unsigned i = 0; i < n->lane_count; i++)
        nb_stream_close(&n->lanes[i].stream);
    nats_Close();
    for (unsigned i = 0; i < n->lane_count; i++)
        lane_free(&n->lanes[i]);
    nb_known_free(&n->known);
    pthread_mutex_destroy(&n->lock);
    free(n);
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
    if (queue.unreadable[0] != '\0') /* this goes before what a stream warns of */
        (void)snprintf(state->warning, sizeof state->warning, "%s", queue.unreadable);
}

static void state_of(struct nb_lane *l, struct nb_lane_state *state)
{
    uint64_t applied = atomic_load(&l->nodes->engine->standing.places[l->which].applied);
    uint64_t last = atomic_load(&l->last);
    *state = (struct nb_lane_state){.name = l->name,
                                    .connected = atomic_load(&l->is_following),
                                    .applied = applied,
                                    .behind = last > applied ? last - applied : 0};
}

/* Of the stream that has the fewest. */
static void add_copies(struct nb_lane *l, struct nb_nodes_state *state)
{
    unsigned copies = atomic_load(&l->copies);
    if (l->which == 0 || copies < state->copies)
        state->copies = copies;
    if (state->warning[0] == '\0')
        nb_place_warning(l, state->warning);
}

/* What is wrong with one of them is wrong with all; a refusal goes before what may pass. */
static void add_reason(struct nb_lane *l, struct nb_nodes_state *state)
{
    uint64_t applied = atomic_load(&l->nodes->engine->standing.places[l->which].applied);
    int64_t now = nb_clock_now() * INT64_C(1000000);
    pthread_mutex_lock(&l->lock);
    uint64_t lag = (uint64_t)nb_lag_of(&l->lag, applied, atomic_load(&l->last), now);
    state->lag_nanoseconds = lag > state->lag_nanoseconds ? lag : state->lag_nanoseconds;
    if (state->reason[0] == '\0' || (l->is_refused && !state->is_refused))
        (void)snprintf(state->reason, sizeof state->reason, "%s", l->reason);
    state->is_refused |= l->is_refused;
    pthread_mutex_unlock(&l->lock);
}

void nb_nodes_state(struct nb_nodes *n, struct nb_nodes_state *state)
{
    *state = (struct nb_nodes_state){.connected = true,
                                     .stream = n->config->cluster_stream,
                                     .publishing = &n->publishing,
                                     .copies_wanted = (unsigned)n->config->cluster_replicas};
    for (unsigned i = 0; i < n->lane_count; i++) {
        struct nb_lane_state one;
        state_of(&n->lanes[i], &one);
        state->connected &= one.connected;
        state->applied += one.applied;
        state->behind += one.behind;
        state->is_outrun |= atomic_load(&n->lanes[i].is_outrun);
        add_copies(&n->lanes[i], state);
        add_reason(&n->lanes[i], state);
    }
    add_queue(n, state);
}

unsigned nb_nodes_lanes(struct nb_nodes *n)
{
    return n->lane_count;
}

void nb_nodes_lane(struct nb_nodes *n, unsigned which, struct nb_lane_state *state)
{
    state_of(&n->lanes[which], state);
}

#else

int nb_nodes_start(struct nb_engine *engine, const struct nb_config *config,
                   struct nb_nodes **nodes, struct nb_error *error)
{
    (void)engine;
    (void)config;
    (void)nodes;
    return nb_error_set(error, NB_UNSUPPORTED,
                        "[cluster]: this bayesd was built without libnats (libnats-dev)");
}

void nb_nodes_stop(struct nb_nodes **nodes)
{
    (void)nodes;
}

void nb_nodes_state(struct nb_nodes *nodes, struct nb_nodes_state *state)
{
    (void)nodes;
    *state = (struct nb_nodes_state){.stream = ""};
}

unsigned nb_nodes_lanes(struct nb_nodes *nodes)
{
    (void)nodes;
    return 1;
}

void nb_nodes_lane(struct nb_nodes *nodes, unsigned which, struct nb_lane_state *state)
{
    (void)nodes;
    (void)which;
    *state = (struct nb_lane_state){.name = ""};
}

#endif
