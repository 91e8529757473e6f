/* SPDX-License-Identifier: Apache-2.0 */
#include "server/train.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "server/server.h"

/* One round of a stream: large enough to share an fsync well, small enough to be held in memory for
 * each of a thousand connections. */
enum { ROUND_DOCUMENTS = 256, ROUND_BYTES = 4 * 1024 * 1024 };

struct nb_training {
    struct nb_request *request;
    enum nb_training_form form;
    bool is_untrain;
    struct nb_batch *batch;   /* owned; NULL between rounds */
    struct nb_error **places; /* owned, each: the error in this place, or NULL for a receipt */
    size_t count, room;
};

static void clear_round(struct nb_training *t)
{
    for (size_t i = 0; i < t->count; i++)
        free(t->places[i]);
    t->count = 0;
    nb_batch_free(&t->batch);
}

static void training_free(void *user)
{
    struct nb_training *t = user;
    clear_round(t);
    free(t->places);
    free(t);
}

int nb_training_new(struct nb_request *request, enum nb_training_form form,
                    struct nb_training **training, struct nb_error *error)
{
    struct nb_training *t = calloc(1, sizeof *t);
    if (t == NULL)
        return nb_error_no_memory(error);
    t->request = request;
    t->form = form;
    t->is_untrain = strstr(request->route->pattern, "/untrain") != NULL;
    request->state = t;
    request->state_free = training_free;
    if (form == NB_TRAINING_LINES)
        nb_reply_spool(request);
    *training = t;
    return 0;
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

int nb_training_add_error(struct nb_training *training, const struct nb_error *error)
{
    if (make_place(training, NULL) != 0)
        return NB_NO_MEMORY;
    struct nb_error *copy = malloc(sizeof *copy);
    if (copy == NULL)
        return NB_NO_MEMORY;
    *copy = *error;
    training->places[training->count++] = copy;
    return 0;
}

static int add_to_batch(struct nb_training *t, const struct nb_codec_document *document,
                        struct nb_error *error)
{
    if (t->is_untrain)
        return nb_batch_untrain(t->batch, document->has_content ? &document->document : NULL,
                                document->id, error);
    return nb_batch_train(t->batch, &document->document, document->label, document->id, error);
}

/* Whether a code speaks of the model or the daemon rather than of one document. In a stream that
 * has begun to answer, a model that has gone is told line by line. */
static bool fails_request(const struct nb_training *t, int code)
{
    bool has_begun = t->form == NB_TRAINING_LINES &&
                     (t->count > 0 || nb_spool_length(&t->request->reply.spool) > 0);
    if (code == NB_NOT_FOUND)
        return !has_begun;
    return t->form == NB_TRAINING_SINGLE || code == NB_NO_MEMORY;
}

int nb_training_add(struct nb_training *training, const struct nb_codec_document *document,
                    struct nb_error *error)
{
    struct nb_request *request = training->request;
    int rc = make_place(training, error);
    if (rc == 0 && training->batch == NULL)
        rc = nb_batch_new(request->server->engine, request->model,
                          training->form == NB_TRAINING_SINGLE, &training->batch, error);
    if (rc != 0)
        return rc;
    struct nb_error why = {0};
    rc = add_to_batch(training, document, &why);
    if (rc == 0) {
        training->places[training->count++] = NULL;
        return 0;
    }
    if (fails_request(training, rc))
        return nb_error_set(error, why.code, "%s", why.text);
    return nb_training_add_error(training, &why) == 0 ? 0 : nb_error_no_memory(error);
}

bool nb_training_is_full(const struct nb_training *training)
{
    return training->count >= ROUND_DOCUMENTS ||
           (training->batch != NULL && nb_batch_memory(training->batch) >= ROUND_BYTES);
}

/* ---- out ---------------------------------------------------------------------------------------
 */

static int write_single(struct nb_training *t, struct nb_error *error)
{
    struct nb_request *request = t->request;
    const struct nb_receipt *receipt = nb_batch_receipt(t->batch, 0);
    if (receipt->code != 0) {
        *error = receipt->error;
        return receipt->code;
    }
    if (nb_codec_receipt(&request->reply.body, request->model, receipt) != 0)
        return nb_error_no_memory(error);
    return nb_reply_json(request, 200);
}

/* When the store took none of the changes, the request as a whole has failed. */
static int check_store(const struct nb_training *t, struct nb_error *error)
{
    size_t size = t->batch != NULL ? nb_batch_size(t->batch) : 0;
    if (size == 0)
        return 0;
    for (size_t i = 0; i < size; i++) {
        if (nb_codec_status(nb_batch_receipt(t->batch, i)->code) != 503)
            return 0;
    }
    *error = nb_batch_receipt(t->batch, 0)->error;
    return error->code;
}

static int write_results(struct nb_training *t, struct nb_error *error)
{
    struct nb_request *request = t->request;
    struct nb_codec_results results;
    size_t receipt = 0;
    nb_reply_spool(request);
    struct nb_spool *spool = &request->reply.spool;
    int rc = nb_codec_results_begin(&results, t->is_untrain ? NB_CODEC_UNTRAINED : NB_CODEC_TRAINED,
                                    &spool->tail);
    for (size_t i = 0; rc == 0 && i < t->count; i++) {
        if (t->places[i] != NULL)
            rc = nb_codec_results_error(&results, t->places[i]);
        else
            rc = nb_codec_results_receipt(&results, request->model,
                                          nb_batch_receipt(t->batch, receipt++));
        if (rc == 0)
            rc = nb_spool_settle(spool, error);
        else
            (void)nb_error_no_memory(error); /* the codec's only failure */
    }
    if (rc == 0 && nb_codec_results_end(&results) != 0)
        rc = nb_error_no_memory(error);
    return rc != 0 ? rc : nb_reply_spooled(request, 200, "application/json", error);
}

static int write_lines(struct nb_training *t, struct nb_error *error)
{
    struct nb_spool *spool = &t->request->reply.spool;
    size_t receipt = 0;
    for (size_t i = 0; i < t->count; i++) {
        int rc;
        if (t->places[i] != NULL)
            rc = nb_codec_error(&spool->tail, t->places[i]);
        else
            rc = nb_codec_receipt(&spool->tail, t->request->model,
                                  nb_batch_receipt(t->batch, receipt++));
        if (rc != 0 || nb_buffer_append(&spool->tail, "\n", 1) != 0)
            return nb_error_no_memory(error);
        rc = nb_spool_settle(spool, error);
        if (rc != 0)
            return rc;
    }
    clear_round(t);
    return 0;
}

static int write_receipts(struct nb_training *t, struct nb_error *error)
{
    if (t->form == NB_TRAINING_SINGLE)
        return write_single(t, error);
    bool is_first = t->form == NB_TRAINING_BATCH || nb_spool_length(&t->request->reply.spool) == 0;
    int rc = is_first ? check_store(t, error) : 0;
    if (rc != 0)
        return rc;
    return t->form == NB_TRAINING_BATCH ? write_results(t, error) : write_lines(t, error);
}

/* ---- the writer --------------------------------------------------------------------------------
 */

static int after_commit(struct nb_request *request, struct nb_error *error)
{
    return write_receipts(request->state, error);
}

/* On the writer's thread. */
static void on_committed(struct nb_batch *batch, void *user)
{
    struct nb_training *t = user;
    atomic_fetch_sub(&t->request->server->waiting_changes, nb_batch_size(batch));
    nb_request_resume(t->request);
}

int nb_training_submit(struct nb_training *training, struct nb_error *error)
{
    struct nb_server *server = training->request->server;
    if (training->batch == NULL || nb_batch_size(training->batch) == 0)
        return write_receipts(training, error);
    if (!nb_request_suspend(training->request))
        return nb_error_set(error, NB_STOPPING, "the daemon is stopping");
    training->request->again = after_commit;
    atomic_fetch_add(&server->waiting_changes, nb_batch_size(training->batch));
    nb_engine_submit(server->engine, training->batch, on_committed, training);
    return NB_WAIT;
}

int nb_training_end(struct nb_training *training, struct nb_error *error)
{
    return nb_reply_spooled(training->request, 200, "application/x-ndjson", error);
}
