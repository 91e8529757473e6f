/* SPDX-License-Identifier: Apache-2.0 */
#include "core/networks/network/graph.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct nb_graph *nb_graph_new(size_t count)
{
    struct nb_graph *graph = malloc(sizeof *graph);
    assert(count <= UINT32_MAX / 2);
    if (graph == NULL)
        return NULL;
    *graph = (struct nb_graph){.count = count, .marks = calloc(count * count + 1, 1)};
    if (graph->marks == NULL)
        nb_graph_free(&graph);
    return graph;
}

struct nb_graph *nb_graph_copy(const struct nb_graph *graph)
{
    struct nb_graph *copy = nb_graph_new(graph->count);
    if (copy != NULL)
        memcpy(copy->marks, graph->marks, graph->count * graph->count);
    return copy;
}

void nb_graph_free(struct nb_graph **graph)
{
    if (*graph != NULL)
        free((*graph)->marks);
    free(*graph);
    *graph = NULL;
}

static void set(struct nb_graph *g, size_t a, size_t b, unsigned char there, unsigned char back)
{
    assert(a != b && a < g->count && b < g->count);
    g->marks[a * g->count + b] = there;
    g->marks[b * g->count + a] = back;
}

void nb_graph_arrow(struct nb_graph *graph, size_t from, size_t to)
{
    set(graph, from, to, 1, 0);
}

void nb_graph_line(struct nb_graph *graph, size_t a, size_t b)
{
    set(graph, a, b, 1, 1);
}

void nb_graph_cut(struct nb_graph *graph, size_t a, size_t b)
{
    set(graph, a, b, 0, 0);
}

bool nb_graph_leads(const struct nb_graph *graph, size_t from, size_t to, uint32_t *scratch)
{
    uint32_t *queue = scratch, *seen = scratch + graph->count;
    size_t head = 0, tail = 1;
    memset(seen, 0, graph->count * sizeof *seen);
    queue[0] = (uint32_t)from;
    seen[from] = 1;
    while (head < tail && seen[to] == 0) {
        size_t at = queue[head++];
        for (size_t next = 0; next < graph->count; next++) {
            if (seen[next] != 0 || !nb_graph_is_arrow(graph, at, next))
                continue;
            seen[next] = 1;
            queue[tail++] = (uint32_t)next;
        }
    }
    return seen[to] != 0;
}

/* Whether all parents of the node stand in `order`. */
static bool is_next(const struct nb_graph *g, size_t node, const uint32_t *order, size_t count)
{
    size_t parents = 0, placed = 0;
    for (size_t i = 0; i < g->count; i++)
        parents += nb_graph_mark(g, i, node);
    for (size_t i = 0; i < count; i++) {
        if (order[i] == node)
            return false;
        placed += nb_graph_mark(g, order[i], node);
    }
    return parents == placed;
}

size_t nb_graph_sort(const struct nb_graph *graph, uint32_t *order)
{
    size_t count = 0;
    for (size_t node = 0; node < graph->count; node++) {
        if (!is_next(graph, node, order, count))
            continue;
        order[count++] = (uint32_t)node;
        node = SIZE_MAX; /* from the first one again */
    }
    return count;
}
