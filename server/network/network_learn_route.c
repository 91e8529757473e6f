/* SPDX-License-Identifier: Apache-2.0 */
#include "server/network/network_learn_route.h"

#include "config/config.h"
#include "core/networks/network/pattern.h"
#include "server/network/network_rows.h"
#include "server/network/network_write.h"
#include "server/network/networks.h"
#include "server/request/http_answer.h"
#include "server/request/query.h"
#include "server/request/request.h"
#include "server/request/server.h"

bool nb_network_is_cutting(void *user)
{
    const struct nb_request *request = user;
    return atomic_load_explicit(&request->server->is_cutting, memory_order_relaxed);
}

static int read_options(const struct nb_request *request, struct nb_learn_options *options,
                        struct nb_error *error)
{
    *options = (struct nb_learn_options){.alpha = NB_LEARN_ALPHA, .prior = NB_LEARN_PRIOR};
    int rc = nb_request_query_number(request, "alpha", 1, &options->alpha, error);
    if (rc == 0)
        rc = nb_request_query_number(request, "prior", NB_LEARN_PRIOR_MOST, &options->prior, error);
    if (rc == 0 && options->prior <= 0)
        rc = nb_error_set(error, NB_INVALID, "query parameter 'prior' must be above 0");
    return rc != 0 ? rc
                   : nb_request_query_count(request, "separators", NB_NETWORK_NODES,
                                            NB_NETWORK_NODES, &options->separators, error);
}

static int learn(struct nb_request *request, const struct nb_columns *columns,
                 const struct nb_learn_options *options, struct nb_learned *learned,
                 struct nb_error *error)
{
    const struct nb_config *config = request->config;
    struct nb_learn_settings settings = {.alpha = options->alpha,
                                         .most_given = (size_t)options->separators,
                                         .most_tests = config->network_tests,
                                         .most_cells = (size_t)config->network_factor_cells,
                                         .stop = nb_network_is_cutting,
                                         .user = request};
    return nb_learn_columns(columns, &settings, learned, error);
}

/* The network of an extension, if the pattern has one. */
static int make_network(const struct nb_request *request, const struct nb_columns *columns,
                        const struct nb_learned *learned, double prior, struct nb_network **network,
                        struct nb_error *error)
{
    struct nb_graph *extension = NULL;
    if (nb_pattern_extend(learned->pattern, &extension) != 0)
        return nb_error_no_memory(error);
    int rc = extension == NULL
                 ? 0
                 : nb_learn_tables(columns, extension, prior,
                                   (size_t)request->config->network_table_cells, network, error);
    nb_graph_free(&extension);
    return rc;
}

static int reply(struct nb_request *request, const struct nb_columns *columns,
                 const struct nb_learned *learned, const struct nb_network *network,
                 struct nb_error *error)
{
    unsigned status = request->reply.status;
    struct nb_emitter e = nb_emit_begin(&request->reply.body);
    nb_emit_open(&e, '{');
    nb_emit_member_string(&e, "network", request->model);
    nb_emit_member_u64(&e, "rows", columns->rows);
    nb_emit_learned(&e, columns, learned);
    nb_emit_key(&e, "kept");
    nb_emit_bool(&e, network != NULL);
    if (network != NULL)
        nb_emit_nodes(&e, network);
    nb_emit_close(&e, '}');
    int rc = nb_reply_written(request, nb_emit_end(&e), error);
    if (rc == 0 && network != NULL)
        request->reply.status = status;
    return rc;
}

int nb_network_learn(struct nb_request *request, const struct nb_columns *columns,
                     const struct nb_learn_options *options, struct nb_error *error)
{
    struct nb_learned learned;
    struct nb_network *network = NULL;
    int rc = learn(request, columns, options, &learned, error);
    if (rc != 0)
        return rc;
    rc = make_network(request, columns, &learned, options->prior, &network, error);
    if (rc == 0 && network != NULL)
        rc = nb_network_keep(request, network, error);
    if (rc == 0)
        rc = reply(request, columns, &learned, network, error);
    nb_network_free(&network);
    nb_learned_deinit(&learned);
    return rc;
}

int nb_route_learn_network(struct nb_request *request, struct nb_error *error)
{
    struct nb_columns *columns = NULL;
    struct nb_learn_options options;
    int rc = nb_network_check_own_name(request, error);
    if (rc == 0)
        rc = read_options(request, &options, error);
    if (rc == 0)
        rc = nb_rows_read(request->type.media, request->body,
                          (size_t)request->config->network_learn_values, &columns, error);
    if (rc == 0)
        rc = nb_network_learn(request, columns, &options, error);
    nb_columns_free(&columns);
    return rc;
}
