/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes on a connection of the whole daemon: acceptor, HTTP library, router, handlers, line
 * protocols, engine. The connection ends once the client has said all; what comes back is replies,
 * each with its head once, and none of the HTTP library's own pages.
 */
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/buffer.h"
#include "core/base/system.h"
#include "core/engine/engine.h"
#include "server/api/evaluations.h"
#include "server/base/listen.h"
#include "server/base/log.h"
#include "server/base/metrics.h"
#include "server/configure.h"
#include "server/daemon.h"
#include "server/http/http_answer.h"
#include "server/http/server.h"
#include "server/mail/filter.h"
#include "server/routes.h"
#include "tokenizer/document.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PATIENCE_MILLISECONDS = 20000 };

static char folder[] = "/tmp/fuzz-http-XXXXXX";
static struct sockaddr_un address = {.sun_family = AF_UNIX};
static const struct nb_configuration *configuration;
static struct nb_server server;
static struct nb_serving *serving;

static void must(bool holds)
{
    if (!holds)
        __builtin_trap();
}

/* ---- the daemon ------------------------------------------------------------------------------ */

static void end(void)
{
    char remove[sizeof folder + 16];
    nb_serve_stop(&serving);
    nb_scratch_pool_free(&server.scratch);
    nb_evaluations_free(&server.evaluations);
    nb_engine_close(&server.engine);
    nb_metrics_free(&server.metrics);
    nb_configurations_end(&server);
    nb_configuration_release(&configuration);
    nb_tokenizer_teardown();
    (void)snprintf(remove, sizeof remove, "rm -rf %s", folder);
    must(system(remove) == 0);
}

static void configure(void)
{
    struct nb_config config;
    must(nb_config_init(&config, NULL) == 0);
    must(nb_config_set(&config, "store", "data", folder, "fuzz", NULL) == 0);
    must(nb_config_set(&config, "store", "map_size", "64M", "fuzz", NULL) == 0);
    must(nb_config_set(&config, "server", "body_bytes", "1M", "fuzz", NULL) == 0);
    must(nb_configuration_new(&config, &configuration, NULL) == 0);
}

static void open_engine(void)
{
    struct nb_engine_settings settings;
    nb_engine_settings_init(&settings);
    settings.directory = folder;
    settings.map_size = configuration->config.map_size;
    must(nb_engine_open(&settings, &server.engine, NULL) == 0);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    int sockets[NB_LISTEN_SOCKETS] = {-1, -1, -1};
    nb_log_setup(NB_LOG_ERROR);
    must(nb_tokenizer_setup(NULL) == 0 && mkdtemp(folder) != NULL);
    configure();
    server.startup = &configuration->config;
    nb_configurations_begin(&server, configuration);
    server.routes = nb_route_table(&server.route_count);
    server.metrics = nb_metrics_new(NULL, NULL, 0, "fuzz");
    nb_metrics_name_actions(server.metrics, nb_filter_action_names, NB_FILTER_ACTIONS);
    server.spool_directory = folder;
    server.started = nb_clock_monotonic();
    nb_configure_apply(&server, server.startup);
    open_engine();
    server.evaluations = nb_evaluations_new(server.engine);
    server.scratch = nb_scratch_pool_new();
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", folder);
    must(nb_listen_unix(address.sun_path, 0600, &sockets[NB_LISTEN_FILE], NULL) == 0);
    must(nb_serve_start(&server, sockets, &serving, NULL) == 0);
    return atexit(end);
}

/* ---- a client -------------------------------------------------------------------------------- */

/* Sends what the socket takes, and says in the end that this was all. */
static size_t send_some(int file, const uint8_t *data, size_t size)
{
    ssize_t sent = send(file, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    size_t left = sent < 0 ? (errno == EAGAIN ? size : 0) : size - (size_t)sent;
    if (left == 0)
        (void)shutdown(file, SHUT_WR);
    return left;
}

/* Returns whether there may be more to come. */
static bool receive_some(int file, struct nb_buffer *replies)
{
    char bytes[65536];
    ssize_t n = recv(file, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n > 0)
        must(nb_buffer_append(replies, bytes, (size_t)n) == 0);
    return n > 0 || (n < 0 && errno == EAGAIN);
}

static void talk(const uint8_t *data, size_t size, struct nb_buffer *replies)
{
    struct pollfd polled = {.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    must(connect(polled.fd, (const struct sockaddr *)(const void *)&address, sizeof address) == 0);
    size_t left = send_some(polled.fd, data, size);
    bool goes_on = true;
    while (goes_on) {
        polled.events = (short)(left > 0 ? POLLIN | POLLOUT : POLLIN);
        int ready = poll(&polled, 1, PATIENCE_MILLISECONDS);
        if (ready < 0 && errno == EINTR) /* the fuzzer's own alarm */
            continue;
        must(ready > 0);
        if (left > 0 && (polled.revents & POLLOUT) != 0)
            left = send_some(polled.fd, data + size - left, left);
        if ((polled.revents & ~POLLOUT) != 0)
            goes_on = receive_some(polled.fd, replies);
    }
    (void)close(polled.fd);
}

static bool starts(const struct nb_buffer *replies, const char *with)
{
    size_t length = strlen(with);
    return replies->length >= length && memcmp(replies->bytes, with, length) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nb_buffer replies = {0};
    static const char PAGE[] = "<html><head><title>";
    talk(data, size, &replies);
    if (replies.length > 0) {
        must(starts(&replies, "HTTP/1.1 ") || starts(&replies, "HTTP/1.0 ") ||
             starts(&replies, "SPAMD/") || starts(&replies, "RSPAMD/"));
        must(memmem(replies.bytes, replies.length, PAGE, sizeof PAGE - 1) == NULL ||
             memmem(data, size, PAGE, sizeof PAGE - 1) != NULL);
    }
    nb_buffer_deinit(&replies);
    return 0;
}
