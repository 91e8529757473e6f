/* SPDX-License-Identifier: Apache-2.0
 *
 * Refits while the writer has nothing else to do: REFIT entries, one slice each. On the writer's
 * thread.
 */
#ifndef NB_CORE_ENGINE_REFITS_H
#define NB_CORE_ENGINE_REFITS_H

#include "core/live/state.h"

/* Commits one slice of a refit that is under way, or begins one that some loaded model must have;
 * when it is `quiet`, also one that would make its weights better. In each gap between two requests
 * of a trainer that would be the wrong time: every change runs a slice while one is under way.
 * Returns whether it has. */
bool nb_refits_some(struct nb_engine *engine, bool quiet);

#endif
