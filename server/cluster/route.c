/* SPDX-License-Identifier: Apache-2.0 */
#include "server/cluster/route.h"

#include "core/cluster/cluster.h"
#include "server/cluster/codec.h"
#include "server/request/answer.h"
#include "server/request/request.h"
#include "server/request/server.h"

static bool is_cutting(void *user)
{
    const struct nb_request *request = user;
    return atomic_load_explicit(&request->server->is_cutting, memory_order_relaxed);
}

int nb_route_cluster(struct nb_request *request, struct nb_error *error)
{
    struct nb_cluster_wish wish;
    struct nb_clustering clustering;
    int rc = nb_json_cluster_read(request->body, &wish, error);
    if (rc != 0)
        return rc;
    wish.stop = is_cutting;
    wish.user = request;
    rc = nb_engine_cluster(request->server->engine, request->model, &wish, &clustering, error);
    if (rc != 0)
        return rc;
    rc = nb_json_cluster(&request->reply.body, request->model, &wish, &clustering);
    nb_clustering_deinit(&clustering);
    return nb_reply_written(request, rc, error);
}
