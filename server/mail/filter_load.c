/* SPDX-License-Identifier: Apache-2.0 */
#include "server/mail/filter_load.h"

#include "config/config.h"
#include "core/engine/engine.h"
#include "server/mail/filter.h"
#include "server/request/query.h"
#include "server/request/request.h"
#include "server/request/server.h"
#include "server/request/work.h"

/* The user's model; the one of all when the user cannot name one. */
static void name_model(const struct nb_request *request, char model[NB_FILTER_MODEL])
{
    const struct nb_config *config = request->config;
    const struct nb_string nobody = {"", 0};
    struct nb_string user = nb_request_field(request, request->route->protocol->user_field);
    if (nb_filter_model(config, user, model, NULL) != 0)
        (void)nb_filter_model(config, nobody, model, NULL); /* without a user it does not fail */
}

/* On the pool. Failures come up again where the models are used. */
static int load(struct nb_request *request, struct nb_error *error)
{
    struct nb_engine *engine = request->server->engine;
    char model[NB_FILTER_MODEL];
    name_model(request, model);
    (void)nb_engine_load(engine, nb_string_of(model), error);
    (void)nb_engine_load(engine, nb_string_of(request->config->filter_model), error);
    return 0;
}

int nb_filter_prepare(struct nb_request *request, struct nb_error *error)
{
    struct nb_server *server = request->server;
    char model[NB_FILTER_MODEL];
    name_model(request, model);
    if (nb_engine_is_loaded(server->engine, nb_string_of(model)) &&
        nb_engine_is_loaded(server->engine, nb_string_of(request->config->filter_model)))
        return 0;
    return nb_work_run(request, server->loads, load, error);
}
