/* SPDX-License-Identifier: Apache-2.0 */
#include "core/engine/refits.h"

#include <assert.h>

#include "core/engine/commit.h"
#include "core/live/refit.h"
#include "core/live/registry.h"
#include "core/live/transaction.h"

/* Commits the one change of the batch. */
static bool commit(struct nb_engine *engine, struct nb_batch *batch)
{
    struct nb_group group = {.engine = engine};
    assert(batch->size == 1);
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
    struct nb_live *live =
        nb_registry_first(engine, quiet ? nb_refit_is_wanted : nb_refit_is_begun);
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
