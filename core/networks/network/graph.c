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

/* Whether all parents of the node are in `order`. */
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
        node = SIZE_MAX; /* begin at the first node again */
    }
    return count;
}

/* A node is visited in two ways: from a child (UP), and from a parent (DOWN). */
enum { UP, DOWN, WAYS };

struct walk {
    const struct nb_graph *graph;
    const nb_node_set *given;
    nb_node_set *opens;  /* nodes that are given or have a given descendant */
    unsigned char *seen; /* [WAYS * node + way] */
    uint32_t *queue;     /* the same numbers */
    size_t head, tail;
};

static void visit(struct walk *w, size_t node, int way)
{
    size_t at = WAYS * node + (size_t)way;
    if (w->seen[at] != 0)
        return;
    w->seen[at] = 1;
    w->queue[w->tail++] = (uint32_t)at;
}

static void to_parents(struct walk *w, size_t node)
{
    for (size_t i = 0; i < w->graph->count; i++)
        if (nb_graph_is_arrow(w->graph, i, node))
            visit(w, i, UP);
}

static void to_children(struct walk *w, size_t node)
{
    for (size_t i = 0; i < w->graph->count; i++)
        if (nb_graph_is_arrow(w->graph, node, i))
            visit(w, i, DOWN);
}

/* Continues active paths from a node. */
static void step(struct walk *w, size_t node, int way)
{
    bool is_given = w->given[node] != 0;
    if (way == UP ? !is_given : w->opens[node] != 0)
        to_parents(w, node);
    if (!is_given)
        to_children(w, node);
}

/* The given nodes and their ancestors. */
static void find_openers(struct walk *w)
{
    size_t n = w->graph->count;
    w->head = w->tail = 0;
    for (size_t i = 0; i < n; i++)
        if (w->given[i] != 0)
            visit(w, i, UP);
    while (w->head < w->tail)
        to_parents(w, w->queue[w->head++] / WAYS);
    for (size_t i = 0; i < n; i++) {
        w->opens[i] = w->seen[WAYS * i + UP];
        w->seen[WAYS * i + UP] = 0;
    }
}

static bool reaches(struct walk *w, const nb_node_set *from, const nb_node_set *to)
{
    find_openers(w);
    w->head = w->tail = 0;
    for (size_t i = 0; i < w->graph->count; i++)
        if (from[i] != 0)
            visit(w, i, UP);
    while (w->head < w->tail) {
        size_t at = w->queue[w->head++];
        if (to[at / WAYS] != 0)
            return true;
        step(w, at / WAYS, (int)(at % WAYS));
    }
    return false;
}

int nb_graph_separates(const struct nb_graph *graph, const nb_node_set *from, const nb_node_set *to,
                       const nb_node_set *given, bool *separated)
{
    size_t n = graph->count;
    struct walk w = {.graph = graph, .given = given};
    w.opens = malloc(n + 1);
    w.seen = calloc(WAYS * n + 1, 1);
    w.queue = malloc((WAYS * n + 1) * sizeof *w.queue);
    bool is_ready = w.opens != NULL && w.seen != NULL && w.queue != NULL;
    if (is_ready)
        *separated = !reaches(&w, from, to);
    free(w.opens);
    free(w.seen);
    free(w.queue);
    return is_ready ? 0 : NB_NO_MEMORY;
}
