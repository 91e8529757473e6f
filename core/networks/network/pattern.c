/* SPDX-License-Identifier: Apache-2.0 */
#include "core/networks/network/pattern.h"

#include <assert.h>
#include <stdlib.h>

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
