/* SPDX-License-Identifier: Apache-2.0 */
#include "core/writer/upkeep.h"

#include <assert.h>

#include "core/base/buffer.h"
#include "core/base/platform/platform.h"
#include "core/base/system.h"
#include "core/ledger/ledger.h"
#include "core/model/checkpoint.h"
#include "core/model/model_transaction.h"
#include "core/model/refit.h"
#include "core/model/registry.h"
#include "core/model/relayed.h"
#include "core/store/store.h"
#include "core/writer/ageing.h"
#include "core/writer/commit.h"
#include "core/writer/recalibrate.h"
#include "core/writer/remember.h"
#include "core/writer/submit.h"
#include "core/writer/unused.h"
#include "core/writer/upgrade.h"

static const struct nb_string KEY = {"traffic", 7};

int64_t nb_traffic_list(struct nb_engine *engine, uint32_t counts[NB_TRAFFIC_SLOTS])
{
    uint64_t first = nb_traffic_period() + 1 - NB_TRAFFIC_SLOTS;
    for (uint64_t i = 0; i < NB_TRAFFIC_SLOTS; i++) {
        uint64_t slot = atomic_load(&engine->traffic.slots[(first + i) % NB_TRAFFIC_SLOTS]);
        counts[i] = slot >> 32 == first + i ? (uint32_t)slot : 0;
    }
    return (int64_t)first * 1000 * NB_TRAFFIC_SECONDS;
}

void nb_traffic_read(struct nb_engine *engine, const struct nb_view *view)
{
    struct nb_string value;
    if (nb_store_get(view, NB_TABLE_META, KEY, &value, NULL) != 0)
        return;
    struct nb_unpacker u = nb_unpacker_of(value.bytes, value.length);
    for (size_t i = 0; i < NB_TRAFFIC_SLOTS && u.at < u.end && !u.failed; i++) {
        uint64_t slot = nb_unpack_u64(&u);
        atomic_store(&engine->traffic.slots[i], slot);
        engine->traffic.saved += slot;
    }
}

static int write_slots(struct nb_engine *engine, struct nb_view *view, void *argument,
                       struct nb_error *error)
{
    struct nb_buffer out = {0};
    struct nb_packer p = {.out = &out};
    (void)argument;
    for (size_t i = 0; i < NB_TRAFFIC_SLOTS; i++)
        nb_pack_u64(&p, atomic_load(&engine->traffic.slots[i]));
    int rc = p.code != 0 ? nb_error_no_memory(error)
                         : nb_store_put(view, NB_TABLE_META, KEY,
                                        (struct nb_string){out.bytes, out.length}, error);
    nb_buffer_deinit(&out);
    return rc;
}

void nb_traffic_save(struct nb_engine *engine, bool now)
{
    struct nb_traffic *t = &engine->traffic;
    uint64_t period = nb_traffic_period(), sum = 0;
    if (!now && t->looked == period)
        return;
    t->looked = period;
    for (size_t i = 0; i < NB_TRAFFIC_SLOTS; i++)
        sum += atomic_load(&t->slots[i]); /* differs after any verdict: slots only grow */
    if (sum != t->saved &&
        nb_transaction(engine, NB_TRAFFIC_SLOTS * UINT64_C(10), write_slots, NULL, NULL) == 0)
        t->saved = sum;
}

enum { PURGE_ENTRIES = 2000 }; /* deleted per transaction */

struct purge {
    struct nb_engine *engine;
    uint32_t number;
    bool found;
};

static int first_orphan(void *user, struct nb_string key, struct nb_string value,
                        struct nb_error *error)
{
    struct purge *purge = user;
    (void)value;
    (void)error;
    purge->number = nb_store_key_head(key);
    purge->found = !nb_import_is_running(purge->engine, purge->number);
    return purge->found;
}

/* The newest entry of the ledger must stay, because the next number follows from it, except in a
 * cluster (core/ledger/record.h). If an unfinished import has written it, a new entry,
 * which says that the import is gone, becomes the newest. */
static int keep_newest(struct nb_engine *engine, const struct nb_view *view, uint32_t number,
                       struct nb_error *error)
{
    uint64_t newest;
    struct nb_entry entry = {0};
    struct nb_ledger_totals totals = {0};
    struct nb_change gone = {.kind = NB_CHANGE_DELETE, .model = number, .time = nb_clock_now()};
    if (engine->stream_states.is_known)
        return 0;
    int rc = nb_ledger_newest(view, &newest, error);
    if (rc == 0 && newest != 0)
        rc = nb_ledger_read(view, newest, &entry, error);
    if (rc == 0 && newest != 0 && entry.change.model == number &&
        entry.change.kind != NB_CHANGE_DELETE)
        rc = nb_ledger_append(view, nb_serials_entry(&engine->serials), &gone, &totals,
                              &engine->scratch, error);
    nb_entry_deinit(&entry);
    return rc;
}

static int purge_tables(const struct nb_view *view, uint32_t number, struct nb_error *error)
{
    static const enum nb_table tables[] = {
        NB_TABLE_STATE,       NB_TABLE_LABELS,  NB_TABLE_ROWS,       NB_TABLE_WEIGHTS,
        NB_TABLE_TWIN,        NB_TABLE_WAITING, NB_TABLE_QUARANTINE, NB_TABLE_HISTORY,
        NB_TABLE_HISTORY_IDS, NB_TABLE_ORPHANS};
    struct nb_store_key key = nb_store_key_model(number);
    size_t deleted;
    int rc = nb_ledger_clear(view, number, PURGE_ENTRIES, &deleted, error);
    for (size_t i = 0; rc == 0 && deleted < PURGE_ENTRIES && i < sizeof tables / sizeof *tables;
         i++) {
        size_t some;
        rc = nb_store_clear(view, tables[i], nb_store_key_string(&key), PURGE_ENTRIES - deleted,
                            &some, error);
        deleted += some;
    }
    return rc;
}

static int purge_slice(struct nb_engine *engine, struct nb_view *view, void *argument,
                       struct nb_error *error)
{
    struct purge *purge = argument;
    *purge = (struct purge){.engine = engine};
    int rc = nb_store_scan(view, NB_TABLE_ORPHANS, (struct nb_string){"", 0}, 0, first_orphan,
                           purge, error);
    if (rc < 0 || !purge->found)
        return rc < 0 ? rc : 0;
    assert(!nb_import_is_running(engine, purge->number));
    rc = keep_newest(engine, view, purge->number, error);
    return rc != 0 ? rc : purge_tables(view, purge->number, error);
}

int nb_purge_slice(struct nb_engine *engine)
{
    struct purge purge = {.found = false};
    struct nb_error error;
    int rc = nb_transaction(engine, 0, purge_slice, &purge, &error);
    if (rc == 0)
        engine->purge = purge.found;
    /* Damaged data of a model that is gone do no harm; a rebuild removes them. */
    if (rc == NB_CORRUPT)
        engine->purge = false;
    return rc;
}

/* Commits the one change of the batch. */
static bool commit(struct nb_engine *engine, struct nb_batch *batch)
{
    struct nb_group group = {.engine = engine};
    assert(batch->size == 1);
    if (engine->settings
            .shared) { /* the stream brings it back; until then there is nothing to do */
        nb_relay_propose(engine, nb_buffer_string(&batch->name), batch, NULL);
        return false;
    }
    atomic_fetch_add(&engine->counters.queued, 1);
    batch->written = 0;
    (void)nb_group_add(&group, batch);
    nb_group_commit(&group);
    nb_group_deinit(&group);
    return batch->changes[0].receipt.code == 0;
}

bool nb_refits_some(struct nb_engine *engine, bool quiet)
{
    static const struct nb_string source = {"refit", sizeof "refit" - 1};
    struct nb_batch *batch = NULL;
    bool is_done = false;
    if (nb_transaction_health(engine, NULL) != 0)
        return false;
    struct nb_live *live = nb_registry_first(engine, quiet ? nb_refit_is_wanted : nb_refit_is_next);
    if (live == NULL)
        return false;
    bool begin = live->fit == NULL || nb_refit_is_due(live);
    if (nb_batch_new(engine, nb_live_name(live), false, &batch, NULL) == 0 &&
        nb_batch_refit(batch, begin ? NB_REFIT_BEGIN : NB_REFIT_SLICE, source, NULL) == 0)
        is_done = commit(engine, batch);
    nb_batch_free(&batch);
    nb_registry_release(engine, &live);
    return is_done;
}

bool nb_refits_rest(struct nb_engine *engine)
{
    struct nb_live *live = nb_registry_first(engine, nb_refit_rests);
    if (live == NULL)
        return false;
    nb_registry_release(engine, &live);
    return true;
}

static void propose_map(struct nb_engine *engine, struct nb_live *live,
                        const struct nb_settings *settings)
{
    struct nb_buffer stored = {0};
    if (nb_settings_write(settings, &stored) == 0) {
        struct nb_relayed_change relayed_change = {.kind = NB_RELAYED_CHANGE_FITTED,
                                                   .model = nb_live_name(live),
                                                   .settings = nb_buffer_string(&stored),
                                                   .last = live->checkpoint.last};
        nb_relay_propose(engine, relayed_change.model, NULL, &relayed_change);
    }
    nb_buffer_deinit(&stored);
}

bool nb_refits_calibrate_model(struct nb_engine *engine, struct nb_live *live)
{
    struct nb_settings settings;
    bool done;
    if (nb_transaction_health(engine, NULL) != 0 || !atomic_load(&live->persisted) ||
        atomic_load(&live->removed) || atomic_load(&live->unusable) ||
        !nb_recalibrate_is_wanted(live))
        return false;
    int rc = nb_recalibrate_some(engine, live, &done, &settings);
    if (rc == NB_CORRUPT) { /* otherwise it would stay the first to be calibrated for ever */
        struct nb_error why;
        (void)nb_error_set(&why, rc, "a document of its calibration does not read back");
        nb_live_set_damaged(live, &why);
    }
    if (rc == 0 && done && engine->settings.shared) {
        propose_map(engine, live, &settings);
        nb_settings_deinit(&settings);
        return false; /* the stream brings it back; until then there is nothing to do */
    }
    if (rc == 0 && done) {
        rc = nb_put_fitted(engine, live, &settings);
        nb_settings_deinit(&settings);
    }
    return rc == 0;
}

bool nb_refits_calibrate(struct nb_engine *engine)
{
    struct nb_live *live = nb_registry_first(engine, nb_recalibrate_is_wanted);
    if (live == NULL)
        return false;
    bool has = nb_refits_calibrate_model(engine, live);
    nb_registry_release(engine, &live);
    return has;
}

enum {
    AGED_AT_ONCE = 500, /* documents that ageing takes out of a model in one commit */
    FREED_AFTER = 500,  /* documents; the memory of fewer is left for later documents to reuse */
    SHORT_TAIL = 20000, /* feature changes; a replay of so many takes a millisecond */
    PURGE_REST = 3,     /* after a slice, other work goes first for so many times its duration */
};

/* ---- saving ---------------------------------------------------------------------------------- */

/* Saves a model before it leaves the memory. A short tail is not worth a commit: the next load
 * replays it. */
static int save_model(struct nb_engine *engine, struct nb_live *live)
{
    if (atomic_load(&live->removed) || atomic_load(&live->unusable) ||
        atomic_load(&live->tail) < SHORT_TAIL)
        return 0;
    return nb_checkpoint_all(engine, live, NULL, NULL);
}

/* Saves a model of the list, and drops its features that no document has. Returns whether to
 * continue with the list. */
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

/* Saves models that a start would replay, oldest first, until `stop`. A model that is not in memory
 * is in the store as a crash left it. It is loaded, saved, and dropped from memory again; otherwise
 * all models that were taught before a crash would be in memory at once. */
static void save_unsaved(struct nb_engine *engine, bool (*stop)(struct nb_engine *engine))
{
    bool goes_on = true;
    while (engine->unsaved.first != NULL && goes_on && !stop(engine)) {
        struct nb_live *live = engine->unsaved.first;
        bool was_loaded = atomic_load(&live->loaded);
        atomic_fetch_add(&live->references, 1);
        goes_on = save_one(engine, live, stop);
        /* A model whose saving had to stop stays loaded for the next quiet moment. */
        if (!was_loaded && !live->unsaved.is_listed)
            (void)nb_trim_model(engine, live);
        nb_registry_release(engine, &live);
    }
}

static bool is_closing(struct nb_engine *engine)
{
    pthread_mutex_lock(&engine->queue.lock);
    bool closing = engine->queue.closing;
    pthread_mutex_unlock(&engine->queue.lock);
    return closing;
}

/* The space that removed documents free is known only when all models are saved. Until then no more
 * documents are removed for the disk. */
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
    pthread_mutex_lock(&engine->queue.lock);
    bool waits = engine->queue.first != NULL || engine->queue.closing;
    pthread_mutex_unlock(&engine->queue.lock);
    return waits;
}

/* The bodies, bags and texts of batches lie in small pieces between memory that stays in use, so
 * free() returns little of it to the kernel: after 6,000 mails in batches of 500 the rest was twice
 * the memory of the model. */
static void give_memory_back(struct nb_engine *engine)
{
    if (engine->freed_after < FREED_AFTER)
        return;
    engine->freed_after = 0;
    nb_platform_heap_trim();
}

void nb_upkeep_quiet(struct nb_engine *engine)
{
    (void)nb_remember_flush(engine, false, NULL); /* what fails is tried again */
    nb_traffic_save(engine, false);
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
    /* A pass that cannot drop its features now would keep its model in memory. */
    if (!work_waits(engine))
        nb_unused_end(engine);
    if (!work_waits(engine))
        nb_upkeep_trim(engine);
    if (!work_waits(engine))
        give_memory_back(engine);
}

/* ---- beside other work ----------------------------------------------------------------------- */

/* Whether the models in memory exceed the setting. */
static bool is_over(const struct nb_engine *engine)
{
    uint64_t most = engine->settings.memory;
    return most != 0 && atomic_load(&engine->memory.used) > most;
}

/* Deletes one slice, unless there is nothing to delete or the last slice was a short time ago. */
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
    (void)nb_upgrade_some(engine);
    purge_some(engine, &times->purge_not_before);
}
