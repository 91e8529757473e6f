/* SPDX-License-Identifier: Apache-2.0 */
#include "config/config.h"
#include "server/codec.h"
#include "server/request.h"
#include "server/server.h"

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

void nb_reply_spool(struct nb_request *request)
{
    nb_spool_init(&request->reply.spool, request->server->spool_directory,
                  (size_t)request->server->config->spool_memory);
    request->reply.has_spool = true;
}

int nb_reply_spooled(struct nb_request *request, unsigned status, const char *content_type,
                     struct nb_error *error)
{
    int rc = nb_spool_finish(&request->reply.spool, error);
    return rc != 0 ? rc : nb_reply_with(request, status, content_type);
}

void nb_reply_deinit(struct nb_reply *reply)
{
    nb_buffer_deinit(&reply->body);
    if (reply->has_spool)
        nb_spool_deinit(&reply->spool);
    reply->has_spool = false;
    reply->status = 0;
}

void nb_reply_problem(struct nb_request *request, unsigned status, const char *detail)
{
    nb_reply_deinit(&request->reply);
    bool is_rspamd = request->route != NULL && request->route->is_rspamd;
    int rc = is_rspamd ? nb_codec_rspamd_error(&request->reply.body, (int)status, detail)
                       : nb_codec_problem(&request->reply.body, (int)status, detail);
    /* Without memory for the text the status alone must do. */
    if (rc != 0)
        nb_buffer_deinit(&request->reply.body);
    (void)nb_reply_with(request, status,
                        is_rspamd ? "application/json" : "application/problem+json"); /* always 0 */
}

/* OpenSMTPD's filter and Haraka let a mail pass when they are told of an error without an action:
 * one that could not be judged must wait. One that is too large would wait for ever. */
static unsigned status_of(const struct nb_request *request, int code)
{
    bool is_scan = request->route != NULL && request->route->is_rspamd &&
                   request->route->role == NB_ROLE_CLASSIFY;
    bool is_told = code == NB_TOO_LARGE || code == NB_UNKNOWN || code == NB_FORBIDDEN;
    return is_scan && !is_told ? 503 : (unsigned)nb_codec_status(code);
}

void nb_reply_error(struct nb_request *request, const struct nb_error *error)
{
    nb_reply_problem(request, status_of(request, error->code), error->text);
}
