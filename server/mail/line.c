/* SPDX-License-Identifier: Apache-2.0 */
#include "server/mail/line.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "config/config.h"
#include "core/base/platform/poller.h"
#include "server/http/admission.h"
#include "server/http/body_transfer.h"
#include "server/http/budget.h"
#include "server/http/decoder.h"
#include "server/http/http_answer.h"
#include "server/http/request.h"
#include "server/http/server.h"
#include "server/http/wait.h"
#include "server/mail/line_head.h"
#include "server/mail/line_routes.h"

/* A connection: reads its one request and sends its one reply, without waiting. Belongs to one
 * thread at a time. */
struct nb_line_client {
    struct nb_request request; /* the first member: its `connection` is the client */
    struct nb_work_job job;    /* in the pool's queue, or in the queue `finished` */
    struct nb_lines *lines;
    void *owner;
    int file;
    const struct sockaddr *address; /* borrowed */
    struct nb_line_head head;
    struct nb_buffer input; /* head and body as received */
    struct nb_hold hold;    /* the share of the budget for `input` */
    size_t received, sent;  /* bytes of the body (set when `input` is freed), and of the reply */
    bool is_replying;       /* the reply is complete; before, the request is being read */
    bool is_begun;          /* the request is counted, and must be ended */
    bool is_ended;          /* the client sends nothing more */
    bool is_cut;            /* given up, because of a stop or because no reply may be sent */
    atomic_uint parts;      /* the parts of a wait that are over (end_part) */
};

/* How many bytes of a head and of a body are read at once, and how often in a row before other
 * connections are served. */
enum { HEAD_BYTES_AT_ONCE = 4096, BODY_BYTES_AT_ONCE = 64 * 1024, READS_AT_ONCE = 4 };

/* Returns the received part of the body, without bytes behind it. */
static struct nb_string line_client_body(const struct nb_line_client *client)
{
    assert(client->head.scanned <= client->input.length); /* the input was not freed */
    size_t length = client->input.length - client->head.scanned;
    if (client->head.has_length && length > client->head.length)
        length = (size_t)client->head.length;
    return (struct nb_string){client->input.bytes + client->head.scanned, length};
}

static void begin(struct nb_line_client *client)
{
    assert(!client->is_begun && client->head.route != NULL); /* the acceptor has found the verb */
    struct nb_request *request = &client->request;
    request->route = &client->head.route->route;
    request->route_index = request->server->route_count + client->head.index;
    request->version = client->head.version;
    nb_request_begin(request);
    client->is_begun = true;
}

/* Frees the received bytes; the body must not be needed any more. */
static void line_client_release(struct nb_line_client *client)
{
    if (client->input.bytes == NULL)
        return;
    client->received = line_client_body(client).length;
    nb_buffer_deinit(&client->input);
    (void)nb_hold_set(&client->hold, 0, NULL); /* reducing a hold never fails */
}

static void end(struct nb_line_client *client, unsigned status)
{
    assert(client->is_begun);
    line_client_release(client);
    nb_transfer_end(&client->request);
    nb_request_end(&client->request, &(struct nb_request_figures){
                                         .method = client->head.route->route.method,
                                         .status = status,
                                         .received = client->received,
                                         .sent = client->sent,
                                     });
    client->is_begun = false;
}

/* Frees everything that the client holds. A request that was not answered ends as one whose client
 * has gone. */
static void line_client_deinit(struct nb_line_client *client)
{
    if (client->is_begun)
        end(client, 0);
    line_client_release(client);
}

/* ---- the reply ------------------------------------------------------------------------------- */

/* Sends as much of the reply as the socket takes. Returns 0 when everything was sent (then the
 * request has ended), NB_LINE_MORE, or NB_IO. */
static int line_client_send(struct nb_line_client *client)
{
    const struct nb_buffer *bytes = &client->request.reply.body;
    assert(client->is_replying && client->sent <= bytes->length);
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

/* Makes the failure the reply. */
static void line_client_refuse(struct nb_line_client *client, const struct nb_error *error)
{
    assert(!client->is_replying);
    if (!client->is_begun)
        begin(client);
    nb_reply_error(&client->request, error);
    line_client_release(client);
    client->is_replying = true;
}

/* ---- the request ----------------------------------------------------------------------------- */

/* Fills in the sender of the request. The strings are borrowed from the input. */
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

/* Checks what can be checked by the head alone. */
static int check_head(struct nb_line_client *client, struct nb_error *error)
{
    size_t most = (size_t)client->request.config->body_bytes;
    struct nb_sender sender;
    if (atomic_load(&client->request.server->is_stopping))
        return nb_error_set(error, NB_STOPPING, "the daemon is stopping");
    if (client->head.has_length && client->head.length > most)
        return nb_body_too_large(most, error);
    find_sender(client, &sender);
    client->request.peer = nb_peer_of(&sender, &client->request.access->proxies);
    return nb_request_check_access(&client->request, &sender, error);
}

/* Checks the received part of the body. Returns 0 when the body is complete, NB_LINE_MORE, or an
 * error. */
static int check_body(const struct nb_line_client *client, struct nb_error *error)
{
    size_t length = line_client_body(client).length;
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

/* Processes the received bytes. Returns 0 when the request is complete, NB_LINE_MORE, or an
 * error. */
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
        client->head.length - line_client_body(client).length < room)
        room = (size_t)(client->head.length - line_client_body(client).length);
    assert(room > 0); /* else the body is complete, and was not read on */
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

/* Reads the available bytes, up to READS_AT_ONCE pieces. Returns 0 when the request is complete,
 * NB_LINE_MORE, NB_IO when the connection is broken, or another code, with which the request must
 * be refused. */
static int line_client_receive(struct nb_line_client *client, struct nb_error *error)
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

struct nb_lines {
    struct nb_server *server;
    int wake;
    struct nb_work_pool *pool;
    pthread_mutex_t lock; /* guards `finished`; no other lock is taken while it is held */
    struct nb_job_queue finished;
};

static struct nb_line_client *client_of(struct nb_work_job *job)
{
    return (struct nb_line_client *)(void *)((char *)job - offsetof(struct nb_line_client, job));
}

/* ---- the carrier ----------------------------------------------------------------------------- */

/* A wait has two parts, which end in any order and on different threads: the handler, and the work
 * that it waits for. The part that ends last puts the request back into the queue. */
static void end_part(struct nb_line_client *client)
{
    if (atomic_fetch_add(&client->parts, 1) == 1)
        nb_pool_add(client->lines->pool, &client->job);
}

static void suspend(struct nb_request *request)
{
    struct nb_line_client *client = request->connection;
    atomic_store(&client->parts, 0);
}

static void resume(struct nb_request *request)
{
    end_part(request->connection);
}

static struct nb_string field(const struct nb_request *request, const char *name)
{
    const struct nb_line_client *client = request->connection;
    return nb_line_head_field(&client->head,
                              (struct nb_string){client->input.bytes, client->input.length}, name);
}

static struct nb_string next_field(const struct nb_request *request, const char *name, size_t *at)
{
    const struct nb_line_client *client = request->connection;
    return nb_line_head_next(
        &client->head, (struct nb_string){client->input.bytes, client->input.length}, name, at);
}

static const struct nb_carrier CARRIER = {suspend, resume, field, next_field};

/* ---- work, on a thread of the pool ----------------------------------------------------------- */

static void finish(struct nb_line_client *client)
{
    struct nb_lines *lines = client->lines;
    assert(nb_reply_is_there(&client->request) || client->is_cut);
    line_client_release(client);
    nb_reply_hold(&client->request);
    client->is_cut |= client->request.reply.is_withheld;
    client->is_replying = true;
    pthread_mutex_lock(&lines->lock);
    nb_job_queue_add(&lines->finished, &client->job);
    pthread_mutex_unlock(&lines->lock);
    nb_bell_ring(lines->wake);
}

static int call_handler(struct nb_line_client *client, struct nb_error *error)
{
    assert(client->is_begun);
    assert(!client->is_replying);
    struct nb_request *request = &client->request;
    nb_handler *again = request->again;
    request->again = NULL;
    int rc = again != NULL ? again(request, error) : 0;
    if (rc == 0 && !nb_reply_is_there(request))
        rc = nb_request_prepare(request, error);
    if (rc != 0 || nb_reply_is_there(request))
        return rc;
    if (client->head.is_zlib)
        return nb_transfer_packed(request, NB_CODING_ZLIB, line_client_body(client), error);
    return nb_request_handle(request, line_client_body(client), error);
}

static void work(struct nb_work_job *job)
{
    struct nb_line_client *client = client_of(job);
    struct nb_error error = {0};
    if (atomic_load(&client->lines->server->is_cutting)) {
        client->is_cut = true;
        finish(client);
        return;
    }
    int rc = call_handler(client, &error);
    if (rc == NB_WAIT) {
        end_part(client); /* from here on the client may be freed */
        return;
    }
    if (rc < 0)
        nb_reply_error(&client->request, &error);
    finish(client);
}

/* ---- clients --------------------------------------------------------------------------------- */

struct nb_line_client *nb_line_client_new(struct nb_lines *lines, int file,
                                          const struct sockaddr *address, struct nb_string first,
                                          void *owner)
{
    struct nb_line_client *client = calloc(1, sizeof *client);
    if (client == NULL)
        return NULL;
    assert(file >= 0 && address != NULL);
    client->request.server = lines->server;
    client->request.carrier = &CARRIER;
    client->request.connection = client;
    client->job.run = work;
    nb_line_head_begin(&client->head, first);
    client->hold.budget = &lines->server->budgets[NB_BUDGET_BODIES];
    client->lines = lines;
    client->file = file;
    client->address = address;
    client->owner = owner;
    return client;
}

void nb_line_client_free(struct nb_line_client **client)
{
    if (*client == NULL)
        return;
    line_client_deinit(*client);
    free(*client);
    *client = NULL;
}

size_t nb_line_client_received(const struct nb_line_client *line)
{
    return line->input.length;
}

static enum nb_line_next reply(struct nb_line_client *client)
{
    int rc = line_client_send(client);
    if (rc == NB_LINE_MORE)
        return NB_LINE_WRITE;
    return rc != 0 || client->is_ended ? NB_LINE_OVER : NB_LINE_LINGER;
}

static enum nb_line_next receive(struct nb_line_client *client)
{
    struct nb_error error = {0};
    int rc = line_client_receive(client, &error);
    if (rc == NB_LINE_MORE)
        return NB_LINE_READ;
    if (rc == NB_IO)
        return NB_LINE_OVER;
    if (rc < 0) {
        line_client_refuse(client, &error);
        return reply(client);
    }
    nb_pool_add(client->lines->pool, &client->job);
    return NB_LINE_WORK;
}

enum nb_line_next nb_line_client_go(struct nb_line_client *client)
{
    assert(client->lines != NULL && client->file >= 0);
    if (client->is_cut)
        return NB_LINE_OVER;
    return client->is_replying ? reply(client) : receive(client);
}

void *nb_lines_finished(struct nb_lines *lines)
{
    pthread_mutex_lock(&lines->lock);
    struct nb_work_job *job = nb_job_queue_take(&lines->finished);
    pthread_mutex_unlock(&lines->lock);
    return job != NULL ? client_of(job)->owner : NULL;
}

/* ---- start and stop -------------------------------------------------------------------------- */

int nb_lines_start(struct nb_server *server, unsigned threads, int wake, struct nb_lines **lines,
                   struct nb_error *error)
{
    struct nb_lines *l = calloc(1, sizeof *l);
    if (l == NULL || pthread_mutex_init(&l->lock, NULL) != 0) {
        free(l);
        return nb_error_no_memory(error);
    }
    l->server = server;
    l->wake = wake;
    nb_job_queue_init(&l->finished);
    int rc = nb_pool_start(threads, "the line protocols", &l->pool, error);
    if (rc != 0)
        nb_lines_stop(&l);
    *lines = l;
    return rc;
}

void nb_lines_stop(struct nb_lines **lines)
{
    struct nb_lines *l = *lines;
    if (l == NULL)
        return;
    nb_pool_stop(&l->pool);
    pthread_mutex_destroy(&l->lock);
    free(l);
    *lines = NULL;
}
