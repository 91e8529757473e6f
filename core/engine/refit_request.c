/* SPDX-License-Identifier: Apache-2.0 */
#include <time.h>

#include "core/engine/engine.h"
#include "core/engine/relayed_changes.h"
#include "core/engine/writer.h"
#include "core/model/live/model_transaction.h"
#include "core/model/registry/registry.h"
#include "core/writer/recalibrate/recalibrate.h"
#include "core/writer/submit/submit_batch.h"

/* Waits until the model needs no more refit. */
static int wait_for(struct nb_engine *engine, struct nb_live *live, bool (*stop)(void *user),
                    void *user, struct nb_error *error)
{
    static const struct timespec pause = {.tv_nsec = 2000000};
    int rc = 0;
    while (rc == 0 && atomic_load(&live->wants_refit)) {
        if (stop(user))
            return nb_error_set(error, NB_STOPPING,
                                "the daemon is stopping; the next start begins "
                                "to fit the weights again");
        if (atomic_load(&live->removed))
            return nb_error_set(error, NB_NOT_FOUND, "the model was deleted or replaced meanwhile");
        rc = nb_live_check(live, error);
        if (rc == 0)
            rc = nb_transaction_health(engine, error);
        if (rc == 0)
            (void)nanosleep(&pause, NULL);
    }
    return rc;
}

int nb_engine_refit(struct nb_engine *engine, struct nb_string model, struct nb_string source,
                    bool (*stop)(void *user), void *user, struct nb_error *error)
{
    struct nb_batch *batch;
    int rc = nb_batch_new(engine, model, false, &batch, error);
    if (rc != 0)
        return rc;
    rc = nb_batch_refit(batch, NB_REFIT_WHOLE, source, error);
    if (rc == 0) {
        nb_engine_apply(engine, batch);
        const struct nb_receipt *receipt = nb_batch_receipt(batch, 0);
        rc = receipt->code == 0 ? 0 : nb_error_set(error, receipt->code, "%s", receipt->error.text);
    }
    if (rc == 0)
        rc = wait_for(engine, batch->live, stop, user, error);
    nb_batch_free(&batch);
    return rc;
}

/* ---- a map that some node has fitted --------------------------------------------------------- */

struct fitted {
    struct nb_string model;
    uint64_t last;
    const struct nb_settings *settings;
};

static int settle(struct nb_engine *engine, struct nb_live *live, const struct fitted *f,
                  struct nb_error *error)
{
    const struct nb_settings *now = &live->published->settings;
    if (live->checkpoint.last != f->last || now->parent != NULL || f->settings->fitted == NULL)
        return nb_error_set(error, NB_CONFLICT, "the model has changed since");
    int rc = nb_put_fitted(engine, live, f->settings);
    return rc == 0 ? 0 : nb_error_set(error, rc, "the map of probabilities was not stored");
}

static int fitted_task(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    const struct fitted *f = argument;
    struct nb_live *live;
    int rc = nb_registry_acquire(engine, f->model, false, &live, error);
    if (rc != 0)
        return rc;
    rc = settle(engine, live, f, error);
    nb_registry_release(engine, &live);
    return rc;
}

int nb_engine_put_fitted(struct nb_engine *engine, struct nb_string model, uint64_t last,
                         const struct nb_settings *settings, struct nb_error *error)
{
    struct fitted f = {model, last, settings};
    return nb_writer_run(engine, fitted_task, &f, error);
}
