/* SPDX-License-Identifier: Apache-2.0 */
#include "server/request/work.h"

#include <assert.h>
#include <stdlib.h>

#include "core/engine/number.h"
#include "server/request/pool.h"
#include "server/request/request.h"
#include "server/request/server.h"
#include "server/request/wait.h"

struct nb_work {
    struct nb_work_job job; /* the first member */
    struct nb_request *request;
    struct nb_work_pool *pool;
    nb_handler *work;
    int rc; /* what it has returned */
    struct nb_error error;
};

/* What it changes meanwhile has a number. */
static int do_work(struct nb_work *w)
{
    nb_engine_collect_number(&w->request->number);
    int rc = w->work(w->request, &w->error);
    nb_engine_collect_number(NULL);
    return rc;
}

/* On the pool's thread. */
static void run(struct nb_work_job *job)
{
    struct nb_work *w = (struct nb_work *)job;
    struct nb_request *request = w->request;
    if (atomic_load(&request->server->is_cutting))
        w->rc = nb_error_set(&w->error, NB_STOPPING, "the daemon is stopping");
    else
        w->rc = do_work(w);
    if (w->rc == NB_WAIT) { /* others first */
        nb_pool_add(w->pool, &w->job);
        return;
    }
    assert(w->rc <= 0);
    nb_request_resume(request);
}

/* On the request's thread. */
static int after_work(struct nb_request *request, struct nb_error *error)
{
    struct nb_work *w = request->work;
    assert(w != NULL && w->request == request);
    int rc = w->rc;
    if (rc != 0)
        *error = w->error;
    request->work = NULL;
    free(w);
    return rc;
}

int nb_work_run(struct nb_request *request, struct nb_work_pool *pool, nb_handler *work,
                struct nb_error *error)
{
    struct nb_work *w = calloc(1, sizeof *w);
    assert(request->work == NULL);
    assert(request->again == NULL && pool != NULL && work != NULL);
    if (w == NULL)
        return nb_error_no_memory(error);
    if (!nb_request_suspend(request)) {
        free(w);
        return nb_error_set(error, NB_STOPPING, "the daemon is stopping");
    }
    w->job.run = run;
    w->request = request;
    w->pool = pool;
    w->work = work;
    request->work = w;
    request->again = after_work;
    nb_pool_add(pool, &w->job);
    return NB_WAIT;
}

void nb_work_end(struct nb_request *request)
{
    free(request->work);
    request->work = NULL;
}
