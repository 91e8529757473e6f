/* SPDX-License-Identifier: Apache-2.0
 *
 * The threads that work on complete requests of the line protocols, and the carrier by which a
 * request waits for the engine's writer.
 */
#include <stdlib.h>
#include <unistd.h>

#include "server/line_private.h"
#include "server/transfer.h"

/* ---- the queues --------------------------------------------------------------------------------
 */

static void queue_init(struct nb_line_queue *queue)
{
    queue->first = NULL;
    queue->last = &queue->first;
}

static void queue_add(struct nb_line_queue *queue, struct nb_line_client *line)
{
    line->next = NULL;
    *queue->last = line;
    queue->last = &line->next;
}

static struct nb_line_client *queue_take(struct nb_line_queue *queue)
{
    struct nb_line_client *line = queue->first;
    if (line == NULL)
        return NULL;
    queue->first = line->next;
    if (queue->first == NULL)
        queue->last = &queue->first;
    return line;
}

void nb_line_client_submit(struct nb_line_client *line)
{
    struct nb_lines *lines = line->lines;
    pthread_mutex_lock(&lines->lock);
    queue_add(&lines->waiting, line);
    pthread_cond_signal(&lines->news);
    pthread_mutex_unlock(&lines->lock);
}

static void finish(struct nb_line_client *line)
{
    struct nb_lines *lines = line->lines;
    uint64_t one = 1;
    nb_line_client_release(line);
    line->state = NB_LINE_REPLYING;
    pthread_mutex_lock(&lines->lock);
    queue_add(&lines->finished, line);
    pthread_mutex_unlock(&lines->lock);
    ssize_t written = write(lines->wake, &one, sizeof one);
    (void)written; /* an eventfd that is full has woken the reader already */
}

void *nb_lines_finished(struct nb_lines *lines)
{
    pthread_mutex_lock(&lines->lock);
    struct nb_line_client *line = queue_take(&lines->finished);
    pthread_mutex_unlock(&lines->lock);
    return line != NULL ? line->owner : NULL;
}

/* ---- the carrier -------------------------------------------------------------------------------
 */

/* A wait has two parts, which come in any order and on different threads: the handler returns, and
 * what it waits for ends. Whoever is second puts the request back into the queue. */
static void end_part(struct nb_line_client *line)
{
    if (atomic_fetch_add(&line->parts, 1) == 1)
        nb_line_client_submit(line);
}

static void suspend(struct nb_request *request)
{
    struct nb_line_client *line = request->connection;
    atomic_store(&line->parts, 0);
}

static void resume(struct nb_request *request)
{
    end_part(request->connection);
}

static struct nb_string field(const struct nb_request *request, const char *name)
{
    const struct nb_line_client *line = request->connection;
    return nb_line_head_field(&line->head,
                              (struct nb_string){line->input.bytes, line->input.length}, name);
}

static const struct sockaddr *address(const struct nb_request *request)
{
    return ((const struct nb_line_client *)request->connection)->address;
}

const struct nb_carrier nb_line_carrier = {suspend, resume, field, address, true};

/* ---- work --------------------------------------------------------------------------------------
 */

static int inflate_body(struct nb_request *request, struct nb_string body, struct nb_error *error)
{
    int rc = nb_transfer_begin(request, NB_CODING_ZLIB, error);
    if (rc == 0)
        rc = nb_transfer_take(request, &body, error);
    return rc != 0 ? rc : nb_transfer_finish(request, error);
}

static int call_handler(struct nb_line_client *line, struct nb_error *error)
{
    struct nb_request *request = &line->request;
    nb_handler *again = request->again;
    request->again = NULL;
    if (again != NULL)
        return again(request, error);
    if (line->head.is_zlib)
        return inflate_body(request, nb_line_client_body(line), error);
    return nb_transfer_whole(request, nb_line_client_body(line), error);
}

static void work(struct nb_line_client *line)
{
    struct nb_error error = {0};
    if (atomic_load(&line->lines->server->is_cutting)) {
        line->is_cut = true;
        finish(line);
        return;
    }
    int rc = call_handler(line, &error);
    if (rc == NB_WAIT) {
        end_part(line); /* which may be freed from here on */
        return;
    }
    if (rc < 0)
        line->head.route->protocol->fail(&line->request, &error);
    finish(line);
}

static void *line_thread(void *user)
{
    struct nb_lines *lines = user;
    pthread_mutex_lock(&lines->lock);
    while (!lines->is_ending) {
        struct nb_line_client *line = queue_take(&lines->waiting);
        if (line == NULL) {
            pthread_cond_wait(&lines->news, &lines->lock);
            continue;
        }
        pthread_mutex_unlock(&lines->lock);
        work(line);
        pthread_mutex_lock(&lines->lock);
    }
    pthread_mutex_unlock(&lines->lock);
    return NULL;
}

/* ---- start and stop ----------------------------------------------------------------------------
 */

int nb_lines_start(struct nb_server *server, unsigned threads, int wake, struct nb_lines **lines,
                   struct nb_error *error)
{
    struct nb_lines *l = calloc(1, sizeof *l);
    if (l == NULL)
        return nb_error_no_memory(error);
    l->server = server;
    l->wake = wake;
    queue_init(&l->waiting);
    queue_init(&l->finished);
    l->threads = calloc(threads, sizeof *l->threads);
    if (l->threads == NULL || pthread_mutex_init(&l->lock, NULL) != 0) {
        free(l->threads);
        free(l);
        return nb_error_no_memory(error);
    }
    (void)pthread_cond_init(&l->news, NULL); /* cannot fail with the GNU library */
    while (l->thread_count < threads &&
           pthread_create(&l->threads[l->thread_count], NULL, line_thread, l) == 0)
        l->thread_count++;
    if (l->thread_count < threads) {
        nb_lines_stop(&l);
        return nb_error_set(error, NB_IO, "the threads of the line protocols do not start");
    }
    *lines = l;
    return 0;
}

void nb_lines_stop(struct nb_lines **lines)
{
    struct nb_lines *l = *lines;
    if (l == NULL)
        return;
    pthread_mutex_lock(&l->lock);
    l->is_ending = true;
    pthread_cond_broadcast(&l->news);
    pthread_mutex_unlock(&l->lock);
    for (unsigned i = 0; i < l->thread_count; i++)
        pthread_join(l->threads[i], NULL);
    pthread_cond_destroy(&l->news);
    pthread_mutex_destroy(&l->lock);
    free(l->threads);
    free(l);
    *lines = NULL;
}
