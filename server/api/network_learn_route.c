/* SPDX-License-Identifier: Apache-2.0 */
#include "server/api/handlers.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "config/config.h"
#include "core/jobs/generate/generated_documents.h"
#include "core/networks/network/graph.h"
#include "server/api/network_json.h"
#include "server/api/network_rows.h"
#include "server/api/networks.h"
#include "server/base/json_values.h"
#include "server/http/admission.h"
#include "server/http/http_answer.h"
#include "server/http/request.h"
#include "server/http/server.h"
#include "server/http/wait.h"

/* The options of a request to learn a network. */
struct nb_learn_options {
    double alpha, prior;
    uint64_t separators;
};
#define NB_LEARN_ALPHA .01
#define NB_LEARN_PRIOR 1.0
#define NB_LEARN_PRIOR_MOST 1e6

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
                                         .stop = nb_request_is_cut,
                                         .user = request};
    return nb_learn_columns(columns, &settings, learned, error);
}

/* Makes the network of an acyclic extension of the learned pattern, if the pattern has one. */
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
    nb_emit_member_bool(&e, "kept", network != NULL);
    if (network != NULL)
        nb_emit_nodes(&e, network);
    nb_emit_close(&e, '}');
    int rc = nb_reply_written(request, nb_emit_end(&e), error);
    if (rc == 0 && network != NULL)
        request->reply.status = status;
    return rc;
}

/* Learns a network from columns, keeps it under the request's name, if there is one, and replies.
 * Returns 0 or a code. */
static int network_learn(struct nb_request *request, const struct nb_columns *columns,
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
        rc = network_learn(request, columns, &options, error);
    nb_columns_free(&columns);
    return rc;
}

/* Name of the node for the label. */
static const char LABEL[] = "label";

enum { MODEL, FIELDS, ALPHA, PRIOR, SEPARATORS, MEMBERS };

static const struct nb_json_member members[MEMBERS] = {
    [MODEL] = {"model", NB_TYPE_STRING, true},
    [FIELDS] = {"fields", NB_TYPE_ARRAY, false},
    [ALPHA] = {"alpha", NB_TYPE_NUMBER, false},
    [PRIOR] = {"prior", NB_TYPE_NUMBER, false},
    [SEPARATORS] = {"separators", NB_TYPE_COUNT, false},
};

/* Each field is a node, and so is the label. */
enum { FIELDS_MOST = NB_NETWORK_NODES - 1 };

/* ---- options --------------------------------------------------------------------------------- */

static int take_number(const json_t *value, const char *name, double most, double *number,
                       struct nb_error *error)
{
    if (value == NULL)
        return 0;
    *number = json_number_value(value);
    if (*number >= 0 && *number <= most)
        return 0;
    return nb_error_set(error, NB_INVALID, "'%s' must be from 0 to %g", name, most);
}

static int take_options(const json_t *const *values, struct nb_learn_options *options,
                        struct nb_error *error)
{
    double separators = NB_NETWORK_NODES;
    *options = (struct nb_learn_options){.alpha = NB_LEARN_ALPHA, .prior = NB_LEARN_PRIOR};
    int rc = take_number(values[ALPHA], "alpha", 1, &options->alpha, error);
    if (rc == 0)
        rc = take_number(values[PRIOR], "prior", NB_LEARN_PRIOR_MOST, &options->prior, error);
    if (rc == 0 && options->prior <= 0)
        rc = nb_error_set(error, NB_INVALID, "'prior' must be above 0");
    if (rc == 0)
        rc = take_number(values[SEPARATORS], "separators", NB_NETWORK_NODES, &separators, error);
    options->separators = (uint64_t)separators;
    return rc;
}

static int take_fields(const json_t *list, struct nb_string *fields, size_t *count,
                       struct nb_error *error)
{
    *count = json_array_size(list);
    if (list != NULL && (*count == 0 || *count > FIELDS_MOST))
        return nb_error_set(error, NB_INVALID, "`fields` are 1 to %d names, not %zu", FIELDS_MOST,
                            *count);
    for (size_t i = 0; i < *count; i++) {
        if (!json_is_string(json_array_get(list, i)))
            return nb_error_set(error, NB_INVALID, "`fields` are strings, not %s",
                                nb_json_type_name(json_array_get(list, i)));
        fields[i] = nb_json_text(json_array_get(list, i));
    }
    return 0;
}

/* ---- documents as rows ----------------------------------------------------------------------- */

struct table {
    struct nb_columns *columns;
    const struct nb_documents *documents;
    size_t label, fields[FIELDS_MOST]; /* numbers of the columns */
};

static int by_name(const void *a, const void *b)
{
    return nb_string_compare(*(const struct nb_string *)a, *(const struct nb_string *)b);
}

/* Adds the columns sorted by name, so that the result does not depend on the order of the
 * fields. */
static int add_columns(struct table *t, struct nb_error *error)
{
    struct nb_string names[NB_NETWORK_NODES];
    size_t count = nb_documents_fields(t->documents);
    int rc = 0;
    if (count > FIELDS_MOST)
        return nb_error_set(error, NB_TOO_LARGE, "there are more than %d fields", FIELDS_MOST);
    for (size_t i = 0; i < count; i++)
        names[i] = nb_documents_field(t->documents, i);
    names[count] = nb_string_of(LABEL);
    qsort(names, count + 1, sizeof *names, by_name);
    for (size_t i = 0; rc == 0 && i <= count; i++)
        rc = nb_columns_add(t->columns, names[i], error);
    for (size_t i = 0; rc == 0 && i < count; i++)
        t->fields[i] = nb_columns_find(t->columns, nb_documents_field(t->documents, i));
    t->label = nb_columns_find(t->columns, nb_string_of(LABEL));
    assert(rc != 0 || t->label != SIZE_MAX); /* it was added */
    return rc;
}

static int add_document(void *user, struct nb_string label, const struct nb_string *values,
                        struct nb_error *error)
{
    struct table *t = user;
    assert(nb_documents_fields(t->documents) <= FIELDS_MOST); /* add_columns has checked it */
    int rc = nb_columns_add_row(t->columns, error);
    if (rc == 0 && label.bytes != NULL)
        rc = nb_columns_set(t->columns, t->label, label, error);
    for (size_t i = 0; rc == 0 && i < nb_documents_fields(t->documents); i++)
        if (values[i].bytes != NULL)
            rc = nb_columns_set(t->columns, t->fields[i], values[i], error);
    return rc;
}

static int fill_table(struct nb_request *request, struct nb_documents *documents, struct table *t,
                      struct nb_error *error)
{
    *t = (struct table){.documents = documents};
    t->columns = nb_columns_new((size_t)request->config->network_learn_values);
    int rc = t->columns == NULL ? nb_error_no_memory(error) : add_columns(t, error);
    if (rc == 0)
        rc = nb_documents_walk(documents, nb_request_is_cut, request, add_document, t, error);
    if (rc == 0)
        rc = nb_columns_close(t->columns, error);
    return rc;
}

static int learn_from(struct nb_request *request, const json_t *const *values,
                      struct nb_error *error)
{
    struct nb_string fields[FIELDS_MOST], model = nb_json_text(values[MODEL]);
    struct nb_documents *documents = NULL;
    struct nb_learn_options options;
    struct table table = {.columns = NULL};
    size_t count;
    int rc = take_fields(values[FIELDS], fields, &count, error);
    if (rc == 0)
        rc = take_options(values, &options, error);
    if (rc == 0 && !nb_request_is_for(request, model))
        rc = nb_error_set(error, NB_FORBIDDEN, "the token is not for model '%.*s'",
                          (int)model.length, model.bytes);
    if (rc == 0)
        rc = nb_request_check_follows(request, model, error);
    if (rc == 0)
        rc = nb_documents_begin(request->server->engine, model, fields, count, &documents, error);
    if (rc == 0)
        rc = fill_table(request, documents, &table, error);
    nb_documents_end(&documents);
    if (rc == 0)
        rc = network_learn(request, table.columns, &options, error);
    nb_columns_free(&table.columns);
    return rc;
}

/* Most JSON values of the options. */
enum { VALUES_MOST = MEMBERS + FIELDS_MOST + 8 };

/* Reads a body that names a model as options for learning, any other body as a network. */
int nb_route_post_network(struct nb_request *request, struct nb_error *error)
{
    const json_t *values[MEMBERS];
    json_t *object = NULL;
    bool is_wish = nb_json_load(request->body, VALUES_MOST, &object, NULL) == 0 &&
                   json_object_get(object, members[MODEL].name) != NULL;
    int rc = 0;
    if (is_wish) {
        rc = nb_network_check_own_name(request, error);
        if (rc == 0)
            rc = nb_json_take(object, "what is learned from", members, MEMBERS, values, error);
        if (rc == 0)
            rc = learn_from(request, values, error);
    }
    json_decref(object);
    return is_wish ? rc : nb_route_put_network(request, error);
}
