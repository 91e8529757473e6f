/* SPDX-License-Identifier: Apache-2.0 */
#include "server/request.h"

#include "server/server.h"

struct nb_string nb_request_field(const struct nb_request *request, const char *name)
{
    return request->carrier->field(request, name);
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
