/* SPDX-License-Identifier: Apache-2.0
 *
 * What the writer does by itself: it saves models whose changes a start would replay, takes old
 * documents out, fits weights and probabilities, deletes the data of models that are gone, drops
 * features that no document has, and gives memory back. All of it in quiet moments, and as much as
 * cannot wait beside other work. On the writer's thread.
 */
#ifndef NB_CORE_WRITER_UPKEEP_UPKEEP_H
#define NB_CORE_WRITER_UPKEEP_UPKEEP_H

#include "core/writer/stage/group.h"

/* For nb_upkeep_busy; of the monotonic clock, in nanoseconds. */
struct nb_upkeep_times {
    uint64_t trimmed; /* when it did that last; at first, when the writer began */
    uint64_t purge_not_before;
};

/* All that there is to do, until something waits for the writer. What fails is tried again. */
void nb_upkeep_quiet(struct nb_engine *engine);
/* Unloads models, those that were not used for longest first, until they fit the setting `memory`.
 */
void nb_upkeep_trim(struct nb_engine *engine);
/* What has to be done also without quiet moments: cold models must leave memory, old documents and
 * data of deleted models the store. After everything that waited was done. */
void nb_upkeep_busy(struct nb_engine *engine, struct nb_upkeep_times *times);
/* Drops some features that no document has, of a model of the group, which was committed. */
void nb_upkeep_drop_some(struct nb_engine *engine, const struct nb_group *group);

#endif
