/* SPDX-License-Identifier: Apache-2.0
 *
 * A reply that is sent while it is made. The library asks for bytes; when it has taken a piece, the
 * connection is suspended until the work pool has made the next one. So a slow client occupies no
 * thread, and no more memory than a piece.
 */
#include <assert.h>
#include <string.h>

#include "server/base/log.h"
#include "server/http/http_call.h"
#include "server/request/route.h"
#include "server/request/server.h"
#include "server/request/wait.h"

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

/* Begins the next piece. Returns whether it is being made. */
static bool begin_piece(struct nb_http_call *call)
{
    struct nb_error error = {0};
    call->given = 0;
    if (nb_work_run(&call->request, call->request.server->work, make_piece, &error) == NB_WAIT)
        return true;
    break_off(call, &error);
    return false;
}

/* Takes the piece that the work pool has made. */
static void end_piece(struct nb_http_call *call)
{
    struct nb_error error = {0};
    nb_handler *again = call->request.again;
    call->request.again = NULL;
    if (again != NULL && again(&call->request, &error) != 0)
        break_off(call, &error);
}

static ssize_t give(void *user, uint64_t position, char *bytes, size_t room)
{
    struct nb_http_call *call = user;
    struct nb_reply *reply = &call->request.reply;
    (void)position;
    end_piece(call);
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
    return begin_piece(call) ? 0 : MHD_CONTENT_READER_END_WITH_ERROR;
}

struct MHD_Response *nb_http_stream(struct nb_http_call *call)
{
    return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES, give, call, NULL);
}
