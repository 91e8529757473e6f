/* SPDX-License-Identifier: Apache-2.0 */
#include "server/api/results.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/attribute.h"
#include "core/base/names.h"
#include "core/engine/engine.h"
#include "server/base/document_json.h"
#include "server/base/emit.h"
#include "server/base/problem.h"
#include "server/http/admission.h"
#include "server/http/http_answer.h"
#include "server/http/request.h"

enum { TOP_MOST = 10000 /* most labels that ?top= may ask for */ };

/* ---- the forms ------------------------------------------------------------------------------- */

int nb_results_begin(struct nb_results *results, struct nb_request *request,
                     enum nb_results_form form, struct nb_error *error)
{
    *results = (struct nb_results){.request = request, .form = form, .model = request->model};
    if (form == NB_RESULTS_ONE)
        return 0;
    nb_reply_spool(request);
    if (form == NB_RESULTS_BATCH &&
        nb_buffer_puts(&request->reply.spool.tail, "{\"results\":[") != 0)
        return nb_error_no_memory(error);
    return 0;
}

/* Returns an emitter for the next result, which follows those in the reply. */
static struct nb_emitter begin_result(struct nb_results *r)
{
    struct nb_reply *reply = &r->request->reply;
    assert(r->form == NB_RESULTS_ONE || reply->has_spool); /* nb_results_begin was called */
    struct nb_buffer *out = r->form == NB_RESULTS_ONE ? &reply->body : &reply->spool.tail;
    bool has_comma = r->form == NB_RESULTS_BATCH && r->size > 0;
    int rc = has_comma ? nb_buffer_append(out, ",", 1) : 0;
    struct nb_emitter e = nb_emit_begin(out);
    e.code = rc;
    return e;
}

static int end_result(struct nb_results *r, struct nb_emitter *e, struct nb_error *error)
{
    if (r->form == NB_RESULTS_LINES)
        nb_emit_raw(e, "\n");
    if (nb_emit_end(e) != 0)
        return nb_error_no_memory(error);
    r->size++;
    return r->form == NB_RESULTS_ONE ? 0 : nb_spool_settle(&r->request->reply.spool, error);
}

bool nb_results_has_lines(const struct nb_results *results)
{
    return results->form == NB_RESULTS_LINES && results->size > 0;
}

int nb_results_top(const struct nb_request *request, size_t *most, struct nb_error *error)
{
    uint64_t top = 0;
    int rc = nb_request_query_count(request, "top", 0, TOP_MOST, &top, error);
    *most = (size_t)top;
    return rc;
}

/* ---- warnings -------------------------------------------------------------------------------- */

static void emit_warnings(struct nb_emitter *e, const struct nb_results *results,
                          const struct nb_receipt *receipt)
{
    if (receipt->difference == NB_LABEL_OTHER) {
        nb_emit_warning(e, results->warning);
        return;
    }
    char text[NB_LABEL_WARNING];
    nb_label_difference_say(receipt->label, receipt->near_label, receipt->difference, text);
    nb_emit_member_open(e, "warnings", '[');
    nb_emit_text(e, text);
    if (results->warning != NULL)
        nb_emit_text(e, results->warning);
    nb_emit_close(e, ']');
}

/* ---- the most probable labels ---------------------------------------------------------------- */

/* The labels of a verdict that the reply lists (?top=N): for a model with thousands of labels, a
 * reply that lists all of them would be longer than the document. */
struct top {
    bool *is_told; /* owned: by label of the verdict; NULL: all are listed */
};

struct candidate {
    double probability;
    size_t label;
    bool wins; /* the label of the verdict, which is always listed */
};

static int by_probability(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->wins != y->wins)
        return x->wins ? -1 : 1;
    if (x->probability != y->probability)
        return x->probability > y->probability ? -1 : 1;
    return (x->label > y->label) - (x->label < y->label);
}

/* Chooses the `most` most probable labels of a verdict, always with the winning label; of equally
 * probable labels, those that sort first. If `most` is 0 or at least the number of labels, all are
 * listed. Returns 0 or NB_NO_MEMORY; after 0 the caller frees top->is_told. */
static int choose_top(struct top *top, const struct nb_verdict *verdict, size_t most)
{
    size_t count = verdict->size;
    *top = (struct top){.is_told = NULL};
    if (most == 0 || most >= count)
        return 0;
    struct candidate *kept = malloc(most * sizeof *kept);
    top->is_told = calloc(count, sizeof *top->is_told);
    if (kept == NULL || top->is_told == NULL) {
        free(kept);
        free(top->is_told);
        return NB_NO_MEMORY;
    }
    struct nb_heap heap = {
        .items = kept, .most = most, .item_size = sizeof *kept, .compare = by_probability};
    for (size_t i = 0; i < count; i++) {
        struct candidate one = {
            .probability = verdict->probabilities[i], .label = i, .wins = i == verdict->best};
        nb_heap_add(&heap, &one);
    }
    assert(heap.count == most);
    for (size_t i = 0; i < heap.count; i++)
        top->is_told[kept[i].label] = true;
    free(kept);
    return 0;
}

static bool is_told(const struct top *top, size_t label)
{
    return top->is_told == NULL || top->is_told[label];
}

/* ---- verdicts -------------------------------------------------------------------------------- */

static void emit_label(struct nb_emitter *e, const char *label, double value)
{
    nb_emit_name(e, nb_string_of(label));
    nb_emit_double(e, value);
}

static void emit_log_scores(struct nb_emitter *e, const struct nb_verdict *verdict,
                            const struct top *top)
{
    nb_emit_member_open(e, "log_scores", '{');
    for (size_t i = 0; i < verdict->size; i++)
        if (is_told(top, i))
            emit_label(e, verdict->labels[i], verdict->log_scores[i]);
    nb_emit_close(e, '}');
}

/* Writes the documents of each label, for a verdict that is not ready or on request. */
static void emit_counts(struct nb_emitter *e, const struct nb_verdict *verdict,
                        const struct top *top)
{
    nb_emit_member_open(e, "documents", '{');
    for (size_t i = 0; i < verdict->size; i++) {
        if (!is_told(top, i))
            continue;
        nb_emit_name(e, nb_string_of(verdict->labels[i]));
        nb_emit_u64(e, verdict->documents[i]);
    }
    nb_emit_close(e, '}');
}

static void emit_probabilities(struct nb_emitter *e, const struct nb_verdict *verdict,
                               const struct top *top)
{
    nb_emit_member_open(e, "probabilities", '{');
    for (size_t i = 0; i < verdict->size; i++)
        if (is_told(top, i))
            emit_label(e, verdict->labels[i], verdict->probabilities[i]);
    nb_emit_close(e, '}');
}

/* Writes the labels that the document is given, of several. */
static void emit_given(struct nb_emitter *e, const struct nb_verdict *verdict)
{
    nb_emit_member_open(e, "labels", '[');
    for (size_t i = 0; i < verdict->size; i++)
        if (verdict->is_given[i])
            nb_emit_text(e, verdict->labels[i]);
    nb_emit_close(e, ']');
}

static void emit_shares(struct nb_emitter *e, const struct nb_verdict *verdict,
                        const struct nb_explained *row)
{
    if (verdict->source_count == 0)
        return;
    nb_emit_member_open(e, "shares", '{');
    for (size_t i = 0; i < verdict->source_count; i++)
        emit_label(e, verdict->sources[i], row->shares[i]);
    nb_emit_close(e, '}');
}

/* Writes a token; one with a condition as in `country=DE given plan=gold`. */
static void emit_token(struct nb_emitter *e, const struct nb_explained *row)
{
    char text[(size_t)2 * (NB_ATTRIBUTE_NAME_MOST + NB_CATEGORY_MOST) + sizeof "= given ="];
    if (row->given.bytes == NULL) {
        nb_emit_string(e, row->token);
        return;
    }
    int length = snprintf(text, sizeof text, "%.*s given %.*s", (int)row->token.length,
                          row->token.bytes, (int)row->given.length, row->given.bytes);
    assert(length > 0 && (size_t)length < sizeof text);
    nb_emit_string(e, (struct nb_string){text, (size_t)length});
}

/* Writes the counts of a token in the documents of the winner and of the runner-up. */
static void emit_word_counts(struct nb_emitter *e, const struct nb_verdict *verdict,
                             const struct nb_explained *row)
{
    assert(row->has_counts && verdict->second < verdict->size);
    nb_emit_member_open(e, "counts", '{');
    nb_emit_name(e, nb_string_of(verdict->labels[verdict->best]));
    nb_emit_u64(e, row->counts[0]);
    if (verdict->second != verdict->best) {
        nb_emit_name(e, nb_string_of(verdict->labels[verdict->second]));
        nb_emit_u64(e, row->counts[1]);
    }
    nb_emit_close(e, '}');
}

/* Writes a row of an explanation. The prior's row has null instead of a token, and no count. */
static void emit_explained(struct nb_emitter *e, const struct nb_verdict *verdict,
                           const struct nb_explained *row, bool has_word_counts)
{
    nb_emit_open(e, '{');
    nb_emit_key(e, "token");
    if (row->token.bytes == NULL) {
        nb_emit_raw(e, "null");
    } else {
        emit_token(e, row);
        nb_emit_member_u64(e, "count", row->count);
    }
    nb_emit_member_double(e, "evidence", row->evidence);
    emit_shares(e, verdict, row);
    if (has_word_counts && row->has_counts)
        emit_word_counts(e, verdict, row);
    nb_emit_close(e, '}');
}

static void emit_explanation(struct nb_emitter *e, const struct nb_verdict *verdict,
                             bool has_word_counts)
{
    nb_emit_member_open(e, "explanation", '[');
    for (size_t i = 0; i < verdict->explanation_count; i++)
        emit_explained(e, verdict, &verdict->explanation[i], has_word_counts);
    nb_emit_close(e, ']');
}

/* Writes which passage decides, if one does. Its text may be cut within a character. */
static void emit_passage(struct nb_emitter *e, const struct nb_decisive_passage *passage)
{
    if (passage->label == NULL)
        return;
    nb_emit_member_open(e, "passage", '{');
    nb_emit_member_text(e, "label", passage->label);
    nb_emit_member_u64(e, "from", passage->from);
    nb_emit_member_u64(e, "to", passage->to);
    if (passage->text.length > 0)
        nb_emit_member_string(e, "text", passage->text);
    nb_emit_member_double(e, "whole", passage->whole);
    nb_emit_close(e, '}');
}

static void emit_decision(struct nb_emitter *e, const struct nb_json_decision *decision)
{
    if (decision == NULL)
        return;
    assert(decision->label != NULL && decision->reason != NULL);
    nb_emit_member_text(e, "decision", decision->label);
    nb_emit_member_text(e, "decision_reason", decision->reason);
}

static void emit_verdict(struct nb_emitter *e, const struct nb_results *results,
                         const struct nb_verdict *verdict, const struct top *top,
                         const struct nb_json_decision *decision)
{
    nb_emit_open(e, '{');
    assert(verdict->size > 0 || verdict->is_given != NULL);
    assert(verdict->best < verdict->size || verdict->is_given != NULL);
    assert(verdict->known <= verdict->total);
    nb_emit_member_string(e, "model", results->model);
    if (verdict->is_given != NULL) {
        emit_given(e, verdict);
    } else {
        nb_emit_member_text(e, "label", verdict->labels[verdict->best]);
        nb_emit_member_double(e, "probability", verdict->probabilities[verdict->best]);
    }
    emit_probabilities(e, verdict, top);
    if (!isnan(verdict->of_labels))
        nb_emit_member_short_double(e, "known", verdict->of_labels);
    if (verdict->tells_calibrated) {
        nb_emit_member_bool(e, "calibrated", verdict->calibrated);
    }
    if (verdict->is_given == NULL)
        emit_log_scores(e, verdict, top);
    nb_emit_member_open(e, "tokens", '{');
    nb_emit_member_u64(e, "total", verdict->total);
    nb_emit_member_u64(e, "known", verdict->known);
    nb_emit_member_u64(e, "unknown", verdict->total - verdict->known);
    nb_emit_close(e, '}');
    if (!verdict->has_evidence)
        nb_emit_member_text(e, "evidence", "none");
    nb_emit_flag(e, "truncated", verdict->truncated);
    nb_emit_member_bool(e, "ready", verdict->ready);
    if (!verdict->ready)
        nb_emit_member_text(e, "missing", verdict->missing);
    if (!verdict->ready || results->has_counts)
        emit_counts(e, verdict, top);
    emit_decision(e, decision);
    if (results->id.length > 0) {
        nb_emit_member_string(e, "id", (struct nb_string){results->id.bytes, results->id.length});
        nb_emit_member_bool(e, "remembered", results->is_kept);
    }
    if (verdict->explanation_count > 0) {
        emit_passage(e, &verdict->passage);
        if (verdict->is_given != NULL)
            nb_emit_member_text(e, "explained", verdict->labels[verdict->second]);
        emit_explanation(e, verdict, results->has_word_counts);
    }
    nb_emit_warning(e, results->warning);
    nb_emit_close(e, '}');
}

int nb_results_verdict(struct nb_results *results, const struct nb_verdict *verdict,
                       const struct nb_json_decision *decision, struct nb_error *error)
{
    struct top top;
    if (choose_top(&top, verdict, results->top) != 0)
        return nb_error_no_memory(error);
    struct nb_emitter e = begin_result(results);
    emit_verdict(&e, results, verdict, &top, decision);
    free(top.is_told);
    return end_result(results, &e, error);
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static void emit_tokens(struct nb_emitter *e, const struct nb_bag *bag, const char *warning)
{
    nb_emit_open(e, '{');
    nb_emit_member_open(e, "tokens", '[');
    for (size_t i = 0; i < bag->size; i++) {
        if (!nb_feature_is_token(bag->features[i].id))
            continue;
        nb_emit_open(e, '{');
        nb_emit_member_string(e, "token", bag->texts[i]);
        nb_emit_member_u64(e, "count", bag->features[i].count);
        nb_emit_close(e, '}');
    }
    nb_emit_close(e, ']');
    nb_emit_flag(e, "truncated", bag->truncated);
    nb_emit_warning(e, warning);
    nb_emit_close(e, '}');
}

int nb_results_tokens(struct nb_results *results, const struct nb_bag *bag, struct nb_error *error)
{
    struct nb_emitter e = begin_result(results);
    emit_tokens(&e, bag, results->warning);
    return end_result(results, &e, error);
}

/* ---- receipts and errors --------------------------------------------------------------------- */

static void emit_receipt_labels(struct nb_emitter *e, const struct nb_receipt *receipt)
{
    nb_emit_member_open(e, "labels", '{');
    for (size_t i = 0; i < receipt->label_count; i++)
        nb_emit_label_documents(e, receipt->labels[i].label, receipt->labels[i].documents);
    nb_emit_close(e, '}');
}

static void emit_null(struct nb_emitter *e, const char *key)
{
    nb_emit_member_null(e, key);
}

static void emit_receipt(struct nb_emitter *e, const struct nb_results *results,
                         const struct nb_receipt *receipt)
{
    nb_emit_open(e, '{');
    nb_emit_member_string(e, "model", results->model);
    nb_emit_member_string(e, "id", receipt->id);
    if (receipt->label.length > 0) /* an untrain in the quarantine has none */
        nb_emit_member_labels(e, "label", "document_labels", receipt->label);
    else if (receipt->status != NB_QUARANTINED)
        emit_null(e, "label");
    nb_emit_member_text(e, "status", nb_status_name(receipt->status));
    if (receipt->status == NB_RELABELLED)
        nb_emit_member_labels(e, "previous_label", "previous_labels", receipt->previous_label);
    if (receipt->status == NB_NEAR_DUPLICATE) {
        if (receipt->nearest.length > 0)
            nb_emit_member_string(e, "near_duplicate_of", receipt->nearest);
        nb_emit_member_short_double(e, "similarity", receipt->similarity);
    }
    nb_emit_member_u64(e, "tokens", receipt->tokens);
    if (receipt->status != NB_FORGOTTEN && receipt->status != NB_QUARANTINED &&
        receipt->status != NB_QUEUED)
        nb_emit_member_u64(e, "new_tokens", receipt->new_tokens);
    nb_emit_flag(e, "truncated", receipt->truncated);
    nb_emit_flag(e, "created", receipt->created);
    if (receipt->number > 0 && results->form != NB_RESULTS_ONE) /* else the reply is the receipt */
        nb_emit_member_u64(e, "number", receipt->number);
    emit_receipt_labels(e, receipt);
    emit_warnings(e, results, receipt);
    nb_emit_close(e, '}');
}

int nb_results_receipt(struct nb_results *results, const struct nb_receipt *receipt,
                       struct nb_error *error)
{
    if (receipt->code != 0)
        return nb_results_error(results, &receipt->error, error);
    struct nb_emitter e = begin_result(results);
    emit_receipt(&e, results, receipt);
    assert(receipt->status < NB_STATUSES);
    results->totals[receipt->status]++;
    results->created = results->created || receipt->created;
    return end_result(results, &e, error);
}

int nb_results_error(struct nb_results *results, const struct nb_error *why, struct nb_error *error)
{
    if (results->form == NB_RESULTS_ONE) {
        *error = *why;
        return why->code;
    }
    struct nb_emitter e = begin_result(results);
    nb_emit_error(&e, why);
    results->failed++;
    return end_result(results, &e, error);
}

int nb_results_model_error(struct nb_results *results, const struct nb_error *why,
                           struct nb_error *error)
{
    assert(results->form == NB_RESULTS_BATCH);
    struct nb_emitter e = begin_result(results);
    nb_emit_open(&e, '{');
    nb_emit_member_string(&e, "model", results->model);
    nb_emit_key(&e, "error");
    nb_emit_problem(&e, why);
    nb_emit_close(&e, '}');
    results->failed++;
    return end_result(results, &e, error);
}

/* ---- ending the reply ------------------------------------------------------------------------ */

/* Writes the totals. Rare statuses appear only if a receipt has them. */
static void emit_totals(struct nb_emitter *e, const struct nb_results *r, enum nb_verb verb)
{
    static const enum nb_status rare[] = {NB_NEAR_DUPLICATE, NB_QUARANTINED, NB_STORED, NB_QUEUED};
    enum nb_status first = verb == NB_VERB_UNTRAIN ? NB_FORGOTTEN : NB_LEARNED;
    enum nb_status last = verb == NB_VERB_UNTRAIN ? NB_FORGOTTEN : NB_UPDATED;
    bool is_change = verb == NB_VERB_TRAIN || verb == NB_VERB_UNTRAIN;
    for (enum nb_status s = first; is_change && s <= last; s++)
        nb_emit_member_u64(e, nb_status_name(s), r->totals[s]);
    for (size_t i = 0; i < sizeof rare / sizeof *rare; i++) {
        if (r->totals[rare[i]] > 0)
            nb_emit_member_u64(e, nb_status_name(rare[i]), r->totals[rare[i]]);
    }
    if (r->merged > 0)
        nb_emit_member_u64(e, "merged", r->merged);
    nb_emit_member_u64(e, "failed", r->failed);
    nb_emit_flag(e, "created", r->created);
}

static int end_batch(struct nb_results *r, struct nb_error *error)
{
    struct nb_request *request = r->request;
    struct nb_emitter e = nb_emit_begin(&request->reply.spool.tail);
    nb_emit_raw(&e, "]");
    emit_totals(&e, r, (enum nb_verb)request->route->verb);
    nb_emit_warning(&e, r->table_warning);
    nb_emit_close(&e, '}');
    if (nb_emit_end(&e) != 0)
        return nb_error_no_memory(error);
    return nb_reply_spooled(request, 200, "application/json", error);
}

static void emit_common(struct nb_emitter *e, const struct nb_results_common *common)
{
    nb_emit_open(e, '{');
    nb_emit_member_text(e, "rule", common->rule);
    if (common->label != NULL) {
        nb_emit_member_string(e, "model", common->model);
        nb_emit_member_text(e, "label", common->label);
        nb_emit_member_double(e, "probability", common->probability);
    } else {
        nb_emit_member_null(e, "label");
    }
    if (common->action != NULL)
        nb_emit_member_text(e, "action", common->action);
    emit_decision(e, common->decision);
    nb_emit_close(e, '}');
}

int nb_results_end_common(struct nb_results *results, const struct nb_results_common *common,
                          struct nb_error *error)
{
    assert(results->form == NB_RESULTS_BATCH);
    struct nb_emitter e = nb_emit_begin(&results->request->reply.spool.tail);
    nb_emit_raw(&e, "]");
    nb_emit_member_u64(&e, "failed", results->failed);
    nb_emit_key(&e, "common");
    if (common != NULL)
        emit_common(&e, common);
    else
        nb_emit_raw(&e, "null");
    nb_emit_close(&e, '}');
    if (nb_emit_end(&e) != 0)
        return nb_error_no_memory(error);
    return nb_reply_spooled(results->request, 200, "application/json", error);
}

int nb_results_end(struct nb_results *results, struct nb_error *error)
{
    struct nb_request *request = results->request;
    if (results->form == NB_RESULTS_BATCH)
        return end_batch(results, error);
    if (results->form == NB_RESULTS_LINES)
        return nb_reply_spooled(request, 200, "application/x-ndjson", error);
    bool waits = results->totals[NB_QUARANTINED] + results->totals[NB_QUEUED] > 0;
    return nb_reply_json(request, waits ? 202 : 200);
}
