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
 */
#include "server/http.h"

#include <limits.h>
#include <microhttpd.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "config/config.h"
#include "server/codec.h"
#include "server/connections.h"
#include "server/linger.h"
#include "server/log.h"
#include "server/request.h"
#include "server/site.h"
#include "server/transfer.h"

/* A body that nobody wants is read to its end if it is no longer than this. */
enum { DROP_BYTES = 1024 * 1024 };

struct nb_http {
    struct nb_server *server;
    struct MHD_Daemon *daemon;
    struct nb_connections *connections; /* borrowed */
    struct nb_linger *linger;           /* borrowed */
};

/* A request with what only this file knows of it. */
struct call {
    struct nb_request request;
    struct nb_http *http;
    uint64_t received;     /* bytes of the body */
    uint64_t sent;         /* bytes of the reply's body */
    uint64_t length;       /* Content-Length, or UINT64_MAX when it is chunked */
    bool has_body;         /* there is one to come */
    bool expects_continue; /* and the client waits for leave to send it */
    bool is_direct;        /* the body may be used where it lies if it comes in one piece */
    bool is_queued;        /* the reply was given to the library */
    bool closes;           /* the connection ends with this reply */
    bool lingers;          /* and the client may still be sending */
    char method[8];        /* for the log */
};

/* ---- replies -----------------------------------------------------------------------------------
 */

static void add_field(struct MHD_Response *response, const char *name, const char *value)
{
    /* Fails for lack of memory only; a reply without the field is better than none. */
    (void)MHD_add_response_header(response, name, value);
}

static struct MHD_Response *make_response(struct nb_reply *reply)
{
    struct nb_buffer *bytes = reply->has_spool ? &reply->spool.tail : &reply->body;
    struct MHD_Response *response;
    if (reply->has_spool && reply->spool.file >= 0) {
        response = MHD_create_response_from_fd64(reply->spool.written, reply->spool.file);
        if (response != NULL)
            reply->spool.file = -1; /* the library closes it */
        return response;
    }
    if (bytes->length == 0)
        return MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    response = MHD_create_response_from_buffer(bytes->length, bytes->bytes, MHD_RESPMEM_MUST_FREE);
    if (response != NULL)
        *bytes = (struct nb_buffer){NULL, 0, 0}; /* the library frees it */
    return response;
}

static void add_fields(struct MHD_Response *response, const struct call *call)
{
    const struct nb_reply *reply = &call->request.reply;
    if (reply->content_type != NULL && reply->status != MHD_HTTP_NO_CONTENT)
        add_field(response, MHD_HTTP_HEADER_CONTENT_TYPE, reply->content_type);
    if (reply->allow[0] != '\0')
        add_field(response, MHD_HTTP_HEADER_ALLOW, reply->allow);
    if (reply->status == MHD_HTTP_SERVICE_UNAVAILABLE ||
        reply->status == MHD_HTTP_TOO_MANY_REQUESTS)
        add_field(response, MHD_HTTP_HEADER_RETRY_AFTER, "1");
    if (reply->status == MHD_HTTP_UNAUTHORIZED)
        add_field(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer realm=\"bayesd\"");
    if (call->closes || atomic_load(&call->http->server->is_stopping))
        add_field(response, MHD_HTTP_HEADER_CONNECTION, "close");
    if (reply->is_page) {
        add_field(response, "X-Content-Type-Options", "nosniff");
        add_field(response, "X-Frame-Options", "DENY");
        add_field(response, "Referrer-Policy", "no-referrer");
        add_field(response, "Content-Security-Policy",
                  "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'");
    }
}

static enum MHD_Result queue_reply(struct call *call)
{
    struct nb_reply *reply = &call->request.reply;
    call->sent = reply->has_spool ? nb_spool_length(&reply->spool) : reply->body.length;
    struct MHD_Response *response = make_response(reply);
    if (response == NULL)
        return MHD_NO;
    add_fields(response, call);
    enum MHD_Result queued = MHD_queue_response(call->request.connection, reply->status, response);
    MHD_destroy_response(response);
    call->is_queued = queued == MHD_YES;
    return queued;
}

static int socket_of(const struct call *call)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(call->request.connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info != NULL ? info->connect_fd : -1;
}

/* In the middle of a body: the library takes no reply here, so the (short) problem is written to
 * the socket, whose send buffer is empty; then the connection is given up. */
static enum MHD_Result answer_at_once(struct call *call)
{
    const struct nb_reply *reply = &call->request.reply;
    char head[256];
    int length = snprintf(head, sizeof head,
                          "HTTP/1.1 %u %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s"
                          "Connection: close\r\n\r\n",
                          reply->status, nb_codec_title((int)reply->status), reply->content_type,
                          reply->body.length, reply->status == 503 ? "Retry-After: 1\r\n" : "");
    struct iovec parts[2] = {{head, (size_t)length}, {reply->body.bytes, reply->body.length}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    /* A client that does not take it has gone. */
    (void)sendmsg(socket_of(call), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    call->sent = reply->body.length;
    call->lingers = true;
    return MHD_NO;
}

static const struct sockaddr *address_of(const struct nb_request *request)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    return info != NULL ? info->client_addr : NULL;
}

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

static const struct nb_carrier CARRIER = {suspend, resume, field_of_request, address_of, false};

/* ---- 1: the header fields ----------------------------------------------------------------------
 */

static const char *field(const struct call *call, const char *name)
{
    return MHD_lookup_connection_value(call->request.connection, MHD_HEADER_KIND, name);
}

static void measure_body(struct call *call)
{
    const char *length = field(call, MHD_HTTP_HEADER_CONTENT_LENGTH);
    const char *expect = field(call, MHD_HTTP_HEADER_EXPECT);
    if (field(call, MHD_HTTP_HEADER_TRANSFER_ENCODING) != NULL)
        call->length = UINT64_MAX;
    else if (length != NULL)
        call->length = strtoull(length, NULL, 10); /* the library has refused what is no number */
    call->has_body = call->length > 0;
    call->expects_continue = expect != NULL && strcasecmp(expect, "100-continue") == 0;
}

static enum MHD_Result count_length(void *user, enum MHD_ValueKind kind, const char *key,
                                    const char *value)
{
    (void)kind, (void)value;
    *(unsigned *)user += strcasecmp(key, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0 ||
                         strcasecmp(key, MHD_HTTP_HEADER_TRANSFER_ENCODING) == 0;
    return MHD_YES;
}

/* Two statements of where the body ends, of which a proxy in front may have taken the other one:
 * what it forwards as one request would be two here (RFC 9112, section 6.3). */
static bool is_ambiguous(const struct call *call)
{
    unsigned count = 0;
    (void)MHD_get_connection_values(call->request.connection, MHD_HEADER_KIND, count_length,
                                    &count); /* how many header fields there are is no matter */
    return count > 1;
}

struct query_reading {
    struct call *call;
    size_t used; /* bytes of query_text */
    int rc;
    struct nb_error error;
};

static enum MHD_Result measure_parameter(void *user, enum MHD_ValueKind kind, const char *key,
                                         size_t key_length, const char *value, size_t value_length)
{
    (void)kind, (void)key, (void)value;
    *(size_t *)user += key_length + value_length;
    return MHD_YES;
}

static enum MHD_Result read_parameter(void *user, enum MHD_ValueKind kind, const char *key,
                                      size_t key_length, const char *value, size_t value_length)
{
    (void)kind;
    struct query_reading *reading = user;
    struct nb_request *request = &reading->call->request;
    char *name = request->query_text + reading->used;
    memcpy(name, key, key_length);
    if (value_length > 0)
        memcpy(name + key_length, value, value_length);
    reading->used += key_length + value_length;
    reading->rc = nb_request_add_query(request, name, key_length, name + key_length, value_length,
                                       &reading->error);
    return reading->rc == 0 ? MHD_YES : MHD_NO;
}

static int read_query(struct call *call, struct nb_error *error)
{
    struct nb_request *request = &call->request;
    struct query_reading reading = {.call = call};
    size_t bytes = 0;
    if (MHD_get_connection_values_n(request->connection, MHD_GET_ARGUMENT_KIND, measure_parameter,
                                    &bytes) == 0)
        return 0;
    request->query_text = malloc(bytes + 1); /* bounded by the library's memory per connection */
    if (request->query_text == NULL)
        return nb_error_no_memory(error);
    (void)MHD_get_connection_values_n(request->connection, MHD_GET_ARGUMENT_KIND, read_parameter,
                                      &reading); /* the count is of no interest */
    if (reading.rc != 0)
        *error = reading.error;
    return reading.rc;
}

/* The method and the path. Returns whether there is a route; otherwise the reply is made. */
static bool find_route(struct call *call, const char *url, const char *method)
{
    struct nb_request *request = &call->request;
    struct nb_match match;
    char detail[128];
    request->path = strdup(url);
    if (request->path == NULL) {
        nb_reply_problem(request, MHD_HTTP_SERVICE_UNAVAILABLE, "out of memory");
        return false;
    }
    enum nb_route_result result = nb_route_find(method, request->path, &match);
    request->route = match.route;
    request->route_index = match.index;
    request->model = match.parameters[0];
    request->id = match.parameters[1];
    switch (result) {
    case NB_ROUTE_FOUND:
        return true;
    case NB_ROUTE_BAD_PATH:
        nb_reply_problem(request, MHD_HTTP_BAD_REQUEST,
                         "the path holds a broken percent-escape or a NUL");
        break;
    case NB_ROUTE_NO_METHOD:
        (void)snprintf(detail, sizeof detail, "this path takes %s (see Allow), not %s", match.allow,
                       call->method); /* fits, or is cut */
        nb_reply_problem(request, MHD_HTTP_METHOD_NOT_ALLOWED, detail);
        memcpy(request->reply.allow, match.allow, sizeof match.allow);
        break;
    case NB_ROUTE_NO_PATH:
    default:
        nb_reply_problem(request, MHD_HTTP_NOT_FOUND,
                         "there is nothing at this path; GET /openapi.json lists what there is");
        break;
    }
    return false;
}

static int check_media(struct call *call, struct nb_error *error)
{
    struct nb_request *request = &call->request;
    const char *type = field(call, MHD_HTTP_HEADER_CONTENT_TYPE);
    int rc = nb_media_read(type, &request->type, error);
    if (rc != 0)
        return rc;
    enum nb_media media = request->type.media;
    if (request->route->body == NB_BODY_SETTINGS && media != NB_MEDIA_JSON)
        return nb_error_set(error, NB_UNSUPPORTED, "settings must come as application/json");
    if (request->route->body == NB_BODY_DUMP && media != NB_MEDIA_NDJSON)
        return nb_error_set(error, NB_UNSUPPORTED, "an import must come as application/x-ndjson");
    request->is_lines = media == NB_MEDIA_NDJSON;
    return 0;
}

/* Everything about the body that can be known before it comes. */
static int prepare_body(struct call *call, struct nb_error *error)
{
    struct nb_request *request = &call->request;
    uint64_t most = request->server->config->body_bytes;
    enum nb_coding coding = NB_CODING_IDENTITY;
    bool is_rspamd = request->route->is_rspamd;
    int rc = is_rspamd ? 0 : check_media(call, error);
    if (rc == 0)
        rc = nb_coding_read(field(call, MHD_HTTP_HEADER_CONTENT_ENCODING), &coding, error);
    if (rc == 0 && is_rspamd && coding == NB_CODING_IDENTITY) /* newer clients send both */
        rc = nb_coding_read(field(call, "Compression"), &coding, error);
    if (rc != 0)
        return rc;
    if (!request->is_lines && call->length != UINT64_MAX && call->length > most)
        return nb_body_too_large((size_t)most, error);
    call->is_direct = coding == NB_CODING_IDENTITY && !request->is_lines;
    return nb_transfer_begin(request, coding, error);
}

/* Whether the client has come by a Unix socket, which no browser does. */
static bool is_file(const struct sockaddr *address)
{
    return address != NULL && address->sa_family == AF_UNIX;
}

/* Returns whether a page in a browser is behind the request that has no business here; the reply is
 * then made. */
static bool refuses_site(struct call *call)
{
    struct nb_server *server = call->request.server;
    const char *host = field(call, MHD_HTTP_HEADER_HOST);
    if (nb_site_is_foreign(field(call, MHD_HTTP_HEADER_ORIGIN), host))
        nb_reply_problem(
            &call->request, MHD_HTTP_FORBIDDEN,
            "the request comes from a page of another site: its Origin is not the Host");
    else if (server->is_loopback && !is_file(address_of(&call->request)) &&
             !nb_site_is_named(host, server->config->hosts))
        nb_reply_problem(&call->request, MHD_HTTP_FORBIDDEN,
                         "the Host is no address, not localhost, and no name that the option "
                         "[server] hosts allows");
    return nb_reply_is_there(&call->request);
}

static void check_request(struct call *call, const char *url, const char *method)
{
    struct nb_request *request = &call->request;
    struct nb_error error = {0};
    const char *expect = field(call, MHD_HTTP_HEADER_EXPECT);
    if (is_ambiguous(call)) {
        call->closes = true;
        nb_reply_problem(request, MHD_HTTP_BAD_REQUEST,
                         "one Content-Length or Transfer-Encoding is allowed, there are several");
        return;
    }
    if (!find_route(call, url, method))
        return;
    if (refuses_site(call))
        return;
    if (nb_request_check_access(request, &error) != 0) {
        nb_reply_error(request, &error);
        return;
    }
    if (atomic_load(&request->server->is_stopping)) {
        nb_reply_problem(request, MHD_HTTP_SERVICE_UNAVAILABLE, "the daemon is stopping");
        return;
    }
    if (expect != NULL && !call->expects_continue) {
        nb_reply_problem(request, MHD_HTTP_EXPECTATION_FAILED,
                         "the only expectation that is met is 100-continue");
        return;
    }
    if (read_query(call, &error) != 0) {
        nb_reply_error(request, &error);
        return;
    }
    const char *if_none_match = field(call, MHD_HTTP_HEADER_IF_NONE_MATCH);
    request->only_new = if_none_match != NULL && strcmp(if_none_match, "*") == 0;
    if (request->route->body == NB_BODY_NONE) {
        if (call->has_body && call->length > DROP_BYTES && call->length != UINT64_MAX)
            nb_reply_problem(request, MHD_HTTP_CONTENT_TOO_LARGE, "this path takes no body");
        return;
    }
    if (field(call, MHD_HTTP_HEADER_CONTENT_LENGTH) == NULL && !call->has_body &&
        !request->route->is_rspamd) {
        nb_reply_problem(request, MHD_HTTP_LENGTH_REQUIRED,
                         "a body is needed, with Content-Length or chunked");
        return;
    }
    if (prepare_body(call, &error) != 0)
        nb_reply_error(request, &error);
}

static struct call *begin(struct nb_http *http, struct MHD_Connection *connection, const char *url,
                          const char *method)
{
    struct call *call = calloc(1, sizeof *call);
    if (call == NULL)
        return NULL;
    call->http = http;
    call->request.server = http->server;
    call->request.carrier = &CARRIER;
    call->request.connection = connection;
    (void)snprintf(call->method, sizeof call->method, "%s", method); /* cut for the log */
    nb_request_begin(&call->request);
    measure_body(call);
    check_request(call, url, method);
    return call;
}

/* A refusal goes out now when the body is long or not even on its way; otherwise after the body. */
static enum MHD_Result answer_early(struct call *call)
{
    bool is_short = call->length <= DROP_BYTES && !call->expects_continue;
    if (!nb_reply_is_there(&call->request) || !call->has_body || is_short)
        return MHD_YES;
    call->closes = true;
    call->lingers = !call->expects_continue;
    return queue_reply(call);
}

/* ---- 2: the body -------------------------------------------------------------------------------
 */

/* Turns what a handler returned into a reply. Returns whether the request waits. */
static bool settle(struct call *call, int rc, const struct nb_error *error)
{
    if (rc < 0)
        nb_reply_error(&call->request, error);
    return rc == NB_WAIT;
}

/* With a chunked body, libmicrohttpd 0.9.75 offers the next chunk that it has already read even to
 * a connection that was suspended while it took the one before. Nothing may be touched then. */
static bool is_suspended(const struct call *call)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(call->request.connection, MHD_CONNECTION_INFO_CONNECTION_SUSPENDED);
    return info != NULL && info->suspended == MHD_YES;
}

/* Goes on after a wait. Returns whether it still waits or waits again. */
static bool go_on(struct call *call)
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

/* There is a reply and the body is not needed any more. A short rest is read, so that the
 * connection goes on; a long one, or one whose length is not known, is not waited for. */
static enum MHD_Result drop_body(struct call *call, size_t *size)
{
    call->received += *size;
    *size = 0;
    if (call->length == UINT64_MAX || call->length - call->received > DROP_BYTES)
        return answer_at_once(call);
    return MHD_YES;
}

/* A route that takes no body reads past one, up to a bound. */
static enum MHD_Result ignore_body(struct call *call, size_t *size)
{
    if (call->received + *size > DROP_BYTES)
        nb_reply_problem(&call->request, MHD_HTTP_CONTENT_TOO_LARGE, "this path takes no body");
    else
        call->received += *size;
    if (nb_reply_is_there(&call->request))
        return drop_body(call, size);
    *size = 0;
    return MHD_YES;
}

static enum MHD_Result upload(struct call *call, const char *data, size_t *size)
{
    struct nb_request *request = &call->request;
    struct nb_error error = {0};
    if (go_on(call))
        return MHD_YES;
    if (nb_reply_is_there(request))
        return drop_body(call, size);
    if (request->transfer == NULL)
        return ignore_body(call, size);
    struct nb_string input = {data, *size};
    int rc;
    if (call->is_direct && *size == call->length) {
        rc = nb_transfer_whole(request, input, &error);
        input.length = 0;
    } else {
        rc = nb_transfer_take(request, &input, &error);
    }
    call->received += *size - input.length;
    *size = input.length;
    (void)settle(call, rc, &error); /* a wait is taken up by the next call */
    return rc < 0 ? drop_body(call, size) : MHD_YES;
}

/* ---- 3: the end --------------------------------------------------------------------------------
 */

static enum MHD_Result finish(struct call *call)
{
    struct nb_request *request = &call->request;
    struct nb_error error = {0};
    if (go_on(call))
        return MHD_YES;
    if (!nb_reply_is_there(request) && settle(call, nb_transfer_finish(request, &error), &error))
        return MHD_YES;
    if (!nb_reply_is_there(request))
        nb_reply_problem(request, MHD_HTTP_INTERNAL_SERVER_ERROR, "no reply was made");
    return queue_reply(call);
}

static enum MHD_Result on_call(void *user, struct MHD_Connection *connection, const char *url,
                               const char *method, const char *version, const char *data,
                               size_t *size, void **state)
{
    (void)version;
    struct nb_http *http = user;
    struct call *call = *state;
    if (call == NULL) {
        *state = call = begin(http, connection, url, method);
        return call != NULL ? answer_early(call) : MHD_NO;
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
    struct call *call = *state;
    if (call == NULL)
        return;
    bool is_answered = how == MHD_REQUEST_TERMINATED_COMPLETED_OK || call->lingers;
    int file = call->lingers ? dup(socket_of(call)) : -1;
    if (file >= 0)
        nb_linger_add(http->linger, file);
    nb_request_end(&call->request, &(struct nb_request_figures){
                                       .method = call->method,
                                       .status = is_answered ? call->request.reply.status : 0,
                                       .received = call->received,
                                       .sent = call->sent,
                                   });
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

static void on_connection(void *user, struct MHD_Connection *connection, void **state,
                          enum MHD_ConnectionNotificationCode what)
{
    (void)state;
    struct nb_http *http = user;
    if (what == MHD_CONNECTION_NOTIFY_CLOSED)
        nb_connections_close(
            http->connections,
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr);
}

static struct MHD_Daemon *start_daemon(struct nb_http *http, unsigned threads)
{
    const struct nb_config *config = http->server->config;
    /* The library divides its limit by the number of threads: any may have all. Whoever gives us
     * connections keeps the limit (connections.h). */
    uint64_t connections = (config->connections + 1) * threads;
    if (connections > INT_MAX)
        connections = INT_MAX;
    struct MHD_OptionItem options[] = {
        {MHD_OPTION_CONNECTION_LIMIT, (intptr_t)connections, NULL},
        {MHD_OPTION_CONNECTION_TIMEOUT, (intptr_t)config->timeout, NULL},
        {threads > 1 ? MHD_OPTION_THREAD_POOL_SIZE : MHD_OPTION_END, (intptr_t)threads, NULL},
        {MHD_OPTION_END, 0, NULL}};
    return MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_NO_LISTEN_SOCKET | MHD_USE_ITC |
                                MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG,
                            0, NULL, NULL, on_call, http, MHD_OPTION_EXTERNAL_LOGGER, on_message,
                            http, MHD_OPTION_UNESCAPE_CALLBACK, leave_escaped, http,
                            MHD_OPTION_NOTIFY_COMPLETED, on_completed, http,
                            MHD_OPTION_NOTIFY_CONNECTION, on_connection, http, MHD_OPTION_ARRAY,
                            options, MHD_OPTION_END);
}

int nb_http_start(struct nb_server *server, unsigned threads, struct nb_connections *connections,
                  struct nb_linger *linger, struct nb_http **http, struct nb_error *error)
{
    struct nb_http *made = calloc(1, sizeof *made);
    if (made == NULL)
        return nb_error_no_memory(error);
    *made = (struct nb_http){.server = server, .connections = connections, .linger = linger};
    made->daemon = start_daemon(made, threads);
    if (made->daemon == NULL) {
        free(made);
        return nb_error_set(error, NB_IO, "the HTTP server does not start");
    }
    *http = made;
    return 0;
}

void nb_http_take(struct nb_http *http, int file, const struct sockaddr *address, socklen_t length)
{
    /* On failure the library has closed it. */
    if (MHD_add_connection(http->daemon, file, address, length) != MHD_YES)
        nb_connections_close(http->connections, address);
}

void nb_http_stop(struct nb_http **http)
{
    if (*http == NULL)
        return;
    MHD_stop_daemon((*http)->daemon);
    free(*http);
    *http = NULL;
}
