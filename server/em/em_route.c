/* SPDX-License-Identifier: Apache-2.0 */
#include "server/em/em_route.h"

#include "core/engine/engine.h"
#include "server/http/request/http_answer.h"
#include "server/http/request/request.h"
#include "server/http/request/server.h"
#include "server/json/emit.h"
#include "server/json/evaluation_json.h"

static bool is_cutting(void *user)
{
    const struct nb_request *request = user;
    return atomic_load_explicit(&request->server->is_cutting, memory_order_relaxed);
}

static int reply(struct nb_request *request, const struct nb_unlabelled_report *report,
                 struct nb_error *error)
{
    struct nb_emitter e = nb_emit_begin(&request->reply.body);
    nb_emit_open(&e, '{');
    nb_emit_member_string(&e, "model", request->model);
    nb_emit_unlabelled(&e, report);
    nb_emit_close(&e, '}');
    return nb_reply_written(request, nb_emit_end(&e), error);
}

int nb_route_em(struct nb_request *request, struct nb_error *error)
{
    struct nb_unlabelled_report report;
    int rc = nb_engine_unlabelled(request->server->engine, request->model, &report, error);
    return rc == 0 ? reply(request, &report, error) : rc;
}

int nb_route_start_em(struct nb_request *request, struct nb_error *error)
{
    struct nb_unlabelled_report report;
    int rc = nb_engine_refine(request->server->engine, request->model, is_cutting, request, &report,
                              error);
    return rc == 0 ? reply(request, &report, error) : rc;
}
