/* SPDX-License-Identifier: Apache-2.0 */
#include "server/filter/filter_learn.h"

#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "core/engine/engine.h"
#include "server/base/metrics.h"
#include "server/filter/filter.h"
#include "server/filter/filter_judge.h"
#include "server/filter/filter_load.h"
#include "server/request/admission.h"
#include "server/request/request.h"
#include "server/request/server.h"
#include "server/request/source.h"
#include "server/request/wait.h"

struct learning {
    struct nb_request *request;
    struct nb_batch *batch; /* owned */
    char model[NB_FILTER_MODEL];
    char message_id[NB_FILTER_FIELD];
};

static void learning_free(void *user)
{
    struct learning *learning = user;
    nb_batch_free(&learning->batch);
    free(learning);
}

static int make_batch(struct learning *learning, struct nb_string mail, const char *label,
                      struct nb_error *error)
{
    const struct nb_document document = {.kind = NB_DOCUMENT_MAIL,
                                         .bytes = mail.bytes,
                                         .length = mail.length,
                                         .envelope = nb_filter_envelope(learning->request)};
    const struct nb_string no_id = {NULL, 0};
    struct nb_string model = nb_string_of(learning->model), source;
    int rc = nb_request_source(learning->request, &source, error);
    if (rc != 0)
        return rc;
    rc = nb_batch_new(learning->request->server->engine, model, true, &learning->batch, error);
    if (rc != 0)
        return rc;
    nb_batch_quarantine(learning->batch, nb_request_is_quarantined(learning->request, &source));
    if (label == NULL)
        return nb_batch_untrain(learning->batch, &document, no_id, source, error);
    return nb_batch_train(learning->batch, &document, nb_string_of(label), no_id, source, error);
}

int nb_filter_learn(struct nb_request *request, struct nb_string mail, const char *label,
                    nb_handler *after, struct nb_error *error)
{
    char user[NB_USER_NAME];
    int rc = nb_request_check_load(request, error);
    if (rc != 0)
        return rc;
    struct learning *learning = calloc(1, sizeof *learning);
    if (learning == NULL)
        return nb_error_no_memory(error);
    learning->request = request;
    request->state = learning;
    request->state_free = learning_free;
    nb_filter_message_id(request->config, mail, learning->message_id);
    nb_filter_learner(request, user);
    rc = nb_filter_model(request->config, nb_string_of(user), learning->model, error);
    if (rc == 0)
        rc = nb_request_check_model(request, nb_string_of(learning->model), error);
    if (rc == 0)
        rc = make_batch(learning, mail, label, error);
    if (rc != 0)
        return rc;
    if (label != NULL && strcmp(learning->model, request->config->filter_model) != 0)
        nb_metrics_user(request->server->metrics, nb_string_of(learning->model), NB_USER_TAUGHT);
    return nb_request_submit(request, learning->batch, after, error);
}

const struct nb_receipt *nb_filter_receipt(const struct nb_request *request)
{
    const struct learning *learning = request->state;
    return nb_batch_receipt(learning->batch, 0);
}

const char *nb_filter_learned_message(const struct nb_request *request)
{
    const struct learning *learning = request->state;
    return learning->message_id;
}

bool nb_filter_learned_for_all(const struct nb_request *request)
{
    const struct learning *learning = request->state;
    return strcmp(learning->model, request->config->filter_model) == 0;
}
