/* SPDX-License-Identifier: Apache-2.0 */
#include "server/api/handlers.h"

#include <assert.h>

#include "config/config.h"
#include "core/base/names.h"
#include "core/jobs/merge/merge.h"
#include "server/base/undo_json.h"
#include "server/http/admission.h"
#include "server/http/http_answer.h"
#include "server/http/request.h"
#include "server/http/server.h"
#include "server/http/wait.h"

static int undo(struct nb_request *request, const struct nb_json_undo *wanted,
                struct nb_error *error)
{
    struct nb_undo_report report = {.documents = 0};
    struct nb_string source;
    int rc = nb_request_source(request, &source, error);
    if (rc != 0)
        return rc;
    rc = nb_engine_undo(request->server->engine, request->model, &wanted->options, wanted->after,
                        wanted->limit, source, nb_request_is_cut, request, &report, error);
    request->has_changed = report.documents > 0;
    if (rc == 0)
        rc = nb_reply_written(
            request, nb_json_undo_report(&request->reply.body, request->model, &report, NULL, NULL),
            error);
    nb_undo_report_deinit(&report);
    return rc;
}

/* Takes the label from all documents of a model whose documents have several: they stay. */
static int take_label(struct nb_request *request, struct nb_string label, struct nb_error *error)
{
    uint64_t changed = 0;
    struct nb_merge_options options = {.model = request->model,
                                       .from = label,
                                       .into = {"", 0},
                                       .stop = nb_request_is_cut,
                                       .user = request};
    int rc = nb_request_source(request, &options.source, error);
    if (rc == 0)
        rc = nb_label_merge(request->server->engine, &options, &changed, error);
    request->has_changed = changed > 0;
    if (rc != 0)
        return rc;
    const struct nb_undo_report report = {.documents = changed};
    return nb_reply_written(
        request, nb_json_undo_report(&request->reply.body, request->model, &report, NULL, NULL),
        error);
}

int nb_route_delete_label(struct nb_request *request, struct nb_error *error)
{
    /* request->id is the path's second parameter */
    struct nb_json_undo wanted = {.options = {.to = INT64_MAX, .label = request->id}};
    struct nb_buffer room = {0};
    assert(request->id.bytes != NULL);
    int rc = nb_label_normalize(&wanted.options.label, &room) == 0
                 ? nb_check_label(wanted.options.label, error)
                 : nb_error_no_memory(error);
    if (rc == 0 && nb_engine_is_several(request->server->engine, request->model)) {
        rc = take_label(request, wanted.options.label, error);
        nb_buffer_deinit(&room);
        return rc;
    }
    if (rc == 0)
        rc = nb_request_query_count(request, "limit", 0, INT64_MAX, &wanted.limit, error);
    if (rc == 0)
        rc = nb_request_query_count(request, "next", 0, INT64_MAX, &wanted.after, error);
    if (rc == 0)
        rc = undo(request, &wanted, error);
    nb_buffer_deinit(&room);
    return rc;
}

static int try_undo(struct nb_request *request, const struct nb_json_undo *wanted,
                    struct nb_error *error)
{
    struct nb_undo_report report = {.documents = 0};
    struct nb_evaluation_report now, without;
    int rc = nb_engine_undo_try(request->server->engine, request->model, &wanted->options, &report,
                                &now, &without, error);
    if (rc == 0)
        rc = nb_reply_written(
            request,
            nb_json_undo_report(&request->reply.body, request->model, &report, &now, &without),
            error);
    nb_undo_report_deinit(&report);
    nb_evaluation_report_deinit(&now);
    nb_evaluation_report_deinit(&without);
    return rc;
}

int nb_route_undo(struct nb_request *request, struct nb_error *error)
{
    struct nb_json_undo wanted;
    int rc = nb_json_undo_read(request->body, &wanted, error);
    if (rc != 0)
        return rc;
    rc = wanted.dry_run ? try_undo(request, &wanted, error) : undo(request, &wanted, error);
    nb_json_undo_deinit(&wanted);
    return rc;
}

/* ---- notes ----------------------------------------------------------------------------------- */

enum { NOTES_DEFAULT = 1000, ENDED = 1 };

struct listing {
    struct nb_buffer *out;
    size_t count, most;
    uint64_t next;
    int code;
};

static int list_note(void *user, const struct nb_undo_note *note)
{
    struct listing *l = user;
    assert(l->count <= l->most && l->code == 0); /* else the listing has ended */
    if (l->count == l->most) {
        l->next = note->entry;
        return ENDED;
    }
    l->code = nb_json_undone_note(l->out, l->count++, note);
    return l->code != 0 ? ENDED : 0;
}

int nb_route_undone(struct nb_request *request, struct nb_error *error)
{
    struct listing l = {.out = &request->reply.body};
    uint64_t from;
    int rc = nb_request_query_rows(request, NOTES_DEFAULT, &l.most, error);
    if (rc == 0)
        rc = nb_request_query_count(request, "next", 0, INT64_MAX, &from, error);
    if (rc != 0)
        return rc;
    l.code = nb_json_undone_begin(l.out);
    if (l.code == 0)
        rc = nb_engine_undone(request->server->engine, request->model, from, list_note, &l, error);
    if (rc < 0)
        return rc;
    if (l.code == 0)
        l.code = nb_json_undone_end(l.out, l.next);
    return nb_reply_written(request, l.code, error);
}

/* ---- sources --------------------------------------------------------------------------------- */

int nb_route_sources(struct nb_request *request, struct nb_error *error)
{
    enum { DOCUMENTS_DEFAULT = 100000, DOCUMENTS_MOST = 1000000 };
    struct nb_sources sources = {.rows = NULL};
    uint64_t most, from;
    int rc =
        nb_request_query_count(request, "limit", DOCUMENTS_DEFAULT, DOCUMENTS_MOST, &most, error);
    if (rc == 0)
        rc = nb_request_query_count(request, "next", 0, INT64_MAX, &from, error);
    if (rc == 0 && most == 0)
        rc = nb_error_set(error, NB_INVALID, "query parameter 'limit' must be at least 1");
    if (rc == 0)
        rc = nb_engine_sources(request->server->engine, request->model, from, most,
                               nb_request_is_cut, request, &sources, error);
    if (rc == 0)
        rc = nb_reply_written(request, nb_json_sources(&request->reply.body, &sources), error);
    nb_sources_deinit(&sources);
    return rc;
}
