/* SPDX-License-Identifier: Apache-2.0 */
#include "core/writer/upkeep/upkeep.h"

#include <malloc.h>

#include "core/base/clock.h"
#include "core/model/live/checkpoint.h"
#include "core/model/registry/registry.h"
#include "core/model/registry/trim.h"
#include "core/writer/remember/remember.h"
#include "core/writer/upkeep/ageing.h"
#include "core/writer/upkeep/purge.h"
#include "core/writer/upkeep/refits.h"
#include "core/writer/upkeep/unused.h"

enum {
    AGED_AT_ONCE = 500, /* documents that ageing takes out of a model in one commit */
    FREED_AFTER = 500,  /* documents; what fewer leave behind, the next ones take */
    SHORT_TAIL = 20000, /* feature changes; a replay of so many takes a millisecond */
    PURGE_REST = 3,     /* times as long as a slice took, other work goes first */
};

/* ---- saving ---------------------------------------------------------------------------------- */

/* Before a model leaves the memory. One with a short tail is not worth a commit: its next load
 * replays it. */
static int save_model(struct nb_engine *engine, struct nb_live *live)
{
    if (atomic_load(&live->removed) || atomic_load(&live->is_damaged) ||
        atomic_load(&live->tail) < SHORT_TAIL)
        return 0;
    return nb_checkpoint_all(engine, live, NULL, NULL);
}

/* Saves a model of the list, and drops what it has of features that no document has. Returns
 * whether the list goes on. */
static bool save_one(struct nb_engine *engine, struct nb_live *live,
                     bool (*stop)(struct nb_engine *engine))
{
    uint64_t before = atomic_load(&live->tail);
    if (nb_registry_load(engine, live, NULL) != 0) {
        nb_checkpoint_forget(engine, live);
        return true;
    }
    nb_unused_begin(engine, live, 1);
    if (nb_checkpoint_all(engine, live, stop, NULL) != 0)
        return false;
    while (!stop(engine) && nb_unused_step(engine))
        ;
    /* No progress: the store takes no changes. */
    return atomic_load(&live->tail) < before || stop(engine);
}

/* Saves models that a start would replay, oldest first, until `stop`. A model that is not in
 * memory is as a crash left it in the store: it is loaded, saved, and leaves the memory again, or
 * all models that were taught before a crash would be in memory at once. */
static void save_unsaved(struct nb_engine *engine, bool (*stop)(struct nb_engine *engine))
{
    bool goes_on = true;
    while (engine->unsaved != NULL && goes_on && !stop(engine)) {
        struct nb_live *live = engine->unsaved;
        bool was_loaded = atomic_load(&live->loaded);
        atomic_fetch_add(&live->references, 1);
        goes_on = save_one(engine, live, stop);
        /* One that had to stop stays for the next quiet moment: it need not be loaded again. */
        if (!was_loaded && !live->is_unsaved)
            (void)nb_trim_model(engine, live);
        nb_registry_release(engine, &live);
    }
}

static bool is_closing(struct nb_engine *engine)
{
    pthread_mutex_lock(&engine->queue_lock);
    bool closing = engine->closing;
    pthread_mutex_unlock(&engine->queue_lock);
    return closing;
}

/* How much documents that were taken out have used is only seen when all models are saved. Until
 * then no more are taken out for the disk. */
static void age_disk(struct nb_engine *engine)
{
    if (nb_ageing_disk(engine))
        save_unsaved(engine, is_closing);
}

void nb_upkeep_trim(struct nb_engine *engine)
{
    nb_trim_memory(engine, save_model);
}

/* ---- quiet moments --------------------------------------------------------------------------- */

static bool work_waits(struct nb_engine *engine)
{
    pthread_mutex_lock(&engine->queue_lock);
    bool waits = engine->first != NULL || engine->closing;
    pthread_mutex_unlock(&engine->queue_lock);
    return waits;
}

/* Bodies, bags and texts of features of batches lie in small pieces, between what stays, so freeing
 * them gives little back: after 6,000 mails in batches of 500 it was twice what the model takes. */
static void give_memory_back(struct nb_engine *engine)
{
    if (engine->freed_after < FREED_AFTER)
        return;
    engine->freed_after = 0;
    (void)malloc_trim(0); /* says whether there was any */
}

void nb_upkeep_quiet(struct nb_engine *engine)
{
    (void)nb_remember_flush(engine, false, NULL); /* what fails is tried again */
    while (!work_waits(engine) && nb_ageing_some(engine, AGED_AT_ONCE))
        ;
    if (!work_waits(engine))
        age_disk(engine);
    while (!work_waits(engine) && nb_refits_some(engine, true))
        ;
    while (engine->purge && !work_waits(engine))
        if (nb_purge_slice(engine) != 0)
            break;
    while (!work_waits(engine) && nb_refits_calibrate(engine))
        ;
    save_unsaved(engine, work_waits);
    while (!work_waits(engine) && nb_unused_step(engine))
        ;
    /* What could not be dropped now would keep its model in memory. */
    if (!work_waits(engine))
        nb_unused_end(engine);
    if (!work_waits(engine))
        nb_upkeep_trim(engine);
    if (!work_waits(engine))
        give_memory_back(engine);
}

/* ---- beside other work ----------------------------------------------------------------------- */

/* Whether the models in memory are over the setting. */
static bool is_over(const struct nb_engine *engine)
{
    uint64_t most = engine->settings.memory;
    return most != 0 && atomic_load(&engine->memory) > most;
}

/* One slice, unless there is nothing or the last one was a short time ago. */
static void purge_some(struct nb_engine *engine, uint64_t *not_before)
{
    uint64_t start = nb_clock_monotonic();
    if (!engine->purge || start < *not_before)
        return;
    (void)nb_purge_slice(engine); /* what fails is tried again */
    uint64_t end = nb_clock_monotonic();
    *not_before = end + (end - start) * PURGE_REST;
}

void nb_upkeep_busy(struct nb_engine *engine, struct nb_upkeep_times *times)
{
    if (is_over(engine) || nb_clock_monotonic() - times->trimmed > engine->settings.quiet_after) {
        nb_upkeep_trim(engine);
        (void)nb_ageing_some(engine, AGED_AT_ONCE);
        age_disk(engine);
        times->trimmed = nb_clock_monotonic();
    }
    (void)nb_remember_flush(engine, false, NULL);
    purge_some(engine, &times->purge_not_before);
}

void nb_upkeep_drop_some(struct nb_engine *engine, const struct nb_group *group)
{
    for (size_t i = 0; i < group->model_count; i++) {
        struct nb_live *live = group->models[i].live;
        nb_unused_begin(engine, live, nb_unused_allowed(engine, live));
    }
    (void)nb_unused_step(engine);
}
