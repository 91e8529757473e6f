/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesd: reads the command line and the configuration, opens the engine, serves until a signal
 * comes, and closes all in the opposite order.
 */
#include <assert.h>
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/config.h"
#include "core/base/clock.h"
#include "core/engine/engine.h"
#include "core/repair/repair.h"
#include "core/replica/queue.h"
#include "core/replica/replica.h"
#include "server/access/access.h"
#include "server/access/limits.h"
#include "server/access/models.h"
#include "server/api/evaluations.h"
#include "server/base/listen_unix.h"
#include "server/base/log.h"
#include "server/base/metrics.h"
#include "server/base/notify.h"
#include "server/base/version.h"
#include "server/configure.h"
#include "server/filter/filter.h"
#include "server/join.h"
#include "server/mail/line_routes.h"
#include "server/net/listen.h"
#include "server/nodes/known.h"
#include "server/nodes/mend.h"
#include "server/nodes/nodes.h"
#include "server/options.h"
#include "server/rejoin.h"
#include "server/request/configuration.h"
#include "server/request/server.h"
#include "server/request/spool.h"
#include "server/request/verdict.h"
#include "server/routes.h"
#include "server/serve.h"
#include "server/token_command.h"

enum {
    EXIT_COMMAND_LINE = 2,
    ROUTES_MOST = 128,
    ANEW = 1 /* a daemon has ended to be started again */
};

static void settings_of(const struct nb_config *config, struct nb_engine_settings *settings)
{
    nb_engine_settings_init(settings);
    settings->directory = config->data;
    settings->tokenizer = (struct nb_tokenizer_limits){
        .tokens = (size_t)config->tokens,
        .mail_bytes = (size_t)config->mail_bytes,
        .mail_parts = (size_t)config->mail_parts,
        .mail_depth = (size_t)config->mail_depth,
        .header_bytes = (size_t)config->header_bytes,
        .work = (size_t)config->work,
    };
    settings->auto_create = config->auto_create;
    settings->keep_words = config->keep_words;
    settings->map_size = config->map_size;
    settings->journal = config->journal;
    settings->memory = config->memory;
    settings->disk = config->disk;
    settings->replay_features = config->replay_features;
    settings->group_documents = config->group_documents;
    settings->superseded_seconds = config->superseded_seconds;
    settings->labels = (uint32_t)config->labels;
    settings->quarantine_documents = config->quarantine_documents;
    settings->quarantine_bytes = config->quarantine_bytes;
    settings->models = (uint32_t)config->models;
}

/* Where nodes share their changes, all have one key, and a refit is one step: one that is under way
 * is in memory alone, and a node that starts anew would fit otherwise than the others. */
static int share(const struct nb_config *config, unsigned char key[NB_KEY_BYTES],
                 struct nb_engine_settings *settings, struct nb_error *error)
{
    if (config->cluster_servers[0] == '\0')
        return 0;
    if (config->cluster_key_file[0] == '\0')
        return nb_error_set(error, NB_INVALID,
                            "[cluster] needs a cluster_key_file, the same on all nodes");
    if (config->cluster_follow[0] != '\0' &&
        !nb_models_are_patterns(nb_string_of(config->cluster_follow)))
        return nb_error_set(error, NB_INVALID,
                            "[cluster] follow: patterns of names of models, separated by commas, "
                            "in which * stands for any bytes and ? for one: user-a*,shared");
    settings->shared = true;
    settings->streams = (unsigned)config->cluster_streams;
    settings->refit_units = UINT64_MAX;
    settings->key = key;
    return nb_nodes_read_key(config->cluster_key_file, key, error);
}

/* A store of a cluster that is changed without it is never the same as the others again. */
static int join(struct nb_server *server, struct nb_error *error)
{
    const char *stream = nb_replica_stream(server->engine);
    server->list_followers = nb_nodes_list_followers;
    if (server->startup->cluster_servers[0] != '\0')
        return nb_nodes_start(server->engine, server->startup, &server->nodes, error);
    if (stream == NULL)
        return 0;
    return nb_error_set(error, NB_CONFLICT,
                        "the store belongs to the cluster of the stream '%s', and the "
                        "configuration has no [cluster] servers",
                        stream);
}

/* ---- serving -----------------------------------------------------------------------------------
 */

static struct nb_metrics *make_metrics(const struct nb_server *server)
{
    static const char *methods[ROUTES_MOST], *patterns[ROUTES_MOST]; /* of both tables */
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

/* What the main thread waits for: a stop, or to read the configuration again. */
static void awaited_signals(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGHUP);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGINT);
}

/* Where the daemon is reached. */
struct addresses {
    struct nb_listener port, tls;
    bool has_port, has_tls;
};

/* Opens the listening sockets; none is left open on failure. */
static int listen_on_all(const struct nb_config *config, struct addresses *addresses,
                         int sockets[NB_LISTEN_SOCKETS], struct nb_error *error)
{
    static const mode_t modes[] = {0600, 0660, 0666}; /* as the option table names them */
    const char *tls = config->tls_only ? config->listen : config->tls_listen;
    int rc = 0;
    *addresses = (struct addresses){.port.socket = -1,
                                    .tls.socket = -1,
                                    .has_port = !config->tls_only,
                                    .has_tls = tls[0] != '\0'};
    sockets[NB_LISTEN_FILE] = -1;
    if (addresses->has_port)
        rc = nb_listen(config->listen, &addresses->port, error);
    if (rc == 0 && addresses->has_tls)
        rc = nb_listen(tls, &addresses->tls, error);
    if (rc == 0 && config->socket[0] != '\0')
        rc = nb_listen_unix(config->socket, modes[config->socket_mode], &sockets[NB_LISTEN_FILE],
                            error);
    sockets[NB_LISTEN_PORT] = addresses->port.socket;
    sockets[NB_LISTEN_TLS] = addresses->tls.socket;
    for (int i = 0; rc != 0 && i < NB_LISTEN_SOCKETS; i++) {
        if (sockets[i] >= 0)
            (void)close(sockets[i]); /* it was never used */
    }
    return rc;
}

/* Tests and scripts read the ports from these lines: they are there whatever the log's level. The
 * last one says that the daemon is ready. */
static void print_addresses(const struct addresses *addresses)
{
    if (addresses->has_tls && addresses->has_port)
        (void)fprintf(stderr, "bayesd: with TLS on https://%s\n", addresses->tls.address);
    if (addresses->has_port)
        (void)fprintf(stderr, "bayesd: ready on http://%s\n", addresses->port.address);
    else
        (void)fprintf(stderr, "bayesd: ready on https://%s\n", addresses->tls.address);
}

static void notify_end(bool is_last)
{
    char state[64]; /* sd_notify(3) wants the time with it */
    (void)snprintf(state, sizeof state, "RELOADING=1\nMONOTONIC_USEC=%llu",
                   (unsigned long long)(nb_clock_monotonic() / 1000));
    nb_notify(is_last ? "STOPPING=1" : state);
}

static void reload(struct nb_server *server, const struct nb_options *options)
{
    notify_end(false);
    nb_configure_again(options, server);
    nb_notify("READY=1");
}

/* Returns the signal that ends the daemon; 0: it is to begin anew with the store of another node.
 */
static int wait_for_stop(struct nb_server *server, const struct nb_options *options,
                         struct nb_rejoin *rejoin)
{
    static const struct timespec LOOK = {.tv_sec = 1};
    sigset_t signals;
    awaited_signals(&signals);
    for (;;) {
        int which = server->nodes == NULL ? sigwaitinfo(&signals, NULL)
                                          : sigtimedwait(&signals, NULL, &LOOK);
        if (which == SIGHUP)
            reload(server, options);
        else if (which > 0)
            return which;
        if (server->nodes != NULL && nb_rejoin_look(rejoin, server->nodes, options))
            return 0;
    }
}

/* Serves on an open engine until a signal to stop comes. */
static int serve(struct nb_server *server, const struct nb_options *options,
                 struct nb_rejoin *rejoin, struct nb_error *error)
{
    int sockets[NB_LISTEN_SOCKETS];
    struct addresses addresses;
    struct nb_serving *serving = NULL;
    int rc = listen_on_all(server->startup, &addresses, sockets, error);
    if (rc == 0)
        rc = nb_serve_start(server, sockets, &serving, error);
    if (rc != 0)
        return rc;
    print_addresses(&addresses);
    nb_notify("READY=1");
    int signal = wait_for_stop(server, options, rejoin);
    if (signal > 0)
        nb_log(NB_LOG_INFO, "stopping signal=%s", strsignal(signal));
    notify_end(signal > 0);
    nb_serve_stop(&serving);
    if (server->startup->socket[0] != '\0')
        (void)unlink(server->startup->socket); /* or the next start does it */
    return signal > 0 ? 0 : ANEW;
}

/* Long replies wait in a folder of their own. On a full disk the daemon starts all the same: it can
 * still classify. The path is the caller's to free. */
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
    struct nb_error mended;
    struct nb_rejoin rejoin;
    settings_of(server->startup, &settings);
    unsigned char key[NB_KEY_BYTES];
    uint64_t start = nb_clock_monotonic();
    int rc = share(server->startup, key, &settings, error);
    if (rc == 0)
        rc = nb_rejoin_begin(&rejoin, server->startup, error);
    if (rc == 0)
        rc = nb_engine_open(&settings, &server->engine, error);
    if (rc != 0)
        return rc;
    nb_log(NB_LOG_INFO, "store opened directory=%s ms=%llu", server->startup->data,
           (unsigned long long)((nb_clock_monotonic() - start) / 1000000));
    if (nb_engine_met_damage(server->engine, &mended))
        nb_log(NB_LOG_WARNING, "store damage: %s", mended.text);
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
        rc = serve(server, options, &rejoin, error);
    nb_rejoin_stop(&rejoin);
    nb_nodes_stop(&server->nodes);
    nb_scratch_pool_free(&server->scratch); /* before the engine: its verdicts hold models */
    nb_evaluations_free(&server->evaluations);
    free(spools);
    start = nb_clock_monotonic();
    nb_engine_close(&server->engine);
    nb_log(NB_LOG_INFO, "store closed ms=%llu",
           (unsigned long long)((nb_clock_monotonic() - start) / 1000000));
    return rc;
}

/* With the configuration of the start, which is held until the end. */
static int serve_with(const struct nb_configuration *first, const struct nb_options *options,
                      struct nb_error *error)
{
    struct nb_server server = {.startup = &first->config, .started = nb_clock_monotonic()};
    /* Blocked before any thread starts, so that all inherit it: the main thread waits for them. */
    sigset_t signals;
    awaited_signals(&signals);
    (void)pthread_sigmask(SIG_BLOCK, &signals, NULL);
    (void)signal(SIGPIPE, SIG_IGN); /* a client that has gone is an error of write() */
    (void)umask(0077);              /* the store is the daemon's own */
    server.routes = nb_route_table(&server.route_count);
    server.configurations = nb_configurations_new(first);
    server.metrics = make_metrics(&server);
    server.limits = nb_limits_new();
    int rc = server.configurations != NULL && server.metrics != NULL && server.limits != NULL
                 ? 0
                 : NB_NO_MEMORY;
    if (rc != 0)
        (void)nb_error_no_memory(error);
    else
        nb_configure_apply(&server, server.startup);
    if (rc == 0)
        rc = open_and_serve(&server, options, error);
    nb_limits_free(&server.limits);
    nb_metrics_free(&server.metrics);
    nb_configurations_free(&server.configurations);
    return rc;
}

/* What an administrator should know of how the daemon was started. */
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

static int run_daemon(const struct nb_options *options, struct nb_config *config,
                      struct nb_error *error)
{
    const struct nb_configuration *first;
    int rc = nb_configure_make(config, &first, error);
    if (rc == 0) {
        warn(options, first);
        rc = serve_with(first, options, error);
    }
    nb_configuration_release(&first);
    return rc;
}

/* ---- the other actions -------------------------------------------------------------------------
 */

static void print_difference(void *user, const char *line)
{
    (void)fprintf(user, "%s\n", line);
}

static int verify(const struct nb_config *config, struct nb_error *error)
{
    struct nb_engine_settings settings;
    settings_of(config, &settings);
    int rc = nb_engine_verify(&settings, print_difference, stdout, error);
    if (rc == 0)
        (void)printf("%s: every count is what the documents say\n", config->data);
    return rc;
}

/* A node whose store has lost something has to join again; one with a damaged outbox has not. */
static int mend_outbox(const struct nb_config *config, struct nb_error *error)
{
    struct nb_outbox_mended mended;
    int rc = nb_outbox_mend(config->data, &mended, error);
    if (rc != 0 || !mended.is_damaged)
        return rc;
    (void)printf("outbox: %llu changes are kept, at least %llu cannot be read and are lost; the "
                 "old file is outbox.old. The store was left as it is.\n",
                 (unsigned long long)mended.kept, (unsigned long long)mended.lost);
    return 1;
}

static int rebuild(const struct nb_config *config, struct nb_error *error)
{
    struct nb_engine_settings settings;
    settings_of(config, &settings);
    int rc = mend_outbox(config, error);
    if (rc != 0)
        return rc;
    rc = nb_engine_rebuild(&settings, print_difference, stdout, error);
    if (rc == 0)
        (void)printf("%s: rebuilt; nothing differed\n", config->data);
    else if (rc > 0)
        (void)printf("%s: rebuilt; what differed is above, the old file is data.mdb.old\n",
                     config->data);
    return rc;
}

static int restore(const struct nb_config *config, const char *backup, struct nb_error *error)
{
    struct nb_engine_settings settings;
    settings_of(config, &settings);
    int rc = nb_engine_restore(&settings, backup, print_difference, stdout, error);
    if (rc == 0)
        (void)printf("%s: restored; every count is what the documents say\n", config->data);
    else if (rc > 0)
        (void)printf(
            "%s: restored; what differs is above: it differed in the store that was saved, "
            "bayesd --rebuild mends it\n",
            config->data);
    return rc;
}

static int join_from(const struct nb_config *config, const char *peer, struct nb_error *error)
{
    struct nb_engine_settings settings;
    unsigned char key[NB_KEY_BYTES];
    uint64_t position = 0;
    settings_of(config, &settings);
    int rc = share(config, key, &settings, error);
    if (rc == 0)
        rc = nb_join(&settings, config, peer, &position, error);
    if (rc == 0)
        (void)printf("%s: has what %s has, up to change %llu of the stream; every count is what "
                     "the documents say\n",
                     config->data, peer, (unsigned long long)position);
    return rc;
}

static int check_config(struct nb_config *config, struct nb_error *error)
{
    const struct nb_configuration *made;
    int rc = nb_configure_make(config, &made, error);
    nb_configuration_release(&made);
    if (rc == 0)
        (void)puts("the configuration is in order");
    return rc;
}

static int print_config(struct nb_config *config, struct nb_error *error)
{
    int rc = nb_configure_hide(config, error);
    if (rc != 0)
        return rc;
    rc = nb_config_print(config, false, stdout);
    return rc == 0 ? 0 : nb_error_set(error, rc, "standard output cannot be written");
}

static int act(const struct nb_options *options, struct nb_config *config, struct nb_error *error)
{
    switch (options->action) {
    case NB_ACTION_CHECK_CONFIG:
        return check_config(config, error);
    case NB_ACTION_PRINT_CONFIG:
        return print_config(config, error);
    case NB_ACTION_VERIFY:
        return verify(config, error);
    case NB_ACTION_REBUILD:
        return rebuild(config, error);
    case NB_ACTION_RESTORE:
        return restore(config, options->backup, error);
    case NB_ACTION_JOIN:
        return join_from(config, options->peer, error);
    case NB_ACTION_MEND_STREAM:
        return nb_nodes_mend(config, error);
    case NB_ACTION_NEW_TOKEN:
        return nb_token_command_new(options, config, error);
    case NB_ACTION_LIST_TOKENS:
        return nb_token_command_list(config, error);
    case NB_ACTION_REVOKE_TOKEN:
        return nb_token_command_revoke(options, config, error);
    case NB_ACTION_SERVE:
    case NB_ACTION_VERSION:
    case NB_ACTION_HELP:
    default:
        return run_daemon(options, config, error);
    }
}

static int run(const struct nb_options *options)
{
    struct nb_config config = {0};
    struct nb_error error = {0};
    int rc = nb_configure_read(options, &config, &error);
    if (rc == 0) {
        nb_log_setup((enum nb_log_level)config.log_level);
        nb_configure_log(&config);
        rc = nb_tokenizer_setup(&error);
    }
    if (rc == 0) {
        rc = act(options, &config, &error);
        nb_tokenizer_teardown();
    }
    if (rc < 0)
        nb_log(NB_LOG_ERROR, "%s", error.text);
    nb_config_deinit(&config);
    if (rc == ANEW && options->action == NB_ACTION_SERVE) {
        (void)execv("/proc/self/exe",
                    options->arguments); /* the service manager sees one process */
        nb_log(NB_LOG_ERROR, "the program cannot be started again: %s", strerror(errno));
    }
    return rc == 0 && fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Has large memory given back to the kernel when it is freed. By itself the GNU library raises its
 * bound to 32 MiB with what is freed, and keeps such memory for each of many arenas. Smaller memory
 * at the end of an arena is kept up to the same bound: otherwise 128 KiB of it are, and each mail
 * has pages taken and given back. */
static void give_memory_back(void)
{
    enum { BYTES_OF_OWN_PAGES = 1 << 20 };
    /* These fail for absurd values only. */
    (void)mallopt(M_MMAP_THRESHOLD, BYTES_OF_OWN_PAGES);
    (void)mallopt(M_TRIM_THRESHOLD, BYTES_OF_OWN_PAGES);
}

int main(int argc, char **argv)
{
    struct nb_options options;
    struct nb_error error = {0};
    if (nb_options_read(argc, argv, &options, &error) != 0) {
        (void)fprintf(stderr, "bayesd: %s (--help lists the options)\n", error.text);
        return EXIT_COMMAND_LINE;
    }
    if (options.action == NB_ACTION_HELP) {
        nb_options_help(stdout);
        return EXIT_SUCCESS;
    }
    if (options.action == NB_ACTION_VERSION) {
        (void)puts("bayesd " NB_PROGRAM_VERSION);
        return EXIT_SUCCESS;
    }
    give_memory_back();
    return run(&options);
}
