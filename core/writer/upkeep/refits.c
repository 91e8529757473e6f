/* SPDX-License-Identifier: Apache-2.0 */
#include "core/writer/upkeep/refits.h"

#include <assert.h>

#include "core/model/learn/refit_wanted.h"
#include "core/model/live/relay.h"
#include "core/model/live/transaction.h"
#include "core/model/registry/registry.h"
#include "core/writer/commit/commit.h"
#include "core/writer/recalibrate/recalibrate.h"
#include "core/writer/recalibrate/settle.h"
#include "core/writer/submit/batch.h"

/* Commits the one change of the batch. */
static bool commit(struct nb_engine *engine, struct nb_batch *batch)
{
    struct nb_group group = {.engine = engine};
    assert(batch->size == 1);
    if (engine->settings.shared) { /* it comes back; until then there is nothing to do */
        nb_relay_propose(engine, nb_buffer_string(&batch->name), batch);
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
        struct nb_errand errand = {.kind = NB_ERRAND_FITTED,
                                   .model = nb_live_name(live),
                                   .settings = nb_buffer_string(&stored),
                                   .last = live->checkpoint.last};
        nb_relay_propose_errand(engine, &errand);
    }
    nb_buffer_deinit(&stored);
}

bool nb_refits_calibrate_model(struct nb_engine *engine, struct nb_live *live)
{
    struct nb_settings settings;
    bool done;
    if (nb_transaction_health(engine, NULL) != 0 || !atomic_load(&live->persisted) ||
        atomic_load(&live->removed) || atomic_load(&live->is_damaged) ||
        !nb_recalibrate_is_wanted(live))
        return false;
    int rc = nb_recalibrate_some(engine, live, &done, &settings);
    if (rc == NB_CORRUPT) { /* else it would be the first to be calibrated for ever */
        struct nb_error why;
        (void)nb_error_set(&why, rc, "a document of its calibration does not read back");
        nb_live_set_damaged(live, &why);
    }
    if (rc == 0 && done && engine->settings.shared) {
        propose_map(engine, live, &settings);
        nb_settings_deinit(&settings);
        return false; /* it comes back; until then there is nothing to do */
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
