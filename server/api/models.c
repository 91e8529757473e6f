/* SPDX-License-Identifier: Apache-2.0 */
#include "server/api/models.h"

#include <stdlib.h>

#include "config/config.h"
#include "core/engine/engine.h"
#include "server/json/model.h"
#include "server/json/settings.h"
#include "server/request/query.h"
#include "server/request/reply.h"
#include "server/request/request.h"
#include "server/request/server.h"

/* What GET .../vocabulary lists when it is not told how much. */
enum { LIMIT_DEFAULT = 50 };

int nb_route_models(struct nb_request *request, struct nb_error *error)
{
    struct nb_model_info *infos = NULL;
    size_t count = 0;
    bool more;
    int rc = nb_engine_models(request->server->engine, (struct nb_string){"", 0}, SIZE_MAX, &infos,
                              &count, &more, error);
    if (rc != 0)
        return rc;
    rc = nb_json_models(&request->reply.body, infos, count);
    for (size_t i = 0; i < count; i++)
        nb_model_info_deinit(&infos[i]);
    free(infos);
    return nb_reply_written(request, rc, error);
}

int nb_route_model(struct nb_request *request, struct nb_error *error)
{
    struct nb_model_info info;
    int rc = nb_engine_model(request->server->engine, request->model, &info, error);
    if (rc != 0)
        return rc;
    rc = nb_json_model(&request->reply.body, &info, true);
    nb_model_info_deinit(&info);
    return nb_reply_written(request, rc, error);
}

int nb_route_put_model(struct nb_request *request, struct nb_error *error)
{
    struct nb_engine *engine = request->server->engine;
    struct nb_settings settings;
    struct nb_model_info existing;
    bool created = false;
    int rc = nb_check_model_name(request->model, error);
    if (rc != 0)
        return rc;
    bool exists = nb_engine_model(engine, request->model, &existing, NULL) == 0;
    rc = nb_json_settings_read(request->body, exists ? &existing.settings : NULL,
                               exists && existing.documents > 0, &settings, error);
    if (exists)
        nb_model_info_deinit(&existing);
    if (rc != 0)
        return rc;
    /* Waits for the disk on this thread: settings change seldom. */
    rc = nb_engine_put_model(engine, request->model, &settings, request->only_new,
                             (struct nb_string){"", 0}, &created, error);
    nb_settings_deinit(&settings);
    if (rc == 0)
        rc = nb_route_model(request, error);
    if (rc == 0)
        request->reply.status = created ? 201 : 200;
    return rc;
}

int nb_route_delete_model(struct nb_request *request, struct nb_error *error)
{
    int rc = nb_engine_delete_model(request->server->engine, request->model,
                                    (struct nb_string){"", 0}, error);
    return rc != 0 ? rc : nb_reply_with(request, 204, NULL);
}

static int list_header(void *user, uint64_t size, const char *const *labels, size_t count)
{
    return nb_json_vocabulary_begin(user, size, labels, count);
}

static int list_token(void *user, const struct nb_telling_token *token)
{
    return nb_json_vocabulary_token(user, token);
}

int nb_route_vocabulary(struct nb_request *request, struct nb_error *error)
{
    enum { CELLS_MOST = 10000000 }; /* tokens times labels of one listing */
    struct nb_string label = nb_request_query(request, "label");
    struct nb_json_vocabulary listing = {.out = &request->reply.body};
    struct nb_vocabulary_sink sink = {list_header, list_token, &listing};
    uint64_t limit;
    if (label.bytes == NULL)
        return nb_error_set(error, NB_INVALID, "query parameter 'label' is missing");
    int rc = nb_request_query_count(request, "limit", LIMIT_DEFAULT,
                                    request->server->config->listing_rows, &limit, error);
    if (rc == 0)
        rc = nb_engine_vocabulary(request->server->engine, request->model, label, (size_t)limit,
                                  CELLS_MOST, &sink, error);
    if (rc == NB_NO_MEMORY)
        return nb_error_no_memory(error);
    if (rc != 0)
        return rc;
    return nb_reply_written(request, nb_json_vocabulary_end(&listing), error);
}

int nb_route_document(struct nb_request *request, struct nb_error *error)
{
    struct nb_document_info info;
    int rc = nb_engine_document(request->server->engine, request->model, request->id, &info, error);
    if (rc != 0)
        return rc;
    rc = nb_json_document_info(&request->reply.body, request->id, &info);
    nb_document_info_deinit(&info);
    return nb_reply_written(request, rc, error);
}
