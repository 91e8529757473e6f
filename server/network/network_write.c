/* SPDX-License-Identifier: Apache-2.0 */
#include "server/network/network_write.h"

#include <assert.h>

/* ---- a network ------------------------------------------------------------------------------- */

static void emit_table(struct nb_emitter *e, const struct nb_network_node *node)
{
    assert(node->state_count > 0 && node->rows > 0 && node->table != NULL);
    nb_emit_key(e, "table");
    nb_emit_open(e, '[');
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
    nb_emit_key(e, "states");
    nb_emit_open(e, '[');
    for (size_t i = 0; i < node->state_count; i++)
        nb_emit_text(e, node->states[i]);
    nb_emit_close(e, ']');
    nb_emit_key(e, "parents");
    nb_emit_open(e, '[');
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
    nb_emit_key(e, "nodes");
    nb_emit_open(e, '[');
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

/* ---- what was learned ------------------------------------------------------------------------ */

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
    nb_emit_key(e, key);
    nb_emit_open(e, '[');
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
    nb_emit_key(e, "by");
    nb_emit_open(e, '[');
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
    nb_emit_key(e, "separated");
    nb_emit_open(e, '[');
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
    nb_emit_key(e, "conflicts");
    nb_emit_open(e, '[');
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
