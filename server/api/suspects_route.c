/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/jobs/suspects/suspects.h"
#include "server/api/handlers.h"
#include "server/base/emit.h"
#include "server/base/time.h"
#include "server/http/admission.h"
#include "server/http/http_answer.h"
#include "server/http/request.h"
#include "server/http/server.h"
#include "server/http/wait.h"

enum { SUSPECTS_DEFAULT = 100, CURSOR_BYTES = 64 };

static void emit_suspect(struct nb_emitter *e, const struct nb_suspect *s)
{
    nb_emit_open(e, '{');
    nb_emit_member_string(e, "id", nb_buffer_string(&s->id));
    nb_emit_member_text(e, "label", s->label);
    nb_emit_member_text(e, "suggested", s->suggested);
    nb_emit_member_short_double(e, "probability", s->probability);
    nb_emit_member_short_double(e, "label_probability", s->label_probability);
    nb_emit_member_text(e, "source", s->source);
    nb_emit_member_time(e, "time", s->time);
    nb_emit_member_u64(e, "tokens", s->tokens);
    nb_emit_close(e, '}');
}

static void emit_sources(struct nb_emitter *e, const struct nb_suspects *suspects)
{
    nb_emit_member_open(e, "sources", '[');
    for (size_t i = 0; i < suspects->source_count; i++) {
        nb_emit_open(e, '{');
        nb_emit_member_text(e, "source", suspects->sources[i].name);
        nb_emit_member_u64(e, "documents", suspects->sources[i].documents);
        nb_emit_close(e, '}');
    }
    nb_emit_close(e, ']');
}

/* Writes {"suspects": [{"id", ...}, ...], "looked_at", "suspected", "likely", "sources", "next"}.
 */
static int json_suspects(struct nb_buffer *out, const struct nb_suspects *suspects)
{
    struct nb_emitter e = nb_emit_begin(out);
    nb_emit_open(&e, '{');
    nb_emit_member_open(&e, "suspects", '[');
    for (size_t i = 0; i < suspects->count; i++)
        emit_suspect(&e, &suspects->list[i]);
    nb_emit_close(&e, ']');
    nb_emit_member_u64(&e, "looked_at", suspects->looked_at);
    nb_emit_member_u64(&e, "suspected", suspects->suspected);
    nb_emit_member_u64(&e, "likely", suspects->likely);
    emit_sources(&e, suspects);
    if (suspects->has_more) {
        const struct nb_suspect *last = &suspects->list[suspects->count - 1];
        char cursor[CURSOR_BYTES];
        (void)snprintf(cursor, sizeof cursor, "%" PRIu64 "-%.17g", last->number,
                       last->log_odds); /* at most 45 bytes */
        nb_emit_member_text(&e, "next", cursor);
    }
    nb_emit_close(&e, '}');
    return nb_emit_end(&e);
}

/* Reads `after`, a cursor as json_suspects writes it. */
static int read_cursor(struct nb_string after, struct nb_suspects_page *page,
                       struct nb_error *error)
{
    char text[CURSOR_BYTES] = "", *end = text;
    page->log_odds = -INFINITY;
    page->number = 0;
    if (after.bytes == NULL)
        return 0;
    if (after.length > 0 && after.length < sizeof text && strchr("0123456789", *after.bytes)) {
        memcpy(text, after.bytes, after.length);
        page->number = strtoull(text, &end, 10);
    }
    if (*end == '-')
        page->log_odds = strtod(end + 1, &end);
    return end != text && *end == '\0' && isfinite(page->log_odds)
               ? 0
               : nb_error_set(error, NB_INVALID,
                              "query parameter 'after' must be the \"next\" of a page before");
}

int nb_route_suspects(struct nb_request *request, struct nb_error *error)
{
    struct nb_suspects suspects = {.list = NULL};
    struct nb_suspects_page page;
    uint64_t limit;
    int rc =
        nb_request_query_count(request, "limit", SUSPECTS_DEFAULT, NB_SUSPECTS_MOST, &limit, error);
    if (rc == 0 && limit == 0)
        rc = nb_error_set(error, NB_INVALID, "query parameter 'limit' must be at least 1");
    if (rc == 0)
        rc = read_cursor(nb_request_query(request, "after"), &page, error);
    page.limit = rc == 0 ? (size_t)limit : 1;
    if (rc == 0)
        rc = nb_engine_suspects(request->server->engine, request->model, &page, nb_request_is_cut,
                                request, &suspects, error);
    if (rc == 0)
        rc = nb_reply_written(request, json_suspects(&request->reply.body, &suspects), error);
    nb_suspects_deinit(&suspects);
    return rc;
}
