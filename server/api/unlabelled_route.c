/* SPDX-License-Identifier: Apache-2.0 */
#include "server/api/handlers.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/engine/engine.h"
#include "core/jobs/cluster/cluster.h"
#include "server/base/emit.h"
#include "server/base/evaluation_json.h"
#include "server/base/json_values.h"
#include "server/http/admission.h"
#include "server/http/budget.h"
#include "server/http/http_answer.h"
#include "server/http/request.h"
#include "server/http/server.h"
#include "server/http/wait.h"

static int reply(struct nb_request *request, const struct nb_unlabelled_report *report,
                 struct nb_error *error)
{
    struct nb_emitter e = nb_emit_begin(&request->reply.body);
    nb_emit_open(&e, '{');
    nb_emit_member_string(&e, "model", request->model);
    nb_emit_unlabelled(&e, report);
    nb_emit_close(&e, '}');
    return nb_reply_written(request, nb_emit_end(&e), error);
}

int nb_route_em(struct nb_request *request, struct nb_error *error)
{
    struct nb_unlabelled_report report;
    int rc = nb_engine_unlabelled(request->server->engine, request->model, &report, error);
    return rc == 0 ? reply(request, &report, error) : rc;
}

int nb_route_start_em(struct nb_request *request, struct nb_error *error)
{
    struct nb_unlabelled_report report;
    int rc = nb_engine_refine(request->server->engine, request->model, nb_request_is_cut, request,
                              &report, error);
    return rc == 0 ? reply(request, &report, error) : rc;
}

enum {
    CLUSTERS,
    RESTARTS,
    SEED,
    DOCUMENTS,
    WITH_MEMBERS,
    APPLY,
    SHARES,
    DEVIATIONS,
    MEMBERS,
    VALUES_MOST = 16 + NB_ATTRIBUTES_MOST,
    RESTARTS_DEFAULT = 8
};

static const struct nb_json_member members[MEMBERS] = {
    [CLUSTERS] = {"clusters", NB_TYPE_COUNT | NB_TYPE_STRING, true},
    [RESTARTS] = {"restarts", NB_TYPE_COUNT, false},
    [SEED] = {"seed", NB_TYPE_COUNT, false},
    [DOCUMENTS] = {"documents", NB_TYPE_STRING, false},
    [WITH_MEMBERS] = {"members", NB_TYPE_BOOLEAN, false},
    [APPLY] = {"apply", NB_TYPE_STRING, false},
    [SHARES] = {"shares", NB_TYPE_STRING, false},
    [DEVIATIONS] = {"deviations", NB_TYPE_OBJECT, false},
};

static int read_number(const json_t *value, const char *name, json_int_t least, json_int_t most,
                       uint64_t *number, struct nb_error *error)
{
    if (value == NULL)
        return 0;
    if (json_integer_value(value) < least || json_integer_value(value) > most)
        return nb_error_set(error, NB_UNUSABLE, "\"%s\" must be from %lld to %lld", name,
                            (long long)least, (long long)most);
    *number = (uint64_t)json_integer_value(value);
    return 0;
}

static int read_clusters(const json_t *value, struct nb_cluster_options *options,
                         struct nb_error *error)
{
    uint64_t number = 0;
    int rc = 0;
    if (!json_is_string(value))
        rc = read_number(value, "clusters", 1, NB_CLUSTERS_MOST, &number, error);
    else if (!nb_string_equals(nb_json_text(value), "auto"))
        rc = nb_error_set(error, NB_INVALID, "\"clusters\" is a number, or \"auto\"");
    options->clusters = (uint32_t)number;
    return rc;
}

static int read_documents(const json_t *value, struct nb_cluster_options *options,
                          struct nb_error *error)
{
    if (value == NULL)
        return 0;
    options->all = nb_string_equals(nb_json_text(value), "all");
    if (options->all || nb_string_equals(nb_json_text(value), "unlabelled"))
        return 0;
    return nb_error_set(error, NB_INVALID, "\"documents\" is \"unlabelled\" or \"all\"");
}

/* Reads "apply". Must be called after read_documents. */
static int read_apply(const json_t *value, struct nb_cluster_options *options,
                      struct nb_error *error)
{
    options->apply = value != NULL;
    if (options->apply && !nb_string_equals(nb_json_text(value), "labels"))
        return nb_error_set(error, NB_INVALID, "\"apply\" is \"labels\"");
    if (options->apply && options->all)
        return nb_error_set(error, NB_UNUSABLE,
                            "\"apply\" is for \"documents\": \"unlabelled\" alone: labels that "
                            "documents have stay");
    return 0;
}

static int read_shares(const json_t *value, struct nb_cluster_options *options,
                       struct nb_error *error)
{
    options->has_equal_shares = value != NULL && nb_string_equals(nb_json_text(value), "equal");
    if (value == NULL || options->has_equal_shares ||
        nb_string_equals(nb_json_text(value), "learned"))
        return 0;
    return nb_error_set(error, NB_INVALID, "\"shares\" is \"learned\" or \"equal\"");
}

static int read_deviation(const char *name, const json_t *value,
                          struct nb_cluster_deviation *deviation, struct nb_error *error)
{
    static_assert(sizeof deviation->field > NB_ATTRIBUTE_NAME_MOST, "it fits");
    static const double most = 1e15; /* as for a field's numbers; the square of 1e160 is infinite */
    size_t length = strlen(name);
    deviation->deviation = json_number_value(value);
    if (!(deviation->deviation > 0 && deviation->deviation <= most))
        return nb_error_set(error, NB_UNUSABLE,
                            "\"deviations\": each is a number above 0, and at most 10^15");
    if (length > NB_ATTRIBUTE_NAME_MOST)
        return nb_error_set(error, NB_UNUSABLE, "\"deviations\": there is no such field");
    memcpy(deviation->field, name, length + 1);
    return 0;
}

static int read_deviations(const json_t *object, struct nb_cluster_options *options,
                           struct nb_error *error)
{
    const char *name;
    const json_t *value;
    int rc = 0;
    if (json_object_size(object) == 0)
        return 0;
    struct nb_cluster_deviation *deviations = calloc(json_object_size(object), sizeof *deviations);
    if (deviations == NULL)
        return nb_error_no_memory(error);
    options->deviations = deviations;
    /* jansson's macro takes a pointer that is not const */
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        if (rc == 0)
            rc = read_deviation(name, value, &deviations[options->deviation_count++], error);
    }
    return rc;
}

static void json_cluster_options_deinit(struct nb_cluster_options *options)
{
    free((void *)(uintptr_t)options->deviations);
    *options = (struct nb_cluster_options){0};
}

/* Fills `options` except `stop` and `source` from {"clusters": 20 or "auto", "restarts": 8, "seed":
 * 1, "documents": "unlabelled" or "all", "members": true, "apply": "labels", "shares": "learned" or
 * "equal", "deviations": {"amount": 2.5}}. The caller deinits it, also on failure. Returns 0,
 * NB_INVALID, NB_UNUSABLE (a number out of its bounds, "apply" to all) or NB_NO_MEMORY. */
static int json_cluster_read(struct nb_string text, struct nb_cluster_options *options,
                             struct nb_error *error)
{
    const json_t *values[MEMBERS];
    uint64_t restarts = RESTARTS_DEFAULT;
    json_t *object;
    *options = (struct nb_cluster_options){.seed = 1};
    int rc = nb_json_load(text, VALUES_MOST, &object, error);
    if (rc != 0)
        return rc;
    rc = nb_json_take(object, "what is asked for", members, MEMBERS, values, error);
    if (rc == 0)
        rc = read_clusters(values[CLUSTERS], options, error);
    if (rc == 0)
        rc = read_number(values[RESTARTS], "restarts", 1, NB_CLUSTER_RESTARTS_MOST, &restarts,
                         error);
    if (rc == 0)
        rc = read_number(values[SEED], "seed", 0, INT64_MAX, &options->seed, error);
    if (rc == 0)
        rc = read_documents(values[DOCUMENTS], options, error);
    if (rc == 0)
        rc = read_apply(values[APPLY], options, error);
    if (rc == 0)
        rc = read_shares(values[SHARES], options, error);
    if (rc == 0)
        rc = read_deviations(values[DEVIATIONS], options, error);
    options->restarts = (uint32_t)restarts;
    if (rc == 0)
        options->members = json_is_true(values[WITH_MEMBERS]);
    json_decref(object);
    return rc;
}

static void emit_words(struct nb_emitter *e, const char *key, const struct nb_cluster_word *words,
                       size_t count)
{
    nb_emit_member_open(e, key, '[');
    for (size_t i = 0; i < count; i++) {
        nb_emit_open(e, '{');
        nb_emit_member_text(e, "token", words[i].text);
        nb_emit_member_short_double(e, "share", words[i].share);
        nb_emit_member_short_double(e, "lift", words[i].lift);
        nb_emit_close(e, '}');
    }
    nb_emit_close(e, ']');
}

static void emit_numbers(struct nb_emitter *e, const struct nb_clustering *clustering,
                         const struct nb_cluster *cluster)
{
    nb_emit_member_open(e, "numbers", '{');
    for (size_t i = 0; i < clustering->field_count; i++) {
        nb_emit_name(e, nb_string_of(clustering->fields[i]));
        nb_emit_open(e, '{');
        nb_emit_member_double(e, "mean", cluster->numbers[i].mean);
        nb_emit_member_double(e, "deviation", cluster->numbers[i].deviation);
        nb_emit_close(e, '}');
    }
    nb_emit_close(e, '}');
}

static void emit_ids(struct nb_emitter *e, const char *key, const struct nb_buffer *ids,
                     size_t count)
{
    nb_emit_member_open(e, key, '[');
    for (size_t i = 0; i < count; i++)
        nb_emit_string(e, nb_buffer_string(&ids[i]));
    nb_emit_close(e, ']');
}

static void emit_cluster(struct nb_emitter *e, const struct nb_clustering *clustering,
                         const struct nb_cluster *cluster, bool with_members)
{
    nb_emit_open(e, '{');
    nb_emit_member_u64(e, "documents", cluster->documents);
    if (cluster->label != NULL)
        nb_emit_member_text(e, "label", cluster->label);
    nb_emit_member_double(e, "share", cluster->share);
    emit_words(e, "words", cluster->words, cluster->word_count);
    if (clustering->has_values)
        emit_words(e, "values", cluster->values, cluster->value_count);
    if (clustering->field_count > 0)
        emit_numbers(e, clustering, cluster);
    emit_ids(e, "nearest", cluster->nearest, cluster->nearest_count);
    if (with_members)
        emit_ids(e, "members", cluster->members, cluster->member_count);
    nb_emit_close(e, '}');
}

/* Appends the reply. Returns 0 or NB_NO_MEMORY. */
static int json_cluster(struct nb_buffer *out, struct nb_string model,
                        const struct nb_cluster_options *options,
                        const struct nb_clustering *clustering)
{
    struct nb_emitter e = nb_emit_begin(out);
    nb_emit_open(&e, '{');
    nb_emit_member_string(&e, "model", model);
    nb_emit_member_u64(&e, "seed", options->seed);
    nb_emit_member_u64(&e, "documents", clustering->documents);
    nb_emit_member_u64(&e, "words", clustering->words);
    nb_emit_member_u64(&e, "iterations", clustering->iterations);
    nb_emit_member_double(&e, "log_likelihood", clustering->log_likelihood);
    nb_emit_member_double(&e, "bic", clustering->bic);
    if (options->apply)
        nb_emit_member_u64(&e, "labelled", clustering->labelled);
    nb_emit_member_open(&e, "clusters", '[');
    for (size_t i = 0; i < clustering->count; i++)
        emit_cluster(&e, clustering, &clustering->clusters[i], options->members);
    nb_emit_close(&e, ']');
    nb_emit_close(&e, '}');
    return nb_emit_end(&e);
}

struct asking {
    struct nb_request *request;
    struct nb_hold hold; /* this request's share of the memory for clusterings */
};

static bool is_cut(void *user)
{
    return nb_request_is_cut(((const struct asking *)user)->request);
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

/* Finds the source of the request. Labels from an untrusted source are refused: the quarantine
 * keeps documents with their content, and a label alone has none. */
static int find_source(struct nb_request *request, struct nb_cluster_options *options,
                       struct nb_error *error)
{
    int rc = nb_request_source(request, &options->source, error);
    if (rc == 0 && options->apply && nb_request_is_quarantined(request, &options->source))
        rc = nb_error_set(error, NB_UNUSABLE,
                          "\"apply\": the labels of this source would have to wait in the "
                          "quarantine, where documents wait with their content");
    return rc;
}

static int answer(struct nb_request *request, const struct nb_cluster_options *options,
                  struct nb_error *error)
{
    struct nb_clustering clustering;
    assert(options->stop != NULL && options->hold != NULL && options->source.bytes != NULL);
    int rc =
        nb_engine_cluster(request->server->engine, request->model, options, &clustering, error);
    request->has_changed = clustering.labelled > 0;
    if (rc != 0)
        return rc;
    rc = json_cluster(&request->reply.body, request->model, options, &clustering);
    nb_clustering_deinit(&clustering);
    return nb_reply_written(request, rc, error);
}

int nb_route_cluster(struct nb_request *request, struct nb_error *error)
{
    struct nb_cluster_options options;
    struct asking asking = {.request = request,
                            .hold.budget = &request->server->budgets[NB_BUDGET_CLUSTERS]};
    int rc = json_cluster_read(request->body, &options, error);
    options.stop = is_cut;
    options.hold = hold_memory;
    options.user = &asking;
    if (rc == 0)
        rc = find_source(request, &options, error);
    if (rc == 0)
        rc = answer(request, &options, error);
    (void)nb_hold_set(&asking.hold, 0, NULL); /* releasing memory never fails */
    json_cluster_options_deinit(&options);
    return rc;
}
