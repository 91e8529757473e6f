/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/platform/poller.h"
#include "server/http/http.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "core/base/system.h"
#include "server/base/log.h"
#include "server/http/http_call.h"
#include "server/http/http_tls.h"
#include "server/http/library.h"
#include "server/http/server.h"

/* ---- the library calls ----------------------------------------------------------------------- */

static void on_message(void *user, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));
static void on_message(void *user, const char *format, va_list arguments)
{
    (void)user;
    char text[256];
    (void)vsnprintf(text, sizeof text, format, arguments); /* a line that is cut is still useful */
    text[strcspn(text, "\n")] = '\0';
    nb_log(NB_LOG_DEBUG, "libmicrohttpd says=\"%s\"", text);
}

/* Whether the library closes a connection silently because of its input: it waited for a head, the
 * client is connected, and neither a time-out nor a stop explains the close. It does so, for
 * example, for a head that is a line without a space. */
static bool is_hung_up_on(const struct nb_http *http, const struct nb_connection *held)
{
    uint64_t state = atomic_load(&held->state);
    enum nb_phase phase = nb_connection_phase(state);
    uint64_t idle = nb_clock_monotonic() - nb_connection_since(state);
    return !held->is_tls &&
           (phase == NB_PHASE_FIRST || (phase == NB_PHASE_IDLE && held->is_kept)) &&
           !atomic_load(&http->server->is_stopping) &&
           idle < http->server->startup->timeout * 1000000000u && !nb_poller_has_ended(held->file);
}

static void on_connection(void *user, struct MHD_Connection *connection, void **state,
                          enum MHD_ConnectionNotificationCode what)
{
    (void)state;
    struct nb_http *http = user;
    struct nb_connection *held = nb_http_connection(connection);
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        if (held->is_tls)
            nb_http_tls_begin(held, connection);
        atomic_store(&held->is_started, true);
        return;
    }
    nb_http_tls_end(held);
    free(held->spare);
    if (is_hung_up_on(http, held))
        nb_library_refuse(connection, MHD_HTTP_BAD_REQUEST);
    http->owner.closed(http->owner.user, held);
}

/* ---- start and stop -------------------------------------------------------------------------- */

/* Connections of the library above the option `connections`: those that the acceptor admits beyond
 * it, and a reserve. */
enum { MORE_CONNECTIONS = 64 };

static struct MHD_Daemon *start_daemon(struct nb_http *http, unsigned threads, bool is_tls)
{
    const struct nb_config *config = http->server->startup;
    /* The library divides its limit by the number of threads, so it gets a limit that lets any
     * thread have all connections. The acceptor enforces the real limit (connections.h). */
    uint64_t connections = (config->connections + MORE_CONNECTIONS) * threads;
    if (connections > INT_MAX)
        connections = INT_MAX;
    struct MHD_OptionItem options[] = {
        {MHD_OPTION_CONNECTION_LIMIT, (intptr_t)connections, NULL},
        {MHD_OPTION_CONNECTION_TIMEOUT, (intptr_t)config->timeout, NULL},
        {MHD_OPTION_END, 0, NULL}, /* number of threads, for more than one */
        {MHD_OPTION_END, 0, NULL}, /* TLS */
        {MHD_OPTION_END, 0, NULL}};
    size_t next = 2;
    if (threads > 1)
        options[next++] =
            (struct MHD_OptionItem){MHD_OPTION_THREAD_POOL_SIZE, (intptr_t)threads, NULL};
    if (is_tls)
        options[next] = nb_http_tls_option();
    /* Turbo: a socket is not shut down before it is closed, so that bayesd can still send a last
     * reply (is_hung_up_on). With TLS the library sends the closing message, as the protocol
     * requires. */
    unsigned kind = is_tls ? MHD_USE_TLS : MHD_USE_TURBO;
    return MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_NO_LISTEN_SOCKET | MHD_USE_ITC |
                                MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG | kind,
                            0, NULL, NULL, nb_http_on_call, http, MHD_OPTION_EXTERNAL_LOGGER,
                            on_message, http, MHD_OPTION_UNESCAPE_CALLBACK, nb_http_leave_escaped,
                            http, MHD_OPTION_NOTIFY_COMPLETED, nb_http_on_completed, http,
                            MHD_OPTION_NOTIFY_CONNECTION, on_connection, http, MHD_OPTION_ARRAY,
                            options, MHD_OPTION_END);
}

int nb_http_start(struct nb_server *server, unsigned threads, const struct nb_http_owner *owner,
                  struct nb_http **http, struct nb_error *error)
{
    struct nb_http *made = calloc(1, sizeof *made);
    if (made == NULL)
        return nb_error_no_memory(error);
    *made = (struct nb_http){.server = server, .owner = *owner};
    int rc = nb_library_find(error);
    if (rc == 0 && (made->daemon = start_daemon(made, threads, false)) == NULL)
        rc = nb_error_set(error, NB_IO, "the HTTP server does not start");
    bool has_tls = server->startup->tls_listen[0] != '\0' || server->startup->tls_only;
    if (rc == 0 && has_tls)
        rc = nb_handshakes_start(&made->handshakes, error);
    if (rc == 0 && has_tls && (made->tls = start_daemon(made, threads, true)) == NULL)
        rc = nb_error_set(error, NB_IO, "the HTTP server does not start with TLS");
    if (rc != 0)
        nb_http_stop(&made);
    *http = made;
    return rc;
}

void nb_http_take(struct nb_http *http, struct nb_connection *held)
{
    struct nb_connection_name name = {.address = held->address, .held = held};
    held->http = http;
    /* If this fails, the library has closed the file. */
    struct MHD_Daemon *daemon = held->is_tls ? http->tls : http->daemon;
    if (MHD_add_connection(daemon, held->file, &name.address.any, sizeof name) != MHD_YES)
        http->owner.closed(http->owner.user, held);
}

void nb_http_stop(struct nb_http **http)
{
    if (*http == NULL)
        return;
    nb_handshakes_end((*http)->handshakes); /* nothing may be suspended when the library stops */
    if ((*http)->tls != NULL)
        MHD_stop_daemon((*http)->tls);
    if ((*http)->daemon != NULL)
        MHD_stop_daemon((*http)->daemon);
    nb_handshakes_free(&(*http)->handshakes);
    free(*http);
    *http = NULL;
}
