/* SPDX-License-Identifier: Apache-2.0 */
#include "server/api/draw.h"

#include <assert.h>
#include <stdlib.h>

/* Sizes in pixels. */
enum { CHARACTER = 8, PADDING = 16, HEIGHT = 32, GAP = 24, LAYER = 84, MARGIN = 16 };

/* ---- DOT ------------------------------------------------------------------------------------- */

/* Appends a name in quotes. Backslashes are escaped: Graphviz gives them a meaning. */
static int put_quoted(struct nb_buffer *out, struct nb_string name)
{
    int rc = nb_buffer_puts(out, "\"");
    for (size_t i = 0; rc == 0 && i < name.length; i++) {
        if (name.bytes[i] == '"' || name.bytes[i] == '\\')
            rc = nb_buffer_puts(out, "\\");
        if (rc == 0)
            rc = nb_buffer_append(out, name.bytes + i, 1);
    }
    return rc == 0 ? nb_buffer_puts(out, "\"") : rc;
}

static int put_node(const struct nb_network *network, size_t at, struct nb_buffer *out)
{
    const struct nb_network_node *node = &network->nodes[at];
    int rc = nb_buffer_puts(out, "  ");
    if (rc == 0)
        rc = put_quoted(out, nb_string_of(node->name));
    if (rc == 0)
        rc = nb_buffer_puts(out, ";\n");
    for (size_t p = 0; rc == 0 && p < node->parent_count; p++) {
        rc = nb_buffer_puts(out, "  ");
        if (rc == 0)
            rc = put_quoted(out, nb_string_of(network->nodes[node->parents[p]].name));
        if (rc == 0)
            rc = nb_buffer_puts(out, " -> ");
        if (rc == 0)
            rc = put_quoted(out, nb_string_of(node->name));
        if (rc == 0)
            rc = nb_buffer_puts(out, ";\n");
    }
    return rc;
}

int nb_network_dot(const struct nb_network *network, struct nb_string name, struct nb_buffer *out)
{
    int rc = nb_buffer_puts(out, "digraph ");
    if (rc == 0)
        rc = put_quoted(out, name);
    if (rc == 0)
        rc = nb_buffer_puts(out, " {\n");
    for (size_t i = 0; rc == 0 && i < network->count; i++)
        rc = put_node(network, i, out);
    return rc == 0 ? nb_buffer_puts(out, "}\n") : rc;
}

/* ---- layout ---------------------------------------------------------------------------------- */

struct place {
    size_t node, layer;
    double wanted; /* the mean x of the parents' centres */
    int x, width;
};

struct layout {
    const struct nb_network *network;
    struct place places[NB_NETWORK_NODES]; /* one for each node */
    size_t layers;
    int width;
};

static size_t characters(const char *name)
{
    size_t count = 0;
    for (; *name != '\0'; name++)
        count += ((unsigned char)*name & 0xC0) != 0x80;
    return count;
}

/* Each node lies one layer below the lowest of its parents. */
static void choose_layers(struct layout *l)
{
    assert(l->network->count <= NB_NETWORK_NODES);
    for (size_t i = 0; i < l->network->count; i++) {
        size_t at = l->network->order[i];
        const struct nb_network_node *node = &l->network->nodes[at];
        struct place *place = &l->places[at];
        *place = (struct place){.node = at,
                                .width = (int)characters(node->name) * CHARACTER + 2 * PADDING};
        for (size_t p = 0; p < node->parent_count; p++)
            if (l->places[node->parents[p]].layer >= place->layer)
                place->layer = l->places[node->parents[p]].layer + 1;
        if (place->layer >= l->layers)
            l->layers = place->layer + 1;
    }
}

static int by_wanted(const void *a, const void *b)
{
    const struct place *p = *(struct place *const *)a, *q = *(struct place *const *)b;
    if (p->wanted != q->wanted)
        return p->wanted < q->wanted ? -1 : 1;
    return (p->node > q->node) - (p->node < q->node);
}

static double mean_of_parents(const struct layout *l, size_t at)
{
    const struct nb_network_node *node = &l->network->nodes[at];
    double sum = 0;
    for (size_t p = 0; p < node->parent_count; p++)
        sum += l->places[node->parents[p]].x + l->places[node->parents[p]].width / 2.;
    return node->parent_count == 0 ? 0 : sum / (double)node->parent_count;
}

/* Places the nodes of a layer side by side, in the order of their parents above. */
static void choose_places(struct layout *l, size_t layer)
{
    assert(layer < l->layers && l->network->count <= NB_NETWORK_NODES);
    struct place *row[NB_NETWORK_NODES] = {NULL};
    size_t count = 0;
    int x = MARGIN;
    for (size_t i = 0; i < l->network->count; i++) {
        if (l->places[i].layer != layer)
            continue;
        l->places[i].wanted = mean_of_parents(l, i);
        row[count++] = &l->places[i];
    }
    qsort(row, count, sizeof *row, by_wanted);
    for (size_t i = 0; i < count; i++) {
        int from = (int)row[i]->wanted - row[i]->width / 2;
        row[i]->x = from > x ? from : x;
        x = row[i]->x + row[i]->width + GAP;
    }
    if (x - GAP + MARGIN > l->width)
        l->width = x - GAP + MARGIN;
}

/* ---- SVG ------------------------------------------------------------------------------------- */

/* Appends a text with the characters escaped that XML gives a meaning. Names have no control
 * characters. */
static int put_escaped(struct nb_buffer *out, struct nb_string text)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < text.length; i++) {
        char c = text.bytes[i];
        if (c == '<' || c == '>' || c == '&' || c == '"' || c == '\'')
            rc = nb_buffer_printf(out, "&#%d;", c);
        else
            rc = nb_buffer_append(out, &c, 1);
    }
    return rc;
}

static int top(const struct place *place)
{
    return MARGIN + (int)place->layer * LAYER;
}

static int put_edge(const struct place *from, const struct place *to, struct nb_buffer *out)
{
    int x1 = from->x + from->width / 2, y1 = top(from) + HEIGHT;
    int x2 = to->x + to->width / 2, y2 = top(to) - 4; /* leaves room for the arrow's head */
    int middle = (y1 + y2) / 2;
    return nb_buffer_printf(out, "<path d=\"M%d %dC%d %d %d %d %d %d\"/>\n", x1, y1, x1, middle, x2,
                            middle, x2, y2);
}

static int put_box(const struct place *place, const char *name, struct nb_buffer *out)
{
    int rc = nb_buffer_printf(out,
                              "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"12\"/>"
                              "<text x=\"%d\" y=\"%d\">",
                              place->x, top(place), place->width, HEIGHT,
                              place->x + place->width / 2, top(place) + 21);
    if (rc == 0)
        rc = put_escaped(out, nb_string_of(name));
    return rc == 0 ? nb_buffer_puts(out, "</text>\n") : rc;
}

static int put_head(const struct layout *l, struct nb_string name, struct nb_buffer *out)
{
    int height = 2 * MARGIN + HEIGHT + (int)(l->layers - 1) * LAYER;
    int rc = nb_buffer_printf(out,
                              "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
                              "height=\"%d\" viewBox=\"0 0 %d %d\">\n<title>",
                              l->width, height, l->width, height);
    if (rc == 0)
        rc = put_escaped(out, name);
    if (rc != 0)
        return rc;
    return nb_buffer_puts(
        out, "</title>\n<defs><marker id=\"head\" markerWidth=\"8\" markerHeight=\"8\" refX=\"4\" "
             "refY=\"4\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#444\" stroke=\"none\"/>"
             "</marker></defs>\n<g fill=\"none\" stroke=\"#444\" stroke-width=\"1.5\">\n");
}

static int put_edges(const struct layout *l, struct nb_buffer *out)
{
    int rc = nb_buffer_puts(out, "<g marker-end=\"url(#head)\">\n");
    for (size_t i = 0; rc == 0 && i < l->network->count; i++) {
        const struct nb_network_node *node = &l->network->nodes[i];
        for (size_t p = 0; rc == 0 && p < node->parent_count; p++)
            rc = put_edge(&l->places[node->parents[p]], &l->places[i], out);
    }
    return rc == 0 ? nb_buffer_puts(out, "</g>\n") : rc;
}

static int put_boxes(const struct layout *l, struct nb_buffer *out)
{
    int rc = nb_buffer_puts(out, "</g>\n<g font-family=\"sans-serif\" font-size=\"14\" "
                                 "text-anchor=\"middle\">\n<style>rect{fill:#fff;stroke:#444;"
                                 "stroke-width:1.5}</style>\n");
    for (size_t i = 0; rc == 0 && i < l->network->count; i++)
        rc = put_box(&l->places[i], l->network->nodes[i].name, out);
    return rc == 0 ? nb_buffer_puts(out, "</g>\n</svg>\n") : rc;
}

int nb_network_svg(const struct nb_network *network, struct nb_string name, struct nb_buffer *out)
{
    struct layout l = {.network = network};
    choose_layers(&l);
    for (size_t layer = 0; layer < l.layers; layer++)
        choose_places(&l, layer);
    int rc = put_head(&l, name, out);
    if (rc == 0)
        rc = put_edges(&l, out);
    return rc == 0 ? put_boxes(&l, out) : rc;
}
