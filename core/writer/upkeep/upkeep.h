/* SPDX-License-Identifier: Apache-2.0
 *
 * What the writer does by itself: it saves models whose changes a start would replay, takes old
 * documents out, fits weights and probabilities, deletes the data of models that are gone, drops
 * features that no document has, and gives memory back. All of it in quiet moments, and as much as
 * cannot wait beside other work. On the writer's thread.
 */
#ifndef NB_CORE_WRITER_UPKEEP_UPKEEP_H
#define NB_CORE_WRITER_UPKEEP_UPKEEP_H

#include "core/model/live/state.h"
#include "core/writer/stage/group.h"

/* The imports under way. The data of an import are listed among the orphans; while it is under way
 * they must not be deleted. On the writer's thread. */

/* An import under way, as the writer lists it. */
struct nb_importing {
    struct nb_importing *next;
    uint32_t number;
};

/* Whether an import under way has this model number. */
static inline bool nb_import_is_running(const struct nb_engine *engine, uint32_t number)
{
    for (const struct nb_importing *i = engine->importing; i != NULL; i = i->next)
        if (i->number == number)
            return true;
    return false;
}

/* Data of models that are gone: deleted ones, and imports that were not finished. They are listed
 * among the orphans and deleted in bounded slices. On the writer's thread. */

/* Deletes a bounded part of them in a transaction of its own. Afterwards `engine->purge` says
 * whether there may be more. Returns 0 or the code of the transaction. */
int nb_purge_slice(struct nb_engine *engine);

/* Refits while the writer has nothing else to do: REFIT entries, one slice each; and calibrations
 * of models by the book. On the writer's thread. */

/* Commits one slice of a refit that is under way and does not rest (core/model/learn/refit.h), or
 * begins one that some loaded model must have; when it is `quiet`, also one that would make its
 * weights better. In each gap between two requests of a trainer that would be the wrong time: every
 * change runs a slice while one is under way. Returns whether it has. */
bool nb_refits_some(struct nb_engine *engine, bool quiet);
/* Whether a refit of some loaded model rests. */
bool nb_refits_rest(struct nb_engine *engine);

/* Goes on with the calibration of some loaded model, or begins one (core/writer/recalibrate). At
 * its end the map is committed with the model's settings. Returns whether there was something to
 * do, and it succeeded. */
bool nb_refits_calibrate(struct nb_engine *engine);
/* The same of one model, unless it needs none: between the commits of what it learns. */
bool nb_refits_calibrate_model(struct nb_engine *engine, struct nb_live *live);

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
