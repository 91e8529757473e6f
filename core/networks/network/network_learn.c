/* SPDX-License-Identifier: Apache-2.0 */
#include "core/networks/network/network_learn.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/networks/network/graph.h"

/* ---- chi-squared ----------------------------------------------------------------------------- */

enum { STEPS = 100000 };

static const double PRECISION = 1e-16;

/* The lower function P(a, x) by its series, for x < a + 1. */
static double lower_series(double a, double x)
{
    double term = 1 / a, sum = term;
    for (int i = 1; i < STEPS && term > sum * PRECISION; i++) {
        term *= x / (a + i);
        sum += term;
    }
    return sum * exp(a * log(x) - x - lgamma(a));
}

/* The upper function Q(a, x) by its continued fraction, for x >= a + 1 (Lentz's method as modified
 * by Thompson and Barnett 1986). */
static double upper_fraction(double a, double x)
{
    const double tiny = 1e-300;
    double b = x + 1 - a, c = 1 / tiny, d = 1 / b, h = d;
    for (int i = 1; i < STEPS; i++) {
        double numerator = -i * (i - a);
        b += 2;
        d = numerator * d + b;
        c = b + numerator / c;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = fabs(c) < tiny ? tiny : c;
        h *= d * c;
        if (fabs(d * c - 1) < PRECISION * 4)
            break;
    }
    return h * exp(a * log(x) - x - lgamma(a));
}

double nb_chi_squared_tail(double x, double degrees)
{
    double a = degrees / 2, half = x / 2;
    assert(degrees > 0 && x >= 0);
    if (half <= 0)
        return 1;
    double tail = half < a + 1 ? 1 - lower_series(a, half) : upper_fraction(a, half);
    return tail < 0 ? 0 : tail > 1 ? 1 : tail;
}

/* ---- counts ---------------------------------------------------------------------------------- */

/* Counts [combination of the given][state of a][state of b]. */
struct counts {
    size_t strata, rows, columns;
    uint32_t *cells; /* owned */
};

static int allocate(const struct nb_columns *columns, size_t a, size_t b, const uint32_t *given,
                    size_t given_count, size_t most, struct counts *c)
{
    c->rows = columns->columns[a].state_count;
    c->columns = columns->columns[b].state_count;
    c->strata = 1;
    for (size_t i = 0; i < given_count && c->strata <= most; i++)
        c->strata *= columns->columns[given[i]].state_count;
    if (c->strata > most / (c->rows * c->columns))
        return NB_TOO_LARGE;
    c->cells = calloc(c->strata * c->rows * c->columns, sizeof *c->cells);
    return c->cells == NULL ? NB_NO_MEMORY : 0;
}

/* Returns the number of the combination of the given columns' states in a row, the last column's
 * changing fastest; SIZE_MAX: one of them has no value there. */
static size_t combination_of(const struct nb_columns *columns, const uint32_t *given, size_t count,
                             size_t row)
{
    size_t combination = 0;
    for (size_t i = 0; i < count; i++) {
        const struct nb_column *column = &columns->columns[given[i]];
        if (column->codes[row] == NB_COLUMN_MISSING)
            return SIZE_MAX;
        combination = combination * column->state_count + column->codes[row];
    }
    return combination;
}

static void count_rows(const struct nb_columns *columns, size_t a, size_t b, const uint32_t *given,
                       size_t given_count, struct counts *c)
{
    const unsigned char *of_a = columns->columns[a].codes, *of_b = columns->columns[b].codes;
    for (size_t row = 0; row < columns->rows; row++) {
        if (of_a[row] == NB_COLUMN_MISSING || of_b[row] == NB_COLUMN_MISSING)
            continue;
        size_t stratum = combination_of(columns, given, given_count, row);
        if (stratum != SIZE_MAX)
            c->cells[(stratum * c->rows + of_a[row]) * c->columns + of_b[row]]++;
    }
}

/* ---- the test -------------------------------------------------------------------------------- */

static double entropy_term(double count)
{
    return count > 0 ? count * log(count) : 0;
}

/* Adds the term of one combination of the given columns' states: the sum of N ln N over the cells
 * and the total, minus that over the margins. */
static void add_stratum(const struct counts *c, const uint32_t *cells, struct nb_independence *r)
{
    double all = 0, sum = 0;
    size_t rows = 0, columns = 0;
    for (size_t i = 0; i < c->rows; i++) {
        double margin = 0;
        for (size_t j = 0; j < c->columns; j++) {
            margin += cells[i * c->columns + j];
            sum += entropy_term(cells[i * c->columns + j]);
        }
        sum -= entropy_term(margin);
        rows += margin > 0;
        all += margin;
    }
    for (size_t j = 0; j < c->columns; j++) {
        double margin = 0;
        for (size_t i = 0; i < c->rows; i++)
            margin += cells[i * c->columns + j];
        sum -= entropy_term(margin);
        columns += margin > 0;
    }
    r->g_squared += 2 * (sum + entropy_term(all));
    if (rows > 1 && columns > 1)
        r->degrees += (double)((rows - 1) * (columns - 1));
}

int nb_independence_test(const struct nb_columns *columns, size_t a, size_t b,
                         const uint32_t *given, size_t given_count, size_t most_cells,
                         struct nb_independence *result)
{
    struct counts c = {.cells = NULL};
    int rc = allocate(columns, a, b, given, given_count, most_cells, &c);
    if (rc != 0)
        return rc;
    count_rows(columns, a, b, given, given_count, &c);
    *result = (struct nb_independence){.p = 1};
    for (size_t s = 0; s < c.strata; s++)
        add_stratum(&c, c.cells + s * c.rows * c.columns, result);
    free(c.cells);
    result->g_squared = result->g_squared < 0 ? 0 : result->g_squared; /* rounding */
    if (result->degrees > 0)
        result->p = nb_chi_squared_tail(result->g_squared, result->degrees);
    return 0;
}

/* The tables of a learned network (network_learn.h). */
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
static void count_into_table(const struct nb_columns *columns, size_t at,
                             struct nb_network_node *node)
{
    const unsigned char *codes = columns->columns[at].codes;
    for (size_t row = 0; row < columns->rows; row++) {
        size_t place = codes[row] == NB_COLUMN_MISSING
                           ? SIZE_MAX
                           : combination_of(columns, node->parents, node->parent_count, row);
        if (place != SIZE_MAX)
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
        count_into_table(columns, i, &made->nodes[i]);
        estimate(&made->nodes[i], prior);
    }
    if (rc == 0)
        *network = made;
    else
        nb_network_free(&made);
    return rc;
}

struct learning {
    size_t count;
    nb_independence_of *test;
    void *data;
    const struct nb_learn_settings *settings;
    struct nb_learned *learned;
    struct nb_graph *before; /* as it was when the present size of sets began */
    struct nb_error *error;
};

void nb_learned_deinit(struct nb_learned *learned)
{
    size_t n = learned->pattern == NULL ? 0 : learned->pattern->count;
    for (size_t i = 0; learned->separators != NULL && i < n * n; i++)
        free(learned->separators[i].nodes);
    free(learned->separators);
    free(learned->conflicts);
    nb_graph_free(&learned->pattern);
}

/* ---- edges ----------------------------------------------------------------------------------- */

/* The best set for a pair so far. */
struct best {
    uint32_t nodes[NB_NETWORK_NODES];
    double p; /* below 0: nothing was tested */
};

static int test(struct learning *l, size_t a, size_t b, const uint32_t *given, size_t count,
                struct best *best)
{
    const struct nb_learn_settings *s = l->settings;
    double p;
    if (s->stop != NULL && s->stop(s->user))
        return nb_error_set(l->error, NB_STOPPING, "the daemon is stopping");
    if (++l->learned->tests > s->most_tests)
        return nb_error_set(l->error, NB_TOO_LARGE,
                            "learning takes more than %" PRIu64 " tests ([networks] tests): a "
                            "smaller `alpha`, fewer columns or `separators` make it less",
                            s->most_tests);
    int rc = l->test(l->data, a, b, given, count, &p);
    l->learned->untested += rc == NB_TOO_LARGE;
    if (rc == NB_TOO_LARGE)
        return 0;
    if (rc != 0)
        return nb_error_no_memory(l->error);
    if (p > best->p) {
        memcpy(best->nodes, given, count * sizeof *given);
        best->p = p;
    }
    return 0;
}

/* The next set of `size` of the `count` candidates, by their places, in order; false: it was the
 * last one. */
static bool next_set(size_t *places, size_t size, size_t count)
{
    size_t i = size;
    while (i > 0 && places[i - 1] == count - size + i - 1)
        i--;
    if (i == 0)
        return false;
    places[i - 1]++;
    for (; i < size; i++)
        places[i] = places[i - 1] + 1;
    return true;
}

/* Whether all nodes of the set were joined to the node: then the set was already tried from that
 * node. */
static bool are_joined(const struct nb_graph *g, const uint32_t *set, size_t size, size_t node)
{
    for (size_t i = 0; i < size; i++)
        if (!nb_graph_is_adjacent(g, set[i], node))
            return false;
    return true;
}

/* Tries the sets of neighbours of `a`. */
static int try_side(struct learning *l, size_t a, size_t b, size_t size, bool is_second,
                    struct best *best)
{
    uint32_t candidates[NB_NETWORK_NODES], set[NB_NETWORK_NODES];
    size_t places[NB_NETWORK_NODES], count = 0;
    for (size_t i = 0; i < l->count; i++)
        if (i != a && i != b && nb_graph_is_adjacent(l->before, a, i))
            candidates[count++] = (uint32_t)i;
    if (count < size)
        return 0;
    for (size_t i = 0; i < size; i++)
        places[i] = i;
    int rc = 0;
    do {
        for (size_t i = 0; i < size; i++)
            set[i] = candidates[places[i]];
        if (!is_second || !are_joined(l->before, set, size, b))
            rc = test(l, a, b, set, size, best);
    } while (rc == 0 && next_set(places, size, count));
    return rc;
}

static int separate(struct learning *l, size_t a, size_t b, const struct best *best, size_t size)
{
    struct nb_separator *separator = &l->learned->separators[a * l->count + b];
    separator->nodes = malloc((size + 1) * sizeof *separator->nodes);
    if (separator->nodes == NULL)
        return nb_error_no_memory(l->error);
    memcpy(separator->nodes, best->nodes, size * sizeof *separator->nodes);
    separator->count = size;
    separator->p = best->p;
    nb_graph_cut(l->learned->pattern, a, b);
    return 0;
}

static int try_pair(struct learning *l, size_t a, size_t b, size_t size)
{
    struct best best = {.p = -1};
    int rc = try_side(l, a, b, size, false, &best);
    if (rc == 0)
        rc = try_side(l, b, a, size, true, &best);
    return rc == 0 && best.p > l->settings->alpha ? separate(l, a, b, &best, size) : rc;
}

/* Whether some node has at least `size` neighbours besides the other node of a pair. */
static bool has_sets(const struct nb_graph *g, size_t size)
{
    for (size_t a = 0; a < g->count; a++) {
        size_t neighbours = 0;
        for (size_t b = 0; b < g->count; b++)
            neighbours += nb_graph_is_adjacent(g, a, b);
        if (neighbours > size)
            return true;
    }
    return false;
}

static int try_size(struct learning *l, size_t size)
{
    int rc = 0;
    nb_graph_free(&l->before);
    l->before = nb_graph_copy(l->learned->pattern);
    if (l->before == NULL)
        return nb_error_no_memory(l->error);
    for (size_t a = 0; rc == 0 && a < l->count; a++)
        for (size_t b = a + 1; rc == 0 && b < l->count; b++)
            if (nb_graph_is_adjacent(l->before, a, b))
                rc = try_pair(l, a, b, size);
    return rc;
}

/* ---- directions ------------------------------------------------------------------------------ */

static bool is_separator(const struct learning *l, size_t a, size_t b, size_t node)
{
    size_t first = a < b ? a : b, second = a < b ? b : a;
    const struct nb_separator *separator = &l->learned->separators[first * l->count + second];
    for (size_t i = 0; i < separator->count; i++)
        if (separator->nodes[i] == node)
            return true;
    return false;
}

/* Whether a - c is one side of a collider at c. */
static bool is_collider_side(const struct learning *l, size_t a, size_t c)
{
    const struct nb_graph *skeleton = l->before;
    for (size_t b = 0; b < l->count; b++)
        if (b != a && b != c && nb_graph_is_adjacent(skeleton, b, c) &&
            !nb_graph_is_adjacent(skeleton, a, b) && !is_separator(l, a, b, c))
            return true;
    return false;
}

static int direct(struct learning *l)
{
    size_t n = l->count;
    nb_graph_free(&l->before);
    l->before = nb_graph_copy(l->learned->pattern);
    if (l->before == NULL)
        return nb_error_no_memory(l->error);
    for (size_t a = 0; a < n; a++)
        for (size_t b = a + 1; b < n; b++) {
            if (!nb_graph_is_adjacent(l->before, a, b))
                continue;
            bool to_b = is_collider_side(l, a, b), to_a = is_collider_side(l, b, a);
            if (to_a && to_b)
                l->learned->conflicts[a * n + b] = 1;
            else if (to_a || to_b)
                nb_graph_arrow(l->learned->pattern, to_b ? a : b, to_b ? b : a);
        }
    return nb_pattern_orient(l->learned->pattern, l->learned->conflicts) != 0
               ? nb_error_no_memory(l->error)
               : 0;
}

/* ---- the whole algorithm --------------------------------------------------------------------- */

static int allocate_learned(size_t n, struct nb_learned *learned, struct nb_error *error)
{
    *learned = (struct nb_learned){.pattern = nb_graph_new(n)};
    learned->separators = calloc(n * n + 1, sizeof *learned->separators);
    learned->conflicts = calloc(n * n + 1, 1);
    if (learned->pattern == NULL || learned->separators == NULL || learned->conflicts == NULL)
        return nb_error_no_memory(error);
    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b < a; b++)
            nb_graph_line(learned->pattern, a, b);
    return 0;
}

int nb_learn_pattern(size_t count, nb_independence_of *test_of, void *data,
                     const struct nb_learn_settings *settings, struct nb_learned *learned,
                     struct nb_error *error)
{
    struct learning l = {count, test_of, data, settings, learned, NULL, error};
    assert(count <= NB_NETWORK_NODES);
    int rc = allocate_learned(count, learned, error);
    for (size_t size = 0; rc == 0 && size <= settings->most_given; size++) {
        if (!has_sets(learned->pattern, size))
            break;
        rc = try_size(&l, size);
    }
    if (rc == 0)
        rc = direct(&l);
    nb_graph_free(&l.before);
    if (rc != 0)
        nb_learned_deinit(learned);
    return rc;
}

struct column_test {
    const struct nb_columns *columns;
    size_t most_cells;
};

static int test_columns(void *data, size_t a, size_t b, const uint32_t *given, size_t count,
                        double *p)
{
    const struct column_test *t = data;
    struct nb_independence result;
    int rc = nb_independence_test(t->columns, a, b, given, count, t->most_cells, &result);
    if (rc == 0)
        *p = result.p;
    return rc;
}

int nb_learn_columns(const struct nb_columns *columns, const struct nb_learn_settings *settings,
                     struct nb_learned *learned, struct nb_error *error)
{
    struct column_test t = {columns, settings->most_cells};
    return nb_learn_pattern(columns->count, test_columns, &t, settings, learned, error);
}
