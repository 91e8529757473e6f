/* SPDX-License-Identifier: Apache-2.0 */
#include "server/request/reply.h"

#include <assert.h>

#include "config/config.h"
#include "server/json/problem.h"
#include "server/request/request.h"
#include "server/request/server.h"

bool nb_reply_is_there(const struct nb_request *request)
{
    return request->reply.status != 0;
}

int nb_reply_with(struct nb_request *request, unsigned status, const char *content_type)
{
    request->reply.status = status;
    request->reply.content_type = content_type;
    return 0;
}

int nb_reply_json(struct nb_request *request, unsigned status)
{
    return nb_reply_with(request, status, "application/json");
}

int nb_reply_written(struct nb_request *request, int rc, struct nb_error *error)
{
    return rc == 0 ? nb_reply_json(request, 200) : nb_error_no_memory(error);
}

void nb_reply_spool(struct nb_request *request)
{
    assert(!request->reply.has_spool);
    nb_spool_init(&request->reply.spool, request->server->spool_directory,
                  (size_t)request->config->spool_memory, request->server->budgets);
    request->reply.has_spool = true;
}

int nb_reply_spooled(struct nb_request *request, unsigned status, const char *content_type,
                     struct nb_error *error)
{
    assert(request->reply.has_spool);
    int rc = nb_spool_finish(&request->reply.spool, error);
    return rc != 0 ? rc : nb_reply_with(request, status, content_type);
}

void nb_reply_hold(struct nb_request *request)
{
    struct nb_reply *reply = &request->reply;
    struct nb_error error = {0};
    if (reply->body.capacity <= NB_SPOOL_FREE_BYTES)
        return;
    nb_buffer_trim(&reply->body);
    reply->hold.budget = &request->server->budgets[NB_BUDGET_REPLIES];
    if (nb_hold_set(&reply->hold, reply->body.capacity, &error) != 0)
        nb_reply_error(request, &error);
}

void nb_reply_deinit(struct nb_reply *reply)
{
    nb_buffer_deinit(&reply->body);
    (void)nb_hold_set(&reply->hold, 0, NULL); /* giving back never fails */
    if (reply->has_spool)
        nb_spool_deinit(&reply->spool);
    reply->has_spool = false;
    reply->next = NULL;
    reply->status = 0;
}

/* ---- problems ----------------------------------------------------------------------------------
 */

static const char *write_problem(struct nb_request *request, unsigned status, const char *detail)
{
    /* A problem without its text would be no JSON. */
    if (nb_json_problem(&request->reply.body, (int)status, detail) != 0)
        request->reply.is_withheld = true;
    return "application/problem+json";
}

const struct nb_protocol nb_protocol_api = {.door = "http", .problem = write_problem};

void nb_reply_problem(struct nb_request *request, unsigned status, const char *detail)
{
    const struct nb_protocol *protocol =
        request->route != NULL ? request->route->protocol : &nb_protocol_api;
    assert(status >= 400);
    nb_reply_deinit(&request->reply);
    const char *type = protocol->problem(request, status, detail);
    (void)nb_reply_with(request, status, type); /* always 0 */
}

void nb_reply_error(struct nb_request *request, const struct nb_error *error)
{
    const struct nb_route *route = request->route;
    if (request->has_changed && nb_json_status(error->code) >= 500)
        request->reply.is_withheld = true;
    unsigned status = route != NULL && route->protocol->status_of != NULL
                          ? route->protocol->status_of(route, error->code)
                          : (unsigned)nb_json_status(error->code);
    nb_reply_problem(request, status, error->text);
}
