/* SPDX-License-Identifier: Apache-2.0 */
#include "server/mail/line.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "server/mail/line_client.h"
#include "server/request/body_transfer.h"
#include "server/request/http_answer.h"
#include "server/request/server.h"

struct nb_lines {
    struct nb_server *server;
    int wake;
    struct nb_work_pool *pool;
    pthread_mutex_t lock; /* of `finished`; nothing else is taken while it is held */
    struct nb_job_queue finished;
};

static struct nb_line_client *client_of(struct nb_work_job *job)
{
    return (struct nb_line_client *)(void *)((char *)job - offsetof(struct nb_line_client, job));
}

/* ---- the carrier -------------------------------------------------------------------------------
 */

/* A wait has two parts, which come in any order and on different threads: the handler returns, and
 * what it waits for ends. The second of the two puts the request back into the queue. */
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

/* ---- work, on a thread of the pool -------------------------------------------------------------
 */

static void finish(struct nb_line_client *client)
{
    struct nb_lines *lines = client->lines;
    uint64_t one = 1;
    assert(nb_reply_is_there(&client->request) || client->is_cut);
    nb_line_client_release(client);
    nb_reply_hold(&client->request);
    client->is_cut |= client->request.reply.is_withheld;
    client->is_replying = true;
    pthread_mutex_lock(&lines->lock);
    nb_job_queue_add(&lines->finished, &client->job);
    pthread_mutex_unlock(&lines->lock);
    ssize_t written = write(lines->wake, &one, sizeof one);
    (void)written; /* an eventfd that is full has woken the reader already */
}

static int call_handler(struct nb_line_client *client, struct nb_error *error)
{
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
        return nb_transfer_packed(request, NB_CODING_ZLIB, nb_line_client_body(client), error);
    return nb_request_handle(request, nb_line_client_body(client), error);
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
        end_part(client); /* which may be freed from here on */
        return;
    }
    if (rc < 0)
        nb_reply_error(&client->request, &error);
    finish(client);
}

/* ---- clients -----------------------------------------------------------------------------------
 */

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
    nb_line_client_deinit(*client);
    free(*client);
    *client = NULL;
}

size_t nb_line_client_received(const struct nb_line_client *line)
{
    return line->input.length;
}

static enum nb_line_next reply(struct nb_line_client *client)
{
    int rc = nb_line_client_send(client);
    if (rc == NB_LINE_MORE)
        return NB_LINE_WRITE;
    return rc != 0 || client->is_ended ? NB_LINE_OVER : NB_LINE_LINGER;
}

static enum nb_line_next receive(struct nb_line_client *client)
{
    struct nb_error error = {0};
    int rc = nb_line_client_receive(client, &error);
    if (rc == NB_LINE_MORE)
        return NB_LINE_READ;
    if (rc == NB_IO)
        return NB_LINE_OVER;
    if (rc < 0) {
        nb_line_client_refuse(client, &error);
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

/* ---- start and stop ----------------------------------------------------------------------------
 */

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
