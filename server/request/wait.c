/* SPDX-License-Identifier: Apache-2.0 */
#include "server/request/wait.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>

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
    assert(atomic_load(&server->suspended) > 0);
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
    assert(request->again == NULL);
    if (!nb_request_suspend(request))
        return nb_error_set(error, NB_STOPPING, "the daemon is stopping");
    request->again = carry_on;
    nb_request_resume(request); /* it goes on when this thread has come to it again */
    return NB_WAIT;
}

/* Whether any of its changes was made; the request gets their number. */
static bool note_success(struct nb_request *request, const struct nb_batch *batch)
{
    bool has_success = false;
    for (size_t i = 0; i < nb_batch_size(batch); i++) {
        const struct nb_receipt *receipt = nb_batch_receipt(batch, i);
        if (receipt->code != 0)
            continue;
        has_success = true;
        request->number = receipt->number > request->number ? receipt->number : request->number;
    }
    return has_success;
}

static void count_down(struct nb_server *server, const struct nb_batch *batch)
{
    size_t before = atomic_fetch_sub(&server->waiting_changes, nb_batch_size(batch));
    assert(before >= nb_batch_size(batch));
    (void)before;
}

/* On the writer's thread. */
static void on_committed(struct nb_batch *batch, void *user)
{
    struct nb_request *request = user;
    request->has_changed |= note_success(request, batch);
    count_down(request->server, batch);
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

/* ---- rounds ------------------------------------------------------------------------------------
 */

/* Who comes second, the writer that is done or the request that waits or leaves, does what is left
 * to do. */
enum round_state {
    ROUND_RUNS,
    ROUND_IS_OVER,    /* set by the writer */
    ROUND_IS_AWAITED, /* the request is suspended, and the writer resumes it */
    ROUND_IS_LEFT,    /* the request has gone, and the writer frees */
};

struct nb_round {
    struct nb_server *server;
    struct nb_request *request; /* borrowed; gone when the round is left */
    struct nb_batch *batch;     /* owned */
    bool had_changed;           /* what request->has_changed was before */
    atomic_int state;
};

static void round_free(struct nb_round *round)
{
    nb_batch_free(&round->batch);
    free(round);
}

/* On the writer's thread. */
static void on_round_over(struct nb_batch *batch, void *user)
{
    struct nb_round *round = user;
    count_down(round->server, batch);
    int before = atomic_exchange(&round->state, ROUND_IS_OVER);
    /* While it runs, round and request are the request's thread's from here on. */
    if (before == ROUND_IS_AWAITED)
        nb_request_resume(round->request);
    else if (before == ROUND_IS_LEFT)
        round_free(round);
}

int nb_round_begin(struct nb_request *request, struct nb_batch **batch, struct nb_round **out,
                   struct nb_error *error)
{
    struct nb_round *round = calloc(1, sizeof *round);
    assert(nb_batch_size(*batch) > 0);
    if (round == NULL)
        return nb_error_no_memory(error);
    *round = (struct nb_round){.server = request->server,
                               .request = request,
                               .batch = *batch,
                               .had_changed = request->has_changed};
    *batch = NULL;
    *out = round;
    request->has_changed = true;
    atomic_fetch_add(&round->server->waiting_changes, nb_batch_size(round->batch));
    nb_engine_submit(round->server->engine, round->batch, on_round_over, round);
    return 0;
}

int nb_round_wait(struct nb_request *request, struct nb_round *round, nb_handler *again,
                  struct nb_error *error)
{
    assert(request == round->request && again != NULL);
    if (atomic_load(&round->state) == ROUND_IS_OVER)
        return 0;
    if (!nb_request_suspend(request))
        return nb_error_set(error, NB_STOPPING, "the daemon is stopping");
    request->again = again;
    int runs = ROUND_RUNS;
    if (!atomic_compare_exchange_strong(&round->state, &runs, ROUND_IS_AWAITED))
        nb_request_resume(request); /* it has ended meanwhile */
    return NB_WAIT;
}

struct nb_batch *nb_round_take(struct nb_request *request, struct nb_round **out)
{
    struct nb_round *round = *out;
    struct nb_batch *batch = round->batch;
    assert(atomic_load(&round->state) == ROUND_IS_OVER);
    request->has_changed = note_success(request, batch) || round->had_changed;
    *out = NULL;
    free(round);
    return batch;
}

void nb_round_leave(struct nb_round **out)
{
    struct nb_round *round = *out;
    *out = NULL;
    if (round != NULL && atomic_exchange(&round->state, ROUND_IS_LEFT) == ROUND_IS_OVER)
        round_free(round);
}

int nb_request_check_load(const struct nb_request *request, struct nb_error *error)
{
    size_t waiting = atomic_load(&request->server->waiting_changes);
    if (waiting <= request->config->queue_changes)
        return 0;
    return nb_error_set(error, NB_STOPPING,
                        "overloaded: %zu changes wait for the disk; try again later", waiting);
}
