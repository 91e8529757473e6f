/* SPDX-License-Identifier: Apache-2.0 */
#include "core/networks/network/independence.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

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

static void count_rows(const struct nb_columns *columns, size_t a, size_t b, const uint32_t *given,
                       size_t given_count, struct counts *c)
{
    const unsigned char *of_a = columns->columns[a].codes, *of_b = columns->columns[b].codes;
    for (size_t row = 0; row < columns->rows; row++) {
        bool is_missing = of_a[row] == NB_COLUMN_MISSING || of_b[row] == NB_COLUMN_MISSING;
        size_t stratum = 0;
        for (size_t i = 0; !is_missing && i < given_count; i++) {
            const struct nb_column *column = &columns->columns[given[i]];
            is_missing = column->codes[row] == NB_COLUMN_MISSING;
            stratum = stratum * column->state_count + column->codes[row];
        }
        if (!is_missing)
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
