/* SPDX-License-Identifier: Apache-2.0
 *
 * A node that takes over another node's store hands over changes from its own one: those in its
 * queue, and those that it has applied but the other node has not, because the database lost them
 * and continued with others. The new store queues them. They are published with their former ids,
 * so that each is applied once. No other thread may use the engines.
 */
#ifndef NB_CORE_NODES_HANDOVER_H
#define NB_CORE_NODES_HANDOVER_H

#include <stdint.h>

#include "core/base/error.h"

struct nb_engine;

/* Hands over, and sets *queued and *lost to the numbers of changes of both kinds. Returns 0,
 * NB_CONFLICT (the stores have different numbers of streams) or a code of a store. */
int nb_hand_over(struct nb_engine *from, struct nb_engine *to, uint64_t *queued, uint64_t *lost,
                 struct nb_error *error);

#endif
