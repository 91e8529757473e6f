/* SPDX-License-Identifier: Apache-2.0
 *
 * A node that is neither the target nor known, nor an ancestor of these, sums to 1 and is left out
 * (Shachter 1986: barren nodes). Of the others, the one with the smallest product is summed out
 * next (the rule "min-weight"); finding the best order is NP-hard (Arnborg et al. 1987).
 */
#include "core/networks/network/inference.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void network_factor_deinit(struct nb_network_factor *factor)
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
    network_factor_deinit(f);
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

/* The table of a node with the evidence put in: states[i] is the state of node i, or UINT32_MAX if
 * it is not known. On success the caller owns *factor. Returns 0 or NB_NO_MEMORY. */
static int network_factor_of_node(const struct nb_network *network, size_t at,
                                  const uint32_t *states, struct nb_network_factor *factor)
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

/* A factor that is read in step with others: the distance between its cells for successive states
 * of a variable. */
struct reading {
    const double *at; /* the cell for the present states, with the summed variable in state 0 */
    size_t strides[NB_NETWORK_NODES]; /* 0: the factor does not have the variable */
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

/* Moves to the cell for the next states of the last `changed` variables of the sum. */
static void follow(const struct nb_network *network, const struct nb_network_factor *sum,
                   size_t changed, const uint32_t *states, struct reading *reading)
{
    for (size_t i = sum->variable_count - changed; i < sum->variable_count; i++) {
        uint32_t variable = sum->variables[i];
        size_t stride = reading->strides[variable];
        if (states[variable] == 0) /* the state wrapped around */
            reading->at -= (states_of(network, variable) - 1) * stride;
        else
            reading->at += stride;
    }
}

/* The logarithm of the sum of the products. The greatest product is divided out first. */
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

/* Computes the product of `count` factors, summed over the variable. At least one factor has the
 * variable. The caller ensures that the product of their numbers of states fits in a size_t. On
 * success the caller owns *sum. Returns 0 or NB_NO_MEMORY. */
static int network_factor_sum_out(const struct nb_network *network,
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

struct nb_network_evidence nb_network_evidence_none(void)
{
    struct nb_network_evidence none;
    for (size_t i = 0; i < NB_NETWORK_NODES; i++)
        none.states[i] = UINT32_MAX;
    return none;
}

struct elimination {
    const struct nb_network *network;
    const struct nb_network_evidence *evidence;
    struct nb_inference_limits *limits;
    size_t target;
    struct nb_network_factor factors[NB_NETWORK_NODES + 1]; /* owned */
    size_t count, cells; /* number of factors, and of their cells */
    /* For each variable to be summed out: the other variables that share a factor with it, and the
     * number of products in its sum. Kept from step to step, because searching all factors for each
     * variable would cost more than the products. */
    bool is_left[NB_NETWORK_NODES];
    unsigned char joined[NB_NETWORK_NODES][NB_NETWORK_NODES];
    double weights[NB_NETWORK_NODES];
};

/* ---- factors --------------------------------------------------------------------------------- */

/* Marks the nodes whose tables are needed: the target, the known nodes, and their ancestors. */
static void find_needed(const struct elimination *e, unsigned char *needed)
{
    const struct nb_network *network = e->network;
    for (size_t i = 0; i < network->count; i++)
        needed[i] = i == e->target || e->evidence->states[i] != UINT32_MAX;
    for (size_t i = network->count; i > 0; i--) {
        const struct nb_network_node *node = &network->nodes[network->order[i - 1]];
        for (size_t p = 0; needed[network->order[i - 1]] != 0 && p < node->parent_count; p++)
            needed[node->parents[p]] = 1;
    }
}

static int impossible(struct nb_error *error)
{
    return nb_error_set(error, NB_UNUSABLE, "the evidence has the probability 0");
}

/* Takes ownership of a factor. NB_UNUSABLE: all its probabilities are 0. */
static int take(struct elimination *e, const struct nb_network_factor *factor,
                struct nb_error *error)
{
    double greatest = -INFINITY;
    for (size_t i = 0; i < factor->cell_count; i++)
        greatest = fmax(greatest, factor->cells[i]);
    e->factors[e->count++] = *factor;
    e->cells += factor->cell_count;
    return isinf(greatest) ? impossible(error) : 0;
}

static int too_large(const struct elimination *e, struct nb_error *error)
{
    return nb_error_set(error, NB_TOO_LARGE,
                        "the answer needs more than %zu numbers at a time, or too many products of "
                        "them ([networks] factor_cells): more evidence, or fewer edges, make it "
                        "smaller",
                        e->limits->cells);
}

static int begin_elimination(struct elimination *e, struct nb_error *error)
{
    unsigned char needed[NB_NETWORK_NODES] = {0};
    int rc = 0;
    find_needed(e, needed);
    for (size_t i = 0; rc == 0 && i < e->network->count; i++) {
        struct nb_network_factor factor;
        if (needed[i] == 0)
            continue;
        rc = network_factor_of_node(e->network, i, e->evidence->states, &factor);
        rc = rc != 0 ? nb_error_no_memory(error) : take(e, &factor, error);
        if (rc == 0 && e->cells > e->limits->cells)
            rc = too_large(e, error);
    }
    return rc;
}

static bool has(const struct nb_network_factor *factor, uint32_t variable)
{
    for (size_t i = 0; i < factor->variable_count; i++)
        if (factor->variables[i] == variable)
            return true;
    return false;
}

/* Moves the factors with the variable to the end; returns the number of the others. */
static size_t gather(struct elimination *e, uint32_t variable)
{
    size_t others = 0;
    for (size_t i = 0; i < e->count; i++) {
        if (has(&e->factors[i], variable))
            continue;
        struct nb_network_factor factor = e->factors[i];
        e->factors[i] = e->factors[others];
        e->factors[others++] = factor;
    }
    return others;
}

/* ---- elimination ----------------------------------------------------------------------------- */

/* The product of the numbers of states of the variable and of those joined to it; infinite if it
 * overflows. */
static void weigh(struct elimination *e, size_t variable)
{
    double weight = e->network->nodes[variable].state_count;
    for (size_t i = 0; i < e->network->count; i++)
        weight *= e->joined[variable][i] != 0 ? e->network->nodes[i].state_count : 1;
    e->weights[variable] = weight;
}

static void join_factors(struct elimination *e)
{
    for (size_t f = 0; f < e->count; f++)
        for (size_t i = 0; i < e->factors[f].variable_count; i++) {
            uint32_t variable = e->factors[f].variables[i];
            e->is_left[variable] = variable != e->target;
            for (size_t j = 0; j < e->factors[f].variable_count; j++)
                e->joined[variable][e->factors[f].variables[j]] = i != j;
        }
    for (size_t i = 0; i < e->network->count; i++)
        weigh(e, i);
}

/* The sum over a variable is a factor of all variables that were joined to it. */
static void join_others(struct elimination *e, size_t variable)
{
    e->is_left[variable] = false;
    for (size_t i = 0; i < e->network->count; i++) {
        if (e->joined[variable][i] == 0)
            continue;
        for (size_t j = 0; j < e->network->count; j++)
            e->joined[i][j] = i != j && (e->joined[i][j] != 0 || e->joined[variable][j] != 0);
        e->joined[i][variable] = 0;
        weigh(e, i);
    }
}

/* Returns the variable that is cheapest to sum out; UINT32_MAX: only the target is left. */
static uint32_t cheapest(const struct elimination *e)
{
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < e->network->count; i++)
        if (e->is_left[i] && (best == UINT32_MAX || e->weights[i] < e->weights[best]))
            best = i;
    return best;
}

/* Replaces the factors that have the variable by their sum over it. */
static int sum_out(struct elimination *e, uint32_t variable, struct nb_error *error)
{
    struct nb_network_factor sum;
    size_t others = gather(e, variable);
    if (network_factor_sum_out(e->network, e->factors + others, e->count - others, variable,
                               &sum) != 0)
        return nb_error_no_memory(error);
    while (e->count > others) {
        e->cells -= e->factors[--e->count].cell_count;
        network_factor_deinit(&e->factors[e->count]);
    }
    return take(e, &sum, error);
}

static int eliminate(struct elimination *e, struct nb_error *error)
{
    uint32_t next;
    int rc = 0;
    join_factors(e);
    while (rc == 0 && (next = cheapest(e)) != UINT32_MAX) {
        double work = e->weights[next];
        double made = work / e->network->nodes[next].state_count;
        e->limits->products -= work;
        if ((double)e->cells + made > (double)e->limits->cells || e->limits->products < 0)
            return too_large(e, error);
        join_others(e, next);
        rc = sum_out(e, next, error);
    }
    return rc;
}

/* Only factors of the target, and numbers, are left. */
static int finish(struct elimination *e, double *probabilities, double *log_evidence,
                  struct nb_error *error)
{
    uint32_t states = e->network->nodes[e->target].state_count;
    uint32_t known = e->evidence->states[e->target];
    double greatest = -INFINITY, sum = 0;
    for (uint32_t s = 0; s < states; s++) {
        probabilities[s] = known == UINT32_MAX || known == s ? 0 : -INFINITY;
        for (size_t i = 0; i < e->count; i++)
            probabilities[s] += e->factors[i].cells[e->factors[i].variable_count == 0 ? 0 : s];
        greatest = fmax(greatest, probabilities[s]);
    }
    if (isinf(greatest))
        return impossible(error);
    for (uint32_t s = 0; s < states; s++) {
        probabilities[s] = exp(probabilities[s] - greatest);
        sum += probabilities[s];
    }
    for (uint32_t s = 0; s < states; s++)
        probabilities[s] /= sum;
    if (log_evidence != NULL)
        *log_evidence = greatest + log(sum);
    return 0;
}

int nb_network_infer(const struct nb_network *network, const struct nb_network_evidence *evidence,
                     size_t node, struct nb_inference_limits *limits, double *probabilities,
                     double *log_evidence, struct nb_error *error)
{
    assert(node < network->count && network->order != NULL);
    struct elimination *e = calloc(1, sizeof *e);
    if (e == NULL)
        return nb_error_no_memory(error);
    e->network = network;
    e->evidence = evidence;
    e->limits = limits;
    e->target = node;
    int rc = begin_elimination(e, error);
    if (rc == 0)
        rc = eliminate(e, error);
    if (rc == 0)
        rc = finish(e, probabilities, log_evidence, error);
    while (e->count > 0)
        network_factor_deinit(&e->factors[--e->count]);
    free(e);
    return rc;
}

/* 53 random bits as a number from 0 to below 1. */
static double fraction(struct nb_random *random)
{
    return (double)(nb_random_next(random) >> 11) * 0x1p-53;
}

/* A row may sum to a little less than 1: the rest goes to the last possible state. */
static uint32_t draw(const double *row, uint32_t states, double at)
{
    uint32_t drawn = 0;
    double sum = 0;
    for (uint32_t s = 0; s < states; s++) {
        if (row[s] <= 0)
            continue;
        drawn = s;
        sum += row[s];
        if (at < sum)
            break;
    }
    return drawn;
}

double nb_network_sample(const struct nb_network *network,
                         const struct nb_network_evidence *evidence, struct nb_random *random,
                         uint32_t *states)
{
    double weight = 1;
    for (size_t i = 0; i < network->count; i++) {
        size_t at = network->order[i];
        const struct nb_network_node *node = &network->nodes[at];
        const double *row = node->table + nb_network_row(network, at, states) * node->state_count;
        states[at] = evidence->states[at];
        if (states[at] == UINT32_MAX)
            states[at] = draw(row, node->state_count, fraction(random));
        else
            weight *= row[states[at]];
    }
    return weight;
}
