/* SPDX-License-Identifier: Apache-2.0 */
#include "server/api/backup_route.h"

#include <stdlib.h>

#include "config/config.h"
#include "core/archive/backup/backup.h"
#include "core/base/clock.h"
#include "server/base/log.h"
#include "server/request/http_answer.h"
#include "server/request/request.h"
#include "server/request/server.h"

struct sending {
    struct nb_request *request; /* whose state this is */
    struct nb_server *server;
    struct nb_backup *backup;
    uint64_t bytes, started;
};

/* Called for a client that has gone, too: what was made is not all taken then. */
static void free_sending(void *user)
{
    struct sending *s = user;
    unsigned long long ms = (nb_clock_monotonic() - s->started) / 1000000;
    if (s->request->reply.is_given)
        nb_log(NB_LOG_INFO, "backup sent bytes=%llu ms=%llu", (unsigned long long)s->bytes, ms);
    else if (s->backup != NULL)
        nb_log(NB_LOG_WARNING, "backup broken off bytes=%llu ms=%llu", (unsigned long long)s->bytes,
               ms);
    nb_backup_end(&s->backup);
    atomic_fetch_sub(&s->server->backups, 1);
    free(s);
}

/* Appends the next piece to the reply. On failure the reply says why, for the reader of the file.
 */
static int add_piece(struct nb_request *request, struct nb_error *error)
{
    struct sending *s = request->state;
    struct nb_reply *reply = &request->reply;
    bool end = false;
    int rc = nb_backup_next(s->backup, &reply->body, &end, error);
    if (rc == 0) {
        s->bytes += reply->body.length;
        reply->is_last = end;
        return 0;
    }
    nb_backup_give_up(s->backup, error, &reply->body);
    return rc;
}

static int begin(struct nb_request *request, struct nb_error *error)
{
    struct nb_server *server = request->server;
    struct sending *s = calloc(1, sizeof *s);
    if (s == NULL)
        return nb_error_no_memory(error);
    s->request = request;
    s->server = server;
    s->started = nb_clock_monotonic();
    request->state = s;
    request->state_free = free_sending;
    if (atomic_fetch_add(&server->backups, 1) >= request->config->backups)
        return nb_error_set(error, NB_STOPPING,
                            "%llu backups are being sent already (backups): try again later",
                            (unsigned long long)request->config->backups);
    return nb_backup_begin(server->engine, request->config->backup_seconds, &s->backup, error);
}

int nb_route_backup(struct nb_request *request, struct nb_error *error)
{
    int rc = begin(request, error);
    if (rc == 0)
        rc = add_piece(request, error);
    if (rc != 0)
        return rc;
    request->reply.next = add_piece;
    return nb_reply_with(request, 200, "application/octet-stream");
}
