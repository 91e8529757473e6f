/* SPDX-License-Identifier: Apache-2.0
 *
 * A request's way through libmicrohttpd, which calls the access handler several times:
 *   1. with the header fields alone: the request is made and routed (begin); what can be refused
 *      without its body is refused here;
 *   2. with pieces of the body (upload): they are decoded, kept or given on line by line;
 *   3. without data, when the body is complete (finish): the route answers, the reply is queued.
 * A request that waits for the engine's writer is suspended between two such calls. It is freed in
 * the completed-callback, the only one that is sure to come.
 *
 * libmicrohttpd 0.9.75 takes a reply in phases 1 and 3 only, and closes a connection after a reply
 * in phase 1. So a refusal waits for the end of a short body, and the connection goes on; a long
 * body is answered at once, in phase 2 by writing to the socket ourselves, and then lingers.
 *
 * What the library refuses by itself is told in library.c.
 */
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "config/config.h"
#include "core/base/clock.h"
#include "server/base/log.h"
#include "server/base/metrics.h"
#include "server/http/connection.h"
#include "server/http/http.h"
#include "server/http/http_call.h"
#include "server/http/library.h"
#include "server/http/refusal.h"
#include "server/request/answer.h"
#include "server/request/server.h"
#include "server/request/transfer.h"

/* ---- carrier -----------------------------------------------------------------------------------
 */

static void suspend(struct nb_request *request)
{
    MHD_suspend_connection(request->connection);
}

static void resume(struct nb_request *request)
{
    MHD_resume_connection(request->connection);
}

static struct nb_string field_of_request(const struct nb_request *request, const char *name)
{
    const char *value = MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
    return (struct nb_string){value, value != NULL ? strlen(value) : 0};
}

static const struct nb_carrier CARRIER = {suspend, resume, field_of_request};

/* ---- 1: the header fields ----------------------------------------------------------------------
 */

/* NULL: there is no memory, or the connection was given up. */
static struct nb_http_call *begin(struct nb_http *http, struct MHD_Connection *connection,
                                  const char *url, const char *method, const char *version)
{
    struct nb_connection *held = nb_http_connection(connection);
    if (!nb_connection_enter(held, NB_PHASE_WORK))
        return NULL;
    struct nb_http_call *call = calloc(1, sizeof *call);
    if (call == NULL)
        return NULL;
    held->call = call;
    call->held = held;
    call->http = http;
    call->request.server = http->server;
    call->request.carrier = &CARRIER;
    call->request.connection = connection;
    (void)snprintf(call->method, sizeof call->method, "%s", method); /* cut for the log */
    nb_request_begin(&call->request);
    atomic_store(&held->received, 0);
    atomic_store(&held->begun, call->request.started);
    nb_http_check(call, url, method, version);
    return call;
}

/* Sends a refusal now when the body is long or the client waits for leave to send it; otherwise
 * after the body. */
static enum MHD_Result answer_early(struct nb_http_call *call)
{
    bool is_short = call->length <= NB_HTTP_DROP_BYTES && !call->expects_continue;
    if (!nb_reply_is_there(&call->request) || !call->has_body || is_short)
        return MHD_YES;
    call->closes = true;
    call->lingers = !call->expects_continue;
    return nb_http_queue_reply(call);
}

/* ---- 2: the body -------------------------------------------------------------------------------
 */

/* Turns what a handler returned into a reply. Returns whether the request waits. */
static bool settle(struct nb_http_call *call, int rc, const struct nb_error *error)
{
    if (rc < 0)
        nb_reply_error(&call->request, error);
    return rc == NB_WAIT;
}

static enum nb_phase phase_of(const struct nb_http_call *call)
{
    return nb_connection_phase(atomic_load(&call->held->state));
}

/* Counts what was taken of the body. */
static void count(struct nb_http_call *call, size_t bytes)
{
    call->received += bytes;
    atomic_store_explicit(&call->held->received, call->received, memory_order_relaxed);
}

/* With a chunked body, libmicrohttpd 0.9.75 offers the next chunk that it has already read even to
 * a connection that was suspended while it took the one before. Nothing may be touched then. */
static bool is_suspended(const struct nb_http_call *call)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(call->request.connection, MHD_CONNECTION_INFO_CONNECTION_SUSPENDED);
    return info != NULL && info->suspended == MHD_YES;
}

/* Goes on after a wait. Returns whether it still waits or waits again. */
static bool go_on(struct nb_http_call *call)
{
    struct nb_error error = {0};
    nb_handler *again = call->request.again;
    if (again == NULL)
        return false;
    if (is_suspended(call))
        return true;
    call->request.again = NULL;
    return settle(call, again(&call->request, &error), &error);
}

/* The body is not needed any more. A short rest is read, so that the connection can be used
 * again; the daemon does not wait for a rest that is long or of unknown length. */
static enum MHD_Result drop_body(struct nb_http_call *call, size_t *size)
{
    count(call, *size);
    *size = 0;
    if (call->length == UINT64_MAX || call->length - call->received > NB_HTTP_DROP_BYTES)
        return nb_http_answer_at_once(call);
    return MHD_YES;
}

/* Skips a body that the route does not take, up to a bound. */
static enum MHD_Result ignore_body(struct nb_http_call *call, size_t *size)
{
    if (call->received + *size > NB_HTTP_DROP_BYTES)
        nb_reply_problem(&call->request, MHD_HTTP_CONTENT_TOO_LARGE, "this path takes no body");
    else
        count(call, *size);
    if (nb_reply_is_there(&call->request))
        return drop_body(call, size);
    *size = 0;
    return MHD_YES;
}

static enum MHD_Result upload(struct nb_http_call *call, const char *data, size_t *size)
{
    struct nb_request *request = &call->request;
    struct nb_error error = {0};
    if (go_on(call))
        return MHD_YES;
    if (phase_of(call) != NB_PHASE_BODY && !nb_connection_enter(call->held, NB_PHASE_BODY))
        return MHD_NO;
    if (nb_reply_is_there(request))
        return drop_body(call, size);
    if (request->transfer == NULL && !call->is_direct)
        return ignore_body(call, size);
    struct nb_string input = {data, *size};
    int rc = nb_request_prepare(request, &error);
    if (rc == NB_WAIT)
        return MHD_YES;
    if (rc == 0 && call->is_direct && *size == call->length) {
        rc = nb_request_handle(request, input, &error);
        input.length = 0;
    } else if (rc == 0) {
        if (request->transfer == NULL)
            rc = nb_transfer_begin(request, NB_CODING_IDENTITY, &error);
        if (rc == 0)
            rc = nb_transfer_take(request, &input, &error);
    }
    count(call, *size - input.length);
    *size = input.length;
    /* A wait is taken up by the next call; that it was given up is noticed there, too. */
    if (settle(call, rc, &error))
        (void)nb_connection_enter(call->held, NB_PHASE_WORK);
    return rc < 0 ? drop_body(call, size) : MHD_YES;
}

/* ---- 3: the end --------------------------------------------------------------------------------
 */

static enum MHD_Result finish(struct nb_http_call *call)
{
    struct nb_request *request = &call->request;
    struct nb_error error = {0};
    if (phase_of(call) != NB_PHASE_WORK && !nb_connection_enter(call->held, NB_PHASE_WORK))
        return MHD_NO;
    if (go_on(call))
        return MHD_YES;
    if (!nb_reply_is_there(request) && settle(call, nb_transfer_finish(request, &error), &error))
        return MHD_YES;
    if (!nb_reply_is_there(request))
        nb_reply_problem(request, MHD_HTTP_INTERNAL_SERVER_ERROR, "no reply was made");
    return nb_http_queue_reply(call);
}

static enum MHD_Result on_call(void *user, struct MHD_Connection *connection, const char *url,
                               const char *method, const char *version, const char *data,
                               size_t *size, void **state)
{
    struct nb_http *http = user;
    struct nb_http_call *call = *state;
    if (call == NULL) {
        *state = call = begin(http, connection, url, method, version);
        if (call == NULL)
            return MHD_NO;
        if (call->has_body && !nb_connection_enter(call->held, NB_PHASE_BODY))
            return MHD_NO;
        return answer_early(call);
    }
    if (atomic_load(&http->server->is_cutting) && !nb_reply_is_there(&call->request))
        return MHD_NO;
    if (call->is_queued)
        return MHD_YES;
    return *size > 0 ? upload(call, data, size) : finish(call);
}

static void on_completed(void *user, struct MHD_Connection *connection, void **state,
                         enum MHD_RequestTerminationCode how)
{
    (void)connection;
    struct nb_http *http = user;
    struct nb_http_call *call = *state;
    if (call == NULL)
        return;
    bool is_complete = how == MHD_REQUEST_TERMINATED_COMPLETED_OK;
    bool is_answered = is_complete || call->lingers;
    unsigned status = call->refused != 0 ? call->refused
                      : is_answered      ? call->request.reply.status
                                         : atomic_load(&call->held->given_up);
    int file = call->lingers ? dup(call->held->file) : -1;
    if (file >= 0)
        http->owner.linger(http->owner.user, file);
    if (call->request.transfer != NULL)
        nb_transfer_end(&call->request);
    nb_request_end(&call->request, &(struct nb_request_figures){
                                       .method = call->method,
                                       .status = status,
                                       .received = call->received,
                                       .sent = call->sent,
                                   });
    call->held->call = NULL;
    call->held->is_kept =
        is_complete && call->is_kept && !call->closes && !atomic_load(&http->server->is_stopping);
    /* Fails if the connection was given up already. */
    (void)nb_connection_enter(call->held, is_complete ? NB_PHASE_IDLE : NB_PHASE_OVER);
    free(call);
    *state = NULL;
}

/* ---- start and stop ----------------------------------------------------------------------------
 */

static void on_message(void *user, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));
static void on_message(void *user, const char *format, va_list arguments)
{
    (void)user;
    char text[256];
    (void)vsnprintf(text, sizeof text, format, arguments); /* cut lines are still lines */
    text[strcspn(text, "\n")] = '\0';
    nb_log(NB_LOG_DEBUG, "libmicrohttpd says=\"%s\"", text);
}

/* Paths and queries stay as they came: they are split first and decoded then (router.c, query.c).
 */
static size_t leave_escaped(void *user, struct MHD_Connection *connection, char *text)
{
    (void)user, (void)connection;
    return strlen(text);
}

/* Whether the library closes a connection without a word because of what came: it waited for a
 * head, the client is there, and neither a time-out nor a stop explains it. A line without a space
 * is such a head. */
static bool is_hung_up_on(const struct nb_http *http, const struct nb_connection *held)
{
    struct pollfd polled = {.fd = held->file, .events = POLLRDHUP};
    uint64_t state = atomic_load(&held->state);
    enum nb_phase phase = nb_connection_phase(state);
    uint64_t idle = nb_clock_monotonic() - nb_connection_since(state);
    return !held->is_tls &&
           (phase == NB_PHASE_FIRST || (phase == NB_PHASE_IDLE && held->is_kept)) &&
           !atomic_load(&http->server->is_stopping) &&
           idle < http->server->startup->timeout * 1000000000u && poll(&polled, 1, 0) == 0;
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
    if (is_hung_up_on(http, held))
        nb_library_refuse(connection, MHD_HTTP_BAD_REQUEST);
    http->owner.closed(http->owner.user, held);
}

/* Above the option `connections`: what the acceptor lets in beyond it, with room to spare. */
enum { MORE_CONNECTIONS = 64 };

static struct MHD_Daemon *start_daemon(struct nb_http *http, unsigned threads, bool is_tls)
{
    const struct nb_config *config = http->server->startup;
    /* The library divides its limit by the number of threads: any thread may have all. The acceptor
     * enforces the limit (connections.h). */
    uint64_t connections = (config->connections + MORE_CONNECTIONS) * threads;
    if (connections > INT_MAX)
        connections = INT_MAX;
    struct MHD_OptionItem options[] = {
        {MHD_OPTION_CONNECTION_LIMIT, (intptr_t)connections, NULL},
        {MHD_OPTION_CONNECTION_TIMEOUT, (intptr_t)config->timeout, NULL},
        {MHD_OPTION_END, 0, NULL}, /* their number; one is no pool */
        {MHD_OPTION_END, 0, NULL}, /* TLS */
        {MHD_OPTION_END, 0, NULL}};
    size_t next = 2;
    if (threads > 1)
        options[next++] =
            (struct MHD_OptionItem){MHD_OPTION_THREAD_POOL_SIZE, (intptr_t)threads, NULL};
    if (is_tls)
        options[next] = nb_http_tls_option();
    /* Turbo: a socket is not shut down before it is closed, so that the last word may be ours
     * (is_hung_up_on); with TLS the library says it, as the protocol wants. */
    unsigned kind = is_tls ? MHD_USE_TLS : MHD_USE_TURBO;
    return MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_NO_LISTEN_SOCKET | MHD_USE_ITC |
                                MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG | kind,
                            0, NULL, NULL, on_call, http, MHD_OPTION_EXTERNAL_LOGGER, on_message,
                            http, MHD_OPTION_UNESCAPE_CALLBACK, leave_escaped, http,
                            MHD_OPTION_NOTIFY_COMPLETED, on_completed, http,
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
    /* On failure the library has closed it. */
    struct MHD_Daemon *daemon = held->is_tls ? http->tls : http->daemon;
    if (MHD_add_connection(daemon, held->file, &name.address.any, sizeof name) != MHD_YES)
        http->owner.closed(http->owner.user, held);
}

void nb_http_stop(struct nb_http **http)
{
    if (*http == NULL)
        return;
    if ((*http)->tls != NULL)
        MHD_stop_daemon((*http)->tls);
    if ((*http)->daemon != NULL)
        MHD_stop_daemon((*http)->daemon);
    free(*http);
    *http = NULL;
}
