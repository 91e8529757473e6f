/* SPDX-License-Identifier: Apache-2.0 */
#include "server/request/lifecycle.h"

#include <stdlib.h>

#include "core/base/clock.h"
#include "server/base/log.h"
#include "server/base/metrics.h"
#include "server/request/configuration.h"
#include "server/request/reply.h"
#include "server/request/request.h"
#include "server/request/server.h"
#include "server/request/transfer.h"
#include "server/request/work.h"

void nb_request_begin(struct nb_request *request)
{
    request->started = nb_clock_monotonic();
    request->configuration = nb_configurations_take(request->server->configurations);
    request->config = &request->configuration->config;
    request->access = request->configuration->access;
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
    nb_work_end(request);
    nb_transfer_end(request);
    nb_reply_deinit(&request->reply);
    free(request->query_text);
    free(request->path);
    nb_configuration_release(&request->configuration);
    atomic_fetch_sub(&server->running, 1);
}
