/* SPDX-License-Identifier: Apache-2.0 */
#include "server/api/handlers.h"

#include <stdlib.h>

#include "config/config.h"
#include "core/networks/network/graph.h"
#include "core/networks/network/inference.h"
#include "server/api/network_json.h"
#include "server/api/networks.h"
#include "server/base/emit.h"
#include "server/http/admission.h"
#include "server/http/http_answer.h"
#include "server/http/request.h"
#include "server/http/server.h"
#include "server/http/wait.h"

/* Most products of one question, as a multiple of the numbers that may be in memory at a time: some
 * seconds of work. */
enum { ROUNDS = 64 };

static struct nb_emitter begin(struct nb_request *request, struct nb_buffer *out)
{
    struct nb_emitter e = nb_emit_begin(out);
    nb_emit_open(&e, '{');
    nb_emit_member_string(&e, "network", request->model);
    return e;
}

/* ---- probabilities --------------------------------------------------------------------------- */

static void emit_distribution(struct nb_emitter *e, const struct nb_network_node *node,
                              const double *probabilities)
{
    nb_emit_name(e, nb_string_of(node->name));
    nb_emit_open(e, '{');
    for (size_t s = 0; s < node->state_count; s++) {
        nb_emit_name(e, nb_string_of(node->states[s]));
        nb_emit_short_double(e, probabilities[s]);
    }
    nb_emit_close(e, '}');
}

/* Every answer has P(evidence). Inference for the first node gives it, even if no node is asked
 * for. */
static int answer_probabilities(struct nb_request *request, const struct nb_network *network,
                                const struct nb_network_question *q, struct nb_error *error)
{
    size_t cells = (size_t)request->config->network_factor_cells;
    struct nb_inference_limits limits = {cells, (double)cells * ROUNDS};
    struct nb_emitter e = begin(request, &request->reply.body);
    double probabilities[NB_NETWORK_STATES], log_evidence;
    int rc =
        nb_network_infer(network, &q->evidence, 0, &limits, probabilities, &log_evidence, error);
    if (rc != 0)
        return rc;
    nb_emit_member_short_double(&e, "log_evidence", log_evidence);
    nb_emit_member_open(&e, "probabilities", '{');
    for (size_t i = 0; rc == 0 && i < network->count; i++) {
        if (q->targets[i] == 0)
            continue;
        rc = nb_request_check_cut(request, error);
        if (rc == 0)
            rc = nb_network_infer(network, &q->evidence, i, &limits, probabilities, NULL, error);
        if (rc == 0)
            emit_distribution(&e, &network->nodes[i], probabilities);
    }
    nb_emit_close(&e, '}');
    nb_emit_close(&e, '}');
    return rc != 0 ? rc : nb_reply_written(request, nb_emit_end(&e), error);
}

/* ---- samples --------------------------------------------------------------------------------- */

static void emit_sample(struct nb_emitter *e, const struct nb_network *network,
                        const uint32_t *states)
{
    nb_emit_open(e, '[');
    for (size_t i = 0; i < network->count; i++)
        nb_emit_text(e, network->nodes[i].states[states[i]]);
    nb_emit_close(e, ']');
}

/* Draws samples and writes them as the elements of "rows". Learning can read "columns" and "rows"
 * again. Rows go to the spool as they are made; `weights` (owned by the caller) has room for the
 * weights of all samples. */
static int spool_samples(struct nb_request *request, const struct nb_network *network,
                         const struct nb_network_question *q, double *weights,
                         struct nb_error *error)
{
    struct nb_buffer *out = &request->reply.spool.tail;
    struct nb_random random = nb_random_of(q->seed, 0);
    uint32_t states[NB_NETWORK_NODES];
    int rc = 0;
    for (uint64_t i = 0; rc == 0 && i < q->samples; i++) {
        weights[i] = nb_network_sample(network, &q->evidence, &random, states);
        if (i > 0 && nb_buffer_puts(out, ",") != 0)
            return nb_error_no_memory(error);
        struct nb_emitter e = nb_emit_begin(out);
        emit_sample(&e, network, states);
        if (nb_emit_end(&e) != 0)
            return nb_error_no_memory(error);
        rc = nb_spool_settle(&request->reply.spool, error);
        if (rc == 0 && i % 4096 == 0)
            rc = nb_request_check_cut(request, error);
    }
    return rc;
}

static int begin_samples(struct nb_request *request, const struct nb_network *network,
                         const struct nb_network_question *q, struct nb_error *error)
{
    struct nb_emitter e = begin(request, &request->reply.spool.tail);
    nb_emit_member_u64(&e, "seed", q->seed);
    nb_emit_member_open(&e, "columns", '[');
    for (size_t i = 0; i < network->count; i++)
        nb_emit_text(&e, network->nodes[i].name);
    nb_emit_close(&e, ']');
    nb_emit_member_open(&e, "rows", '[');
    return nb_emit_end(&e) != 0 ? nb_error_no_memory(error) : 0;
}

/* Ends the samples, with their weights. Without evidence every weight is 1, and they are left
 * out. */
static int end_samples(struct nb_request *request, const struct nb_network *network,
                       const struct nb_network_question *q, const double *weights,
                       struct nb_error *error)
{
    struct nb_emitter e = nb_emit_begin(&request->reply.spool.tail);
    bool is_weighed = false;
    for (size_t i = 0; i < network->count; i++)
        is_weighed = is_weighed || q->evidence.states[i] != UINT32_MAX;
    nb_emit_raw(&e, "]");
    if (is_weighed) {
        nb_emit_member_open(&e, "weights", '[');
        for (uint64_t i = 0; i < q->samples; i++)
            nb_emit_short_double(&e, weights[i]);
        nb_emit_close(&e, ']');
    }
    nb_emit_raw(&e, "}");
    return nb_emit_end(&e) != 0 ? nb_error_no_memory(error) : 0;
}

static int answer_samples(struct nb_request *request, const struct nb_network *network,
                          const struct nb_network_question *q, struct nb_error *error)
{
    uint64_t most = request->config->network_learn_values / network->count;
    if (q->samples > most)
        return nb_error_set(error, NB_TOO_LARGE,
                            "of this network there are at most %llu samples at a time ([networks] "
                            "learn_values: samples times nodes)",
                            (unsigned long long)most);
    double *weights = malloc(((size_t)q->samples + 1) * sizeof *weights);
    if (weights == NULL)
        return nb_error_no_memory(error);
    nb_reply_spool(request);
    int rc = begin_samples(request, network, q, error);
    if (rc == 0)
        rc = spool_samples(request, network, q, weights, error);
    if (rc == 0)
        rc = end_samples(request, network, q, weights, error);
    free(weights);
    return rc != 0 ? rc : nb_reply_spooled(request, 200, "application/json", error);
}

/* ---- the graph ------------------------------------------------------------------------------- */

static int answer_independent(struct nb_request *request, const struct nb_network *network,
                              const struct nb_network_question *q, struct nb_error *error)
{
    struct nb_graph *graph = nb_network_graph(network);
    bool separated = false;
    int rc = graph == NULL ? NB_NO_MEMORY
                           : nb_graph_separates(graph, q->from, q->to, q->given, &separated);
    nb_graph_free(&graph);
    if (rc != 0)
        return nb_error_no_memory(error);
    struct nb_emitter e = begin(request, &request->reply.body);
    nb_emit_member_bool(&e, "independent", separated);
    nb_emit_close(&e, '}');
    return nb_reply_written(request, nb_emit_end(&e), error);
}

/* Makes the graph of another network with this network's node numbers. Both must have the same node
 * names. */
static int graph_of_other(const struct nb_network *network, const struct nb_network *other,
                          struct nb_graph **graph, struct nb_error *error)
{
    struct nb_graph *made = nb_graph_new(network->count);
    int rc = made == NULL ? nb_error_no_memory(error) : 0;
    if (rc == 0 && other->count != network->count)
        rc = nb_error_set(error, NB_UNUSABLE, "the other network has %zu nodes, this one %zu",
                          other->count, network->count);
    for (size_t i = 0; rc == 0 && i < other->count; i++) {
        const struct nb_network_node *node = &other->nodes[i];
        size_t to = nb_network_find(network, nb_string_of(node->name));
        if (to == SIZE_MAX)
            rc = nb_error_set(error, NB_UNUSABLE,
                              "the other network has a node '%s', this one has none", node->name);
        for (size_t p = 0; rc == 0 && p < node->parent_count; p++) {
            struct nb_string parent = nb_string_of(other->nodes[node->parents[p]].name);
            size_t from = nb_network_find(network, parent);
            if (from != SIZE_MAX) /* an unknown parent is reported when the loop comes to it */
                nb_graph_arrow(made, from, to);
        }
    }
    if (rc != 0)
        nb_graph_free(&made);
    *graph = made;
    return rc;
}

static int load_other(const struct nb_request *request, const struct nb_network *network,
                      struct nb_network_question *q, struct nb_error *error)
{
    struct nb_string name = nb_string_of(q->other);
    struct nb_network *other = NULL;
    struct nb_named stored;
    int rc = nb_request_check_name(request, name, error);
    if (rc == 0)
        rc = nb_network_load(request, name, &other, &stored, error);
    if (rc != 0)
        return rc;
    rc = graph_of_other(network, other, &q->graph, error);
    nb_named_deinit(&stored);
    nb_network_free(&other);
    return rc;
}

static void emit_difference(struct nb_emitter *e, const struct nb_network *network,
                            const struct nb_pattern_answer *answer)
{
    const struct nb_network_node *nodes = network->nodes;
    nb_emit_member_bool(e, "equivalent", answer->difference == NB_PATTERN_SAME);
    if (answer->difference == NB_PATTERN_SAME)
        return;
    nb_emit_member_open(e, "difference", '{');
    if (answer->difference == NB_PATTERN_EDGE) {
        nb_emit_key(e, "edge");
        nb_emit_pair(e, nodes[answer->a].name, nodes[answer->b].name);
    } else {
        nb_emit_member_text(e, "collider", nodes[answer->c].name);
        nb_emit_key(e, "of");
        nb_emit_pair(e, nodes[answer->a].name, nodes[answer->b].name);
    }
    nb_emit_member_text(e, "only_in", answer->is_in_first ? "this" : "other");
    nb_emit_close(e, '}');
}

static int answer_equivalent(struct nb_request *request, const struct nb_network *network,
                             struct nb_network_question *q, struct nb_error *error)
{
    int rc = q->other != NULL ? load_other(request, network, q, error) : 0;
    if (rc != 0)
        return rc;
    struct nb_graph *graph = nb_network_graph(network);
    if (graph == NULL)
        return nb_error_no_memory(error);
    struct nb_pattern_answer answer = nb_pattern_compare(graph, q->graph);
    nb_graph_free(&graph);
    struct nb_emitter e = begin(request, &request->reply.body);
    emit_difference(&e, network, &answer);
    nb_emit_close(&e, '}');
    return nb_reply_written(request, nb_emit_end(&e), error);
}

/* ---- the route ------------------------------------------------------------------------------- */

static int answer(struct nb_request *request, const struct nb_network *network,
                  struct nb_network_question *q, struct nb_error *error)
{
    switch (q->verb) {
    case NB_NETWORK_SAMPLES:
        return answer_samples(request, network, q, error);
    case NB_NETWORK_INDEPENDENT:
        return answer_independent(request, network, q, error);
    case NB_NETWORK_EQUIVALENT:
        return answer_equivalent(request, network, q, error);
    case NB_NETWORK_PROBABILITIES:
    default:
        return answer_probabilities(request, network, q, error);
    }
}

int nb_route_query_network(struct nb_request *request, struct nb_error *error)
{
    struct nb_network_question question;
    struct nb_network *network = NULL;
    struct nb_named stored;
    int rc = nb_network_load(request, request->model, &network, &stored, error);
    if (rc != 0)
        return rc;
    rc = nb_network_question_read(request->body, network, &question, error);
    if (rc == 0) {
        rc = answer(request, network, &question, error);
        nb_network_question_deinit(&question);
    }
    nb_named_deinit(&stored);
    nb_network_free(&network);
    return rc;
}
