/* SPDX-License-Identifier: Apache-2.0
 *
 * Data of models that are gone: deleted ones, and imports that were not finished. They are listed
 * among the orphans and deleted in bounded slices. On the writer's thread.
 */
#ifndef NB_CORE_WRITER_UPKEEP_PURGE_H
#define NB_CORE_WRITER_UPKEEP_PURGE_H

#include "core/model/live/state.h"

/* Deletes a bounded part of them in a transaction of its own. Afterwards `engine->purge` says
 * whether there may be more. Returns 0 or the code of the transaction. */
int nb_purge_slice(struct nb_engine *engine);

#endif
