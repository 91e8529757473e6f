/* SPDX-License-Identifier: Apache-2.0 */
#include "server/api/handlers.h"

#include <assert.h>

#include "config/config.h"
#include "core/base/system.h"
#include "server/base/log.h"
#include "server/base/undo_json.h"
#include "server/http/admission.h"
#include "server/http/http_answer.h"
#include "server/http/request.h"
#include "server/http/server.h"
#include "server/http/wait.h"

enum { ROWS_DEFAULT = 1000, ENDED = 1 };

/* ---- listing --------------------------------------------------------------------------------- */

struct listing {
    struct nb_buffer *out;
    size_t count;
    struct nb_buffer last; /* owned: the id of the last row */
    int code;
};

static int list_row(void *user, const struct nb_quarantine_row *row)
{
    struct listing *l = user;
    assert(l->code == 0); /* else the listing has ended */
    l->code = nb_json_quarantine_row(l->out, l->count++, row);
    l->last.length = 0;
    if (l->code == 0)
        l->code = nb_buffer_append(&l->last, row->id.bytes, row->id.length);
    return l->code != 0 ? ENDED : 0;
}

static int list(struct nb_request *request, size_t limit, struct listing *l, struct nb_error *error)
{
    bool more = false;
    assert(limit > 0);
    int64_t now = nb_clock_now(); /* before reading: the list may lack later changes */
    l->code = nb_json_quarantine_begin(l->out);
    if (l->code != 0)
        return nb_error_no_memory(error);
    int rc =
        nb_engine_quarantine(request->server->engine, request->model,
                             nb_request_query(request, "after"), limit, list_row, l, &more, error);
    if (rc < 0)
        return rc;
    struct nb_string next = {l->last.bytes, more ? l->last.length : 0};
    if (l->code == 0)
        l->code = nb_json_quarantine_end(l->out, now, next);
    return nb_reply_written(request, l->code, error);
}

int nb_route_quarantine(struct nb_request *request, struct nb_error *error)
{
    struct listing l = {.out = &request->reply.body};
    size_t limit;
    int rc = nb_request_query_rows(request, ROWS_DEFAULT, &limit, error);
    if (rc == 0)
        rc = list(request, limit, &l, error);
    nb_buffer_deinit(&l.last);
    return rc;
}

int nb_route_quarantine_effect(struct nb_request *request, struct nb_error *error)
{
    struct nb_quarantine_effect effect;
    int rc = nb_engine_quarantine_effect(request->server->engine, request->model, &effect, error);
    if (rc == 0)
        rc = nb_reply_written(
            request, nb_json_quarantine_effect(&request->reply.body, request->model, &effect),
            error);
    nb_quarantine_effect_deinit(&effect);
    return rc;
}

/* ---- applying and dropping ------------------------------------------------------------------- */

static uint64_t applied(const struct nb_quarantine_report *report)
{
    uint64_t sum = 0;
    for (int s = 0; s < NB_STATUSES; s++)
        sum += report->statuses[s];
    return sum;
}

static int settle(struct nb_request *request, const struct nb_quarantine_options *options,
                  struct nb_quarantine_report *report, struct nb_error *error)
{
    struct nb_engine *engine = request->server->engine;
    bool is_drop = request->route->verb == NB_QUARANTINE_DROP;
    struct nb_string by;
    int rc = nb_request_source(request, &by, error);
    if (rc != 0)
        return rc;
    rc = is_drop ? nb_engine_quarantine_drop(engine, request->model, options, nb_request_is_cut,
                                             request, report, error)
                 : nb_engine_quarantine_apply(engine, request->model, options, nb_request_is_cut,
                                              request, report, error);
    request->has_changed = report->dropped + applied(report) > 0;
    nb_log(NB_LOG_INFO, "quarantine model=%.*s by=%.*s applied=%llu dropped=%llu refused=%llu",
           (int)request->model.length, request->model.bytes, (int)by.length, by.bytes,
           (unsigned long long)applied(report), (unsigned long long)report->dropped,
           (unsigned long long)report->refused);
    return rc != 0 ? rc
                   : nb_reply_written(request,
                                      nb_json_quarantine_report(&request->reply.body,
                                                                request->model, is_drop, report),
                                      error);
}

int nb_route_quarantine_settle(struct nb_request *request, struct nb_error *error)
{
    struct nb_json_quarantine wanted;
    struct nb_quarantine_report report = {.dropped = 0};
    int rc = nb_json_quarantine_read(request->body, &wanted, error);
    if (rc != 0)
        return rc;
    rc = settle(request, &wanted.options, &report, error);
    nb_json_quarantine_deinit(&wanted);
    return rc;
}
