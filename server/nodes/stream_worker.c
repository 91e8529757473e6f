/* SPDX-License-Identifier: Apache-2.0 */
#include "server/nodes/stream_worker.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "config/config.h"
#include "core/base/clock.h"
#include "core/model/live/relay.h"
#include "core/model/live/state.h"
#include "core/model/live/stream_states.h"
#include "core/nodes/queue.h"
#include "server/nodes/nodes.h"

/* A message takes some milliseconds in a local network, tens between sites, thousands in a
 * fail-over. */
const double nb_latency_bounds[NB_LATENCY_BUCKETS] = {0.5, 1,   2.5, 5,    10,   25,   50,
                                                      100, 250, 500, 1000, 2500, 5000, 15000};

/* ---- calls from other threads ---------------------------------------------------------------- */

void nb_stream_worker_wake(struct nb_stream_worker *l)
{
    const uint64_t one = 1;
    if (write(l->wake, &one, sizeof one) < 0)
        return; /* it is awake already */
}

int nb_stream_worker_look(void *user, uint64_t *last, struct nb_error *error)
{
    struct nb_stream_worker *l = user;
    struct timespec until;
    int rc = 0;
    (void)clock_gettime(CLOCK_MONOTONIC, &until); /* it cannot fail */
    until.tv_sec += (time_t)l->nodes->config->nodes_patience;
    pthread_mutex_lock(&l->lock);
    uint64_t ticket = ++l->asked;
    nb_stream_worker_wake(l);
    while (l->answered < ticket && rc == 0 && atomic_load(&l->is_following))
        rc = pthread_cond_clockwait(&l->changed, &l->lock, CLOCK_MONOTONIC, &until);
    bool is_answered = l->answered >= ticket;
    pthread_mutex_unlock(&l->lock);
    *last = atomic_load(&l->last);
    return is_answered ? 0
                       : nb_error_set(error, NB_STOPPING,
                                      "the database is away, which has the changes of the other "
                                      "nodes: send this one again later");
}

bool nb_stream_worker_is_there(void *user, uint64_t *last)
{
    struct nb_stream_worker *l = user;
    *last = atomic_load(&l->last);
    return atomic_load(&l->is_following);
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

/* An error of one worker counts for all; a refusal has precedence over errors that may pass. */
static void add_worker(struct nb_stream_worker *l, struct nb_nodes_state *state)
{
    struct nb_stream_worker_state one;
    nb_nodes_worker(l->nodes, l->which, &one);
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
    *state = (struct nb_nodes_state){.streams = n->worker_count, .connected = true};
    for (unsigned i = 0; i < n->worker_count; i++)
        if (n->workers[i].is_started)
            add_worker(&n->workers[i], state);
    state->caught_up = nb_nodes_have_caught_up(n);
    state->queues = n->queue != NULL;
    if (state->queues)
        nb_queue_state(n->queue, &state->queue);
}

void nb_nodes_worker(struct nb_nodes *n, unsigned which, struct nb_stream_worker_state *state)
{
    struct nb_stream_worker *l = &n->workers[which];
    uint64_t applied = atomic_load(&n->engine->stream_states.places[which].applied);
    uint64_t last = atomic_load(&l->last);
    *state = (struct nb_stream_worker_state){.follows = (n->follow >> which & 1) != 0,
                                             .connected = atomic_load(&l->is_following),
                                             .applied = applied,
                                             .behind = last > applied ? last - applied : 0};
    if (!state->follows)
        state->applied = state->behind = 0;
}
