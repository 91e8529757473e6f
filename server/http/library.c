/* SPDX-License-Identifier: Apache-2.0 */
#include "server/http/library.h"

#include <assert.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/base/log.h"
#include "server/base/metrics.h"
#include "server/base/problem.h"
#include "server/http/http.h"
#include "server/http/http_call.h"
#include "server/http/http_tls.h"
#include "server/http/server.h"
#include "server/http/tls.h"

/* Writes a whole reply with "Connection: close". `detail` is plain text that needs no
 * escapes in JSON, of at most 400 bytes. Returns its length. */
static size_t refusal_write(unsigned status, const char *detail, char to[NB_REFUSAL_BYTES])
{
    const char *title = nb_json_title((int)status);
    bool is_later = status == 429 || status == 503;
    char body[NB_REFUSAL_BYTES / 2];
    assert(strpbrk(detail, "\"\\\n") == NULL);
    int length =
        snprintf(body, sizeof body,
                 "{\"type\":\"about:blank\",\"title\":\"%s\",\"status\":%u,\"detail\":\"%s\","
                 "\"code\":\"%s\"}",
                 title, status, detail, nb_json_status_code((int)status));
    assert(length > 0 && (size_t)length < sizeof body);
    int all = snprintf(to, NB_REFUSAL_BYTES,
                       "HTTP/1.1 %u %s\r\nContent-Type: application/problem+json\r\n"
                       "Content-Length: %d\r\n%sConnection: close\r\n\r\n%s",
                       status, title, length, is_later ? "Retry-After: 1\r\n" : "", body);
    assert(all > 0 && all < NB_REFUSAL_BYTES);
    return (size_t)all;
}

size_t nb_refusal_send(int file, unsigned status, const char *detail)
{
    char reply[NB_REFUSAL_BYTES];
    size_t length = refusal_write(status, detail, reply);
    (void)send(file, reply, length, MSG_DONTWAIT | MSG_NOSIGNAL); /* see the header */
    (void)shutdown(file, SHUT_WR);
    return length;
}

nb_library_queue_response *nb_library_queue;

static enum MHD_Result refuse_instead(struct MHD_Connection *connection, unsigned int status_code,
                                      struct MHD_Response *response);

/* The library finds this function in place of its own, which is in a shared object. Weak: where the
 * library is linked statically, its own function replaces this one. */
_MHD_EXTERN enum MHD_Result MHD_queue_response(struct MHD_Connection *connection,
                                               unsigned int status_code,
                                               struct MHD_Response *response)
    __attribute__((weak, alias("refuse_instead")));

int nb_library_find(struct nb_error *error)
{
    if (MHD_queue_response != refuse_instead) {
        nb_library_queue = MHD_queue_response;
        return 0;
    }
    void *found = dlsym(RTLD_NEXT, "MHD_queue_response");
    if (found == NULL)
        return nb_error_set(error, NB_IO, "the HTTP library lacks MHD_queue_response");
    /* ISO C cannot convert a pointer to an object into a pointer to a function (dlsym(3)). */
    memcpy(&nb_library_queue, &found, sizeof found);
    return 0;
}

static const char *detail_of(unsigned status, bool is_body)
{
    switch (status) {
    case MHD_HTTP_CONTENT_TOO_LARGE:
        return "the length of the body is not a number of 64 bits, or a chunk is too large";
    case MHD_HTTP_URI_TOO_LONG:
        return "the request line is too long: a head has room for 32 KiB in all";
    case MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE:
        return "the header fields or the parameters of the query are too many or too long: a head "
               "has room for 32 KiB in all";
    case MHD_HTTP_HTTP_VERSION_NOT_SUPPORTED:
        return "HTTP/1.1 and HTTP/1.0 are spoken here";
    default:
        return is_body ? "the body is malformed: each chunk is its length in hexadecimal, CR LF, "
                         "the bytes, CR LF; after the last, of length 0, an empty line"
                       : "the head of the request is malformed: it is a line METHOD TARGET "
                         "HTTP/1.1, lines NAME: VALUE with at most one Content-Length, in digits, "
                         "or Transfer-Encoding: chunked, and an empty line";
    }
}

/* Counts a refusal if there is no request yet; otherwise it is counted as the status of the
 * request. */
static void account(struct nb_connection *held, unsigned status, size_t length)
{
    if (held->call != NULL) {
        held->call->refused = status;
        held->call->sent = length;
        return;
    }
    nb_log(NB_LOG_DEBUG, "request method=- route=- model= status=%u", status);
    nb_metrics_request(held->http->server->metrics, SIZE_MAX, status, 0, 0, length);
}

static size_t send_refusal(struct MHD_Connection *connection, const struct nb_connection *held,
                           unsigned status, const char *detail)
{
    char reply[NB_REFUSAL_BYTES];
    if (!held->is_tls)
        return nb_refusal_send(held->file, status, detail);
    size_t length = refusal_write(status, detail, reply);
    void *session = nb_http_session(connection);
    nb_tls_send(session, reply, length);
    nb_tls_end(session);
    (void)shutdown(held->file, SHUT_WR);
    return length;
}

void nb_library_refuse(struct MHD_Connection *connection, unsigned status)
{
    struct nb_connection *held = nb_http_connection(connection);
    if (!nb_connection_enter(held, NB_PHASE_OVER))
        return;
    const char *detail = detail_of(status, held->call != NULL);
    account(held, status, send_refusal(connection, held, status, detail));
    int file = dup(held->file);
    if (file >= 0)
        held->http->owner.linger(held->http->owner.user, file);
}

/* Called by the library alone. After bayesd's reply was sent the library continues as usual, but
 * its writes fail, and it closes the connection. Returning MHD_NO here would make it use memory
 * that it has freed. */
static enum MHD_Result refuse_instead(struct MHD_Connection *connection, unsigned int status_code,
                                      struct MHD_Response *response)
{
    nb_library_refuse(connection, status_code);
    return nb_library_queue(connection, status_code, response);
}
