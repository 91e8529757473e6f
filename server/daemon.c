/* SPDX-License-Identifier: Apache-2.0 */
#include "server/daemon.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "config/config.h"
#include "core/base/system.h"
#include "core/engine/engine.h"
#include "server/api/challengers.h"
#include "server/api/evaluations.h"
#include "server/base/listen.h"
#include "server/base/log.h"
#include "server/base/metrics.h"
#include "server/base/systemd.h"
#include "server/base/version.h"
#include "server/configure.h"
#include "server/events/events.h"
#include "server/http/access.h"
#include "server/http/budget.h"
#include "server/http/http.h"
#include "server/http/http_answer.h"
#include "server/http/limits.h"
#include "server/http/net/accept.h"
#include "server/http/net/connection_guard.h"
#include "server/http/net/connections.h"
#include "server/http/server.h"
#include "server/http/wait.h"
#include "server/join.h"
#include "server/mail/filter.h"
#include "server/mail/line_routes.h"
#include "server/nodes/nodes.h"
#include "server/options.h"
#include "server/routes.h"

enum { STOP_POLL_NANOSECONDS = 5000000 };

struct nb_serving {
    struct nb_server *server;
    int sockets[NB_LISTEN_SOCKETS]; /* the listening sockets */
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

/* Ends and frees everything that was started, in the opposite order of nb_serve_start. */
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

/* Waits until the counter is 0. Returns false after `seconds`. */
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
    const struct nb_configuration *now = nb_configurations_take(server);
    uint64_t seconds = now->config.stop_seconds;
    nb_configuration_release(&now);
    atomic_store(&server->is_stopping, true);
    for (int i = 0; i < NB_LISTEN_SOCKETS; i++) /* new connections are refused at once */
        (void)shutdown((*serving)->sockets[i], SHUT_RD);
    if (!wait_for_none(&server->running, seconds)) {
        nb_log(NB_LOG_WARNING, "breaking off requests count=%zu", atomic_load(&server->running));
        atomic_store(&server->is_cutting, true);
        /* The writer and the pools still run and end every wait; they must not stop before that. */
        (void)wait_for_none(&server->suspended, UINT32_MAX);
    }
    dismantle(serving);
}

enum { ROUTES_MOST = 128 };

static int join(struct nb_server *server, struct nb_error *error)
{
    server->list_followers = nb_nodes_list_followers;
    server->has_caught_up = nb_nodes_have_caught_up;
    server->follows = nb_nodes_follow;
    return nb_nodes_start(server->engine, server->startup, &server->nodes, error);
}

static struct nb_metrics *make_metrics(const struct nb_server *server)
{
    static const char *methods[ROUTES_MOST], *patterns[ROUTES_MOST]; /* both tables of routes */
    size_t line_count;
    const struct nb_line_route *line_routes = nb_line_route_table(&line_count);
    size_t count = server->route_count + line_count;
    assert(count <= ROUTES_MOST);
    for (size_t i = 0; i < count; i++) {
        const struct nb_route *route = i < server->route_count
                                           ? &server->routes[i]
                                           : &line_routes[i - server->route_count].route;
        methods[i] = route->method;
        patterns[i] = route->pattern;
    }
    struct nb_metrics *metrics = nb_metrics_new(methods, patterns, count, NB_PROGRAM_VERSION);
    if (metrics != NULL)
        nb_metrics_name_actions(metrics, nb_filter_action_names, NB_FILTER_ACTIONS);
    return metrics;
}

/* The signals that the main thread waits for: to stop, or to read the configuration again. */
static void awaited_signals(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGHUP);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGINT);
}

static void notify_end(bool is_last)
{
    char state[64]; /* sd_notify(3) requires the time */
    (void)snprintf(state, sizeof state, "RELOADING=1\nMONOTONIC_USEC=%llu",
                   (unsigned long long)(nb_clock_monotonic() / 1000));
    nb_notify(is_last ? "STOPPING=1" : state);
}

/* Logs how the upgrade of models of an older version goes: at its beginning, about every ten
 * seconds, and at its end. Returns whether it goes on. `looks`: how often it was asked, for the
 * caller to keep. */
static bool log_upgrade(const struct nb_server *server, unsigned *looks)
{
    enum { EVERY = 10 };
    struct nb_engine_statistics s;
    nb_engine_statistics(server->engine, &s);
    if (s.upgraded_models == 0)
        return false;
    bool goes_on = s.upgrades_left > 0;
    if (!goes_on || (*looks)++ % EVERY == 0)
        nb_log(NB_LOG_INFO,
               "models of an older version are computed anew models=%llu left=%llu entries=%llu "
               "done=%llu",
               (unsigned long long)s.upgraded_models, (unsigned long long)s.upgrades_left,
               (unsigned long long)s.upgrade_entries, (unsigned long long)s.upgrade_done);
    return goes_on;
}

/* Returns the signal that ends the daemon; 0: start again with the store of another node. */
static int wait_for_stop(struct nb_server *server, const struct nb_options *options,
                         struct nb_rejoin *rejoin)
{
    static const struct timespec LOOK = {.tv_sec = 1};
    sigset_t signals;
    awaited_signals(&signals);
    unsigned looks = 0;
    bool upgrades = log_upgrade(server, &looks);
    for (;;) {
        int which = server->nodes == NULL && !upgrades ? sigwaitinfo(&signals, NULL)
                                                       : sigtimedwait(&signals, NULL, &LOOK);
        upgrades = upgrades && log_upgrade(server, &looks);
        if (which == SIGHUP) {
            notify_end(false);
            nb_configure_again(options, server);
            nb_notify("READY=1");
        } else if (which > 0) {
            return which;
        }
        if (server->nodes != NULL && nb_rejoin_look(rejoin, server->nodes, options))
            return 0;
    }
}

/* Serves on an open engine until a signal to stop comes. */
static int serve(struct nb_server *server, const struct nb_options *options,
                 struct nb_rejoin *rejoin, struct nb_error *error)
{
    int sockets[NB_LISTEN_SOCKETS];
    struct nb_addresses addresses;
    struct nb_serving *serving = NULL;
    int rc = nb_addresses_listen(server->startup, &addresses, sockets, error);
    if (rc == 0)
        rc = nb_serve_start(server, sockets, &serving, error);
    if (rc != 0)
        return rc;
    nb_addresses_print(&addresses);
    nb_notify("READY=1");
    int signal = wait_for_stop(server, options, rejoin);
    if (signal > 0)
        nb_log(NB_LOG_INFO, "stopping signal=%s", strsignal(signal));
    notify_end(signal > 0);
    nb_serve_stop(&serving);
    if (server->startup->socket[0] != '\0')
        (void)unlink(server->startup->socket); /* if this fails, the next start removes the file */
    return signal > 0 ? 0 : NB_DAEMON_ANEW;
}

/* Prepares the folder of long replies. If the disk is full, the daemon starts nevertheless, because
 * it can still classify. The path is the caller's to free. */
static int prepare_spools(const struct nb_config *config, char **path, struct nb_error *error)
{
    bool is_given = config->spool_directory[0] != '\0';
    if (asprintf(path, "%s%s", is_given ? config->spool_directory : config->data,
                 is_given ? "" : "/tmp") < 0) {
        *path = NULL;
        return nb_error_no_memory(error);
    }
    int rc = nb_spool_prepare(*path, error);
    if (rc != NB_DISK_FULL)
        return rc;
    nb_log(NB_LOG_WARNING, "%s", error->text);
    return 0;
}

static int open_and_serve(struct nb_server *server, const struct nb_options *options,
                          struct nb_error *error)
{
    struct nb_engine_settings settings;
    struct nb_error damage, journal;
    bool is_cut;
    struct nb_rejoin rejoin;
    nb_engine_settings_of(server->startup, &settings);
    unsigned char key[NB_KEY_BYTES];
    uint64_t start = nb_clock_monotonic();
    int rc = nb_engine_settings_share(server->startup, key, &settings, error);
    if (rc == 0)
        rc = nb_rejoin_begin(&rejoin, server->startup, error);
    if (rc == 0)
        rc = nb_engine_open(&settings, &server->engine, error);
    if (rc != 0)
        return rc;
    nb_log(NB_LOG_INFO, "store opened directory=%s ms=%llu", server->startup->data,
           (unsigned long long)((nb_clock_monotonic() - start) / 1000000));
    if (nb_engine_met_damage(server->engine, &damage))
        nb_log(NB_LOG_WARNING, "store damage: %s", damage.text);
    if (nb_engine_met_journal(server->engine, &journal, &is_cut))
        nb_log(is_cut ? NB_LOG_WARNING : NB_LOG_INFO, "journal: %s", journal.text);
    char *spools = NULL;
    rc = prepare_spools(server->startup, &spools, error);
    server->spool_directory = spools;
    server->evaluations = nb_evaluations_new(server->engine);
    server->scratch = nb_scratch_pool_new();
    if (server->evaluations == NULL || server->scratch == NULL)
        rc = nb_error_no_memory(error);
    if (rc == 0)
        rc = join(server, error);
    if (rc == 0)
        rc = nb_challengers_start(server->engine, &server->challengers, error);
    if (rc == 0)
        rc = nb_events_start(server->engine, server->startup, &server->events, error);
    if (rc == 0)
        rc = serve(server, options, &rejoin, error);
    nb_events_stop(&server->events);
    nb_challengers_stop(&server->challengers);
    nb_rejoin_stop(&rejoin);
    nb_nodes_stop(&server->nodes);
    nb_spare_drop(&server->spare, UINT64_MAX);
    nb_scratch_pool_free(&server->scratch); /* before the engine: its verdicts hold models */
    nb_evaluations_free(&server->evaluations);
    free(spools);
    start = nb_clock_monotonic();
    nb_engine_close(&server->engine);
    nb_log(NB_LOG_INFO, "store closed ms=%llu",
           (unsigned long long)((nb_clock_monotonic() - start) / 1000000));
    return rc;
}

/* Serves with the configuration of the start, which the caller holds until the end. */
static int serve_with(const struct nb_configuration *first, const struct nb_options *options,
                      struct nb_error *error)
{
    struct nb_server server = {.startup = &first->config, .started = nb_clock_monotonic()};
    /* Blocked before any thread starts, so that all threads inherit the mask: only the main thread
     * takes these signals. */
    sigset_t signals;
    awaited_signals(&signals);
    (void)pthread_sigmask(SIG_BLOCK, &signals, NULL);
    (void)signal(SIGPIPE, SIG_IGN); /* if the client has gone, write() fails instead */
    (void)umask(0077);              /* only the daemon's user may read the store */
    server.routes = nb_route_table(&server.route_count);
    nb_configurations_begin(&server, first);
    server.metrics = make_metrics(&server);
    server.limits = nb_limits_new();
    int rc = server.metrics != NULL && server.limits != NULL ? 0 : nb_error_no_memory(error);
    if (rc == 0) {
        nb_configure_apply(&server, server.startup);
        rc = open_and_serve(&server, options, error);
    }
    nb_limits_free(&server.limits);
    nb_metrics_free(&server.metrics);
    nb_configurations_end(&server);
    return rc;
}

/* Warns of mistakes in the way in which the daemon was started. */
static void warn(const struct nb_options *options, const struct nb_configuration *first)
{
    struct stat status;
    if (geteuid() == 0)
        nb_log(NB_LOG_WARNING, "running as root: a fault in reading mail would have all rights of "
                               "this machine; use a user of its own, as bayesd.service does");
    if (options->config != NULL && stat(options->config, &status) == 0 &&
        (status.st_mode & S_IROTH) != 0 && first->access->tokens.has_plain)
        nb_log(NB_LOG_WARNING,
               "everybody on this machine can read the tokens in %s: make it mode 0640, or write "
               "their hashes (bayesd --print-config shows them)",
               options->config);
}

/* Adds to an error about the data directory, or a file in it, how another one is named. */
static int hint_at_data(const char *data, int rc, struct nb_error *error)
{
    struct nb_error why = *error;
    if ((rc != NB_IO && rc != NB_NOT_FOUND) || strncmp(error->text, data, strlen(data)) != 0)
        return rc;
    return nb_error_set(error, rc, "%s (--data names another directory)", why.text);
}

int nb_daemon_run(const struct nb_options *options, struct nb_config *config,
                  struct nb_error *error)
{
    const struct nb_configuration *first;
    char data[NB_TOKEN_FILE_PATH]; /* it fits; what is made takes over that of `config` */
    (void)snprintf(data, sizeof data, "%s", config->data);
    int rc = nb_configure_make(config, &first, error);
    if (rc == 0) {
        warn(options, first);
        rc = serve_with(first, options, error);
    }
    nb_configuration_release(&first);
    return hint_at_data(data, rc, error);
}
