/* SPDX-License-Identifier: Apache-2.0 */
#include "server/cluster/codec.h"

#include "server/json/emit.h"
#include "server/json/load.h"

enum {
    CLUSTERS,
    RESTARTS,
    SEED,
    DOCUMENTS,
    WITH_MEMBERS,
    APPLY,
    MEMBERS,
    VALUES_MOST = 16,
    RESTARTS_DEFAULT = 8
};

static const struct nb_member members[MEMBERS] = {
    [CLUSTERS] = {"clusters", NB_TYPE_COUNT | NB_TYPE_STRING, true},
    [RESTARTS] = {"restarts", NB_TYPE_COUNT, false},
    [SEED] = {"seed", NB_TYPE_COUNT, false},
    [DOCUMENTS] = {"documents", NB_TYPE_STRING, false},
    [WITH_MEMBERS] = {"members", NB_TYPE_BOOLEAN, false},
    [APPLY] = {"apply", NB_TYPE_STRING, false},
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

static int read_clusters(const json_t *value, struct nb_cluster_wish *wish, struct nb_error *error)
{
    uint64_t number = 0;
    int rc = 0;
    if (!json_is_string(value))
        rc = read_number(value, "clusters", 1, NB_CLUSTERS_MOST, &number, error);
    else if (!nb_string_equals(nb_json_text(value), "auto"))
        rc = nb_error_set(error, NB_INVALID, "\"clusters\" is a number, or \"auto\"");
    wish->clusters = (uint32_t)number;
    return rc;
}

static int read_documents(const json_t *value, struct nb_cluster_wish *wish, struct nb_error *error)
{
    if (value == NULL)
        return 0;
    wish->all = nb_string_equals(nb_json_text(value), "all");
    if (wish->all || nb_string_equals(nb_json_text(value), "unlabelled"))
        return 0;
    return nb_error_set(error, NB_INVALID, "\"documents\" is \"unlabelled\" or \"all\"");
}

/* After read_documents. */
static int read_apply(const json_t *value, struct nb_cluster_wish *wish, struct nb_error *error)
{
    wish->apply = value != NULL;
    if (wish->apply && !nb_string_equals(nb_json_text(value), "labels"))
        return nb_error_set(error, NB_INVALID, "\"apply\" is \"labels\"");
    if (wish->apply && wish->all)
        return nb_error_set(error, NB_UNUSABLE,
                            "\"apply\" is for \"documents\": \"unlabelled\" alone: labels that "
                            "documents have stay");
    return 0;
}

int nb_json_cluster_read(struct nb_string text, struct nb_cluster_wish *wish,
                         struct nb_error *error)
{
    const json_t *values[MEMBERS];
    uint64_t restarts = RESTARTS_DEFAULT;
    json_t *object;
    *wish = (struct nb_cluster_wish){.seed = 1};
    int rc = nb_json_load(text, VALUES_MOST, &object, error);
    if (rc != 0)
        return rc;
    rc = nb_json_take(object, "what is asked for", members, MEMBERS, values, error);
    if (rc == 0)
        rc = read_clusters(values[CLUSTERS], wish, error);
    if (rc == 0)
        rc = read_number(values[RESTARTS], "restarts", 1, NB_CLUSTER_RESTARTS_MOST, &restarts,
                         error);
    if (rc == 0)
        rc = read_number(values[SEED], "seed", 0, INT64_MAX, &wish->seed, error);
    if (rc == 0)
        rc = read_documents(values[DOCUMENTS], wish, error);
    if (rc == 0)
        rc = read_apply(values[APPLY], wish, error);
    wish->restarts = (uint32_t)restarts;
    if (rc == 0)
        wish->members = json_is_true(values[WITH_MEMBERS]);
    json_decref(object);
    return rc;
}

static void emit_words(struct nb_emitter *e, const struct nb_cluster *cluster)
{
    nb_emit_key(e, "words");
    nb_emit_open(e, '[');
    for (size_t i = 0; i < cluster->word_count; i++) {
        nb_emit_open(e, '{');
        nb_emit_member_text(e, "token", cluster->words[i].text);
        nb_emit_member_short_double(e, "share", cluster->words[i].share);
        nb_emit_member_short_double(e, "lift", cluster->words[i].lift);
        nb_emit_close(e, '}');
    }
    nb_emit_close(e, ']');
}

static void emit_ids(struct nb_emitter *e, const char *key, char *const *ids, size_t count)
{
    nb_emit_key(e, key);
    nb_emit_open(e, '[');
    for (size_t i = 0; i < count; i++)
        nb_emit_text(e, ids[i]);
    nb_emit_close(e, ']');
}

static void emit_cluster(struct nb_emitter *e, const struct nb_cluster *cluster, bool with_members)
{
    nb_emit_open(e, '{');
    nb_emit_member_u64(e, "documents", cluster->documents);
    if (cluster->label != NULL)
        nb_emit_member_text(e, "label", cluster->label);
    emit_words(e, cluster);
    emit_ids(e, "nearest", cluster->nearest, cluster->nearest_count);
    if (with_members)
        emit_ids(e, "members", cluster->members, cluster->member_count);
    nb_emit_close(e, '}');
}

int nb_json_cluster(struct nb_buffer *out, struct nb_string model,
                    const struct nb_cluster_wish *wish, const struct nb_clustering *clustering)
{
    struct nb_emitter e = nb_emit_begin(out);
    nb_emit_open(&e, '{');
    nb_emit_member_string(&e, "model", model);
    nb_emit_member_u64(&e, "seed", wish->seed);
    nb_emit_member_u64(&e, "documents", clustering->documents);
    nb_emit_member_u64(&e, "words", clustering->words);
    nb_emit_member_u64(&e, "iterations", clustering->iterations);
    nb_emit_member_short_double(&e, "log_likelihood", clustering->log_likelihood);
    nb_emit_member_short_double(&e, "bic", clustering->bic);
    if (wish->apply)
        nb_emit_member_u64(&e, "labelled", clustering->labelled);
    nb_emit_key(&e, "clusters");
    nb_emit_open(&e, '[');
    for (size_t i = 0; i < clustering->count; i++)
        emit_cluster(&e, &clustering->clusters[i], wish->members);
    nb_emit_close(&e, ']');
    nb_emit_close(&e, '}');
    return nb_emit_end(&e);
}
