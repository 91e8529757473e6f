/* SPDX-License-Identifier: Apache-2.0
 *
 * Drops models that nobody uses from memory. They stay in the registry, and are loaded again when
 * they are used. On the writer's thread.
 */
#ifndef NB_CORE_MODEL_REGISTRY_TRIM_H
#define NB_CORE_MODEL_REGISTRY_TRIM_H

#include "core/model/live/state.h"

/* Drops a model, to which the caller has a reference, from memory, unless somebody else uses it or
 * its weights are about to be refitted. Its next load replays the entries that a start would
 * replay. Returns whether it was dropped. On the writer's thread. */
bool nb_trim_model(struct nb_engine *engine, struct nb_live *live);
/* Drops models that have no users from memory, least recently used first: until the rest takes at
 * most 7/8 of the setting `memory`, and all models but the 64 used last that were not used for a
 * minute. `save` saves a model before it is dropped, and returns 0 if it may be. Also releases
 * pages of the store that were read. On the writer's thread. */
void nb_trim_memory(struct nb_engine *engine,
                    int (*save)(struct nb_engine *engine, struct nb_live *live));

#endif
