/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <sys/socket.h>

#include "server/http/connection.h"
#include "server/http/http_call.h"
#include "server/http/library.h"
#include "server/json/problem.h"
#include "server/request/answer.h"
#include "server/request/server.h"
#include "server/tls/tls.h"

static struct MHD_Response *make_response(struct nb_http_call *call)
{
    struct nb_reply *reply = &call->request.reply;
    struct nb_buffer *bytes = reply->has_spool ? &reply->spool.tail : &reply->body;
    struct MHD_Response *response;
    if (reply->next != NULL)
        return nb_http_stream(call);
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

/* Where header fields go. Each fails only for lack of memory. */
struct fields {
    struct MHD_Response *response;
    bool is_complete;
};

static void add_field(struct fields *fields, const char *name, const char *value)
{
    if (MHD_add_response_header(fields->response, name, value) != MHD_YES)
        fields->is_complete = false;
}

static void add_fields_of_page(struct fields *to)
{
    add_field(to, "X-Content-Type-Options", "nosniff");
    add_field(to, "X-Frame-Options", "DENY");
    add_field(to, "Referrer-Policy", "no-referrer");
    add_field(to, "Content-Security-Policy",
              "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'");
}

static unsigned retry_after(const struct nb_reply *reply)
{
    return reply->retry_after > 0 ? reply->retry_after : 1;
}

/* Returns whether all fields are there. A reply without some of them says something else: JSON that
 * is not called so, a page that others may frame. */
static bool add_fields(struct MHD_Response *response, const struct nb_http_call *call)
{
    const struct nb_reply *reply = &call->request.reply;
    struct fields to = {.response = response, .is_complete = true};
    char seconds[16];
    (void)snprintf(seconds, sizeof seconds, "%u", retry_after(reply)); /* it fits */
    if (reply->content_type != NULL && reply->status != MHD_HTTP_NO_CONTENT)
        add_field(&to, MHD_HTTP_HEADER_CONTENT_TYPE, reply->content_type);
    if (reply->allow[0] != '\0')
        add_field(&to, MHD_HTTP_HEADER_ALLOW, reply->allow);
    if (reply->status == MHD_HTTP_SERVICE_UNAVAILABLE ||
        reply->status == MHD_HTTP_INSUFFICIENT_STORAGE ||
        reply->status == MHD_HTTP_TOO_MANY_REQUESTS)
        add_field(&to, MHD_HTTP_HEADER_RETRY_AFTER, seconds);
    if (reply->status == MHD_HTTP_UNAUTHORIZED)
        add_field(&to, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer realm=\"bayesd\"");
    if (call->closes || atomic_load(&call->request.server->is_stopping))
        add_field(&to, MHD_HTTP_HEADER_CONNECTION, "close");
    if (reply->is_page)
        add_fields_of_page(&to);
    return to.is_complete;
}

enum MHD_Result nb_http_queue_reply(struct nb_http_call *call)
{
    struct nb_reply *reply = &call->request.reply;
    nb_reply_hold(&call->request);
    if (reply->is_withheld || !nb_connection_enter(call->held, NB_PHASE_REPLY))
        return MHD_NO;
    if (reply->next == NULL) /* else what is taken counts */
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

enum MHD_Result nb_http_answer_at_once(struct nb_http_call *call)
{
    const struct nb_reply *reply = &call->request.reply;
    char head[256];
    if (reply->is_withheld || !nb_connection_enter(call->held, NB_PHASE_OVER))
        return MHD_NO;
    int length = snprintf(head, sizeof head,
                          "HTTP/1.1 %u %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s"
                          "Connection: close\r\n\r\n",
                          reply->status, nb_json_title((int)reply->status), reply->content_type,
                          reply->body.length, reply->status == 503 ? "Retry-After: 1\r\n" : "");
    struct iovec parts[2] = {{head, (size_t)length}, {reply->body.bytes, reply->body.length}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    void *session = nb_http_session(call->request.connection);
    for (int i = 0; session != NULL && i < 2; i++)
        nb_tls_send(session, parts[i].iov_base, parts[i].iov_len);
    if (session == NULL) /* a client that does not take it has gone */
        (void)sendmsg(call->held->file, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    call->sent = reply->body.length;
    call->lingers = true;
    return MHD_NO;
}
