/* SPDX-License-Identifier: Apache-2.0 */
#include "server/request.h"

#include <stdlib.h>

#include "config/config.h"
#include "core/base/clock.h"
#include "server/access.h"
#include "server/log.h"
#include "server/metrics.h"
#include "server/server.h"
#include "server/transfer.h"

struct nb_string nb_request_field(const struct nb_request *request, const char *name)
{
    struct nb_string value = request->carrier->field(request, name);
    if (value.bytes != NULL || request->route == NULL || !request->route->is_rspamd)
        return value;
    for (size_t i = 0; i < request->query_count; i++) {
        const struct nb_parameter *parameter = &request->query[i];
        if (nb_string_equals_nocase(parameter->name, name))
            return parameter->value;
    }
    return value;
}

/* Mail filters' clients: most of them cannot show a token. */
static bool is_of_filter(const struct nb_request *request)
{
    return request->route->is_rspamd || request->carrier->is_line;
}

static enum nb_role role_of(const struct nb_request *request)
{
    const struct nb_access *access = request->server->access;
    struct nb_string token = nb_access_bearer(nb_request_field(request, "Authorization"));
    bool is_filter = is_of_filter(request);
    if (token.length == 0 && is_filter)
        token = nb_request_field(request, "Password");
    enum nb_role role = nb_access_role(access, token);
    if (role < NB_ROLE_TRAIN && is_filter &&
        nb_access_trusts(access, request->carrier->address(request)))
        role = NB_ROLE_TRAIN;
    return role;
}

int nb_request_check_access(const struct nb_request *request, struct nb_error *error)
{
    if (request->server->access == NULL || request->route->role == NB_ROLE_NONE)
        return 0;
    enum nb_role role = role_of(request);
    if (role >= request->route->role)
        return 0;
    if (role != NB_ROLE_NONE)
        return nb_error_set(error, NB_FORBIDDEN,
                            "this token's role does not reach: the request needs %s",
                            request->route->role == NB_ROLE_ADMIN ? "admin" : "train or admin");
    return nb_error_set(
        error, NB_UNKNOWN,
        is_of_filter(request)
            ? "Unauthorized: show a token as Password or Authorization: Bearer, or "
              "have the address added to [tokens] trusted"
            : "the request needs a token that is known: Authorization: Bearer TOKEN");
}

int nb_request_check_load(const struct nb_request *request, struct nb_error *error)
{
    size_t waiting = atomic_load(&request->server->waiting_changes);
    if (waiting <= request->server->config->queue_changes)
        return 0;
    return nb_error_set(error, NB_STOPPING,
                        "overloaded: %zu changes wait for the disk; try again later", waiting);
}

bool nb_request_suspend(struct nb_request *request)
{
    struct nb_server *server = request->server;
    /* Counted before the flag is read: a stop sets the flag before it reads the count, so one of
     * the two sees the other, and no wait begins behind the back of a stop. */
    atomic_fetch_add(&server->suspended, 1);
    if (atomic_load(&server->is_cutting)) {
        atomic_fetch_sub(&server->suspended, 1);
        return false;
    }
    request->carrier->suspend(request);
    return true;
}

void nb_request_resume(struct nb_request *request)
{
    struct nb_server *server = request->server;
    request->carrier->resume(request);
    atomic_fetch_sub(&server->suspended, 1);
}

void nb_request_begin(struct nb_request *request)
{
    request->started = nb_clock_monotonic();
    atomic_fetch_add(&request->server->running, 1);
}

static void write_log(const struct nb_request *request, const struct nb_request_figures *figures,
                      uint64_t nanoseconds)
{
    enum nb_log_level level = figures->status >= 500 ? NB_LOG_WARNING : NB_LOG_DEBUG;
    if (!nb_log_wants(level))
        return;
    nb_log(level, "request method=%s route=%s model=%.*s status=%u us=%llu", figures->method,
           request->route != NULL ? request->route->pattern : "-", (int)request->model.length,
           request->model.length > 0 ? request->model.bytes : "", figures->status,
           (unsigned long long)(nanoseconds / 1000));
}

void nb_request_end(struct nb_request *request, const struct nb_request_figures *figures)
{
    struct nb_server *server = request->server;
    uint64_t nanoseconds = nb_clock_monotonic() - request->started;
    write_log(request, figures, nanoseconds);
    nb_metrics_request(server->metrics, request->route != NULL ? request->route_index : SIZE_MAX,
                       figures->status, nanoseconds, figures->received, figures->sent);
    if (request->state_free != NULL)
        request->state_free(request->state);
    nb_transfer_end(request);
    nb_reply_deinit(&request->reply);
    free(request->query_text);
    free(request->path);
    atomic_fetch_sub(&server->running, 1);
}
