/* SPDX-License-Identifier: Apache-2.0 */
#include "server/api/handlers.h"

#include <stdlib.h>

#include "config/config.h"
#include "core/archive/backup/backup.h"
#include "core/archive/dump/export.h"
#include "core/archive/dump/import.h"
#include "core/base/system.h"
#include "core/engine/engine.h"
#include "server/base/dump_json.h"
#include "server/base/log.h"
#include "server/base/ndjson.h"
#include "server/http/admission.h"
#include "server/http/http_answer.h"
#include "server/http/request.h"
#include "server/http/server.h"
#include "server/http/wait.h"

/* ---- export ---------------------------------------------------------------------------------- */

/* A small export is sent as a whole, so that a failure gets its own status. A larger one is sent
 * while it is made: a failure breaks off the connection before the dump's last line. */
enum { PIECE_BYTES = 256 * 1024 };

/* Most attempts to begin an export while the store has to grow. The map doubles each time. */
enum { TIMES_MOST = 8 };

struct exporting {
    struct nb_export *export;
    struct nb_buffer *out;  /* the reply's body */
    struct nb_error *error; /* errors of the sink, which the engine does not see */
    bool is_end;
};

static void free_exporting(void *user)
{
    struct exporting *e = user;
    nb_export_end(&e->export);
    free(e);
}

static int written(struct exporting *e, int rc)
{
    return rc == 0 ? 0 : nb_error_no_memory(e->error);
}

static int write_header(void *user, const struct nb_dump_header *header)
{
    struct exporting *e = user;
    return written(e, nb_json_dump_header(e->out, header));
}

static int write_words(void *user, const struct nb_dump_words *words)
{
    struct exporting *e = user;
    return written(e, nb_json_dump_words(e->out, words));
}

static int write_document(void *user, const struct nb_dump_document *document)
{
    struct exporting *e = user;
    return written(e, nb_json_dump_document(e->out, document));
}

static int write_end(void *user, const struct nb_dump_totals *totals)
{
    struct exporting *e = user;
    return written(e, nb_json_dump_end(e->out, totals));
}

/* Appends records until the reply's body has `most` bytes or there are no more records. */
static int add_records(struct nb_request *request, size_t most, struct nb_error *error)
{
    struct exporting *e = request->state;
    struct nb_error engine_error = {0}, sink_error = {0};
    const struct nb_dump_sink sink = {write_header, write_words, write_document, write_end, e};
    int rc = 0;
    e->error = &sink_error;
    while (rc == 0 && !e->is_end && e->out->length < most) {
        rc = nb_request_check_cut(request, error);
        if (rc != 0)
            return rc;
        rc = nb_export_next(e->export, &sink, &e->is_end, &engine_error);
    }
    if (rc != 0)
        *error = sink_error.code != 0 ? sink_error : engine_error;
    return rc != 0 ? error->code : 0;
}

static int begin_export(struct nb_request *request, struct nb_error *error)
{
    struct exporting *e = request->state;
    nb_export_end(&e->export);
    e->out->length = 0;
    int rc = nb_export_begin(request->server->engine, request->model,
                             request->config->backup_seconds, &e->export, error);
    return rc != 0 ? rc : add_records(request, (size_t)request->config->spool_memory, error);
}

/* Appends the next piece of a reply that is being sent. */
static int add_piece(struct nb_request *request, struct nb_error *error)
{
    struct exporting *e = request->state;
    int rc = add_records(request, PIECE_BYTES, error);
    if (rc != 0)
        nb_log(NB_LOG_WARNING, "export broken off model=%.*s: %s", (int)request->model.length,
               request->model.bytes, error->text);
    request->reply.is_last = e->is_end;
    return rc;
}

int nb_route_export(struct nb_request *request, struct nb_error *error)
{
    struct exporting *e = calloc(1, sizeof *e);
    if (e == NULL)
        return nb_error_no_memory(error);
    e->out = &request->reply.body;
    request->state = e;
    request->state_free = free_exporting;
    int rc = begin_export(request, error);
    for (int times = 1;
         rc != 0 && times < TIMES_MOST && e->export != NULL && nb_export_is_lost(e->export);
         times++)
        rc = begin_export(request, error);
    if (rc != 0)
        return rc;
    if (!e->is_end)
        request->reply.next = add_piece;
    return nb_reply_with(request, 200, "application/x-ndjson");
}

/* ---- import ---------------------------------------------------------------------------------- */

/* The state of an import. Lines go to the engine as they arrive, on the work pool. Nothing is
 * visible before the commit at the end. */
struct import {
    struct nb_json_dump_reader *reader;
    struct nb_import *import; /* NULL after the commit */
    struct nb_dump_totals totals;
};

/* Is also called for an upload that was cut off: the import leaves nothing behind. */
static void import_free(void *user)
{
    struct import *i = user;
    nb_json_dump_reader_free(&i->reader);
    if (i->import != NULL)
        nb_import_abort(&i->import);
    free(i);
}

static int begin_import(struct nb_request *request, struct nb_error *error)
{
    if (request->state != NULL)
        return 0;
    struct import *i = calloc(1, sizeof *i);
    if (i == NULL)
        return nb_error_no_memory(error);
    request->state = i;
    request->state_free = import_free;
    int rc = nb_check_model_name(request->model, error);
    if (rc == 0 && nb_json_dump_reader_new(&i->reader) != 0)
        rc = nb_error_no_memory(error);
    struct nb_string source;
    if (rc == 0)
        rc = nb_request_source(request, &source, error);
    if (rc == 0)
        rc = nb_import_begin(request->server->engine, request->model, source, &i->import, error);
    if (rc == 0 && request->only_new)
        nb_import_only_new(i->import);
    return rc;
}

/* The parent must be a model that the client may use: its counts show in verdicts. */
static int import_header(struct nb_request *request, struct import *i,
                         const struct nb_dump_header *header, struct nb_error *error)
{
    const char *parent = header->settings.parent;
    int rc = parent == NULL ? 0 : nb_request_check_model(request, nb_string_of(parent), error);
    return rc != 0 ? rc : nb_import_header(i->import, header, error);
}

static int import_record(struct nb_request *request, struct import *i,
                         const struct nb_json_record *record, struct nb_error *error)
{
    switch (record->kind) {
    case NB_JSON_RECORD_HEADER:
        return import_header(request, i, &record->header, error);
    case NB_JSON_RECORD_WORDS:
        return nb_import_words(i->import, &record->words, error);
    case NB_JSON_RECORD_DOCUMENT:
        return nb_import_document(i->import, &record->document, error);
    case NB_JSON_RECORD_END:
        i->totals = record->end;
        return 0;
    case NB_JSON_RECORD_BLANK:
    default:
        return 0;
    }
}

int nb_route_import_line(struct nb_request *request, const struct nb_ndjson_line *line,
                         struct nb_error *error)
{
    struct nb_json_record record;
    int rc = begin_import(request, error);
    struct import *i = request->state;
    if (rc != 0)
        return rc;
    if (line->is_too_long)
        return nb_error_set(
            error, NB_TOO_LARGE, "line %llu is longer than the limit of %llu bytes (line_bytes)",
            (unsigned long long)line->number, (unsigned long long)request->config->line_bytes);
    rc = nb_request_check_cut(request, error);
    if (rc == 0)
        rc = nb_json_dump_read(i->reader, line->number, line->text, &record, error);
    return rc != 0 ? rc : import_record(request, i, &record, error);
}

int nb_route_import(struct nb_request *request, struct nb_error *error)
{
    bool created = false;
    uint64_t dropped = 0;
    int rc = begin_import(request, error);
    struct import *i = request->state;
    if (rc == 0)
        rc = nb_json_dump_finish(i->reader, error);
    if (rc == 0)
        rc = nb_import_commit(&i->import, &i->totals, &created, &dropped, error);
    request->has_changed = rc == 0;
    if (rc == 0)
        rc = nb_reply_model(request, dropped, error);
    if (rc == 0)
        request->reply.status = created ? 201 : 200;
    return rc;
}

struct sending {
    struct nb_request *request; /* the request that owns this state */
    struct nb_server *server;
    struct nb_backup *backup;
    uint64_t bytes, started;
};

/* Is also called for a client that has gone before it received the whole backup. */
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

/* Appends the next piece to the reply. On failure the piece gives the reason, for readers of the
 * file. */
static int backup_route_add_piece(struct nb_request *request, struct nb_error *error)
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
        rc = backup_route_add_piece(request, error);
    if (rc != 0)
        return rc;
    request->reply.next = backup_route_add_piece;
    return nb_reply_with(request, 200, "application/octet-stream");
}
