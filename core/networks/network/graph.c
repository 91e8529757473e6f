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
    uint32_t *queue;     /* visits to continue from, as indexes of `seen` */
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

static bool is_v_structure(const struct nb_graph *g, size_t a, size_t c, size_t b)
{
    return nb_graph_is_arrow(g, a, c) && nb_graph_is_arrow(g, b, c) &&
           !nb_graph_is_adjacent(g, a, b);
}

/* ---- Meek's rules ---------------------------------------------------------------------------- */

/* c -> a - b with c and b not adjacent: b -> a would be a new v-structure. */
static bool rule_1(const struct nb_graph *g, size_t a, size_t b)
{
    for (size_t c = 0; c < g->count; c++)
        if (c != b && nb_graph_is_arrow(g, c, a) && !nb_graph_is_adjacent(g, c, b))
            return true;
    return false;
}

/* a -> c -> b: b -> a would make a cycle. */
static bool rule_2(const struct nb_graph *g, size_t a, size_t b)
{
    for (size_t c = 0; c < g->count; c++)
        if (nb_graph_is_arrow(g, a, c) && nb_graph_is_arrow(g, c, b))
            return true;
    return false;
}

/* a - c -> b and a - d -> b with c and d not adjacent: b -> a would make c -> a <- d. */
static bool rule_3(const struct nb_graph *g, size_t a, size_t b)
{
    for (size_t c = 0; c < g->count; c++) {
        if (!nb_graph_is_line(g, a, c) || !nb_graph_is_arrow(g, c, b))
            continue;
        for (size_t d = c + 1; d < g->count; d++)
            if (nb_graph_is_line(g, a, d) && nb_graph_is_arrow(g, d, b) &&
                !nb_graph_is_adjacent(g, c, d))
                return true;
    }
    return false;
}

/* Orients a - b as a -> b if a rule says so and no arrows lead back. */
static bool orient(struct nb_graph *g, size_t a, size_t b, const unsigned char *kept,
                   uint32_t *scratch)
{
    if (kept != NULL && kept[a < b ? a * g->count + b : b * g->count + a] != 0)
        return false;
    if (!nb_graph_is_line(g, a, b) || !(rule_1(g, a, b) || rule_2(g, a, b) || rule_3(g, a, b)) ||
        nb_graph_leads(g, b, a, scratch))
        return false;
    nb_graph_arrow(g, a, b);
    return true;
}

int nb_pattern_orient(struct nb_graph *pattern, const unsigned char *kept)
{
    size_t n = pattern->count;
    uint32_t *scratch = malloc((2 * n + 1) * sizeof *scratch);
    bool has_changed = scratch != NULL;
    while (has_changed) {
        has_changed = false;
        for (size_t a = 0; a < n; a++)
            for (size_t b = 0; b < n; b++)
                has_changed = (a != b && orient(pattern, a, b, kept, scratch)) || has_changed;
    }
    free(scratch);
    return scratch == NULL ? NB_NO_MEMORY : 0;
}

struct nb_graph *nb_pattern_of(const struct nb_graph *graph)
{
    struct nb_graph *pattern = nb_graph_new(graph->count);
    size_t n = graph->count;
    if (pattern == NULL)
        return NULL;
    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b < a; b++)
            if (nb_graph_is_adjacent(graph, a, b))
                nb_graph_line(pattern, a, b);
    for (size_t c = 0; c < n; c++)
        for (size_t a = 0; a < n; a++)
            for (size_t b = 0; b < n; b++)
                if (a != b && is_v_structure(graph, a, c, b))
                    nb_graph_arrow(pattern, a, c);
    if (nb_pattern_orient(pattern, NULL) != 0)
        nb_graph_free(&pattern);
    return pattern;
}

/* ---- extensions ------------------------------------------------------------------------------ */

/* Whether all lines at `node` may point to it: no arrow leaves it, and each node with a line to it
 * is adjacent to all other neighbours of `node`. Nodes already `taken` do not count. */
static bool may_be_last(const struct nb_graph *g, const unsigned char *taken, size_t node)
{
    for (size_t a = 0; a < g->count; a++) {
        if (a == node || taken[a] != 0)
            continue;
        if (nb_graph_is_arrow(g, node, a))
            return false;
        if (!nb_graph_is_line(g, node, a))
            continue;
        for (size_t b = 0; b < g->count; b++)
            if (b != a && b != node && taken[b] == 0 && nb_graph_is_adjacent(g, node, b) &&
                !nb_graph_is_adjacent(g, a, b))
                return false;
    }
    return true;
}

static size_t find_last(const struct nb_graph *g, const unsigned char *taken)
{
    for (size_t node = 0; node < g->count; node++)
        if (taken[node] == 0 && may_be_last(g, taken, node))
            return node;
    return SIZE_MAX;
}

/* Gives every line a direction: lines to the last node first, then to the last of the others. */
static bool extend(struct nb_graph *g, unsigned char *taken)
{
    for (size_t i = 0; i < g->count; i++) {
        size_t node = find_last(g, taken);
        if (node == SIZE_MAX)
            return false;
        taken[node] = 1;
        for (size_t a = 0; a < g->count; a++)
            if (taken[a] == 0 && nb_graph_is_line(g, a, node))
                nb_graph_arrow(g, a, node);
    }
    return true;
}

int nb_pattern_extend(const struct nb_graph *pattern, struct nb_graph **extension)
{
    struct nb_graph *graph = nb_graph_copy(pattern);
    unsigned char *taken = calloc(pattern->count + 1, 1);
    int rc = graph == NULL || taken == NULL ? NB_NO_MEMORY : 0;
    if (rc == 0 && !extend(graph, taken))
        nb_graph_free(&graph);
    free(taken);
    if (rc != 0)
        nb_graph_free(&graph);
    *extension = graph;
    return rc;
}

/* ---- equivalence ----------------------------------------------------------------------------- */

static struct nb_pattern_answer compare_edges(const struct nb_graph *f, const struct nb_graph *s)
{
    for (size_t a = 0; a < f->count; a++)
        for (size_t b = a + 1; b < f->count; b++)
            if (nb_graph_is_adjacent(f, a, b) != nb_graph_is_adjacent(s, a, b))
                return (struct nb_pattern_answer){NB_PATTERN_EDGE, nb_graph_is_adjacent(f, a, b), a,
                                                  b, SIZE_MAX};
    return (struct nb_pattern_answer){.difference = NB_PATTERN_SAME};
}

struct nb_pattern_answer nb_pattern_compare(const struct nb_graph *f, const struct nb_graph *s)
{
    assert(f->count == s->count);
    struct nb_pattern_answer answer = compare_edges(f, s);
    for (size_t c = 0; answer.difference == NB_PATTERN_SAME && c < f->count; c++)
        for (size_t a = 0; a < f->count; a++)
            for (size_t b = a + 1; b < f->count; b++)
                if (is_v_structure(f, a, c, b) != is_v_structure(s, a, c, b))
                    return (struct nb_pattern_answer){NB_PATTERN_V_STRUCTURE,
                                                      is_v_structure(f, a, c, b), a, b, c};
    return answer;
}
