/* SPDX-License-Identifier: Apache-2.0
 *
 * Samples of a network, the same for the same seed. Pure functions but for the random state; any
 * thread.
 */
#ifndef NB_CORE_NETWORKS_NETWORK_SAMPLE_H
#define NB_CORE_NETWORKS_NETWORK_SAMPLE_H

#include "core/base/random.h"
#include "core/networks/network/inference.h"

/* Draws a state for every node, parents before children, into `states` (room for the network's
 * nodes). Known nodes have their state; returns the weight of the sample, the product of the
 * probabilities of the known states given their parents' (likelihood weighting, Fung and Chang
 * 1990): 1 without evidence, 0 for a sample that contradicts it. */
double nb_network_sample(const struct nb_network *network,
                         const struct nb_network_evidence *evidence, struct nb_random *random,
                         uint32_t *states);

#endif
