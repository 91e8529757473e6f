/* SPDX-License-Identifier: Apache-2.0 */
#include "server/api/network_json.h"

#include <assert.h>
#include <stdlib.h>

#include "server/base/json_values.h"

/* ---- reading a network ----------------------------------------------------------------------- */

enum { NAME, STATES, PARENTS, TABLE, NODE_MEMBERS };

static const struct nb_json_member node_members[NODE_MEMBERS] = {
    [NAME] = {"name", NB_TYPE_STRING, true},
    [STATES] = {"states", NB_TYPE_ARRAY, true},
    [PARENTS] = {"parents", NB_TYPE_ARRAY, false},
    [TABLE] = {"table", NB_TYPE_ARRAY, true},
};

static const struct nb_json_member network_members[] = {{"nodes", NB_TYPE_ARRAY, true}};

/* Returns the most JSON values of a network: its probabilities and their rows, the states, parents
 * and members of its nodes, and some around them. */
static size_t most_values(size_t cells)
{
    return 2 * cells +
           (size_t)NB_NETWORK_NODES * (NB_NETWORK_STATES + NB_NETWORK_NODES + NODE_MEMBERS) + 8;
}

static int read_string(const json_t *value, const char *what, struct nb_string *text,
                       struct nb_error *error)
{
    if (!json_is_string(value))
        return nb_error_set(error, NB_INVALID, "%s is a string, not %s", what,
                            nb_json_type_name(value));
    *text = nb_json_text(value);
    return 0;
}

static int read_node(struct nb_network *network, const json_t *const *values,
                     struct nb_error *error)
{
    size_t count = json_array_size(values[STATES]);
    struct nb_string state;
    int rc = nb_network_add(network, nb_json_text(values[NAME]), error);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        rc = read_string(json_array_get(values[STATES], i), "the name of a state", &state, error);
        if (rc == 0)
            rc = nb_network_add_state(network, state, error);
    }
    return rc;
}

static int read_parents(struct nb_network *network, size_t node, const json_t *list,
                        struct nb_error *error)
{
    struct nb_string parent;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < json_array_size(list); i++) {
        rc = read_string(json_array_get(list, i), "the name of a parent", &parent, error);
        if (rc == 0)
            rc = nb_network_add_parent(network, node, parent, error);
    }
    return rc;
}

static int read_row(struct nb_network *network, size_t at, size_t row, const json_t *list,
                    struct nb_error *error)
{
    const struct nb_network_node *node = &network->nodes[at];
    double values[NB_NETWORK_STATES];
    size_t count = json_array_size(list); /* 0 if it is not an array */
    if (!json_is_array(list))
        return nb_error_set(error, NB_INVALID,
                            "node '%s': a table is an array of rows, one for each combination of "
                            "the parents' states, and a row an array of probabilities",
                            node->name);
    for (size_t i = 0; i < count && i < NB_NETWORK_STATES; i++) {
        if (!json_is_number(json_array_get(list, i)))
            return nb_error_set(error, NB_INVALID, "node '%s': row %zu of the table has %s",
                                node->name, row + 1, nb_json_type_name(json_array_get(list, i)));
        values[i] = json_number_value(json_array_get(list, i));
    }
    return nb_network_set_row(network, at, row, values, count, error);
}

static int read_table(struct nb_network *network, size_t at, const json_t *list,
                      struct nb_error *error)
{
    const struct nb_network_node *node = &network->nodes[at];
    int rc = 0;
    if (json_array_size(list) != node->rows)
        return nb_error_set(error, NB_INVALID,
                            "node '%s': the table has %zu rows; the parents' states make %zu "
                            "combinations, and each has a row",
                            node->name, json_array_size(list), node->rows);
    for (size_t row = 0; rc == 0 && row < node->rows; row++)
        rc = read_row(network, at, row, json_array_get(list, row), error);
    return rc;
}

static int take_node(const json_t *nodes, size_t i, const json_t **values, struct nb_error *error)
{
    return nb_json_take(json_array_get(nodes, i), "a node", node_members, NODE_MEMBERS, values,
                        error);
}

/* Reads the names of all nodes first: parents may come after their children. */
static int read_nodes(struct nb_network *network, const json_t *nodes, struct nb_error *error)
{
    const json_t *values[NODE_MEMBERS];
    size_t count = json_array_size(nodes);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        rc = take_node(nodes, i, values, error);
        if (rc == 0)
            rc = read_node(network, values, error);
    }
    for (size_t i = 0; rc == 0 && i < count; i++) {
        rc = take_node(nodes, i, values, error);
        if (rc == 0 && values[PARENTS] != NULL)
            rc = read_parents(network, i, values[PARENTS], error);
    }
    if (rc == 0)
        rc = nb_network_close(network, error);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        rc = take_node(nodes, i, values, error);
        if (rc == 0)
            rc = read_table(network, i, values[TABLE], error);
    }
    return rc;
}

int nb_network_read(struct nb_string text, size_t most_cells, struct nb_network **network,
                    struct nb_error *error)
{
    const json_t *nodes;
    json_t *object;
    int rc = nb_json_load(text, most_values(most_cells), &object, error);
    if (rc != 0)
        return rc;
    struct nb_network *read = nb_network_new(most_cells);
    if (read == NULL)
        rc = nb_error_no_memory(error);
    if (rc == 0)
        rc = nb_json_take(object, "a network", network_members, 1, &nodes, error);
    if (rc == 0)
        rc = read_nodes(read, nodes, error);
    json_decref(object);
    if (rc == 0)
        *network = read;
    else
        nb_network_free(&read);
    return rc;
}

/* ---- reading a question ---------------------------------------------------------------------- */

enum { OF, EVIDENCE, SAMPLES, SEED, INDEPENDENT, GIVEN, EQUIVALENT, QUESTION_MEMBERS };

static const struct nb_json_member question_members[QUESTION_MEMBERS] = {
    [OF] = {"of", NB_TYPE_ARRAY, false},
    [EVIDENCE] = {"evidence", NB_TYPE_OBJECT, false},
    [SAMPLES] = {"samples", NB_TYPE_COUNT, false},
    [SEED] = {"seed", NB_TYPE_COUNT, false},
    [INDEPENDENT] = {"independent", NB_TYPE_ARRAY, false},
    [GIVEN] = {"given", NB_TYPE_ARRAY, false},
    [EQUIVALENT] = {"equivalent", NB_TYPE_STRING | NB_TYPE_OBJECT, false},
};

void nb_network_question_deinit(struct nb_network_question *question)
{
    free(question->other);
    nb_graph_free(&question->graph);
}

static int find_node(const struct nb_network *network, struct nb_string name, size_t *node,
                     struct nb_error *error)
{
    *node = nb_network_find(network, name);
    if (*node != SIZE_MAX)
        return 0;
    return nb_error_set(
        error, NB_INVALID, "the network has no node '%.*s'",
        (int)(name.length < NB_NETWORK_NAME_BYTES ? name.length : NB_NETWORK_NAME_BYTES),
        name.bytes);
}

static int read_evidence(const json_t *object, const struct nb_network *network,
                         struct nb_network_evidence *evidence, struct nb_error *error)
{
    int rc = 0;
    json_t *all = (json_t *)(uintptr_t)object; /* iterators only read it */
    for (void *at = json_object_iter(all); rc == 0 && at != NULL;
         at = json_object_iter_next(all, at)) {
        struct nb_string name = {json_object_iter_key(at), json_object_iter_key_len(at)}, state;
        size_t node;
        rc = find_node(network, name, &node, error);
        if (rc == 0)
            rc = read_string(json_object_iter_value(at), "the state of a node in `evidence`",
                             &state, error);
        if (rc != 0)
            break;
        size_t found = nb_network_find_state(&network->nodes[node], state);
        evidence->states[node] = (uint32_t)found;
        if (found == SIZE_MAX)
            rc = nb_error_set(
                error, NB_INVALID, "node '%s' has no state '%.*s'", network->nodes[node].name,
                (int)(state.length < NB_NETWORK_NAME_BYTES ? state.length : NB_NETWORK_NAME_BYTES),
                state.bytes);
    }
    return rc;
}

/* Reads a name, or an array of names. */
static int read_set(const json_t *value, const struct nb_network *network, const char *what,
                    nb_node_set *set, struct nb_error *error)
{
    size_t count = json_is_array(value) ? json_array_size(value) : 1, node;
    struct nb_string name;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        rc = read_string(json_is_array(value) ? json_array_get(value, i) : value, what, &name,
                         error);
        if (rc == 0)
            rc = find_node(network, name, &node, error);
        if (rc == 0)
            set[node] = 1;
    }
    return rc;
}

static int check_sets(const struct nb_network *network, const struct nb_network_question *q,
                      struct nb_error *error)
{
    for (size_t i = 0; i < network->count; i++)
        if (q->from[i] + q->to[i] + q->given[i] > 1)
            return nb_error_set(error, NB_INVALID,
                                "node '%s' is in two of the sets of `independent` and `given`",
                                network->nodes[i].name);
    return 0;
}

static int read_independent(const json_t *const *values, const struct nb_network *network,
                            struct nb_network_question *q, struct nb_error *error)
{
    const json_t *pair = values[INDEPENDENT];
    if (json_array_size(pair) != 2)
        return nb_error_set(error, NB_INVALID,
                            "`independent` has two elements, each a node or an array of nodes");
    q->verb = NB_NETWORK_INDEPENDENT;
    int rc = read_set(json_array_get(pair, 0), network, "a node of `independent`", q->from, error);
    if (rc == 0)
        rc = read_set(json_array_get(pair, 1), network, "a node of `independent`", q->to, error);
    if (rc == 0 && values[GIVEN] != NULL)
        rc = read_set(values[GIVEN], network, "a node of `given`", q->given, error);
    return rc != 0 ? rc : check_sets(network, q, error);
}

static int check_graph(const struct nb_graph *graph, struct nb_error *error)
{
    uint32_t order[NB_NETWORK_NODES];
    if (nb_graph_sort(graph, order) == graph->count)
        return 0;
    return nb_error_set(error, NB_INVALID, "the parents in `equivalent` make a cycle");
}

/* Reads {"node": ["parent", ...], ...}. Nodes that are left out have no parents. */
static int read_graph(const json_t *object, const struct nb_network *network,
                      struct nb_network_question *q, struct nb_error *error)
{
    nb_node_set parents[NB_NETWORK_NODES];
    int rc = 0;
    json_t *all = (json_t *)(uintptr_t)object; /* iterators only read it */
    q->graph = nb_graph_new(network->count);
    if (q->graph == NULL)
        return nb_error_no_memory(error);
    for (void *at = json_object_iter(all); rc == 0 && at != NULL;
         at = json_object_iter_next(all, at)) {
        struct nb_string name = {json_object_iter_key(at), json_object_iter_key_len(at)};
        size_t node;
        memset(parents, 0, sizeof parents);
        rc = find_node(network, name, &node, error);
        if (rc == 0)
            rc = read_set(json_object_iter_value(at), network, "a parent in `equivalent`", parents,
                          error);
        if (rc == 0 && parents[node] != 0)
            rc = nb_error_set(error, NB_INVALID, "node '%s' is its own parent",
                              network->nodes[node].name);
        for (size_t p = 0; rc == 0 && p < network->count; p++)
            if (parents[p] != 0)
                q->graph->marks[p * network->count + node] = 1;
    }
    return rc != 0 ? rc : check_graph(q->graph, error);
}

static int read_equivalent(const json_t *value, const struct nb_network *network,
                           struct nb_network_question *q, struct nb_error *error)
{
    q->verb = NB_NETWORK_EQUIVALENT;
    if (json_is_object(value))
        return read_graph(value, network, q, error);
    q->other = nb_string_copy(nb_json_text(value));
    return q->other == NULL ? nb_error_no_memory(error) : 0;
}

static int read_number(const json_t *value, const char *what, uint64_t *number,
                       struct nb_error *error)
{
    if (json_integer_value(value) < 0)
        return nb_error_set(error, NB_INVALID, "`%s` is a whole number from 0", what);
    *number = (uint64_t)json_integer_value(value);
    return 0;
}

static int read_samples(const json_t *const *values, struct nb_network_question *q,
                        struct nb_error *error)
{
    q->verb = NB_NETWORK_SAMPLES;
    int rc = read_number(values[SAMPLES], "samples", &q->samples, error);
    return rc == 0 && values[SEED] != NULL ? read_number(values[SEED], "seed", &q->seed, error)
                                           : rc;
}

/* Reads `of`. Without it the targets are all nodes whose state is unknown. */
static int read_targets(const json_t *list, const struct nb_network *network,
                        struct nb_network_question *q, struct nb_error *error)
{
    q->verb = NB_NETWORK_PROBABILITIES;
    for (size_t i = 0; list == NULL && i < network->count; i++)
        q->targets[i] = q->evidence.states[i] == UINT32_MAX;
    return list == NULL ? 0 : read_set(list, network, "a node of `of`", q->targets, error);
}

/* Refuses members that belong to different questions. */
static int check_members(const json_t *const *values, struct nb_error *error)
{
    int kinds = (values[OF] != NULL) + (values[SAMPLES] != NULL) + (values[INDEPENDENT] != NULL) +
                (values[EQUIVALENT] != NULL);
    bool is_of_graph = values[INDEPENDENT] != NULL || values[EQUIVALENT] != NULL;
    if (kinds > 1)
        return nb_error_set(error, NB_INVALID,
                            "a question has one of `of`, `samples`, `independent` and "
                            "`equivalent`");
    if (values[SEED] != NULL && values[SAMPLES] == NULL)
        return nb_error_set(error, NB_INVALID, "`seed` belongs to `samples`");
    if (values[GIVEN] != NULL && values[INDEPENDENT] == NULL)
        return nb_error_set(error, NB_INVALID,
                            "`given` belongs to `independent`; what is known of the nodes' states "
                            "is `evidence`");
    if (values[EVIDENCE] != NULL && is_of_graph)
        return nb_error_set(error, NB_INVALID,
                            "`evidence` does not belong to `independent` or `equivalent`, which "
                            "the graph alone answers");
    return 0;
}

static int read_question(const json_t *const *values, const struct nb_network *network,
                         struct nb_network_question *q, struct nb_error *error)
{
    int rc = check_members(values, error);
    if (rc == 0 && values[EVIDENCE] != NULL)
        rc = read_evidence(values[EVIDENCE], network, &q->evidence, error);
    if (rc != 0)
        return rc;
    if (values[SAMPLES] != NULL)
        return read_samples(values, q, error);
    if (values[INDEPENDENT] != NULL)
        return read_independent(values, network, q, error);
    if (values[EQUIVALENT] != NULL)
        return read_equivalent(values[EQUIVALENT], network, q, error);
    return read_targets(values[OF], network, q, error);
}

int nb_network_question_read(struct nb_string text, const struct nb_network *network,
                             struct nb_network_question *question, struct nb_error *error)
{
    const json_t *values[QUESTION_MEMBERS];
    json_t *object;
    *question = (struct nb_network_question){.evidence = nb_network_evidence_none()};
    int rc = nb_json_load(text, most_values(0), &object, error);
    if (rc != 0)
        return rc;
    rc = nb_json_take(object, "a question", question_members, QUESTION_MEMBERS, values, error);
    if (rc == 0)
        rc = read_question(values, network, question, error);
    json_decref(object);
    if (rc != 0)
        nb_network_question_deinit(question);
    return rc;
}

/* ---- writing a network ----------------------------------------------------------------------- */

static void emit_table(struct nb_emitter *e, const struct nb_network_node *node)
{
    assert(node->state_count > 0 && node->rows > 0 && node->table != NULL);
    nb_emit_member_open(e, "table", '[');
    for (size_t row = 0; row < node->rows; row++) {
        nb_emit_open(e, '[');
        for (size_t s = 0; s < node->state_count; s++)
            nb_emit_short_double(e, node->table[row * node->state_count + s]);
        nb_emit_close(e, ']');
    }
    nb_emit_close(e, ']');
}

static void emit_node(struct nb_emitter *e, const struct nb_network *network,
                      const struct nb_network_node *node)
{
    nb_emit_open(e, '{');
    nb_emit_member_text(e, "name", node->name);
    nb_emit_member_open(e, "states", '[');
    for (size_t i = 0; i < node->state_count; i++)
        nb_emit_text(e, node->states[i]);
    nb_emit_close(e, ']');
    nb_emit_member_open(e, "parents", '[');
    for (size_t i = 0; i < node->parent_count; i++) {
        assert(node->parents[i] < network->count);
        nb_emit_text(e, network->nodes[node->parents[i]].name);
    }
    nb_emit_close(e, ']');
    emit_table(e, node);
    nb_emit_close(e, '}');
}

void nb_emit_nodes(struct nb_emitter *e, const struct nb_network *network)
{
    nb_emit_member_open(e, "nodes", '[');
    for (size_t i = 0; i < network->count; i++)
        emit_node(e, network, &network->nodes[i]);
    nb_emit_close(e, ']');
}

int nb_network_write(const struct nb_network *network, struct nb_buffer *out)
{
    struct nb_emitter e = nb_emit_begin(out);
    nb_emit_open(&e, '{');
    nb_emit_nodes(&e, network);
    nb_emit_close(&e, '}');
    return nb_emit_end(&e);
}

/* ---- writing what was learned ---------------------------------------------------------------- */

void nb_emit_pair(struct nb_emitter *e, const char *a, const char *b)
{
    nb_emit_open(e, '[');
    nb_emit_text(e, a);
    nb_emit_text(e, b);
    nb_emit_close(e, ']');
}

static void emit_edges(struct nb_emitter *e, const char *key, const struct nb_columns *columns,
                       const struct nb_graph *pattern, bool directed)
{
    size_t n = pattern->count;
    assert(n == columns->count); /* a node for each column */
    nb_emit_member_open(e, key, '[');
    for (size_t a = 0; a < n; a++)
        for (size_t b = directed ? 0 : a + 1; b < n; b++)
            if (a != b &&
                (directed ? nb_graph_is_arrow(pattern, a, b) : nb_graph_is_line(pattern, a, b)))
                nb_emit_pair(e, columns->columns[a].name, columns->columns[b].name);
    nb_emit_close(e, ']');
}

static void emit_separator(struct nb_emitter *e, const struct nb_columns *columns, size_t a,
                           size_t b, const struct nb_separator *separator)
{
    assert(a < columns->count && b < columns->count);
    nb_emit_open(e, '{');
    nb_emit_key(e, "pair");
    nb_emit_pair(e, columns->columns[a].name, columns->columns[b].name);
    nb_emit_member_open(e, "by", '[');
    for (size_t i = 0; i < separator->count; i++)
        nb_emit_text(e, columns->columns[separator->nodes[i]].name);
    nb_emit_close(e, ']');
    nb_emit_member_short_double(e, "p", separator->p);
    nb_emit_close(e, '}');
}

static void emit_separators(struct nb_emitter *e, const struct nb_columns *columns,
                            const struct nb_learned *learned)
{
    size_t n = learned->pattern->count;
    nb_emit_member_open(e, "separated", '[');
    for (size_t a = 0; a < n; a++)
        for (size_t b = a + 1; b < n; b++)
            if (!nb_graph_is_adjacent(learned->pattern, a, b))
                emit_separator(e, columns, a, b, &learned->separators[a * n + b]);
    nb_emit_close(e, ']');
}

static void emit_conflicts(struct nb_emitter *e, const struct nb_columns *columns,
                           const struct nb_learned *learned)
{
    size_t n = learned->pattern->count;
    nb_emit_member_open(e, "conflicts", '[');
    for (size_t a = 0; a < n; a++)
        for (size_t b = a + 1; b < n; b++)
            if (learned->conflicts[a * n + b] != 0)
                nb_emit_pair(e, columns->columns[a].name, columns->columns[b].name);
    nb_emit_close(e, ']');
}

void nb_emit_learned(struct nb_emitter *e, const struct nb_columns *columns,
                     const struct nb_learned *learned)
{
    emit_edges(e, "directed", columns, learned->pattern, true);
    emit_edges(e, "undirected", columns, learned->pattern, false);
    emit_separators(e, columns, learned);
    emit_conflicts(e, columns, learned);
    nb_emit_member_u64(e, "tests", learned->tests);
    nb_emit_member_u64(e, "untested", learned->untested);
}
