/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "config/config.h"
#include "server/codec.h"
#include "server/held.h"
#include "server/line_private.h"

/* How much is read at once, of the head and of the body, and how often in a row: then it is the
 * others' turn. */
enum { HEAD_BYTES_AT_ONCE = 4096, BODY_BYTES_AT_ONCE = 64 * 1024, READS_AT_ONCE = 4 };

struct nb_line_client *nb_line_client_new(struct nb_lines *lines, int file,
                                          const struct sockaddr *address, struct nb_string first,
                                          void *owner)
{
    struct nb_line_client *line = calloc(1, sizeof *line);
    if (line == NULL)
        return NULL;
    line->request.server = lines->server;
    line->request.carrier = &nb_line_carrier;
    line->request.connection = line;
    nb_line_head_begin(&line->head, first);
    line->lines = lines;
    line->file = file;
    line->address = address;
    line->owner = owner;
    return line;
}

static void begin(struct nb_line_client *line)
{
    size_t others;
    (void)nb_route_table(&others); /* only counted */
    line->request.route = &line->head.route->route;
    line->request.route_index = others + line->head.index;
    nb_request_begin(&line->request);
    line->is_begun = true;
}

void nb_line_client_release(struct nb_line_client *line)
{
    if (line->input.bytes == NULL)
        return;
    line->received = nb_line_client_body(line).length;
    nb_buffer_deinit(&line->input);
    (void)nb_held_set(line->request.server, &line->held, 0, NULL); /* giving back never fails */
}

static void end(struct nb_line_client *line, unsigned status)
{
    nb_line_client_release(line);
    nb_request_end(&line->request, &(struct nb_request_figures){
                                       .method = line->head.route->route.method,
                                       .status = status,
                                       .received = line->received,
                                       .sent = line->sent,
                                   });
    line->is_begun = false;
}

void nb_line_client_free(struct nb_line_client **line)
{
    if (*line == NULL)
        return;
    if ((*line)->is_begun)
        end(*line, 0);
    nb_line_client_release(*line);
    free(*line);
    *line = NULL;
}

struct nb_string nb_line_client_body(const struct nb_line_client *line)
{
    size_t length = line->input.length - line->head.scanned;
    if (line->head.has_length && length > line->head.length)
        length = (size_t)line->head.length;
    return (struct nb_string){line->input.bytes + line->head.scanned, length};
}

unsigned nb_line_version(const struct nb_request *request)
{
    return ((const struct nb_line_client *)request->connection)->head.version;
}

/* ---- writing -----------------------------------------------------------------------------------
 */

static enum nb_line_next reply(struct nb_line_client *line)
{
    const struct nb_buffer *bytes = &line->request.reply.body;
    while (line->sent < bytes->length) {
        ssize_t n = send(line->file, bytes->bytes + line->sent, bytes->length - line->sent,
                         MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN ? NB_LINE_WRITE : NB_LINE_OVER;
        line->sent += (size_t)n;
    }
    end(line, line->request.reply.status);
    return line->is_ended ? NB_LINE_OVER : NB_LINE_LINGER;
}

static enum nb_line_next refuse(struct nb_line_client *line, const struct nb_error *error)
{
    if (!line->is_begun)
        begin(line);
    line->head.route->protocol->fail(&line->request, error);
    nb_line_client_release(line);
    line->state = NB_LINE_REPLYING;
    return reply(line);
}

/* ---- reading -----------------------------------------------------------------------------------
 */

/* What can be told from the head alone. */
static int check_head(const struct nb_line_client *line, struct nb_error *error)
{
    size_t most = (size_t)line->request.server->config->body_bytes;
    if (atomic_load(&line->request.server->is_stopping))
        return nb_error_set(error, NB_STOPPING, "the daemon is stopping");
    if (line->head.has_length && line->head.length > most)
        return nb_body_too_large(most, error);
    return nb_request_check_access(&line->request, error);
}

/* What came of the body. Returns 0 when it is complete. */
static int check_body(const struct nb_line_client *line, struct nb_error *error)
{
    size_t length = nb_line_client_body(line).length;
    size_t most = (size_t)line->request.server->config->body_bytes;
    if (line->request.route->body == NB_BODY_NONE)
        return 0;
    if (length > most)
        return nb_body_too_large(most, error);
    if (!line->head.has_length)
        return line->is_ended ? 0 : NB_LINE_MORE;
    if (length == line->head.length)
        return 0;
    if (!line->is_ended)
        return NB_LINE_MORE;
    return nb_error_set(error, NB_INVALID,
                        "(Content-Length mismatch: Expected %llu bytes, got %zu bytes)",
                        (unsigned long long)line->head.length, length);
}

/* Takes up what was read. Returns 0 when the request is complete, NB_LINE_MORE, or an error. */
static int advance(struct nb_line_client *line, struct nb_error *error)
{
    int rc = 0;
    if (!line->is_begun) {
        rc = nb_line_head_read(&line->head,
                               (struct nb_string){line->input.bytes, line->input.length}, error);
        if (rc == NB_LINE_MORE && line->is_ended)
            return nb_error_set(error, NB_INVALID, "(EOF during headers)");
        if (rc != 0)
            return rc;
        begin(line);
        rc = check_head(line, error);
    }
    return rc != 0 ? rc : check_body(line, error);
}

/* Reads a piece. Returns 0, NB_LINE_MORE when there is nothing to read now, or an error code:
 * NB_NO_MEMORY, or NB_IO when the connection is broken. */
static int read_piece(struct nb_line_client *line, struct nb_error *error)
{
    size_t room = HEAD_BYTES_AT_ONCE;
    if (line->is_begun)
        room = BODY_BYTES_AT_ONCE;
    if (line->is_begun && line->head.has_length &&
        line->head.length - nb_line_client_body(line).length < room)
        room = (size_t)(line->head.length - nb_line_client_body(line).length);
    if (nb_buffer_reserve(&line->input, room) != 0)
        return nb_error_no_memory(error);
    int rc = nb_held_set(line->request.server, &line->held, line->input.capacity, error);
    if (rc != 0)
        return rc;
    ssize_t n = recv(line->file, line->input.bytes + line->input.length, room, MSG_DONTWAIT);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? NB_LINE_MORE : NB_IO;
    line->is_ended = n == 0;
    line->input.length += (size_t)n;
    return 0;
}

static enum nb_line_next receive(struct nb_line_client *line)
{
    struct nb_error error = {0};
    for (int i = 0; i < READS_AT_ONCE; i++) {
        int rc = read_piece(line, &error);
        if (rc == NB_LINE_MORE)
            return NB_LINE_READ;
        if (rc == NB_IO)
            return NB_LINE_OVER;
        if (rc == 0)
            rc = advance(line, &error);
        if (rc < 0)
            return refuse(line, &error);
        if (rc == 0) {
            line->state = NB_LINE_WORKING;
            nb_line_client_submit(line);
            return NB_LINE_WORK;
        }
    }
    return NB_LINE_READ;
}

enum nb_line_next nb_line_client_go(struct nb_line_client *line)
{
    if (line->is_cut)
        return NB_LINE_OVER;
    return line->state == NB_LINE_READING ? receive(line) : reply(line);
}
