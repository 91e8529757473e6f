/* SPDX-License-Identifier: Apache-2.0 */
#include "core/networks/network/sample.h"

/* 53 random bits as a number from 0 to below 1. */
static double fraction(struct nb_random *random)
{
    return (double)(nb_random_next(random) >> 11) * 0x1p-53;
}

/* A row may sum to a little less than 1: what is left over goes to the last possible state. */
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
