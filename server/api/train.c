/* SPDX-License-Identifier: Apache-2.0 */
#include "server/api/train.h"

#include <stdlib.h>

#include "core/base/array.h"
#include "core/engine/engine.h"
#include "server/api/results.h"
#include "server/json/document.h"
#include "server/json/problem.h"
#include "server/request/request.h"
#include "server/request/server.h"
#include "server/request/source.h"
#include "server/request/wait.h"

/* One round of a stream: large enough to share an fsync well, small enough to be held in memory for
 * each of a thousand connections. */
enum { ROUND_DOCUMENTS = 256, ROUND_BYTES = 4 * 1024 * 1024 };

int nb_training_init(struct nb_training *training, struct nb_results *results,
                     const struct nb_request *request, struct nb_error *error)
{
    *training = (struct nb_training){.results = results};
    int rc = nb_check_model_name(request->model, error);
    if (rc == 0)
        rc = nb_request_check_load(request, error);
    return rc != 0 ? rc : nb_request_source(request, &training->source, error);
}

static void clear_round(struct nb_training *t)
{
    for (size_t i = 0; i < t->count; i++)
        free(t->places[i]);
    t->count = 0;
    nb_batch_free(&t->batch);
}

void nb_training_deinit(struct nb_training *training)
{
    clear_round(training);
    free(training->places);
    training->places = NULL;
    training->room = 0;
}

/* ---- in ----------------------------------------------------------------------------------------
 */

static int make_place(struct nb_training *t, struct nb_error *error)
{
    /* Bounded by the documents of a batch. */
    if (nb_array_reserve(&t->places, &t->room, t->count + 1, sizeof *t->places) != 0)
        return nb_error_no_memory(error);
    return 0;
}

int nb_training_add_error(struct nb_training *training, const struct nb_error *why,
                          struct nb_error *error)
{
    struct nb_error *copy = malloc(sizeof *copy);
    if (copy == NULL || make_place(training, NULL) != 0) {
        free(copy);
        return nb_error_no_memory(error);
    }
    *copy = *why;
    training->places[training->count++] = copy;
    return 0;
}

static int add_to_batch(struct nb_training *t, const struct nb_json_document *document,
                        struct nb_error *error)
{
    struct nb_string source = document->source.length > 0 ? document->source : t->source;
    nb_batch_quarantine(t->batch, nb_request_is_quarantined(t->results->request, &source));
    if (t->results->request->route->verb == NB_VERB_UNTRAIN)
        return nb_batch_untrain(t->batch, document->has_content ? &document->document : NULL,
                                document->id, source, error);
    if (!document->has_content)
        return nb_batch_label(t->batch, document->id, document->label, source, error);
    return nb_batch_train(t->batch, &document->document, document->label, document->id, source,
                          error);
}

/* Whether a code concerns the model or the daemon, not one document. In a stream that has begun
 * to answer, a deleted model is told line by line. */
static bool fails_request(const struct nb_training *t, int code)
{
    bool is_stream = t->results->form == NB_RESULTS_LINES;
    if (code == NB_NOT_FOUND)
        return !is_stream || (t->count == 0 && !nb_results_has_lines(t->results));
    return t->results->form == NB_RESULTS_ONE || code == NB_NO_MEMORY;
}

int nb_training_add(struct nb_training *training, const struct nb_json_document *document,
                    struct nb_error *error)
{
    const struct nb_request *request = training->results->request;
    int rc = make_place(training, error);
    if (rc == 0 && training->batch == NULL)
        rc = nb_batch_new(request->server->engine, request->model,
                          training->results->form == NB_RESULTS_ONE, &training->batch, error);
    if (rc != 0)
        return rc;
    struct nb_error why = {0};
    rc = add_to_batch(training, document, &why);
    if (rc == 0) {
        training->places[training->count++] = NULL;
        return 0;
    }
    if (!fails_request(training, rc))
        return nb_training_add_error(training, &why, error);
    *error = why;
    return rc;
}

bool nb_training_is_full(const struct nb_training *training)
{
    return training->count >= ROUND_DOCUMENTS ||
           (training->batch != NULL && nb_batch_memory(training->batch) >= ROUND_BYTES);
}

/* ---- out ---------------------------------------------------------------------------------------
 */

int nb_training_submit(struct nb_training *training, nb_handler *again, struct nb_error *error)
{
    if (training->batch == NULL || nb_batch_size(training->batch) == 0)
        return 0;
    return nb_request_submit(training->results->request, training->batch, again, error);
}

/* If the store took none of the changes, the whole request fails. */
static int check_store(const struct nb_training *t, struct nb_error *error)
{
    size_t size = t->batch != NULL ? nb_batch_size(t->batch) : 0;
    if (size == 0)
        return 0;
    for (size_t i = 0; i < size; i++) {
        int code = nb_batch_receipt(t->batch, i)->code;
        if (code == 0 || nb_json_status(code) < 500)
            return 0;
    }
    *error = nb_batch_receipt(t->batch, 0)->error;
    return error->code;
}

int nb_training_write(struct nb_training *training, struct nb_error *error)
{
    struct nb_training *t = training;
    size_t receipt = 0;
    int rc = nb_results_has_lines(t->results) ? 0 : check_store(t, error);
    for (size_t i = 0; rc == 0 && i < t->count; i++) {
        if (t->places[i] != NULL)
            rc = nb_results_error(t->results, t->places[i], error);
        else
            rc = nb_results_receipt(t->results, nb_batch_receipt(t->batch, receipt++), error);
    }
    if (rc == 0)
        clear_round(t);
    return rc;
}
