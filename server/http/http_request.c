/* SPDX-License-Identifier: Apache-2.0
 *
 * A request's way through libmicrohttpd, which calls nb_http_on_call several times:
 *   1. with the header fields alone: the request is made and routed (begin); what can be refused
 *      without its body is refused here;
 *   2. with pieces of the body (upload): they are decoded, kept or given on line by line;
 *   3. without data, when the body is complete (finish): the route answers, the reply is queued.
 * A request that waits for the engine's writer is suspended between two such calls. It is freed in
 * the completed-callback, the only one that is guaranteed to be called.
 *
 * libmicrohttpd 0.9.75 takes a reply in phases 1 and 3 only, and closes a connection after a reply
 * in phase 1. So a refusal waits for the end of a short body, and the connection stays open; a long
 * body is answered at once, in phase 2, by writing to the socket directly, and then lingers.
 *
 * library.c describes the requests that the library itself refuses.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/base/log.h"
#include "server/base/problem.h"
#include "server/http/body_transfer.h"
#include "server/http/http.h"
#include "server/http/http_answer.h"
#include "server/http/http_call.h"
#include "server/http/http_tls.h"
#include "server/http/library.h"
#include "server/http/request.h"
#include "server/http/router.h"
#include "server/http/server.h"
#include "server/http/tls.h"
#include "server/http/wait.h"

/* A reply that is sent while it is made. The library asks for bytes; when it has taken a piece, the
 * connection is suspended until the work pool has made the next one. So a slow client occupies no
 * thread, and no more memory than a piece. */
enum { BLOCK_BYTES = 32 * 1024 }; /* most bytes that the library asks for */

/* Makes a piece. On the work pool. */
static int make_piece(struct nb_request *request, struct nb_error *error)
{
    assert(request->reply.next != NULL && !request->reply.is_last);
    request->reply.body.length = 0;
    return request->reply.next(request, error);
}

/* Ends a stream early. The client sees that the last chunk is missing (RFC 9112, 8); the log has
 * the reason. */
static void break_off(struct nb_http_call *call, const struct nb_error *error)
{
    call->is_broken = true;
    nb_log(NB_LOG_WARNING, "reply broken off route=%s bytes=%llu: %s", call->request.route->pattern,
           (unsigned long long)call->sent, error->text);
}

static ssize_t give(void *user, uint64_t position, char *bytes, size_t room)
{
    struct nb_http_call *call = user;
    struct nb_reply *reply = &call->request.reply;
    assert(reply->next != NULL); /* else the reply would be sent as a whole */
    struct nb_error error = {0};
    (void)position;
    nb_handler *again = call->request.again; /* ends the piece that the pool has made */
    call->request.again = NULL;
    if (again != NULL && again(&call->request, &error) != 0)
        break_off(call, &error);
    assert(call->given <= reply->body.length);
    size_t rest = reply->body.length - call->given;
    if (rest > 0) {
        size_t length = rest < room ? rest : room;
        memcpy(bytes, reply->body.bytes + call->given, length);
        call->given += length;
        call->sent += length;
        return (ssize_t)length;
    }
    if (call->is_broken)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (reply->is_last) {
        reply->is_given = true;
        return MHD_CONTENT_READER_END_OF_STREAM;
    }
    call->given = 0;
    if (nb_work_run(&call->request, call->request.server->work, make_piece, &error) == NB_WAIT)
        return 0;
    break_off(call, &error);
    return MHD_CONTENT_READER_END_WITH_ERROR;
}

/* ---- carrier --------------------------------------------------------------------------------- */

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

/* Looks for the field of this name that comes after `skip` others. */
struct search {
    const char *name;
    size_t skip;
    struct nb_string found;
};

static enum MHD_Result look_at_field(void *user, enum MHD_ValueKind kind, const char *key,
                                     size_t key_size, const char *value, size_t value_size)
{
    struct search *search = user;
    (void)kind;
    if (!nb_string_equals_nocase((struct nb_string){key, key_size}, search->name))
        return MHD_YES;
    if (search->skip-- > 0)
        return MHD_YES;
    search->found = (struct nb_string){value == NULL ? "" : value, value_size};
    return MHD_NO;
}

static struct nb_string next_field_of_request(const struct nb_request *request, const char *name,
                                              size_t *at)
{
    struct search search = {.name = name, .skip = (*at)++};
    (void)MHD_get_connection_values_n(request->connection, MHD_HEADER_KIND, look_at_field,
                                      &search); /* returns how many fields it has looked at */
    return search.found;
}

static const struct nb_carrier CARRIER = {suspend, resume, field_of_request, next_field_of_request};

/* ---- the reply ------------------------------------------------------------------------------- */

static struct MHD_Response *make_response(struct nb_http_call *call)
{
    struct nb_reply *reply = &call->request.reply;
    struct nb_buffer *bytes = reply->has_spool ? &reply->spool.tail : &reply->body;
    struct MHD_Response *response;
    if (reply->next != NULL)
        return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES, give, call, NULL);
    if (reply->has_spool && reply->spool.file >= 0) {
        assert(reply->spool.tail.length == 0); /* nb_spool_finish has moved all to the file */
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

/* The reply to which header fields are added, and whether all of them were. Adding one fails only
 * for lack of memory. */
struct fields {
    struct MHD_Response *response;
    bool is_complete;
};

static void add_field(struct fields *fields, const char *name, const char *value)
{
    if (MHD_add_response_header(fields->response, name, value) != MHD_YES)
        fields->is_complete = false;
}

/* Returns whether all fields were added. A reply without some of them would be wrong: JSON without
 * its type, or a page that other sites may frame. */
static bool add_fields(struct MHD_Response *response, const struct nb_http_call *call)
{
    const struct nb_reply *reply = &call->request.reply;
    struct fields to = {.response = response, .is_complete = true};
    struct nb_cors_field cors[NB_CORS_FIELDS];
    char digits[24];
    if (reply->content_type != NULL && reply->status != MHD_HTTP_NO_CONTENT)
        add_field(&to, MHD_HTTP_HEADER_CONTENT_TYPE, reply->content_type);
    if (call->request.number > 0) {
        (void)snprintf(digits, sizeof digits, "%" PRIu64, call->request.number); /* it fits */
        add_field(&to, NB_FIELD_NUMBER, digits);
    }
    if (reply->allow[0] != '\0')
        add_field(&to, MHD_HTTP_HEADER_ALLOW, reply->allow);
    if (reply->location.length > 0)
        add_field(&to, MHD_HTTP_HEADER_LOCATION, reply->location.bytes);
    if (reply->status == MHD_HTTP_SERVICE_UNAVAILABLE ||
        reply->status == MHD_HTTP_INSUFFICIENT_STORAGE ||
        reply->status == MHD_HTTP_TOO_MANY_REQUESTS) {
        (void)snprintf(digits, sizeof digits, "%u",
                       reply->retry_after > 0 ? reply->retry_after : 1);
        add_field(&to, MHD_HTTP_HEADER_RETRY_AFTER, digits);
    }
    if (reply->status == MHD_HTTP_UNAUTHORIZED)
        add_field(&to, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer realm=\"bayesd\"");
    if (call->closes || atomic_load(&call->request.server->is_stopping))
        add_field(&to, MHD_HTTP_HEADER_CONNECTION, "close");
    size_t count = nb_cors_fields(call, cors);
    for (size_t i = 0; i < count; i++)
        add_field(&to, cors[i].name, cors[i].value);
    if (reply->policy != NULL) {
        add_field(&to, "X-Content-Type-Options", "nosniff");
        add_field(&to, "X-Frame-Options", "DENY");
        add_field(&to, "Referrer-Policy", "no-referrer");
        add_field(&to, "Content-Security-Policy", reply->policy);
    }
    if (reply->tag[0] != '\0') { /* a copy is checked before each use (RFC 9111, 5.2.2.4) */
        add_field(&to, MHD_HTTP_HEADER_ETAG, reply->tag);
        add_field(&to, MHD_HTTP_HEADER_CACHE_CONTROL, "no-cache");
    }
    return to.is_complete;
}

/* Hands the reply to the library. MHD_NO: the connection ends, because there is no memory or the
 * reply is withheld. */
static enum MHD_Result queue_reply(struct nb_http_call *call)
{
    struct nb_reply *reply = &call->request.reply;
    nb_reply_hold(&call->request);
    if (reply->is_withheld || !nb_connection_enter(call->held, NB_PHASE_REPLY))
        return MHD_NO;
    assert(nb_reply_is_there(&call->request) && !call->is_queued);
    if (reply->next == NULL) /* of a stream, the pieces that the library takes are counted */
        call->sent = reply->has_spool ? nb_spool_length(&reply->spool) : reply->body.length;
    struct MHD_Response *response = make_response(call);
    if (response == NULL)
        return MHD_NO;
    enum MHD_Result queued = MHD_NO;
    if (add_fields(response, call))
        queued = nb_library_queue(call->request.connection, reply->status, response);
    MHD_destroy_response(response);
    call->is_queued = queued == MHD_YES;
    return queued;
}

/* Appends the fields as text, and the end of the head. Without memory the head has no end, and the
 * client gets no reply. */
static void put_fields_for_page(struct nb_buffer *out, const struct nb_http_call *call)
{
    struct nb_cors_field fields[NB_CORS_FIELDS];
    size_t count = nb_cors_fields(call, fields);
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = nb_buffer_printf(out, "%s: %s\r\n", fields[i].name, fields[i].value);
    if (rc != 0 || nb_buffer_puts(out, "\r\n") != 0)
        nb_buffer_deinit(out);
}

/* Answers in the middle of a body: the library takes no reply here, so the (short) problem is
 * written to the socket, whose send buffer is empty; then the connection is given up. Returns
 * MHD_NO. */
static enum MHD_Result answer_at_once(struct nb_http_call *call)
{
    const struct nb_reply *reply = &call->request.reply;
    char head[256];
    struct nb_buffer more = {0};
    if (reply->is_withheld || !nb_connection_enter(call->held, NB_PHASE_OVER))
        return MHD_NO;
    assert(!call->is_queued); /* else the client would get two replies */
    assert(nb_reply_is_there(&call->request) && reply->content_type != NULL); /* a problem, */
    assert(!reply->has_spool && reply->next == NULL); /* the reply is in memory */
    int length = snprintf(head, sizeof head,
                          "HTTP/1.1 %u %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s"
                          "Connection: close\r\n",
                          reply->status, nb_json_title((int)reply->status), reply->content_type,
                          reply->body.length, reply->status == 503 ? "Retry-After: 1\r\n" : "");
    assert(length > 0 && (size_t)length < sizeof head);
    put_fields_for_page(&more, call);
    struct iovec parts[] = {
        {head, (size_t)length}, {more.bytes, more.length}, {reply->body.bytes, reply->body.length}};
    enum { PARTS = sizeof parts / sizeof parts[0] };
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = PARTS};
    void *session = nb_http_session(call->request.connection);
    for (int i = 0; session != NULL && i < PARTS; i++)
        nb_tls_send(session, parts[i].iov_base, parts[i].iov_len);
    if (session == NULL) /* if the socket does not take the reply, the client has gone */
        (void)sendmsg(call->held->file, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    nb_buffer_deinit(&more);
    call->sent = reply->body.length;
    call->lingers = true;
    return MHD_NO;
}

/* ---- 1: the header fields -------------------------------------------------------------------- */

/* Begins a request. Returns NULL when there is no memory or the connection was given up. */
static struct nb_http_call *begin(struct nb_http *http, struct MHD_Connection *connection,
                                  const char *url, const char *method, const char *version)
{
    struct nb_connection *held = nb_http_connection(connection);
    if (!nb_connection_enter(held, NB_PHASE_WORK))
        return NULL;
    assert(held->call == NULL); /* the request before was completed */
    struct nb_http_call *call = held->spare != NULL ? held->spare : malloc(sizeof *call);
    held->spare = NULL;
    if (call == NULL)
        return NULL;
    *call = (struct nb_http_call){
        .request = {.server = http->server, .carrier = &CARRIER, .connection = connection},
        .http = http,
        .held = held};
    held->call = call;
    memcpy(call->method, method, strnlen(method, sizeof call->method - 1)); /* cut for the log */
    nb_request_begin(&call->request);
    atomic_store(&held->received, 0);
    atomic_store(&held->begun, call->request.started);
    nb_http_read_head(call, url, method, version);
    return call;
}

/* Sends a refusal now if the body is long or the client waits for a 100 before it sends the body;
 * otherwise after the body. */
static enum MHD_Result answer_early(struct nb_http_call *call)
{
    bool is_short = call->length <= NB_HTTP_DROP_BYTES && !call->expects_continue;
    if (!nb_reply_is_there(&call->request) || !call->has_body || is_short)
        return MHD_YES;
    call->closes = true;
    call->lingers = !call->expects_continue;
    return queue_reply(call);
}

/* ---- 2: the body ----------------------------------------------------------------------------- */

/* Turns the result of a handler into a reply. Returns whether the request waits. */
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

/* Counts bytes of the body that were taken. */
static void count(struct nb_http_call *call, size_t bytes)
{
    call->received += bytes;
    atomic_store_explicit(&call->held->received, call->received, memory_order_relaxed);
}

/* With a chunked body, libmicrohttpd 0.9.75 offers the next chunk that it has already read even to
 * a connection that was suspended during the last chunk. Then nothing may be touched. */
static bool is_suspended(const struct nb_http_call *call)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(call->request.connection, MHD_CONNECTION_INFO_CONNECTION_SUSPENDED);
    return info != NULL && info->suspended == MHD_YES;
}

/* Continues after a wait. Returns whether the request still waits or waits again. */
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

/* Drops the rest of a body that is no longer needed. A short rest is read, so that the connection
 * can be reused; the daemon does not wait for a rest that is long or of unknown length. */
static enum MHD_Result drop_body(struct nb_http_call *call, size_t *size)
{
    assert(nb_reply_is_there(&call->request)); /* so the body is not needed */
    count(call, *size);
    *size = 0;
    if (call->length == UINT64_MAX || call->length - call->received > NB_HTTP_DROP_BYTES)
        return answer_at_once(call);
    return MHD_YES;
}

/* Skips a body that the route does not take, up to a bound. */
static enum MHD_Result ignore_body(struct nb_http_call *call, size_t *size)
{
    assert(call->received <= NB_HTTP_DROP_BYTES); /* earlier calls have kept this bound */
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
    /* The library's next call continues the wait, or notices that the connection was given up. */
    if (settle(call, rc, &error))
        (void)nb_connection_enter(call->held, NB_PHASE_WORK);
    return rc < 0 ? drop_body(call, size) : MHD_YES;
}

/* ---- 3: the end ------------------------------------------------------------------------------ */

static enum MHD_Result finish(struct nb_http_call *call)
{
    struct nb_request *request = &call->request;
    struct nb_error error = {0};
    if (request->again == NULL && nb_reply_is_there(request)) /* NB_PHASE_REPLY comes next */
        return queue_reply(call);
    if (phase_of(call) != NB_PHASE_WORK && !nb_connection_enter(call->held, NB_PHASE_WORK))
        return MHD_NO;
    if (go_on(call))
        return MHD_YES;
    if (!nb_reply_is_there(request) && settle(call, nb_transfer_finish(request, &error), &error))
        return MHD_YES;
    if (!nb_reply_is_there(request))
        nb_reply_problem(request, MHD_HTTP_INTERNAL_SERVER_ERROR, "no reply was made");
    return queue_reply(call);
}

enum MHD_Result nb_http_on_call(void *user, struct MHD_Connection *connection, const char *url,
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

void nb_http_on_completed(void *user, struct MHD_Connection *connection, void **state,
                          enum MHD_RequestTerminationCode how)
{
    (void)connection;
    struct nb_http *http = user;
    struct nb_http_call *call = *state;
    if (call == NULL)
        return;
    assert(call->held->call == call && call->held->spare == NULL); /* as `begin` has left them */
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
    call->held->spare = call;
    *state = NULL;
}
