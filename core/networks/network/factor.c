/* SPDX-License-Identifier: Apache-2.0 */
#include "core/networks/network/factor.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void nb_network_factor_deinit(struct nb_network_factor *factor)
{
    free(factor->variables);
    free(factor->cells);
    *factor = (struct nb_network_factor){.variables = NULL};
}

static uint32_t states_of(const struct nb_network *network, uint32_t variable)
{
    return network->nodes[variable].state_count;
}

/* Makes room for the variables that are set, and for their cells. */
static int allocate(const struct nb_network *network, const unsigned char *has,
                    struct nb_network_factor *f)
{
    *f = (struct nb_network_factor){.cell_count = 1};
    f->variables = malloc((network->count + 1) * sizeof *f->variables);
    for (size_t i = 0; f->variables != NULL && i < network->count; i++) {
        if (has[i] == 0)
            continue;
        f->variables[f->variable_count++] = (uint32_t)i;
        f->cell_count *= states_of(network, (uint32_t)i);
    }
    f->cells = f->variables == NULL ? NULL : calloc(f->cell_count, sizeof *f->cells);
    if (f->cells != NULL)
        return 0;
    nb_network_factor_deinit(f);
    return NB_NO_MEMORY;
}

/* Moves `states` of the variables to the next combination, the last one fastest; returns how many
 * of the last variables have changed (all of them after the last combination). */
static size_t advance(const struct nb_network *network, const struct nb_network_factor *f,
                      uint32_t *states)
{
    size_t changed = 0;
    while (changed < f->variable_count) {
        uint32_t variable = f->variables[f->variable_count - ++changed];
        if (++states[variable] < states_of(network, variable))
            break;
        states[variable] = 0;
    }
    return changed;
}

int nb_network_factor_of_node(const struct nb_network *network, size_t at, const uint32_t *states,
                              struct nb_network_factor *factor)
{
    const struct nb_network_node *node = &network->nodes[at];
    unsigned char has[NB_NETWORK_NODES] = {0};
    uint32_t now[NB_NETWORK_NODES];
    has[at] = states[at] == UINT32_MAX;
    for (size_t i = 0; i < node->parent_count; i++)
        has[node->parents[i]] = states[node->parents[i]] == UINT32_MAX;
    if (allocate(network, has, factor) != 0)
        return NB_NO_MEMORY;
    for (size_t i = 0; i < network->count; i++)
        now[i] = states[i] == UINT32_MAX ? 0 : states[i];
    for (size_t i = 0; i < factor->cell_count; i++) {
        size_t row = nb_network_row(network, at, now);
        factor->cells[i] = log(node->table[row * node->state_count + now[at]]);
        (void)advance(network, factor, now);
    }
    return 0;
}

/* Marks the variables of the factors. */
static void unite(const struct nb_network_factor *factors, size_t count, unsigned char *has)
{
    memset(has, 0, NB_NETWORK_NODES);
    for (size_t f = 0; f < count; f++)
        for (size_t i = 0; i < factors[f].variable_count; i++)
            has[factors[f].variables[i]] = 1;
}

/* A factor as it is read beside the others: how far a cell lies from the next one of a variable. */
struct reading {
    const double *at; /* the cell for the present states, the summed variable's being 0 */
    size_t strides[NB_NETWORK_NODES]; /* 0: it does not have the variable */
};

static void begin(const struct nb_network *network, const struct nb_network_factor *factor,
                  struct reading *reading)
{
    size_t stride = 1;
    *reading = (struct reading){.at = factor->cells};
    for (size_t i = factor->variable_count; i > 0; i--) {
        reading->strides[factor->variables[i - 1]] = stride;
        stride *= states_of(network, factor->variables[i - 1]);
    }
}

/* Follows the last `changed` variables of the sum to their next states. */
static void follow(const struct nb_network *network, const struct nb_network_factor *sum,
                   size_t changed, const uint32_t *states, struct reading *reading)
{
    for (size_t i = sum->variable_count - changed; i < sum->variable_count; i++) {
        uint32_t variable = sum->variables[i];
        size_t stride = reading->strides[variable];
        if (states[variable] == 0) /* it began anew */
            reading->at -= (states_of(network, variable) - 1) * stride;
        else
            reading->at += stride;
    }
}

/* The logarithm of the sum of the products, of which the greatest is divided out. */
static double sum_of(const struct reading *readings, size_t count, uint32_t variable,
                     uint32_t states)
{
    double products[NB_NETWORK_STATES], greatest = -INFINITY, sum = 0;
    assert(states <= NB_NETWORK_STATES);
    for (uint32_t s = 0; s < states; s++) {
        products[s] = 0;
        for (size_t f = 0; f < count; f++)
            products[s] += readings[f].at[s * readings[f].strides[variable]];
        greatest = fmax(greatest, products[s]);
    }
    for (uint32_t s = 0; s < states && !isinf(greatest); s++)
        sum += exp(products[s] - greatest);
    return greatest + log(sum);
}

int nb_network_factor_sum_out(const struct nb_network *network,
                              const struct nb_network_factor *factors, size_t count,
                              uint32_t variable, struct nb_network_factor *sum)
{
    unsigned char has[NB_NETWORK_NODES];
    uint32_t states[NB_NETWORK_NODES] = {0};
    struct reading *readings = malloc((count + 1) * sizeof *readings);
    unite(factors, count, has);
    has[variable] = 0;
    if (readings == NULL || allocate(network, has, sum) != 0) {
        free(readings);
        return NB_NO_MEMORY;
    }
    for (size_t f = 0; f < count; f++)
        begin(network, &factors[f], &readings[f]);
    for (size_t i = 0; i < sum->cell_count; i++) {
        sum->cells[i] = sum_of(readings, count, variable, states_of(network, variable));
        size_t changed = advance(network, sum, states);
        for (size_t f = 0; f < count; f++)
            follow(network, sum, changed, states, &readings[f]);
    }
    free(readings);
    return 0;
}
