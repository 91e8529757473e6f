/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "config/config.h"
#include "server/decision.h"
#include "server/documents.h"
#include "server/routes.h"
#include "server/server.h"

/* Classify and tokenize are the same walk over the documents; only what is asked of the engine and
 * how it is written differ. */
struct reader;
struct operation {
    int (*ask)(struct reader *reader, const struct nb_document *document, struct nb_error *error);
    int (*write)(struct reader *reader, struct nb_buffer *out);
    int (*write_result)(struct reader *reader);
};

struct reader {
    struct nb_request *request;
    const struct operation *operation;
    struct nb_scratch *scratch; /* held during one call only */
    size_t explain;
    struct nb_decision_rule rule;
    struct nb_decision_made decision; /* about the verdict at hand */
    bool is_batch;
    struct nb_codec_results results;
};

/* ---- the two operations ------------------------------------------------------------------------
 */

static int ask_verdict(struct reader *r, const struct nb_document *document, struct nb_error *error)
{
    struct nb_verdict *verdict = &r->scratch->verdict;
    int rc = nb_engine_classify(r->request->server->engine, r->request->model, document, r->explain,
                                verdict, error);
    if (rc == 0 && r->rule.is_asked)
        rc = nb_decision_make(&r->rule, verdict, &r->decision, error);
    return rc;
}

static int write_verdict(struct reader *r, struct nb_buffer *out)
{
    struct nb_codec_decision decision = {r->decision.label, r->decision.reason};
    return nb_codec_verdict(out, r->request->model, &r->scratch->verdict,
                            r->rule.is_asked ? &decision : NULL);
}

static int write_verdict_result(struct reader *r)
{
    struct nb_codec_decision decision = {r->decision.label, r->decision.reason};
    return nb_codec_results_verdict(&r->results, r->request->model, &r->scratch->verdict,
                                    r->rule.is_asked ? &decision : NULL);
}

static int ask_tokens(struct reader *r, const struct nb_document *document, struct nb_error *error)
{
    return nb_engine_tokenize(r->request->server->engine, r->request->model, document,
                              &r->scratch->bag, error);
}

static int write_tokens(struct reader *r, struct nb_buffer *out)
{
    return nb_codec_tokens(out, &r->scratch->bag);
}

static int write_tokens_result(struct reader *r)
{
    return nb_codec_results_tokens(&r->results, &r->scratch->bag);
}

static const struct operation CLASSIFY = {ask_verdict, write_verdict, write_verdict_result};
static const struct operation TOKENIZE = {ask_tokens, write_tokens, write_tokens_result};

/* ---- the walk ----------------------------------------------------------------------------------
 */

static int begin(void *user, bool is_batch, struct nb_error *error)
{
    struct reader *r = user;
    r->is_batch = is_batch;
    if (!is_batch)
        return 0;
    nb_reply_spool(r->request);
    if (nb_codec_results_begin(&r->results, NB_CODEC_READINGS, &r->request->reply.spool.tail) != 0)
        return nb_error_no_memory(error);
    return 0;
}

/* After a result or line was written to the spool with code `rc`. */
static int settle(struct reader *r, int rc, struct nb_error *error)
{
    if (rc != 0)
        return nb_error_no_memory(error);
    return nb_spool_settle(&r->request->reply.spool, error);
}

static int end_line(struct reader *r, int rc, struct nb_error *error)
{
    if (rc == 0)
        rc = nb_buffer_append(&r->request->reply.spool.tail, "\n", 1);
    return settle(r, rc, error);
}

static int add(void *user, const struct nb_codec_document *document, struct nb_error *error)
{
    struct reader *r = user;
    struct nb_reply *reply = &r->request->reply;
    /* Every failure here is the model's or the daemon's, not the document's. */
    int rc = r->operation->ask(r, &document->document, error);
    if (rc != 0)
        return rc;
    if (r->request->is_lines)
        return end_line(r, r->operation->write(r, &reply->spool.tail), error);
    if (r->is_batch)
        return settle(r, r->operation->write_result(r), error);
    if (r->operation->write(r, &reply->body) != 0)
        return nb_error_no_memory(error);
    return nb_reply_json(r->request, 200);
}

static int add_error(void *user, const struct nb_error *why, struct nb_error *error)
{
    struct reader *r = user;
    if (r->request->is_lines)
        return end_line(r, nb_codec_error(&r->request->reply.spool.tail, why), error);
    return settle(r, nb_codec_results_error(&r->results, why), error);
}

static const struct nb_document_taker TAKER = {begin, add, add_error};

static int take_scratch(struct reader *r, struct nb_error *error)
{
    r->scratch = nb_scratch_take(&r->request->server->scratch);
    return r->scratch != NULL ? 0 : nb_error_no_memory(error);
}

static void give_scratch(struct reader *r)
{
    nb_scratch_give(&r->request->server->scratch, r->scratch);
    r->scratch = NULL;
}

/* What the query wants of the verdicts. */
static int read_wishes(struct reader *r, struct nb_error *error)
{
    uint64_t explain = 0;
    if (r->operation != &CLASSIFY)
        return 0;
    int rc = nb_request_query_count(r->request, "explain", 0,
                                    r->request->server->config->listing_rows, &explain, error);
    r->explain = (size_t)explain;
    return rc != 0 ? rc : nb_decision_read(r->request, &r->rule, error);
}

/* ---- whole bodies ------------------------------------------------------------------------------
 */

static int read_whole(struct nb_request *request, const struct operation *operation,
                      struct nb_error *error)
{
    struct reader r = {.request = request, .operation = operation};
    int rc = read_wishes(&r, error);
    if (rc == 0)
        rc = take_scratch(&r, error);
    if (rc != 0)
        return rc;
    rc = nb_documents_read(request, NB_CODEC_READ, &TAKER, &r, error);
    give_scratch(&r);
    if (rc != 0 || !r.is_batch)
        return rc;
    if (nb_codec_results_end(&r.results) != 0)
        return nb_error_no_memory(error);
    return nb_reply_spooled(request, 200, "application/json", error);
}

/* ---- lines -------------------------------------------------------------------------------------
 */

static int begin_lines(struct nb_request *request, const struct operation *operation,
                       struct nb_error *error)
{
    if (request->state != NULL)
        return 0;
    struct reader *r = calloc(1, sizeof *r);
    if (r == NULL)
        return nb_error_no_memory(error);
    request->state = r;
    request->state_free = free;
    r->request = request;
    r->operation = operation;
    nb_reply_spool(request);
    return read_wishes(r, error);
}

static int read_line(struct nb_request *request, const struct operation *operation,
                     const struct nb_line *line, struct nb_error *error)
{
    int rc = begin_lines(request, operation, error);
    struct reader *r = request->state;
    if (rc == 0)
        rc = take_scratch(r, error);
    if (rc != 0)
        return rc;
    rc = nb_documents_read_line(request, line, NB_CODEC_READ, &TAKER, r, error);
    give_scratch(r);
    /* A model that goes away in the middle of a stream is told line by line. */
    bool is_model_gone = rc == NB_NOT_FOUND || rc == NB_CONFLICT;
    if (is_model_gone && nb_spool_length(&request->reply.spool) > 0) {
        struct nb_error why = *error;
        return add_error(r, &why, error);
    }
    return rc;
}

static int end_lines(struct nb_request *request, const struct operation *operation,
                     struct nb_error *error)
{
    int rc = begin_lines(request, operation, error);
    return rc != 0 ? rc : nb_reply_spooled(request, 200, "application/x-ndjson", error);
}

/* ---- routes ------------------------------------------------------------------------------------
 */

int nb_route_classify(struct nb_request *request, struct nb_error *error)
{
    return request->is_lines ? end_lines(request, &CLASSIFY, error)
                             : read_whole(request, &CLASSIFY, error);
}

int nb_route_classify_line(struct nb_request *request, const struct nb_line *line,
                           struct nb_error *error)
{
    return read_line(request, &CLASSIFY, line, error);
}

int nb_route_tokenize(struct nb_request *request, struct nb_error *error)
{
    return request->is_lines ? end_lines(request, &TOKENIZE, error)
                             : read_whole(request, &TOKENIZE, error);
}

int nb_route_tokenize_line(struct nb_request *request, const struct nb_line *line,
                           struct nb_error *error)
{
    return read_line(request, &TOKENIZE, line, error);
}
