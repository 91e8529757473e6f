/* SPDX-License-Identifier: Apache-2.0
 *
 * Factors: tables over some variables, as variable elimination multiplies and sums them. Cells are
 * logarithms: a node with many children has products of as many small numbers, which would become 0
 * for all of its states. A factor belongs to one thread at a time.
 */
#ifndef NB_CORE_NETWORKS_NETWORK_FACTOR_H
#define NB_CORE_NETWORKS_NETWORK_FACTOR_H

#include "core/networks/network/network.h"

struct nb_network_factor {
    uint32_t *variables; /* owned: numbers of nodes, growing */
    size_t variable_count;
    double *cells; /* owned: logarithms; the last variable's state changes fastest */
    size_t cell_count;
};

void nb_network_factor_deinit(struct nb_network_factor *factor);

/* The table of a node with the evidence put in: states[i] is the state of node i, or UINT32_MAX if
 * it is not known. On success the caller owns *factor. Returns 0 or NB_NO_MEMORY. */
int nb_network_factor_of_node(const struct nb_network *network, size_t node, const uint32_t *states,
                              struct nb_network_factor *factor);

/* The product of `count` factors, of which at least one has the variable, summed over the variable.
 * The states of their variables multiplied fit in a size_t: the caller has seen to it. On success
 * the caller owns *sum. Returns 0 or NB_NO_MEMORY. */
int nb_network_factor_sum_out(const struct nb_network *network,
                              const struct nb_network_factor *factors, size_t count,
                              uint32_t variable, struct nb_network_factor *sum);

#endif
