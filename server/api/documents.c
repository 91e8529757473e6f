/* SPDX-License-Identifier: Apache-2.0 */
#include "server/api/documents.h"

#include <assert.h>
#include <stdlib.h>

#include "core/engine/engine.h"
#include "server/api/classify.h"
#include "server/api/document_source.h"
#include "server/api/results.h"
#include "server/api/train.h"
#include "server/request/admission.h"
#include "server/request/request.h"
#include "server/request/server.h"
#include "server/request/work.h"

/* The state of one request. */
struct handling {
    struct nb_request *request;
    enum nb_verb verb;
    bool has_first; /* document; its place was taken with the request */
    struct nb_results results;
    struct nb_classify wanted;   /* of NB_VERB_CLASSIFY */
    struct nb_training training; /* of NB_VERB_TRAIN and NB_VERB_UNTRAIN */
};

static bool is_change(const struct handling *h)
{
    return h->verb == NB_VERB_TRAIN || h->verb == NB_VERB_UNTRAIN;
}

static void handling_free(void *user)
{
    struct handling *h = user;
    if (is_change(h))
        nb_training_deinit(&h->training);
    free(h);
}

/* On a pool: the part of the preparation that takes long. */
static int prepare_slowly(struct nb_request *request, struct nb_error *error)
{
    struct handling *h = request->state;
    /* A failure to load comes again where the model is used. A model that is made by its first
     * document has nothing to load. */
    (void)nb_engine_load(request->server->engine, request->model, error);
    return h->verb == NB_VERB_CLASSIFY ? nb_classify_read(request, &h->wanted, error) : 0;
}

static int read_wishes(struct handling *h, struct nb_error *error)
{
    struct nb_request *request = h->request;
    struct nb_server *server = request->server;
    bool is_classify = h->verb == NB_VERB_CLASSIFY;
    if (is_classify && nb_classify_is_long(request))
        return nb_work_run(request, server->work, prepare_slowly, error);
    if (!nb_engine_is_loaded(server->engine, request->model))
        return nb_work_run(request, server->loads, prepare_slowly, error);
    return is_classify ? nb_classify_read(request, &h->wanted, error) : 0;
}

int nb_documents_prepare(struct nb_request *request, struct nb_error *error)
{
    struct handling *h = calloc(1, sizeof *h);
    if (h == NULL)
        return nb_error_no_memory(error);
    request->state = h;
    request->state_free = handling_free;
    h->request = request;
    h->verb = (enum nb_verb)request->route->verb;
    int rc = is_change(h) ? nb_training_init(&h->training, &h->results, request, error) : 0;
    if (rc == 0 && request->is_lines)
        rc = nb_results_begin(&h->results, request, NB_RESULTS_LINES, error);
    return rc != 0 ? rc : read_wishes(h, error);
}

/* ---- documents ---------------------------------------------------------------------------------
 */

static int take(struct handling *h, const struct nb_json_document *document, struct nb_error *error)
{
    int rc;
    if (is_change(h))
        return nb_training_add(&h->training, document, error);
    if (h->verb == NB_VERB_CLASSIFY)
        rc = nb_classify_document(&h->wanted, document, &h->results, error);
    else
        rc = nb_tokenize_document(&document->document, &h->results, error);
    /* When the model is deleted in the middle of a stream, each further line is answered with
     * the error. */
    bool is_model_gone = rc == NB_NOT_FOUND || rc == NB_CONFLICT;
    if (!is_model_gone || !nb_results_has_lines(&h->results))
        return rc;
    struct nb_error why = *error;
    return nb_results_error(&h->results, &why, error);
}

/* Takes the place of a document in what the client may send. Returns 0, or NB_BUSY in *why. */
static int count_document(struct handling *h, struct nb_error *why)
{
    bool is_first = !h->has_first;
    h->has_first = true;
    return is_first ? 0 : nb_request_count_document(h->request, why);
}

static int take_error(struct handling *h, const struct nb_error *why, struct nb_error *error)
{
    return is_change(h) ? nb_training_add_error(&h->training, why, error)
                        : nb_results_error(&h->results, why, error);
}

/* The documents of a line, or of the whole body when `line` is NULL. */
static int take_all(struct handling *h, const struct nb_ndjson_line *line, struct nb_error *error)
{
    struct nb_document_source source;
    int rc = nb_document_source_open(&source, h->request, line, error);
    if (rc == 0 && line == NULL)
        rc = nb_results_begin(&h->results, h->request,
                              source.is_batch ? NB_RESULTS_BATCH : NB_RESULTS_ONE, error);
    while (rc == 0 && (rc = nb_document_source_next(&source, error)) > 0) {
        struct nb_error why = source.why;
        bool is_bad = why.code != 0 || count_document(h, &why) != 0;
        rc = is_bad ? take_error(h, &why, error) : take(h, &source.document, error);
    }
    nb_document_source_close(&source);
    return rc;
}

/* ---- changes -----------------------------------------------------------------------------------
 */

/* The receipts of a round; of a whole body they are the reply. */
static int write_round(struct nb_request *request, struct nb_error *error)
{
    struct handling *h = request->state;
    int rc = nb_training_write(&h->training, error);
    if (rc != 0 || h->results.form == NB_RESULTS_LINES)
        return rc;
    return nb_results_end(&h->results, error);
}

/* NB_WAIT, or what write_round returns. */
static int end_round(struct handling *h, struct nb_error *error)
{
    int rc = nb_training_submit(&h->training, write_round, error);
    return rc != 0 ? rc : write_round(h->request, error);
}

/* ---- routes ------------------------------------------------------------------------------------
 */

int nb_route_documents_line(struct nb_request *request, const struct nb_ndjson_line *line,
                            struct nb_error *error)
{
    struct handling *h = request->state;
    assert(h != NULL && request->is_lines);
    int rc = take_all(h, line, error);
    if (rc != 0 || !is_change(h) || !nb_training_is_full(&h->training))
        return rc;
    return end_round(h, error);
}

int nb_route_documents(struct nb_request *request, struct nb_error *error)
{
    struct handling *h = request->state;
    assert(h != NULL); /* nb_documents_prepare was called */
    int rc = request->is_lines ? 0 : take_all(h, NULL, error);
    if (rc == 0 && is_change(h))
        rc = end_round(h, error);
    /* For a stream of changes this is called again after the last round is on disk. */
    if (rc != 0 || (is_change(h) && !request->is_lines))
        return rc;
    return nb_results_end(&h->results, error);
}
