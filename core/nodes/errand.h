/* SPDX-License-Identifier: Apache-2.0
 *
 * Errands: changes of models as a whole, as they are applied on each node. On the follower's
 * thread.
 */
#ifndef NB_CORE_NODES_ERRAND_H
#define NB_CORE_NODES_ERRAND_H

#include "core/model/live/relayed.h"

struct nb_engine;

/* Does what the errand says, and fills `done` but for its position. Returns 0 or the code that a
 * client is told. */
int nb_errand_run(struct nb_engine *engine, const struct nb_errand *errand,
                  struct nb_errand_done *done, struct nb_error *error);

#endif
