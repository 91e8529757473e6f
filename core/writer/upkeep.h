/* SPDX-License-Identifier: Apache-2.0
 *
 * The writer's own work: it saves models whose changes a start would replay, takes old documents
 * out, fits weights and probabilities, deletes the data of models that are gone, drops features
 * that no document has, and gives memory back. It does all of this in quiet moments, and beside
 * other work only what cannot wait. On the writer's thread.
 */
#ifndef NB_CORE_WRITER_UPKEEP_H
#define NB_CORE_WRITER_UPKEEP_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/system.h"
#include "core/model/state.h"
#include "core/writer/staging.h"

/* ---- verdicts of a day ----------------------------------------------------------------------- */

/* How many verdicts the daemon gave during the last day, in slots of ten minutes: for the console.
 * Verdicts are counted in memory, by any thread; the writer stores the slots about every ten
 * minutes in a quiet moment, and at the end. A crash loses what was counted since. */

enum { NB_TRAFFIC_SECONDS = 600 }; /* of a slot */

/* A slot in one word, so that no lock is needed: the number of its ten minutes since 1970 in the
 * upper half, its verdicts in the lower one. */
static inline uint64_t nb_traffic_slot(uint64_t period, uint64_t count)
{
    assert(period <= UINT32_MAX);
    return period << 32 | (count < UINT32_MAX ? count : UINT32_MAX);
}

/* The number of the present ten minutes since 1970. */
static inline uint64_t nb_traffic_period(void)
{
    int64_t now = nb_clock_now();
    return now < 0 ? 0 : (uint64_t)now / (UINT64_C(1000) * NB_TRAFFIC_SECONDS);
}

/* Sets counts[i] to the verdicts of the slots of the last day, the oldest first; the last one is
 * still counted. Returns the time at which the first one begins, in milliseconds since 1970. Any
 * thread. */
int64_t nb_traffic_list(struct nb_engine *engine, uint32_t counts[NB_TRAFFIC_SLOTS]);

/* Takes the stored slots when a store is opened. Damaged ones are left out: no verdict depends on
 * them. */
void nb_traffic_read(struct nb_engine *engine, const struct nb_view *view);

/* Stores the slots if verdicts were counted and a slot has ended, or at the end (`now`). What fails
 * is tried again. The writer's. */
void nb_traffic_save(struct nb_engine *engine, bool now);

/* The imports under way. The data of an import are listed among the orphans and must not be deleted
 * while the import is under way. On the writer's thread. */

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

/* Data of models that are gone: deleted models, and imports that were not finished. The data are
 * listed among the orphans and deleted in bounded slices. On the writer's thread. */

/* Deletes a bounded part of these data in a transaction of its own. Afterwards `engine->purge` says
 * whether there may be more. Returns 0 or the code of the transaction. */
int nb_purge_slice(struct nb_engine *engine);

/* Refits and calibrations while the writer has nothing else to do: REFIT entries, one slice each,
 * and calibrations of models by the book. On the writer's thread. */

/* Commits one slice of a refit that is under way and does not rest (core/model/refit.h), or
 * begins a refit that some loaded model must have. If `quiet`, also begins a refit that would only
 * improve the weights. A gap between two requests of a trainer is the wrong time for that, because
 * every change runs a slice while a refit is under way. Returns whether it committed something. */
bool nb_refits_some(struct nb_engine *engine, bool quiet);
/* Whether a refit of some loaded model rests. */
bool nb_refits_rest(struct nb_engine *engine);

/* Continues the calibration of some loaded model, or begins one (core/writer/recalibrate.h). At its
 * end the map is committed with the model's settings. Returns whether there was something to do,
 * and it succeeded. */
bool nb_refits_calibrate(struct nb_engine *engine);
/* The same for one model, if it needs a calibration. Called between the commits of the changes that
 * it learns. */
bool nb_refits_calibrate_model(struct nb_engine *engine, struct nb_live *live);

/* For nb_upkeep_busy; of the monotonic clock, in nanoseconds. */
struct nb_upkeep_times {
    uint64_t trimmed; /* time of the last nb_upkeep_trim; at first, when the writer began */
    uint64_t purge_not_before;
};

/* Does all the work there is, until something waits for the writer. Work that fails is tried
 * again. */
void nb_upkeep_quiet(struct nb_engine *engine);
/* Unloads models, the least recently used first, until they fit the setting `memory`. */
void nb_upkeep_trim(struct nb_engine *engine);
/* Does the work that cannot wait for a quiet moment: unloads cold models, takes old documents out,
 * upgrades models of an older version, and deletes data of deleted models. Called after everything
 * that waited was done. */
void nb_upkeep_busy(struct nb_engine *engine, struct nb_upkeep_times *times);
#endif
