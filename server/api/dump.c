/* SPDX-License-Identifier: Apache-2.0 */
#include "server/api/dump.h"

#include <stdlib.h>

#include "config/config.h"
#include "core/engine/engine.h"
#include "server/api/models.h"
#include "server/json/dump_read.h"
#include "server/json/dump_write.h"
#include "server/request/ndjson.h"
#include "server/request/reply.h"
#include "server/request/request.h"
#include "server/request/server.h"
#include "server/request/source.h"

/* ---- export ------------------------------------------------------------------------------------
 */

struct export
{
    struct nb_request *request;
    struct nb_error *error; /* of the spool, which the engine does not know */
};

static int settle(struct export *e, int rc)
{
    if (rc != 0)
        return nb_error_no_memory(e->error);
    if (atomic_load_explicit(&e->request->server->is_cutting, memory_order_relaxed))
        return nb_error_set(e->error, NB_STOPPING, "the daemon is stopping");
    return nb_spool_settle(&e->request->reply.spool, e->error);
}

static int export_header(void *user, const struct nb_dump_header *header)
{
    struct export *e = user;
    /* It comes again when the export begins again. Nothing was sent yet. */
    nb_spool_reset(&e->request->reply.spool);
    return settle(e, nb_json_dump_header(&e->request->reply.spool.tail, header));
}

static int export_words(void *user, const struct nb_dump_words *words)
{
    struct export *e = user;
    return settle(e, nb_json_dump_words(&e->request->reply.spool.tail, words));
}

static int export_document(void *user, const struct nb_dump_document *document)
{
    struct export *e = user;
    return settle(e, nb_json_dump_document(&e->request->reply.spool.tail, document));
}

static int export_end(void *user, const struct nb_dump_totals *totals)
{
    struct export *e = user;
    return settle(e, nb_json_dump_end(&e->request->reply.spool.tail, totals));
}

int nb_route_export(struct nb_request *request, struct nb_error *error)
{
    struct nb_error spool_error = {0}, engine_error = {0};
    struct export e = {.request = request, .error = &spool_error};
    struct nb_dump_sink sink = {export_header, export_words, export_document, export_end, &e};
    nb_reply_spool(request);
    int rc = nb_engine_export(request->server->engine, request->model, &sink, &engine_error);
    if (rc != 0) {
        *error = spool_error.code != 0 ? spool_error : engine_error;
        return error->code;
    }
    return nb_reply_spooled(request, 200, "application/x-ndjson", error);
}

/* ---- import ------------------------------------------------------------------------------------
 */

/* Lines go to the engine as they come, on the work pool. Nothing is visible before the commit at
 * the end. */
struct import {
    struct nb_json_dump_reader *reader;
    struct nb_import *import; /* NULL after the commit */
    struct nb_dump_totals totals;
};

/* Called for an upload that was cut off, too: the import leaves nothing behind. */
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
    return rc;
}

static int import_record(struct import *i, const struct nb_json_record *record,
                         struct nb_error *error)
{
    switch (record->kind) {
    case NB_JSON_RECORD_HEADER:
        return nb_import_header(i->import, &record->header, error);
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
    if (atomic_load_explicit(&request->server->is_cutting, memory_order_relaxed))
        return nb_error_set(error, NB_STOPPING, "the daemon is stopping");
    rc = nb_json_dump_read(i->reader, line->text, &record, error);
    return rc != 0 ? rc : import_record(i, &record, error);
}

int nb_route_import(struct nb_request *request, struct nb_error *error)
{
    bool created = false;
    int rc = begin_import(request, error);
    struct import *i = request->state;
    if (rc == 0)
        rc = nb_json_dump_finish(i->reader, error);
    if (rc == 0)
        rc = nb_import_commit(&i->import, &i->totals, &created, error);
    request->has_changed = rc == 0;
    if (rc == 0)
        rc = nb_route_model(request, error);
    if (rc == 0)
        request->reply.status = created ? 201 : 200;
    return rc;
}
