/* SPDX-License-Identifier: Apache-2.0 */
#include "server/request.h"

#include <string.h>
#include <strings.h>

#include "config/config.h"
#include "server/server.h"

struct nb_string nb_request_field(const struct nb_request *request, const char *name)
{
    struct nb_string value = request->carrier->field(request, name);
    if (value.bytes != NULL || request->route == NULL || !request->route->is_rspamd)
        return value;
    for (size_t i = 0; i < request->query_count; i++) {
        const struct nb_parameter *parameter = &request->query[i];
        if (parameter->name.length == strlen(name) &&
            strncasecmp(parameter->name.bytes, name, parameter->name.length) == 0)
            return parameter->value;
    }
    return value;
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
