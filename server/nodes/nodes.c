/* SPDX-License-Identifier: Apache-2.0
 *
 * One thread finds the stream and follows it; whatever goes wrong with the stream, it begins anew
 * from what it has delivered.
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

/* A stream that does not answer is no reason to take back that this node must not follow it. */
static void say(struct nb_nodes *n, bool is_refused, const struct nb_error *why)
{
    pthread_mutex_lock(&n->lock);
    if (n->is_refused && why->code == NB_STOPPING) {
        pthread_mutex_unlock(&n->lock);
        return;
    }
    bool is_new = strcmp(n->reason, why->text) != 0;
    (void)snprintf(n->reason, sizeof n->reason, "%s", why->text);
    n->is_refused = is_refused;
    pthread_mutex_unlock(&n->lock);
    if (is_new && why->text[0] != '\0')
        nb_log(is_refused ? NB_LOG_ERROR : NB_LOG_WARNING, "cluster: %s", why->text);
}

static void *nodes_main(void *argument)
{
    struct nb_nodes *n = argument;
    struct nb_following f = {.gap = 0};
    while (!atomic_load(&n->stops)) {
        struct nb_error why = {0};
        int rc = nb_place_find(n, &why);
        if (rc == 0) {
            say(n, false, &why);
            rc = nb_follow(n, &f, &why);
        }
        if (rc != 0) {
            say(n, rc != NB_STOPPING, &why);
            nb_nodes_queue_set(n, rc != NB_STOPPING ? NB_QUEUE_FORBIDDEN : NB_QUEUE_AWAY);
        }
        if (n->replica != NULL)
            nb_replica_tick(n->replica);
        if (!atomic_load(&n->stops))
            rest();
    }
    return NULL;
}

/* ---- start and stop -------------------------------------------------------------------------- */

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
    pthread_mutex_init(&n->lock, NULL);
    pthread_rwlock_init(&n->using, NULL);
    n->kinds = NB_OPERATION_KINDS; /* until it has heard of the others */
    nb_place_identify(n);
    atomic_store(&n->last, atomic_load(&engine->standing.applied));
    (void)snprintf(n->reason, sizeof n->reason, "it has not found the stream yet");
    int rc = nb_nodes_queue_open(n, error);
    if (rc != 0) {
        nb_known_free(&n->known);
        free(n);
        return rc;
    }
    rc = pthread_create(&n->thread, NULL, nodes_main, n);
    if (rc != 0) {
        nb_queue_free(&n->queue);
        nb_known_free(&n->known);
        free(n);
        return nb_error_errno(error, rc, "starting the thread that follows the cluster");
    }
    *nodes = n;
    rc = nb_members_start(n, &n->members, error);
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
    pthread_rwlock_rdlock(&n->using);
    if (n->replica != NULL)
        nb_replica_stop(n->replica);
    pthread_rwlock_unlock(&n->using);
    (void)pthread_join(n->thread, NULL); /* it fails for an invalid thread only */
    nb_members_stop(&n->members);
    pthread_rwlock_wrlock(&n->using);
    struct nb_replica *replica = n->replica;
    n->replica = NULL;
    pthread_rwlock_unlock(&n->using);
    nb_replica_free(&replica);
    nb_queue_free(&n->queue);
    nb_stream_close(&n->stream);
    nats_Close();
    nb_known_free(&n->known);
    pthread_rwlock_destroy(&n->using);
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
}

void nb_nodes_state(struct nb_nodes *n, struct nb_nodes_state *state)
{
    uint64_t applied = atomic_load(&n->engine->standing.applied);
    uint64_t last = atomic_load(&n->last);
    *state = (struct nb_nodes_state){.connected = atomic_load(&n->is_following),
                                     .is_outrun = atomic_load(&n->is_outrun),
                                     .stream = n->config->cluster_stream,
                                     .applied = applied,
                                     .behind = last > applied ? last - applied : 0,
                                     .publishing = &n->publishing,
                                     .copies = atomic_load(&n->copies),
                                     .copies_wanted = (unsigned)n->config->cluster_replicas};
    add_queue(n, state);
    nb_place_warning(n, state->warning);
    pthread_mutex_lock(&n->lock);
    state->lag_nanoseconds =
        (uint64_t)nb_lag_of(&n->lag, applied, last, nb_clock_now() * INT64_C(1000000));
    state->is_refused = n->is_refused;
    (void)snprintf(state->reason, sizeof state->reason, "%s", n->reason);
    pthread_mutex_unlock(&n->lock);
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

#endif
