/* SPDX-License-Identifier: Apache-2.0 */
#include "server/api/train_rounds.h"

#include <assert.h>
#include <stdlib.h>

#include "core/base/array.h"
#include "core/engine/engine.h"
#include "server/api/results.h"
#include "server/http/query.h"
#include "server/http/request.h"
#include "server/http/server.h"
#include "server/http/wait.h"
#include "server/json/document_json.h"
#include "server/json/problem.h"

/* The size of a stream's round: large enough to share an fsync well, small enough for each of a
 * thousand connections to hold two in memory: one gathers while the writer has the other. */
enum { ROUND_DOCUMENTS = 256, ROUND_BYTES = 3 * 1024 * 1024 };

int nb_training_init(struct nb_training *training, struct nb_results *results,
                     const struct nb_request *request, struct nb_error *error)
{
    assert(request->route->verb == NB_VERB_TRAIN || request->route->verb == NB_VERB_UNTRAIN);
    *training = (struct nb_training){.results = results};
    int rc = nb_check_model_name(request->model, error);
    if (rc == 0)
        rc = nb_request_check_load(request, error);
    return rc != 0 ? rc : nb_request_source(request, &training->source, error);
}

static void clear(struct nb_posted_documents *g)
{
    for (size_t i = 0; i < g->count; i++)
        free(g->places[i].error);
    g->count = 0;
    nb_batch_free(&g->batch);
}

static void gathered_deinit(struct nb_posted_documents *g)
{
    clear(g);
    free(g->places);
    *g = (struct nb_posted_documents){0};
}

void nb_training_deinit(struct nb_training *training)
{
    nb_round_leave(&training->round);
    gathered_deinit(&training->next);
    gathered_deinit(&training->sent);
}

/* ---- adding documents ------------------------------------------------------------------------ */

static int make_place(struct nb_posted_documents *g, struct nb_error *error)
{
    /* The limit of documents in a batch bounds this array. */
    if (nb_array_reserve(&g->places, &g->room, g->count + 1, sizeof *g->places) != 0)
        return nb_error_no_memory(error);
    return 0;
}

int nb_training_add_error(struct nb_training *training, const struct nb_error *why,
                          struct nb_error *error)
{
    struct nb_error *copy = malloc(sizeof *copy);
    struct nb_posted_documents *next = &training->next;
    assert(why->code != 0); /* the error is the document's result */
    if (copy == NULL || make_place(next, NULL) != 0) {
        free(copy);
        return nb_error_no_memory(error);
    }
    *copy = *why;
    next->places[next->count++] = (struct nb_train_reply){.error = copy};
    return 0;
}

static int add_to_batch(struct nb_training *t, const struct nb_json_document *document,
                        struct nb_error *error)
{
    struct nb_string source = document->source.length > 0 ? document->source : t->source;
    struct nb_batch *batch = t->next.batch;
    assert(batch != NULL); /* nb_training_add has made it */
    nb_batch_quarantine(batch, nb_request_is_quarantined(t->results->request, &source));
    if (t->results->request->route->verb == NB_VERB_UNTRAIN)
        return nb_batch_untrain(batch, document->has_content ? &document->document : NULL,
                                document->id, source, error);
    if (!document->has_content)
        return nb_batch_label(batch, document->id, document->label, source, error);
    return nb_batch_train(batch, &document->document, document->label, document->id, source, error);
}

/* Returns whether a code concerns the model or the daemon, not one document. In a stream that has
 * begun to answer, a deleted model is reported line by line. */
static bool fails_request(const struct nb_training *t, int code)
{
    bool is_stream = t->results->form == NB_RESULTS_LINES;
    if (code == NB_NOT_FOUND || code == NB_STOPPING)
        return !is_stream ||
               (t->next.count == 0 && t->round == NULL && !nb_results_has_lines(t->results));
    return t->results->form == NB_RESULTS_ONE || code == NB_NO_MEMORY;
}

int nb_training_add(struct nb_training *training, const struct nb_json_document *document,
                    struct nb_error *error)
{
    const struct nb_request *request = training->results->request;
    struct nb_posted_documents *next = &training->next;
    int rc = make_place(next, error);
    if (rc == 0 && next->batch == NULL)
        rc = nb_batch_new(request->server->engine, request->model,
                          training->results->form == NB_RESULTS_ONE, &next->batch, error);
    if (rc != 0)
        return rc;
    struct nb_error why = {0};
    rc = add_to_batch(training, document, &why);
    if (rc == 0) {
        bool is_mail = document->document.kind == NB_DOCUMENT_MAIL;
        next->places[next->count++] = (struct nb_train_reply){
            .warning = document->warning, .is_nameless = document->id.length == 0 && !is_mail};
        return 0;
    }
    if (!fails_request(training, rc))
        return nb_training_add_error(training, &why, error);
    *error = why;
    return rc;
}

bool nb_training_is_full(const struct nb_training *training)
{
    const struct nb_posted_documents *next = &training->next;
    return next->count >= ROUND_DOCUMENTS ||
           (next->batch != NULL && nb_batch_memory(next->batch) >= ROUND_BYTES);
}

/* ---- handing over and answering -------------------------------------------------------------- */

static bool has_changes(const struct nb_posted_documents *g)
{
    return g->batch != NULL && nb_batch_size(g->batch) > 0;
}

/* Fails the whole request if the store took none of the changes. */
static int check_store(const struct nb_posted_documents *g, struct nb_error *error)
{
    size_t size = g->batch != NULL ? nb_batch_size(g->batch) : 0;
    if (size == 0)
        return 0;
    for (size_t i = 0; i < size; i++) {
        int code = nb_batch_receipt(g->batch, i)->code;
        if (code == 0 || nb_json_status(code) < 500)
            return 0;
    }
    *error = nb_batch_receipt(g->batch, 0)->error;
    return error->code;
}

/* Writes the results of the documents, and clears them. */
static int answer(const struct nb_training *t, struct nb_posted_documents *g,
                  struct nb_error *error)
{
    size_t receipt = 0;
    int rc = nb_results_has_lines(t->results) ? 0 : check_store(g, error);
    for (size_t i = 0; rc == 0 && i < g->count; i++) {
        t->results->warning = g->places[i].warning;
        if (g->places[i].error != NULL) {
            rc = nb_results_error(t->results, g->places[i].error, error);
            continue;
        }
        assert(g->batch != NULL && receipt < nb_batch_size(g->batch)); /* one for each change */
        const struct nb_receipt *taken = nb_batch_receipt(g->batch, receipt++);
        bool is_known = taken->status == NB_UNCHANGED || taken->status == NB_RELABELLED ||
                        taken->status == NB_UPDATED;
        t->results->merged += g->places[i].is_nameless && taken->code == 0 && is_known;
        rc = nb_results_receipt(t->results, taken, error);
    }
    if (rc == 0)
        clear(g);
    return rc;
}

int nb_training_turn(struct nb_training *training, nb_handler *again, struct nb_error *error)
{
    struct nb_training *t = training;
    struct nb_request *request = t->results->request;
    if (t->round != NULL) {
        int rc = nb_round_wait(request, t->round, again, error);
        if (rc != 0)
            return rc;
        t->sent.batch = nb_round_take(request, &t->round);
        rc = answer(t, &t->sent, error);
        if (rc != 0)
            return rc;
    }
    if (!has_changes(&t->next))
        return answer(t, &t->next, error);
    assert(t->round == NULL && t->sent.count == 0); /* one round at a time */
    struct nb_posted_documents empty = t->sent;
    t->sent = t->next;
    t->next = empty;
    return nb_round_begin(request, &t->sent.batch, &t->round, error);
}

bool nb_training_is_done(const struct nb_training *training)
{
    return training->round == NULL && training->next.count == 0;
}

int nb_training_submit(struct nb_training *training, nb_handler *again, struct nb_error *error)
{
    assert(training->round == NULL); /* only streams have rounds */
    if (!has_changes(&training->next))
        return 0;
    return nb_request_submit(training->results->request, training->next.batch, again, error);
}

int nb_training_write(struct nb_training *training, struct nb_error *error)
{
    assert(training->round == NULL);
    return answer(training, &training->next, error);
}
