/* SPDX-License-Identifier: Apache-2.0 */
#include "server/mail/line_client.h"

#include <assert.h>
#include <errno.h>
#include <sys/socket.h>

#include "config/config.h"
#include "server/mail/line_route.h"
#include "server/request/admission.h"
#include "server/request/body_transfer.h"
#include "server/request/budget.h"
#include "server/request/decoder.h"
#include "server/request/http_answer.h"
#include "server/request/server.h"

/* How much is read at once, of the head and of the body, and how often in a row before other
 * connections are served. */
enum { HEAD_BYTES_AT_ONCE = 4096, BODY_BYTES_AT_ONCE = 64 * 1024, READS_AT_ONCE = 4 };

static void begin(struct nb_line_client *client)
{
    struct nb_request *request = &client->request;
    request->route = &client->head.route->route;
    request->route_index = request->server->route_count + client->head.index;
    request->version = client->head.version;
    nb_request_begin(request);
    client->is_begun = true;
}

void nb_line_client_release(struct nb_line_client *client)
{
    if (client->input.bytes == NULL)
        return;
    client->received = nb_line_client_body(client).length;
    nb_buffer_deinit(&client->input);
    (void)nb_hold_set(&client->hold, 0, NULL); /* giving back never fails */
}

static void end(struct nb_line_client *client, unsigned status)
{
    nb_line_client_release(client);
    nb_transfer_end(&client->request);
    nb_request_end(&client->request, &(struct nb_request_figures){
                                         .method = client->head.route->route.method,
                                         .status = status,
                                         .received = client->received,
                                         .sent = client->sent,
                                     });
    client->is_begun = false;
}

void nb_line_client_deinit(struct nb_line_client *client)
{
    if (client->is_begun)
        end(client, 0);
    nb_line_client_release(client);
}

struct nb_string nb_line_client_body(const struct nb_line_client *client)
{
    size_t length = client->input.length - client->head.scanned;
    if (client->head.has_length && length > client->head.length)
        length = (size_t)client->head.length;
    return (struct nb_string){client->input.bytes + client->head.scanned, length};
}

/* ---- the reply ---------------------------------------------------------------------------------
 */

int nb_line_client_send(struct nb_line_client *client)
{
    const struct nb_buffer *bytes = &client->request.reply.body;
    while (client->sent < bytes->length) {
        ssize_t n = send(client->file, bytes->bytes + client->sent, bytes->length - client->sent,
                         MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN ? NB_LINE_MORE : NB_IO;
        client->sent += (size_t)n;
    }
    end(client, client->request.reply.status);
    return 0;
}

void nb_line_client_refuse(struct nb_line_client *client, const struct nb_error *error)
{
    if (!client->is_begun)
        begin(client);
    nb_reply_error(&client->request, error);
    nb_line_client_release(client);
    client->is_replying = true;
}

/* ---- the request -------------------------------------------------------------------------------
 */

/* The sender of the request. The strings are borrowed from the input. */
static void find_sender(const struct nb_line_client *client, struct nb_sender *sender)
{
    struct nb_string bytes = {client->input.bytes, client->input.length}, value;
    struct nb_forwarding *forwarding = &sender->forwarding;
    size_t at = 0;
    /* No certificate: the line protocols are not served over TLS. */
    *sender = (struct nb_sender){.address = nb_address_of(client->address), .socket = client->file};
    sender->authorization = nb_line_head_field(&client->head, bytes, "Authorization");
    while ((value = nb_line_head_next(&client->head, bytes, "X-Forwarded-For", &at)).bytes != NULL)
        nb_forwarding_add(forwarding, value);
    forwarding->is_there |= nb_line_head_field(&client->head, bytes, "Forwarded").bytes != NULL ||
                            nb_line_head_field(&client->head, bytes, "Via").bytes != NULL;
}

/* What can be told from the head alone. */
static int check_head(struct nb_line_client *client, struct nb_error *error)
{
    size_t most = (size_t)client->request.config->body_bytes;
    struct nb_sender sender;
    if (atomic_load(&client->request.server->is_stopping))
        return nb_error_set(error, NB_STOPPING, "the daemon is stopping");
    if (client->head.has_length && client->head.length > most)
        return nb_body_too_large(most, error);
    find_sender(client, &sender);
    return nb_request_check_access(&client->request, &sender, error);
}

/* What came of the body. Returns 0 when it is complete. */
static int check_body(const struct nb_line_client *client, struct nb_error *error)
{
    size_t length = nb_line_client_body(client).length;
    size_t most = (size_t)client->request.config->body_bytes;
    if (client->request.route->body == NB_BODY_NONE)
        return 0;
    if (length > most)
        return nb_body_too_large(most, error);
    if (!client->head.has_length)
        return client->is_ended ? 0 : NB_LINE_MORE;
    if (length == client->head.length)
        return 0;
    if (!client->is_ended)
        return NB_LINE_MORE;
    return nb_error_set(error, NB_INVALID,
                        "(Content-Length mismatch: Expected %llu bytes, got %zu bytes)",
                        (unsigned long long)client->head.length, length);
}

/* Takes up what was read. Returns 0 when the request is complete, NB_LINE_MORE, or an error. */
static int advance(struct nb_line_client *client, struct nb_error *error)
{
    int rc = 0;
    if (!client->is_begun) {
        rc = nb_line_head_read(
            &client->head, (struct nb_string){client->input.bytes, client->input.length}, error);
        if (rc == NB_LINE_MORE && client->is_ended)
            return nb_error_set(error, NB_INVALID, "(EOF during headers)");
        if (rc != 0)
            return rc;
        begin(client);
        rc = check_head(client, error);
    }
    return rc != 0 ? rc : check_body(client, error);
}

/* Reads a piece. Returns 0, NB_LINE_MORE when there is nothing to read now, or an error code:
 * NB_NO_MEMORY, or NB_IO when the connection is broken. */
static int read_piece(struct nb_line_client *client, struct nb_error *error)
{
    size_t room = HEAD_BYTES_AT_ONCE;
    if (client->is_begun)
        room = BODY_BYTES_AT_ONCE;
    if (client->is_begun && client->head.has_length &&
        client->head.length - nb_line_client_body(client).length < room)
        room = (size_t)(client->head.length - nb_line_client_body(client).length);
    if (nb_buffer_reserve(&client->input, room) != 0)
        return nb_error_no_memory(error);
    int rc = nb_hold_set(&client->hold, nb_held_by(&client->input) + room, error);
    if (rc != 0)
        return rc;
    ssize_t n = recv(client->file, client->input.bytes + client->input.length, room, MSG_DONTWAIT);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? NB_LINE_MORE : NB_IO;
    client->is_ended = n == 0;
    client->input.length += (size_t)n;
    return 0;
}

int nb_line_client_receive(struct nb_line_client *client, struct nb_error *error)
{
    int rc = NB_LINE_MORE;
    assert(!client->is_replying);
    for (int i = 0; i < READS_AT_ONCE && rc == NB_LINE_MORE; i++) {
        rc = read_piece(client, error);
        if (rc != 0)
            return rc;
        rc = advance(client, error);
    }
    return rc;
}
