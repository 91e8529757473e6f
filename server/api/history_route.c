/* SPDX-License-Identifier: Apache-2.0 */
#include "server/api/handlers.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "config/config.h"
#include "core/base/label_set.h"
#include "core/jobs/history/history_listing.h"
#include "server/api/decision.h"
#include "server/api/results.h"
#include "server/base/emit.h"
#include "server/base/json_values.h"
#include "server/base/time.h"
#include "server/http/admission.h"
#include "server/http/http_answer.h"
#include "server/http/request.h"
#include "server/http/server.h"
#include "server/http/wait.h"

static void emit_optional(struct nb_emitter *e, const char *key, struct nb_string value)
{
    if (value.length > 0)
        nb_emit_member_string(e, key, value);
}

static void emit_row(struct nb_emitter *e, const struct nb_history_row *row)
{
    nb_emit_raw(e, "{");
    nb_emit_member_string(e, "id", row->id);
    nb_emit_member_time(e, "time", row->time);
    nb_emit_member_string(e, "verdict", row->verdict);
    nb_emit_member_short_double(e, "probability", row->probability);
    if (!isnan(row->known))
        nb_emit_member_short_double(e, "known", row->known);
    nb_emit_member_string(e, "source", row->source);
    emit_optional(e, "message_id", row->message_id);
    emit_optional(e, "subject", row->subject);
    emit_optional(e, "from", row->sender);
    nb_emit_member_u64(e, "tokens", row->tokens);
    nb_emit_key(e, "label");
    if (row->label.length > 0)
        nb_emit_string(e, row->label);
    else
        nb_emit_raw(e, "null");
}

/* Begins {"history": [{"id", "time", "verdict", ...}, ...], "next", "total"}, which is written
 * piece by piece. */
static int json_history_begin(struct nb_buffer *out)
{
    struct nb_emitter e = nb_emit_begin(out);
    nb_emit_open(&e, '{');
    nb_emit_key(&e, "history");
    nb_emit_raw(&e, "[");
    return nb_emit_end(&e);
}

/* Writes one row of a history. The functions that write JSON append to a buffer and return 0 or
 * NB_NO_MEMORY, in which case the buffer is as it was before the call (emit.h). Any thread. */
static int json_history_row(struct nb_buffer *out, size_t count, const struct nb_history_row *row)
{
    struct nb_emitter e = nb_emit_begin(out);
    if (count > 0)
        nb_emit_raw(&e, ",");
    emit_row(&e, row);
    nb_emit_close(&e, '}');
    return nb_emit_end(&e);
}

static int json_history_end(struct nb_buffer *out, const struct nb_history_options *options,
                            const struct nb_history_rest *rest)
{
    char text[24];
    struct nb_emitter e = nb_emit_begin(out);
    nb_emit_raw(&e, "]");
    (void)snprintf(text, sizeof text, "%" PRIu64, rest->next); /* at most 20 digits */
    if (rest->next > 0)
        nb_emit_member_text(&e, "next", text);
    if (options->is_counted) {
        nb_emit_member_u64(&e, "total", rest->total);
        nb_emit_member_bool(&e, "total_is_complete", rest->is_complete);
    }
    nb_emit_close(&e, '}');
    return nb_emit_end(&e);
}

/* Opens a row whose last member is "now". The caller appends the verdict's object, and then "}". */
static int json_history_open(struct nb_buffer *out, const struct nb_history_row *row)
{
    struct nb_emitter e = nb_emit_begin(out);
    emit_row(&e, row);
    nb_emit_key(&e, "now");
    return nb_emit_end(&e);
}

static void emit_next(struct nb_emitter *e, const struct nb_next_document *d)
{
    nb_emit_open(e, '{');
    nb_emit_member_string(e, "id", nb_buffer_string(&d->id));
    nb_emit_member_text(e, "verdict", d->verdict);
    if (d->labels.length > 0)
        nb_emit_member_labels(e, "label", "labels", nb_buffer_string(&d->labels));
    nb_emit_member_short_double(e, "probability", d->probability);
    nb_emit_member_short_double(e, "margin", d->margin);
    nb_emit_member_time(e, "time", d->time);
    nb_emit_member_bool(e, "remembered", d->is_remembered);
    emit_optional(e, "message_id", nb_string_of(d->message_id));
    emit_optional(e, "subject", nb_string_of(d->subject));
    emit_optional(e, "from", nb_string_of(d->sender));
    nb_emit_member_text(e, "words", d->words);
    nb_emit_close(e, '}');
}

/* Writes {"next": [{"id", "verdict", ...}, ...], "looked_at": n}. */
static int json_next(struct nb_buffer *out, const struct nb_next *next)
{
    struct nb_emitter e = nb_emit_begin(out);
    nb_emit_open(&e, '{');
    nb_emit_member_open(&e, "next", '[');
    for (size_t i = 0; i < next->count; i++)
        emit_next(&e, &next->documents[i]);
    nb_emit_close(&e, ']');
    nb_emit_member_u64(&e, "looked_at", next->looked_at);
    nb_emit_close(&e, '}');
    return nb_emit_end(&e);
}

/* Appends the normalized label. */
static int take_label(const json_t *value, struct nb_buffer *label, struct nb_error *error)
{
    struct nb_buffer digits = {0}, room = {0};
    struct nb_string text;
    int rc = nb_json_name(value, &digits, &text);
    rc = rc == 0 ? nb_label_take(&text, &room, error) : nb_error_no_memory(error);
    if (rc == 0 && nb_buffer_append(label, text.bytes, text.length) != 0)
        rc = nb_error_no_memory(error);
    nb_buffer_deinit(&digits);
    nb_buffer_deinit(&room);
    return rc;
}

/* A change of a document's label, or of its labels. */
struct relabelling {
    struct nb_buffer label;       /* owned; the new label, or the set of new labels */
    bool has_label;               /* false: it loses its label */
    bool changes;                 /* the labels `add` come to its own, those of `remove` leave */
    struct nb_buffer add, remove; /* owned */
};

static void relabelling_deinit(struct relabelling *r)
{
    nb_buffer_deinit(&r->label);
    nb_buffer_deinit(&r->add);
    nb_buffer_deinit(&r->remove);
}

enum { LABEL, LABELS, ADD, REMOVE, LABEL_MEMBERS };

static int take_labels(const json_t *const values[LABEL_MEMBERS], struct relabelling *r,
                       struct nb_error *error)
{
    int rc = 0;
    bool has_whole = values[LABEL] != NULL || values[LABELS] != NULL;
    r->changes = values[ADD] != NULL || values[REMOVE] != NULL;
    r->has_label = !r->changes && !json_is_null(values[LABEL]);
    if ((values[LABEL] != NULL && values[LABELS] != NULL) || has_whole == r->changes)
        return nb_error_set(error, NB_INVALID,
                            "a label is given by \"label\", by \"labels\", a list, or by the lists "
                            "\"add\" and \"remove\"");
    if (values[LABELS] != NULL)
        return nb_json_read_labels(values[LABELS], "labels", &r->label, error);
    if (values[LABEL] != NULL)
        return r->has_label ? take_label(values[LABEL], &r->label, error) : 0;
    if (values[ADD] != NULL)
        rc = nb_json_read_labels(values[ADD], "add", &r->add, error);
    if (rc == 0 && values[REMOVE] != NULL)
        rc = nb_json_read_labels(values[REMOVE], "remove", &r->remove, error);
    return rc;
}

/* Reads {"label": a label or null}, {"labels": [...]} or {"add": [...], "remove": [...]}; the
 * caller deinits `r`. Returns 0, NB_INVALID, NB_UNUSABLE, NB_TOO_LARGE or NB_NO_MEMORY. */
static int json_label_read(struct nb_string text, struct relabelling *r, struct nb_error *error)
{
    enum { VALUES_MOST = 16 + 2 * NB_LABEL_SET_MOST };
    static const struct nb_json_member members[] = {
        [LABEL] = {"label", NB_TYPE_NAME | NB_TYPE_NULL, false},
        [LABELS] = {"labels", NB_TYPE_ARRAY, false},
        [ADD] = {"add", NB_TYPE_ARRAY, false},
        [REMOVE] = {"remove", NB_TYPE_ARRAY, false},
    };
    const json_t *values[LABEL_MEMBERS];
    json_t *object;
    int rc = nb_json_load(text, VALUES_MOST, &object, error);
    if (rc != 0)
        return rc;
    rc = nb_json_take(object, "a label", members, LABEL_MEMBERS, values, error);
    if (rc == 0)
        rc = take_labels(values, r, error);
    json_decref(object);
    return rc;
}

enum {
    ROWS_DEFAULT = 100,
    EXPLAIN_DEFAULT = 20,
    NEXT_DEFAULT = 20,
    NEXT_MOST = 200,
    SKIP_MOST = 10000000, /* verdicts, as the setting `history` */
    ENDED = 1
};

/* ---- the list -------------------------------------------------------------------------------- */

static int read_times(const struct nb_request *request, struct nb_history_options *options,
                      struct nb_error *error)
{
    struct nb_string from = nb_request_query(request, "from");
    struct nb_string to = nb_request_query(request, "to");
    int rc = 0;
    if (from.bytes != NULL)
        rc = nb_json_read_time(from, "from", &options->from, error);
    if (rc == 0 && to.bytes != NULL)
        rc = nb_json_read_time(to, "to", &options->until, error);
    return rc;
}

static int read_labelled(const struct nb_request *request, struct nb_history_options *options,
                         struct nb_error *error)
{
    uint64_t is_labelled;
    if (nb_request_query(request, "labelled").bytes == NULL)
        return 0;
    int rc = nb_request_query_count(request, "labelled", 0, 1, &is_labelled, error);
    if (rc == 0)
        options->is_labelled = is_labelled == 1 ? NB_HISTORY_LABELLED : NB_HISTORY_UNLABELLED;
    return rc;
}

static int read_page(const struct nb_request *request, struct nb_history_options *options,
                     struct nb_error *error)
{
    uint64_t is_counted = 0, skip = 0;
    int rc = nb_request_query_rows(request, ROWS_DEFAULT, &options->limit, error);
    if (rc == 0)
        rc = nb_request_query_count(request, "skip", 0, SKIP_MOST, &skip, error);
    options->skip = (size_t)skip;
    if (rc == 0)
        rc = nb_request_query_count(request, "total", 0, 1, &is_counted, error);
    options->is_counted = is_counted == 1;
    return rc != 0
               ? rc
               : nb_request_query_count(request, "after", 0, INT64_MAX, &options->before, error);
}

static int read_options(const struct nb_request *request, struct nb_history_options *options,
                        struct nb_error *error)
{
    *options = (struct nb_history_options){.verdict = nb_request_query(request, "verdict"),
                                           .source = nb_request_query(request, "source"),
                                           .contains = nb_request_query(request, "contains"),
                                           .until = INT64_MAX,
                                           .most = 1};
    int rc = read_times(request, options, error);
    if (rc == 0)
        rc = nb_request_query_number(request, "least", 1, &options->least, error);
    if (rc == 0)
        rc = nb_request_query_number(request, "most", 1, &options->most, error);
    if (rc == 0)
        rc = read_labelled(request, options, error);
    return rc != 0 ? rc : read_page(request, options, error);
}

struct listing {
    struct nb_buffer *out;
    size_t count;
    int code;
};

static int list_row(void *user, const struct nb_history_row *row)
{
    struct listing *l = user;
    assert(l->code == 0); /* else the listing has ended */
    l->code = json_history_row(l->out, l->count++, row);
    return l->code != 0 ? ENDED : 0;
}

int nb_route_history(struct nb_request *request, struct nb_error *error)
{
    struct listing l = {.out = &request->reply.body};
    struct nb_history_options options;
    struct nb_history_rest rest = {0};
    int rc = read_options(request, &options, error);
    if (rc != 0)
        return rc;
    l.code = json_history_begin(l.out);
    if (l.code == 0)
        rc = nb_engine_history(request->server->engine, request->model, &options, list_row, &l,
                               &rest, error);
    if (rc < 0)
        return rc;
    if (l.code == 0)
        l.code = json_history_end(l.out, &options, &rest);
    return nb_reply_written(request, l.code, error);
}

/* ---- one verdict ----------------------------------------------------------------------------- */

/* The verdict has the decision that the model's setting `min_known` wants, as one of classify. */
static int write_found(struct nb_request *request, const struct nb_history_found *found,
                       const struct nb_verdict *verdict, size_t top, struct nb_error *error)
{
    static const struct nb_decision_rule by_setting = {.is_asked = false};
    bool is_wanted = nb_decision_is_wanted(&by_setting, verdict);
    struct nb_decision_made made = {.label = NULL};
    struct nb_results results;
    int rc = nb_results_begin(&results, request, NB_RESULTS_ONE, error);
    if (rc == 0 && is_wanted)
        rc = nb_decision_make(&by_setting, verdict, &made, error);
    const struct nb_json_decision decision = {is_wanted ? made.label : NULL, made.reason};
    results.top = top;
    if (rc == 0 && json_history_open(&request->reply.body, &found->row) != 0)
        rc = nb_error_no_memory(error);
    if (rc == 0)
        rc = nb_results_verdict(&results, verdict, is_wanted ? &decision : NULL, error);
    if (rc == 0 && nb_buffer_puts(&request->reply.body, "}") != 0)
        rc = nb_error_no_memory(error);
    return rc != 0 ? rc : nb_reply_json(request, 200);
}

int nb_route_history_verdict(struct nb_request *request, struct nb_error *error)
{
    assert(request->id.bytes != NULL);
    struct nb_history_found found = {.label = NULL};
    struct nb_scratch_pool *pool = request->server->scratch;
    uint64_t explain;
    size_t top = 0;
    int rc = nb_request_query_count(request, "explain", EXPLAIN_DEFAULT,
                                    request->config->listing_rows, &explain, error);
    if (rc == 0)
        rc = nb_results_top(request, &top, error);
    struct nb_scratch *scratch = rc == 0 ? nb_scratch_take(pool) : NULL;
    if (rc == 0 && scratch == NULL)
        rc = nb_error_no_memory(error);
    if (rc == 0)
        rc = nb_engine_history_find(request->server->engine, request->model, request->id,
                                    (size_t)explain, &found, &scratch->verdict, error);
    if (rc == 0)
        rc = write_found(request, &found, &scratch->verdict, top, error);
    nb_history_found_deinit(&found);
    nb_scratch_give(pool, scratch);
    return rc;
}

/* ---- label next ------------------------------------------------------------------------------ */

int nb_route_next(struct nb_request *request, struct nb_error *error)
{
    struct nb_next next = {.documents = NULL};
    uint64_t count;
    int rc = nb_request_query_count(request, "count", NEXT_DEFAULT, NEXT_MOST, &count, error);
    if (rc == 0 && count == 0)
        rc = nb_error_set(error, NB_INVALID, "query parameter 'count' must be at least 1");
    if (rc == 0)
        rc = nb_engine_next(request->server->engine, request->model, (size_t)count,
                            (size_t)request->config->next_documents, nb_request_is_cut, request,
                            &next, error);
    if (rc == 0)
        rc = nb_reply_written(request, json_next(&request->reply.body, &next), error);
    nb_next_deinit(&next);
    return rc;
}

/* ---- documents by their ids ------------------------------------------------------------------ */

/* Writes the receipt of the one change. */
static int answer(struct nb_request *request, const struct nb_receipt *receipt,
                  struct nb_error *error)
{
    struct nb_results results;
    request->has_changed = receipt->code == 0;
    int rc = nb_results_begin(&results, request, NB_RESULTS_ONE, error);
    if (rc == 0)
        rc = nb_results_receipt(&results, receipt, error);
    return rc != 0 ? rc : nb_results_end(&results, error);
}

/* Makes the one change of the batch, and writes its receipt. */
static int settle(struct nb_request *request, struct nb_batch *batch, struct nb_error *error)
{
    assert(nb_batch_size(batch) == 1); /* the path names one document */
    nb_engine_apply(request->server->engine, batch);
    return answer(request, nb_batch_receipt(batch, 0), error);
}

/* Begins a batch for one change of the document that the path names. */
static int begin(struct nb_request *request, struct nb_string *source, struct nb_batch **batch,
                 struct nb_error *error)
{
    int rc = nb_request_check_load(request, error);
    if (rc == 0)
        rc = nb_request_source(request, source, error);
    if (rc == 0)
        rc = nb_batch_new(request->server->engine, request->model, true, batch, error);
    if (rc == 0)
        nb_batch_quarantine(*batch, nb_request_is_quarantined(request, source));
    return rc;
}

/* Adds the change of a document's present labels to the batch, if they are still those of `info`.
 */
static int add_changed(struct nb_batch *batch, const struct nb_request *request,
                       const struct nb_document_info *info, const struct relabelling *r,
                       struct nb_string source, struct nb_error *error)
{
    struct nb_string add = nb_buffer_string(&r->add), remove = nb_buffer_string(&r->remove);
    struct nb_string own = nb_string_of(info->label == NULL ? "" : info->label);
    struct nb_buffer changed = {0};
    int rc = 0;
    if (own.length > 0 && !nb_label_is_set(own))
        rc = nb_error_set(error, NB_UNUSABLE,
                          "the documents of the model have one label each: send \"label\"");
    if (rc == 0)
        rc = nb_label_set_change(own, &add, &remove, &changed, error);
    if (rc == 0)
        rc = nb_batch_label_entry(batch, request->id, info->entry, nb_buffer_string(&changed),
                                  source, error);
    nb_buffer_deinit(&changed);
    return rc;
}

/* Adds labels to those of a document and removes others. If another client changes the document
 * meanwhile, begins anew with its labels. */
static int change_labels(struct nb_request *request, const struct relabelling *r,
                         struct nb_error *error)
{
    enum { TRIES = 20 };
    struct nb_engine *engine = request->server->engine;
    int rc = 0;
    for (unsigned i = 0; rc == 0 && i < TRIES; i++) {
        struct nb_batch *batch = NULL;
        struct nb_document_info info;
        struct nb_string source;
        rc = nb_engine_document(engine, request->model, request->id, &info, error);
        if (rc != 0)
            return rc;
        rc = begin(request, &source, &batch, error);
        if (rc == 0)
            rc = add_changed(batch, request, &info, r, source, error);
        if (rc == 0)
            nb_engine_apply(engine, batch);
        bool is_done = rc == 0 && nb_batch_receipt(batch, 0)->code != NB_CONFLICT;
        if (is_done || (rc == 0 && i + 1 == TRIES))
            rc = answer(request, nb_batch_receipt(batch, 0), error);
        nb_document_info_deinit(&info);
        nb_batch_free(&batch);
        if (is_done)
            return rc;
    }
    return rc;
}

int nb_route_label_document(struct nb_request *request, struct nb_error *error)
{
    struct nb_batch *batch = NULL;
    struct nb_string source;
    struct relabelling r = {.has_label = false};
    int rc = json_label_read(request->body, &r, error);
    if (rc == 0 && r.changes) {
        rc = change_labels(request, &r, error);
        relabelling_deinit(&r);
        return rc;
    }
    if (rc == 0)
        rc = begin(request, &source, &batch, error);
    struct nb_string given = {r.has_label ? r.label.bytes : NULL, r.label.length};
    if (rc == 0)
        rc = nb_batch_label(batch, request->id, given, source, error);
    if (rc == 0)
        rc = settle(request, batch, error);
    nb_batch_free(&batch);
    relabelling_deinit(&r);
    return rc;
}

int nb_route_forget_document(struct nb_request *request, struct nb_error *error)
{
    struct nb_batch *batch = NULL;
    struct nb_string source;
    int rc = begin(request, &source, &batch, error);
    if (rc == 0)
        rc = nb_engine_history_write(request->server->engine, error);
    if (rc == 0)
        rc = nb_batch_forget(batch, request->id, source, error);
    if (rc == 0)
        rc = settle(request, batch, error);
    nb_batch_free(&batch);
    return rc;
}
