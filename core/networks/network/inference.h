/* SPDX-License-Identifier: Apache-2.0
 *
 * Exact inference in a network: P(node | evidence), by variable elimination (Zhang and Poole 1994).
 * Pure functions; any thread. The network is complete.
 */
#ifndef NB_CORE_NETWORKS_NETWORK_INFERENCE_H
#define NB_CORE_NETWORKS_NETWORK_INFERENCE_H

#include "core/base/random.h"
#include "core/networks/network/network.h"

/* Factors: tables over some variables, as variable elimination multiplies and sums them. Cells are
 * logarithms: a node with many children has products of as many small numbers, which would become 0
 * for all of its states. A factor belongs to one thread at a time. */
struct nb_network_factor {
    uint32_t *variables; /* owned: numbers of nodes, growing */
    size_t variable_count;
    double *cells; /* owned: logarithms; the last variable's state changes fastest */
    size_t cell_count;
};

/* A state of each node; UINT32_MAX: not known. */
struct nb_network_evidence {
    uint32_t states[NB_NETWORK_NODES];
};
struct nb_network_evidence nb_network_evidence_none(void);

/* Limits of one question. */
struct nb_inference_limits {
    size_t cells;    /* cells of all factors in memory at a time: 8 bytes each */
    double products; /* products that may still be computed; counted down, so that the limit can
                        cover several questions */
};

/* Fills `probabilities` (room for the node's states) with P(node | evidence), and *log_evidence
 * (unless NULL) with ln P(evidence). If the state of the node is known, its probability is 1.
 * Returns 0; NB_UNUSABLE: the evidence has the probability 0; NB_TOO_LARGE: a limit, which `error`
 * names; NB_NO_MEMORY. */
int nb_network_infer(const struct nb_network *network, const struct nb_network_evidence *evidence,
                     size_t node, struct nb_inference_limits *limits, double *probabilities,
                     double *log_evidence, struct nb_error *error);

/* Samples of a network, the same for the same seed. Pure functions but for the random state; any
 * thread. */

/* Draws a state for every node, parents before children, into `states` (room for the network's
 * nodes). Known nodes have their state; returns the weight of the sample, the product of the
 * probabilities of the known states given their parents' (likelihood weighting, Fung and Chang
 * 1990): 1 without evidence, 0 for a sample that contradicts it. */
double nb_network_sample(const struct nb_network *network,
                         const struct nb_network_evidence *evidence, struct nb_random *random,
                         uint32_t *states);

#endif
