/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "server/documents.h"
#include "server/routes.h"
#include "server/server.h"
#include "server/train.h"

static enum nb_codec_verb verb_of(const struct nb_request *request)
{
    return strstr(request->route->pattern, "/untrain") != NULL ? NB_CODEC_UNTRAIN : NB_CODEC_TRAIN;
}

static int begin(void *user, bool is_batch, struct nb_error *error)
{
    struct nb_training *training;
    return nb_training_new(user, is_batch ? NB_TRAINING_BATCH : NB_TRAINING_SINGLE, &training,
                           error);
}

static int add(void *user, const struct nb_codec_document *document, struct nb_error *error)
{
    struct nb_request *request = user;
    return nb_training_add(request->state, document, error);
}

static int add_error(void *user, const struct nb_error *why, struct nb_error *error)
{
    struct nb_request *request = user;
    return nb_training_add_error(request->state, why) == 0 ? 0 : nb_error_no_memory(error);
}

static const struct nb_document_taker TAKER = {begin, add, add_error};

static int begin_lines(struct nb_request *request, struct nb_error *error)
{
    struct nb_training *training;
    if (request->state != NULL)
        return 0;
    int rc = nb_check_model_name(request->model, error);
    if (rc == 0)
        rc = nb_request_check_load(request, error);
    return rc != 0 ? rc : nb_training_new(request, NB_TRAINING_LINES, &training, error);
}

int nb_route_train_line(struct nb_request *request, const struct nb_line *line,
                        struct nb_error *error)
{
    int rc = begin_lines(request, error);
    if (rc == 0)
        rc = nb_documents_read_line(request, line, verb_of(request), &TAKER, request, error);
    if (rc != 0 || !nb_training_is_full(request->state))
        return rc;
    return nb_training_submit(request->state, error);
}

int nb_route_train(struct nb_request *request, struct nb_error *error)
{
    int rc;
    if (request->is_lines) {
        /* Called a second time when the last round is on disk. */
        rc = begin_lines(request, error);
        if (rc == 0)
            rc = nb_training_submit(request->state, error);
        return rc != 0 ? rc : nb_training_end(request->state, error);
    }
    rc = nb_check_model_name(request->model, error);
    if (rc == 0)
        rc = nb_request_check_load(request, error);
    if (rc == 0)
        rc = nb_documents_read(request, verb_of(request), &TAKER, request, error);
    return rc != 0 ? rc : nb_training_submit(request->state, error);
}
