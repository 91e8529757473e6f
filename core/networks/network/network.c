/* SPDX-License-Identifier: Apache-2.0 */
#include "core/networks/network/network.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "core/base/array.h"
#include "core/base/string.h"

struct nb_network *nb_network_new(size_t most_cells)
{
    struct nb_network *network = calloc(1, sizeof *network);
    if (network != NULL)
        network->most_cells = most_cells;
    return network;
}

static void node_deinit(struct nb_network_node *node)
{
    nb_strings_free(node->states, node->state_count);
    free(node->name);
    free(node->parents);
    free(node->table);
}

void nb_network_free(struct nb_network **network)
{
    if (*network == NULL)
        return;
    for (size_t i = 0; i < (*network)->count; i++)
        node_deinit(&(*network)->nodes[i]);
    free((*network)->nodes);
    free((*network)->order);
    free(*network);
    *network = NULL;
}

/* ---- names ----------------------------------------------------------------------------------- */

int nb_network_check_name(struct nb_string name, const char *what, struct nb_error *error)
{
    if (name.length >= 1 && name.length <= NB_NETWORK_NAME_BYTES && nb_utf8_is_valid(name) &&
        !nb_utf8_has_control(name))
        return 0;
    return nb_error_set(error, NB_UNUSABLE,
                        "%s is 1 to %d bytes of UTF-8 without control characters", what,
                        NB_NETWORK_NAME_BYTES);
}

size_t nb_network_find(const struct nb_network *network, struct nb_string name)
{
    for (size_t i = 0; i < network->count; i++)
        if (nb_string_equals(name, network->nodes[i].name))
            return i;
    return SIZE_MAX;
}

size_t nb_network_find_state(const struct nb_network_node *node, struct nb_string state)
{
    for (size_t i = 0; i < node->state_count; i++)
        if (nb_string_equals(state, node->states[i]))
            return i;
    return SIZE_MAX;
}

int nb_network_append_state(char ***states, uint32_t *count, struct nb_string state,
                            struct nb_error *error)
{
    char **more = realloc(*states, (*count + 1) * sizeof *more);
    if (more == NULL)
        return nb_error_no_memory(error);
    *states = more;
    more[*count] = nb_string_copy(state);
    if (more[*count] == NULL)
        return nb_error_no_memory(error);
    ++*count;
    return 0;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

int nb_network_add(struct nb_network *network, struct nb_string name, struct nb_error *error)
{
    assert(network->order == NULL);
    int rc = nb_network_check_name(name, "the name of a node", error);
    if (rc != 0)
        return rc;
    if (nb_network_find(network, name) != SIZE_MAX)
        return nb_error_set(error, NB_INVALID, "node '%.*s' is there twice", (int)name.length,
                            name.bytes);
    if (network->count >= NB_NETWORK_NODES)
        return nb_error_set(error, NB_TOO_LARGE, "a network has at most %d nodes",
                            NB_NETWORK_NODES);
    if (nb_array_reserve(&network->nodes, &network->room, network->count + 1,
                         sizeof *network->nodes) != 0)
        return nb_error_no_memory(error);
    struct nb_network_node node = {.name = nb_string_copy(name)};
    if (node.name == NULL)
        return nb_error_no_memory(error);
    network->nodes[network->count++] = node;
    return 0;
}

int nb_network_add_state(struct nb_network *network, struct nb_string state, struct nb_error *error)
{
    assert(network->count > 0 && network->order == NULL);
    struct nb_network_node *node = &network->nodes[network->count - 1];
    int rc = nb_network_check_name(state, "the name of a state", error);
    if (rc != 0)
        return rc;
    if (nb_network_find_state(node, state) != SIZE_MAX)
        return nb_error_set(error, NB_INVALID, "node '%s' has the state '%.*s' twice", node->name,
                            (int)state.length, state.bytes);
    if (node->state_count >= NB_NETWORK_STATES)
        return nb_error_set(error, NB_TOO_LARGE, "node '%s': a node has at most %d states",
                            node->name, NB_NETWORK_STATES);
    return nb_network_append_state(&node->states, &node->state_count, state, error);
}

int nb_network_add_parent(struct nb_network *network, size_t at, struct nb_string parent,
                          struct nb_error *error)
{
    assert(at < network->count && network->order == NULL);
    struct nb_network_node *node = &network->nodes[at];
    size_t found = nb_network_find(network, parent);
    if (found == SIZE_MAX)
        return nb_error_set(
            error, NB_INVALID, "node '%s': there is no node '%.*s' to be a parent", node->name,
            (int)(parent.length < NB_NETWORK_NAME_BYTES ? parent.length : NB_NETWORK_NAME_BYTES),
            parent.bytes);
    if (found == at)
        return nb_error_set(error, NB_INVALID, "node '%s' is its own parent", node->name);
    for (size_t i = 0; i < node->parent_count; i++)
        if (node->parents[i] == found)
            return nb_error_set(error, NB_INVALID, "node '%s' has the parent '%.*s' twice",
                                node->name, (int)parent.length, parent.bytes);
    uint32_t *parents = realloc(node->parents, (node->parent_count + 1) * sizeof *parents);
    if (parents == NULL)
        return nb_error_no_memory(error);
    node->parents = parents;
    parents[node->parent_count++] = (uint32_t)found;
    return 0;
}

/* ---- order and tables ------------------------------------------------------------------------ */

static bool is_in(const uint32_t *list, size_t count, size_t wanted)
{
    for (size_t i = 0; i < count; i++)
        if (list[i] == wanted)
            return true;
    return false;
}

/* Returns a parent of the node that has no place in the order. */
static size_t unordered_parent(const struct nb_network *network, size_t node, size_t ordered)
{
    const struct nb_network_node *n = &network->nodes[node];
    size_t i = 0;
    while (is_in(network->order, ordered, n->parents[i]))
        i++;
    return n->parents[i];
}

/* From a node without a place in the order, parents without one lead into the cycle: after as many
 * steps as there are nodes, the walk is inside it. */
static int refuse_cycle(const struct nb_network *network, size_t ordered, struct nb_error *error)
{
    size_t at = 0;
    while (is_in(network->order, ordered, at))
        at++;
    for (size_t i = 0; i < network->count; i++)
        at = unordered_parent(network, at, ordered);
    return nb_error_set(error, NB_INVALID,
                        "node '%s' is an ancestor of itself, by way of its parent '%s': parents "
                        "must make no cycle",
                        network->nodes[at].name,
                        network->nodes[unordered_parent(network, at, ordered)].name);
}

static int find_order(struct nb_network *network, struct nb_error *error)
{
    struct nb_graph *graph = nb_network_graph(network);
    uint32_t *order = malloc((network->count + 1) * sizeof *order);
    if (graph == NULL || order == NULL) {
        nb_graph_free(&graph);
        free(order);
        return nb_error_no_memory(error);
    }
    network->order = order;
    size_t ordered = nb_graph_sort(graph, order);
    nb_graph_free(&graph);
    return ordered == network->count ? 0 : refuse_cycle(network, ordered, error);
}

static int make_table(struct nb_network *network, struct nb_network_node *node,
                      struct nb_error *error)
{
    size_t left = network->most_cells - network->cells;
    if (node->state_count == 0)
        return nb_error_set(error, NB_INVALID, "node '%s' has no states", node->name);
    node->rows = 1;
    for (size_t i = 0; i < node->parent_count && node->rows <= left; i++)
        node->rows *= network->nodes[node->parents[i]].state_count;
    if (node->rows > left / node->state_count)
        return nb_error_set(error, NB_TOO_LARGE,
                            "node '%s': with its table the network has more than %zu probabilities "
                            "([networks] table_cells)",
                            node->name, network->most_cells);
    network->cells += node->rows * node->state_count;
    node->table = calloc(node->rows * node->state_count, sizeof *node->table);
    return node->table == NULL ? nb_error_no_memory(error) : 0;
}

int nb_network_close(struct nb_network *network, struct nb_error *error)
{
    assert(network->order == NULL);
    if (network->count == 0)
        return nb_error_set(error, NB_INVALID, "a network has at least one node");
    int rc = find_order(network, error);
    for (size_t i = 0; rc == 0 && i < network->count; i++)
        rc = make_table(network, &network->nodes[i], error);
    return rc;
}

int nb_network_set_row(struct nb_network *network, size_t at, size_t row, const double *values,
                       size_t count, struct nb_error *error)
{
    assert(at < network->count && row < network->nodes[at].rows);
    struct nb_network_node *node = &network->nodes[at];
    double sum = 0;
    if (count != node->state_count)
        return nb_error_set(error, NB_INVALID,
                            "node '%s': row %zu of the table has %zu probabilities, the node has "
                            "%u states",
                            node->name, row + 1, count, node->state_count);
    for (size_t i = 0; i < count; i++) {
        if (!(values[i] >= 0 && values[i] <= 1))
            return nb_error_set(error, NB_INVALID,
                                "node '%s': row %zu of the table has %g; a probability is 0 to 1",
                                node->name, row + 1, values[i]);
        sum += values[i];
        node->table[row * count + i] = values[i];
    }
    if (fabs(sum - 1) <= NB_NETWORK_SUM_TOLERANCE)
        return 0;
    return nb_error_set(error, NB_INVALID, "node '%s': row %zu of the table sums to %.9g, not to 1",
                        node->name, row + 1, sum);
}

size_t nb_network_row(const struct nb_network *network, size_t at, const uint32_t *states)
{
    const struct nb_network_node *node = &network->nodes[at];
    size_t row = 0;
    for (size_t i = 0; i < node->parent_count; i++)
        row = row * network->nodes[node->parents[i]].state_count + states[node->parents[i]];
    return row;
}

struct nb_graph *nb_network_graph(const struct nb_network *network)
{
    struct nb_graph *graph = nb_graph_new(network->count);
    for (size_t i = 0; graph != NULL && i < network->count; i++)
        for (size_t p = 0; p < network->nodes[i].parent_count; p++)
            graph->marks[network->nodes[i].parents[p] * network->count + i] = 1;
    return graph;
}
