/* SPDX-License-Identifier: Apache-2.0 */
#include "server/serve.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "config/config.h"
#include "core/base/clock.h"
#include "server/base/log.h"
#include "server/http/http.h"
#include "server/net/accept.h"
#include "server/net/connection_guard.h"
#include "server/net/connections.h"
#include "server/net/linger.h"
#include "server/request/configuration.h"
#include "server/request/server.h"
#include "server/request/work_pool.h"

enum { STOP_POLL_NANOSECONDS = 5000000 };

struct nb_serving {
    struct nb_server *server;
    int sockets[NB_LISTEN_SOCKETS]; /* that listen */
    struct nb_connections *connections;
    struct nb_linger *linger;
    struct nb_connection_guard *guard;
    struct nb_http *http;
    struct nb_acceptor *acceptor;
    struct nb_work_pool *work, *loads, *streams;
};

static unsigned thread_count(const struct nb_config *config)
{
    if (config->threads > 0)
        return (unsigned)config->threads;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores > 0 ? (unsigned)cores : 1;
}

static void close_all(const int sockets[NB_LISTEN_SOCKETS])
{
    for (int i = 0; i < NB_LISTEN_SOCKETS; i++) {
        if (sockets[i] >= 0)
            (void)close(sockets[i]);
    }
}

static void on_closed(void *user, struct nb_connection *held)
{
    struct nb_serving *s = user;
    nb_guard_remove(s->guard, held);
}

static void on_linger(void *user, int file)
{
    struct nb_serving *s = user;
    nb_linger_add(s->linger, file);
}

/* Ends and frees what there is, in the opposite order of nb_serve_start. */
static void dismantle(struct nb_serving **serving)
{
    struct nb_serving *s = *serving;
    nb_acceptor_stop(&s->acceptor);
    nb_guard_drain(s->guard);
    nb_http_stop(&s->http);
    nb_guard_stop(&s->guard);
    nb_pool_stop(&s->work);
    nb_pool_stop(&s->loads);
    nb_pool_stop(&s->streams);
    nb_linger_stop(&s->linger);
    nb_connections_free(&s->connections);
    close_all(s->sockets); /* the acceptor has ended */
    free(s);
    *serving = NULL;
}

static int start_pools(struct nb_serving *s, struct nb_error *error)
{
    unsigned threads = (unsigned)s->server->startup->work_threads;
    int rc = nb_pool_start(threads, "long work", &s->work, error);
    if (rc == 0)
        rc = nb_pool_start(threads, "the loading of models", &s->loads, error);
    if (rc == 0)
        rc = nb_pool_start(thread_count(s->server->startup), "streams", &s->streams, error);
    s->server->streams = s->streams;
    s->server->work = s->work;
    s->server->loads = s->loads;
    return rc;
}

int nb_serve_start(struct nb_server *server, const int sockets[NB_LISTEN_SOCKETS],
                   struct nb_serving **serving, struct nb_error *error)
{
    struct nb_serving *s = calloc(1, sizeof *s);
    if (s == NULL) {
        close_all(sockets);
        return nb_error_no_memory(error);
    }
    unsigned threads = thread_count(server->startup);
    s->server = server;
    memcpy(s->sockets, sockets, sizeof s->sockets);
    s->connections = nb_connections_new(server);
    int rc = s->connections != NULL ? nb_linger_start(&s->linger) : NB_NO_MEMORY;
    if (rc != 0)
        (void)nb_error_set(error, rc, "the threads that serve do not start");
    if (rc == 0)
        rc = start_pools(s, error);
    if (rc == 0)
        rc = nb_guard_start(server, s->connections, &s->guard, error);
    if (rc == 0)
        rc = nb_http_start(server, threads, &(struct nb_http_owner){on_closed, on_linger, s},
                           &s->http, error);
    if (rc == 0)
        rc = nb_acceptor_start(&(struct nb_acceptor_settings){.server = server,
                                                              .sockets = s->sockets,
                                                              .threads = threads,
                                                              .connections = s->connections,
                                                              .linger = s->linger,
                                                              .guard = s->guard,
                                                              .http = s->http},
                               &s->acceptor, error);
    if (rc != 0)
        dismantle(&s);
    *serving = s;
    return rc;
}

/* Waits until the counter is 0. Returns whether that happened in time. */
static bool wait_for_none(const atomic_size_t *counter, uint64_t seconds)
{
    uint64_t end = nb_clock_monotonic() + seconds * 1000000000u;
    struct timespec pause = {0, STOP_POLL_NANOSECONDS};
    while (atomic_load(counter) > 0) {
        if (nb_clock_monotonic() > end)
            return false;
        (void)nanosleep(&pause, NULL); /* it may wake early */
    }
    return true;
}

void nb_serve_stop(struct nb_serving **serving)
{
    struct nb_server *server = (*serving)->server;
    const struct nb_configuration *now = nb_configurations_take(server->configurations);
    uint64_t seconds = now->config.stop_seconds;
    nb_configuration_release(&now);
    atomic_store(&server->is_stopping, true);
    for (int i = 0; i < NB_LISTEN_SOCKETS; i++) /* new connections are refused at once */
        (void)shutdown((*serving)->sockets[i], SHUT_RD);
    if (!wait_for_none(&server->running, seconds)) {
        nb_log(NB_LOG_WARNING, "breaking off requests count=%zu", atomic_load(&server->running));
        atomic_store(&server->is_cutting, true);
        /* The writer and the pools still run and end every wait; they must not stop before. */
        (void)wait_for_none(&server->suspended, UINT32_MAX);
    }
    dismantle(serving);
}
