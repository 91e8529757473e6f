/* SPDX-License-Identifier: Apache-2.0 */
#include "server/request/wait.h"

#include <assert.h>

#include "config/config.h"
#include "core/engine/engine.h"
#include "server/request/request.h"
#include "server/request/server.h"

bool nb_request_suspend(struct nb_request *request)
{
    struct nb_server *server = request->server;
    /* Counted before the flag is read: a stop sets the flag before it reads the count, so one of
     * the two sees the other, and no wait begins unseen by a stop. */
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

static int carry_on(struct nb_request *request, struct nb_error *error)
{
    (void)request;
    (void)error;
    return 0;
}

int nb_request_yield(struct nb_request *request, struct nb_error *error)
{
    if (!nb_request_suspend(request))
        return nb_error_set(error, NB_STOPPING, "the daemon is stopping");
    request->again = carry_on;
    nb_request_resume(request); /* it goes on when this thread has come to it again */
    return NB_WAIT;
}

static bool has_success(const struct nb_batch *batch)
{
    for (size_t i = 0; i < nb_batch_size(batch); i++)
        if (nb_batch_receipt(batch, i)->code == 0)
            return true;
    return false;
}

/* On the writer's thread. */
static void on_committed(struct nb_batch *batch, void *user)
{
    struct nb_request *request = user;
    request->has_changed |= has_success(batch);
    size_t before = atomic_fetch_sub(&request->server->waiting_changes, nb_batch_size(batch));
    assert(before >= nb_batch_size(batch));
    (void)before;
    nb_request_resume(request);
}

int nb_request_submit(struct nb_request *request, struct nb_batch *batch, nb_handler *again,
                      struct nb_error *error)
{
    struct nb_server *server = request->server;
    assert(nb_batch_size(batch) > 0 && again != NULL);
    if (!nb_request_suspend(request))
        return nb_error_set(error, NB_STOPPING, "the daemon is stopping");
    request->again = again;
    request->body = (struct nb_string){NULL, 0};
    atomic_fetch_add(&server->waiting_changes, nb_batch_size(batch));
    nb_engine_submit(server->engine, batch, on_committed, request);
    return NB_WAIT;
}

int nb_request_check_load(const struct nb_request *request, struct nb_error *error)
{
    size_t waiting = atomic_load(&request->server->waiting_changes);
    if (waiting <= request->config->queue_changes)
        return 0;
    return nb_error_set(error, NB_STOPPING,
                        "overloaded: %zu changes wait for the disk; try again later", waiting);
}
