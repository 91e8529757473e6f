/* SPDX-License-Identifier: Apache-2.0
 *
 * What a node that takes the store of another one hands over from its own: what waits in its
 * queue, and the changes that it has made and the other one has not, because the database has lost
 * them and goes on with others. The new store has them in its queue: they are published with the
 * ids that they had, so that each is made once. No other thread uses the engines.
 */
#ifndef NB_CORE_NODES_HANDOVER_H
#define NB_CORE_NODES_HANDOVER_H

#include <stdint.h>

#include "core/base/error.h"

struct nb_engine;

/* Sets *queued and *lost to how many of both there were. Returns 0, NB_CONFLICT: the stores have
 * other numbers of streams; or a code of a store. */
int nb_hand_over(struct nb_engine *from, struct nb_engine *to, uint64_t *queued, uint64_t *lost,
                 struct nb_error *error);

#endif
