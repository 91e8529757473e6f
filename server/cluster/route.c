/* SPDX-License-Identifier: Apache-2.0 */
#include "server/cluster/route.h"

#include <assert.h>

#include "core/jobs/cluster/cluster.h"
#include "server/cluster/codec.h"
#include "server/request/answer.h"
#include "server/request/budget.h"
#include "server/request/request.h"
#include "server/request/server.h"
#include "server/request/source.h"

struct asking {
    struct nb_request *request;
    struct nb_hold hold; /* of the memory of clusterings */
};

static bool is_cutting(void *user)
{
    const struct asking *a = user;
    return atomic_load_explicit(&a->request->server->is_cutting, memory_order_relaxed);
}

static int hold_memory(void *user, uint64_t bytes, struct nb_error *error)
{
    struct asking *a = user;
    assert(a->hold.budget != NULL);
    unsigned long long most = (unsigned long long)atomic_load(&a->hold.budget->most);
    if (bytes > most)
        return nb_error_set(error, NB_TOO_LARGE,
                            "so many documents, words and clusters take %llu bytes: at most %llu "
                            "([models] cluster_memory)",
                            (unsigned long long)bytes, most);
    return nb_hold_set(&a->hold, bytes, error);
}

/* The source of the request. Labels by a source without trust are refused: the quarantine keeps
 * documents with their content, and a label alone has none. */
static int find_source(struct nb_request *request, struct nb_cluster_wish *wish,
                       struct nb_error *error)
{
    int rc = nb_request_source(request, &wish->source, error);
    if (rc == 0 && wish->apply && nb_request_is_quarantined(request, &wish->source))
        rc = nb_error_set(error, NB_UNUSABLE,
                          "\"apply\": the labels of this source would have to wait in the "
                          "quarantine, where documents wait with their content");
    return rc;
}

static int answer(struct nb_request *request, const struct nb_cluster_wish *wish,
                  struct nb_error *error)
{
    struct nb_clustering clustering;
    assert(wish->stop != NULL && wish->hold != NULL && wish->source.bytes != NULL);
    int rc = nb_engine_cluster(request->server->engine, request->model, wish, &clustering, error);
    request->has_changed = clustering.labelled > 0;
    if (rc != 0)
        return rc;
    rc = nb_json_cluster(&request->reply.body, request->model, wish, &clustering);
    nb_clustering_deinit(&clustering);
    return nb_reply_written(request, rc, error);
}

int nb_route_cluster(struct nb_request *request, struct nb_error *error)
{
    struct nb_cluster_wish wish;
    struct asking asking = {.request = request,
                            .hold.budget = &request->server->budgets[NB_BUDGET_CLUSTERS]};
    int rc = nb_json_cluster_read(request->body, &wish, error);
    wish.stop = is_cutting;
    wish.hold = hold_memory;
    wish.user = &asking;
    if (rc == 0)
        rc = find_source(request, &wish, error);
    if (rc == 0)
        rc = answer(request, &wish, error);
    (void)nb_hold_set(&asking.hold, 0, NULL); /* giving back never fails */
    nb_json_cluster_wish_deinit(&wish);
    return rc;
}
