/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables of a learned network (learn.h).
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/networks/network/learn.h"

static int add_node(struct nb_network *network, const struct nb_column *column,
                    struct nb_error *error)
{
    int rc = nb_network_add(network, nb_string_of(column->name), error);
    for (size_t s = 0; rc == 0 && s < column->state_count; s++)
        rc = nb_network_add_state(network, nb_string_of(column->states[s]), error);
    return rc;
}

static int add_nodes(struct nb_network *network, const struct nb_columns *columns,
                     const struct nb_graph *graph, struct nb_error *error)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < columns->count; i++)
        rc = add_node(network, &columns->columns[i], error);
    for (size_t i = 0; rc == 0 && i < columns->count; i++)
        for (size_t p = 0; rc == 0 && p < columns->count; p++)
            if (nb_graph_is_arrow(graph, p, i))
                rc = nb_network_add_parent(network, i, nb_string_of(columns->columns[p].name),
                                           error);
    return rc == 0 ? nb_network_close(network, error) : rc;
}

/* Counts the rows of the table's combinations into the table itself. */
static void count_rows(const struct nb_columns *columns, size_t at, struct nb_network_node *node)
{
    const unsigned char *codes = columns->columns[at].codes;
    for (size_t row = 0; row < columns->rows; row++) {
        bool is_missing = codes[row] == NB_COLUMN_MISSING;
        size_t place = 0;
        for (size_t p = 0; !is_missing && p < node->parent_count; p++) {
            const struct nb_column *parent = &columns->columns[node->parents[p]];
            is_missing = parent->codes[row] == NB_COLUMN_MISSING;
            place = place * parent->state_count + parent->codes[row];
        }
        if (!is_missing)
            node->table[place * node->state_count + codes[row]]++;
    }
}

static void estimate(struct nb_network_node *node, double prior)
{
    for (size_t row = 0; row < node->rows; row++) {
        double *cells = node->table + row * node->state_count;
        double sum = 0;
        for (size_t s = 0; s < node->state_count; s++)
            sum += cells[s];
        for (size_t s = 0; s < node->state_count; s++)
            cells[s] = (cells[s] + prior) / (sum + prior * node->state_count);
    }
}

int nb_learn_tables(const struct nb_columns *columns, const struct nb_graph *graph, double prior,
                    size_t most_cells, struct nb_network **network, struct nb_error *error)
{
    struct nb_network *made = nb_network_new(most_cells);
    assert(prior > 0 && graph->count == columns->count);
    int rc = made == NULL ? nb_error_no_memory(error) : add_nodes(made, columns, graph, error);
    for (size_t i = 0; rc == 0 && i < made->count; i++) {
        count_rows(columns, i, &made->nodes[i]);
        estimate(&made->nodes[i], prior);
    }
    if (rc == 0)
        *network = made;
    else
        nb_network_free(&made);
    return rc;
}
