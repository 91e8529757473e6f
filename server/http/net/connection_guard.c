/* SPDX-License-Identifier: Apache-2.0 */
#include "server/http/net/connection_guard.h"

#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "config/config.h"
#include "core/base/platform/poller.h"
#include "core/base/system.h"
#include "server/base/metrics.h"
#include "server/http/library.h"
#include "server/http/net/connections.h"
#include "server/http/server.h"

enum {
    LOOK_MILLISECONDS = 100,
    VACANT_LOOKS = 20,
    DRAIN_LOOKS = 400,
    LOST_SECONDS = 5,
    SPARE_SECONDS = 1 /* how long spare memory is kept; VACANT_LOOKS looks take longer */
};

/* The time after which a refused connection that the server still holds is shut down, for example
 * after too many query parameters. It is the time that lingering takes (connections.h). */
static const uint64_t OVER_NANOSECONDS = 5000000000u;

static const uint64_t SECOND = 1000000000u;

struct guarded {
    struct nb_connection held; /* the first member */
    struct guarded *before, *after;
    bool has_ended; /* the client sends nothing more */
    bool is_lost;   /* the server closed it without taking it over; already counted out */
    uint64_t since; /* for the speed of the body: when the measurement began ... */
    uint64_t bytes; /* ... and how many bytes there were then */
};

struct nb_connection_guard {
    struct nb_server *server;
    struct nb_connections *connections;
    pthread_t thread;
    int poller;
    int wake;             /* a bell: a connection has come, or is_ending is set */
    pthread_mutex_t lock; /* guards the members below and all `guarded`; the lock of `connections`
                             may be taken while it is held */
    bool is_ending;
    bool sleeps;     /* the thread sleeps until it is woken */
    unsigned vacant; /* number of looks since there was last a connection */
    struct guarded *all;
};

/* ---- the list -------------------------------------------------------------------------------- */

struct nb_connection *nb_guard_add(struct nb_connection_guard *guard, int file, bool is_tls,
                                   const union nb_connection_address *address, socklen_t length)
{
    assert(file >= 0 && length > 0);
    struct guarded *one = calloc(1, sizeof *one);
    if (one == NULL)
        return NULL;
    nb_connection_init(&one->held, file, is_tls, address, length);
    pthread_mutex_lock(&guard->lock);
    bool sleeps = guard->sleeps;
    guard->sleeps = false;
    guard->vacant = 0;
    one->after = guard->all;
    if (guard->all != NULL)
        guard->all->before = one;
    guard->all = one;
    /* If there is no memory for the watch, the connection ends by its time-out. */
    (void)nb_poller_add(guard->poller, file, NB_POLLER_END | NB_POLLER_ONCE, one);
    pthread_mutex_unlock(&guard->lock);
    if (sleeps)
        nb_bell_ring(guard->wake);
    return &one->held;
}

static void take_out(struct nb_connection_guard *g, struct guarded *one)
{
    static_assert(offsetof(struct guarded, held) == 0, "the cast in nb_guard_remove");
    assert(one->before != NULL || g->all == one); /* it is in the list */
    if (one->before != NULL)
        one->before->after = one->after;
    else
        g->all = one->after;
    if (one->after != NULL)
        one->after->before = one->before;
}

void nb_guard_remove(struct nb_connection_guard *guard, struct nb_connection *held)
{
    struct guarded *one = (struct guarded *)(void *)held;
    pthread_mutex_lock(&guard->lock);
    take_out(guard, one);
    /* A duplicate of the file may outlive it (connections.h), and then events of the duplicate
     * would arrive here. */
    nb_poller_remove(guard->poller, held->file);
    if (!one->is_lost)
        nb_connections_close(guard->connections, &held->address.any);
    pthread_mutex_unlock(&guard->lock);
    free(one);
}

/* ---- deadlines ------------------------------------------------------------------------------- */

static void give_up(struct nb_connection_guard *g, struct guarded *one, uint64_t state,
                    const char *detail)
{
    enum nb_phase phase = nb_connection_phase(state);
    if (!nb_connection_enter_from(&one->held, state, NB_PHASE_OVER))
        return; /* the phase has changed in time after all */
    if (phase != NB_PHASE_REPLY) {
        atomic_store(&one->held.given_up, 408);
        if (!one->held.is_tls) /* the session belongs to another thread */
            (void)nb_refusal_send(one->held.file, 408, detail);
    }
    if (phase == NB_PHASE_FIRST || phase == NB_PHASE_IDLE) /* else the request counts its status */
        nb_metrics_request(g->server->metrics, SIZE_MAX, 408, 0, 0, 0);
    (void)shutdown(one->held.file, SHUT_RDWR); /* the server notices the shutdown */
}

/* Whether the body is too slow. Measured from when the daemon began or continued to read. */
static bool is_slow(const struct nb_config *config, struct guarded *one, uint64_t state,
                    uint64_t now)
{
    uint64_t received = atomic_load(&one->held.received);
    if (one->since < nb_connection_since(state)) {
        one->since = nb_connection_since(state);
        one->bytes = received;
    }
    if (now < one->since + config->timeout * SECOND)
        return false;
    bool is_enough = received - one->bytes >= config->body_rate * config->timeout;
    one->since = now;
    one->bytes = received;
    return !is_enough;
}

static bool is_past(uint64_t now, uint64_t since, uint64_t seconds)
{
    return now > since && now - since > seconds * SECOND;
}

static void look_at_time(struct nb_connection_guard *g, const struct nb_config *config,
                         struct guarded *one, uint64_t state, uint64_t now)
{
    uint64_t since = nb_connection_since(state);
    bool is_long = is_past(now, atomic_load(&one->held.begun), config->request_seconds);
    switch (nb_connection_phase(state)) {
    case NB_PHASE_FIRST:
        if (is_past(now, since, config->head_seconds))
            give_up(g, one, state,
                    "the head of the request took longer than [server] head_seconds");
        break;
    case NB_PHASE_IDLE: /* the library ends the connection after `timeout` unless bytes come */
        if (is_past(now, since, config->timeout + config->head_seconds))
            give_up(g, one, state,
                    "the head of the request took longer than [server] head_seconds");
        break;
    case NB_PHASE_BODY:
        if (is_slow(config, one, state, now))
            give_up(g, one, state, "the body came more slowly than [server] body_rate");
        else if (is_long)
            give_up(g, one, state, "the request took longer than [server] request_seconds");
        break;
    case NB_PHASE_REPLY:
        if (is_long)
            give_up(g, one, state, "");
        break;
    case NB_PHASE_OVER:
        if (now > since && now - since > OVER_NANOSECONDS)
            (void)shutdown(one->held.file, SHUT_RDWR);
        break;
    case NB_PHASE_WORK: /* no limit for the client while the daemon works */
    default:
        break;
    }
}

/* ---- clients that have gone ------------------------------------------------------------------ */

/* Makes the server read the end of the stream as soon as it has read everything before it: the
 * server could miss an earlier shutdown just as it missed the end itself. While it works or replies
 * it does not read. */
static void look_at_end(const struct guarded *one, uint64_t state)
{
    enum nb_phase phase = nb_connection_phase(state);
    int unread = 0;
    bool reads = phase == NB_PHASE_FIRST || phase == NB_PHASE_IDLE || phase == NB_PHASE_BODY;
    if (reads && ioctl(one->held.file, FIONREAD, &unread) == 0 && unread == 0)
        (void)shutdown(one->held.file, SHUT_RD);
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* Handles a connection that no server thread has taken up: the server had no memory for it, and its
 * file is closed or reused. If a thread takes it up after all, it is in NB_PHASE_OVER by then. */
static void look_at_lost(struct nb_connection_guard *g, struct guarded *one, uint64_t state,
                         uint64_t now)
{
    if (one->is_lost || !is_past(now, nb_connection_since(state), LOST_SECONDS) ||
        !nb_connection_enter_from(&one->held, state, NB_PHASE_OVER))
        return;
    one->is_lost = true;
    nb_connections_close(g->connections, &one->held.address.any);
}

static void look(struct nb_connection_guard *g, const struct nb_config *config)
{
    uint64_t now = nb_clock_monotonic();
    struct nb_poller_event events[NB_POLLER_MOST];
    int count;
    do {
        count = nb_poller_wait(g->poller, events, 0);
        for (int i = 0; i < count; i++) {
            assert(events[i].user != NULL); /* the bell is not in this poller */
            ((struct guarded *)events[i].user)->has_ended = true;
        }
    } while (count == NB_POLLER_MOST);
    for (struct guarded *one = g->all; one != NULL; one = one->after) {
        uint64_t state = atomic_load(&one->held.state);
        if (!atomic_load(&one->held.is_started)) {
            look_at_lost(g, one, state, now);
            continue;
        }
        if (one->has_ended)
            look_at_end(one, state);
        look_at_time(g, config, one, state, now);
    }
}

static void *guard_thread(void *user)
{
    struct nb_connection_guard *g = user;
    struct pollfd polled = {.fd = g->wake, .events = POLLIN};
    pthread_mutex_lock(&g->lock);
    while (!g->is_ending) {
        g->vacant = g->all == NULL ? g->vacant + 1 : 0;
        g->sleeps = g->vacant > VACANT_LOOKS; /* the thread keeps looking for a while, because
                                                 waking it for each connection would be costly */
        int pause = g->sleeps ? -1 : LOOK_MILLISECONDS;
        pthread_mutex_unlock(&g->lock);
        if (poll(&polled, 1, pause) > 0)
            nb_bell_clear(g->wake);
        const struct nb_configuration *in_force = nb_configurations_take(g->server);
        pthread_mutex_lock(&g->lock);
        look(g, &in_force->config);
        nb_spare_drop(&g->server->spare, nb_clock_monotonic() - SPARE_SECONDS * SECOND);
        nb_configuration_release(&in_force);
    }
    pthread_mutex_unlock(&g->lock);
    return NULL;
}

/* ---- start and stop -------------------------------------------------------------------------- */

static void close_files(const struct nb_connection_guard *g)
{
    if (g->poller >= 0)
        (void)close(g->poller);
    if (g->wake >= 0)
        (void)close(g->wake);
}

int nb_guard_start(struct nb_server *server, struct nb_connections *connections,
                   struct nb_connection_guard **guard, struct nb_error *error)
{
    struct nb_connection_guard *g = calloc(1, sizeof *g);
    if (g == NULL)
        return nb_error_no_memory(error);
    g->server = server;
    g->connections = connections;
    g->poller = nb_poller_new();
    g->wake = nb_bell_new();
    if (g->poller < 0 || g->wake < 0 || pthread_mutex_init(&g->lock, NULL) != 0)
        goto failed;
    if (pthread_create(&g->thread, NULL, guard_thread, g) == 0) {
        *guard = g;
        return 0;
    }
    pthread_mutex_destroy(&g->lock);
failed:
    close_files(g);
    free(g);
    return nb_error_set(error, NB_IO, "the thread that watches connections does not start");
}

/* Shuts all connections down. Returns whether there are any. */
static bool shut_down_all(struct nb_connection_guard *g)
{
    bool is_any = false;
    pthread_mutex_lock(&g->lock);
    for (struct guarded *one = g->all; one != NULL; one = one->after) {
        if (one->is_lost)
            continue;
        is_any = true;
        if (atomic_load(&one->held.is_started))
            (void)shutdown(one->held.file, SHUT_RDWR);
    }
    pthread_mutex_unlock(&g->lock);
    return is_any;
}

void nb_guard_drain(struct nb_connection_guard *guard)
{
    struct timespec pause = {0, 5000000};
    for (int i = 0; i < DRAIN_LOOKS && guard != NULL && shut_down_all(guard); i++)
        (void)nanosleep(&pause, NULL); /* it may wake early */
}

void nb_guard_stop(struct nb_connection_guard **guard)
{
    struct nb_connection_guard *g = *guard;
    if (g == NULL)
        return;
    pthread_mutex_lock(&g->lock);
    g->is_ending = true;
    pthread_mutex_unlock(&g->lock);
    nb_bell_ring(g->wake);
    pthread_join(g->thread, NULL);
    while (g->all != NULL) {
        struct guarded *one = g->all;
        take_out(g, one);
        if (!one->is_lost)
            nb_connections_close(g->connections, &one->held.address.any);
        free(one);
    }
    pthread_mutex_destroy(&g->lock);
    close_files(g);
    free(g);
    *guard = NULL;
}
