/* SPDX-License-Identifier: Apache-2.0 */
#include "core/networks/network/separation.h"

#include <stdlib.h>

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

/* Where an active path can go on from a node. */
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
