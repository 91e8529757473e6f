/* SPDX-License-Identifier: Apache-2.0 */
#include "core/nodes/incoming.h"

#include "core/engine/engine.h"
#include "core/engine/writer.h"
#include "core/model/live/relay.h"
#include "core/model/live/transaction.h"
#include "core/nodes/answer.h"
#include "core/nodes/carried.h"
#include "core/nodes/errand.h"
#include "core/nodes/queue.h"
#include "core/nodes/replica_state.h"

static int write_nothing(struct nb_engine *engine, struct nb_view *view, void *argument,
                         struct nb_error *error)
{
    (void)engine;
    (void)view;
    (void)argument;
    (void)error;
    return 0;
}

int nb_incoming_store(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    return nb_transaction(engine, 0, write_nothing, argument, error);
}

/* Runs an errand, or only passes it (NULL), until nothing that may pass is in the way. */
static int run_errand(struct nb_replica *r, const struct nb_operation *o,
                      const struct nb_relayed *here, struct nb_errand_done *done,
                      struct nb_error *error)
{
    int rc;
    do {
        rc = o != NULL ? nb_errand_run(r->engine, &o->errand, done, error) : 0;
        int passed =
            nb_error_is_passing(rc) ? rc : nb_writer_run(r->engine, nb_incoming_store, NULL, NULL);
        if (!nb_error_is_passing(passed))
            return rc;
        if (atomic_load(&r->is_stopping))
            return NB_STOPPING;
        nb_carried_pause();
    } while (atomic_load(&r->place->applied) < here->position);
    return rc;
}

int nb_incoming_errand(struct nb_replica *r, const struct nb_operation *o,
                       const struct nb_relayed *here, struct nb_awaited *awaited)
{
    struct nb_error why = {0};
    struct nb_errand_done done = {.position = here->position};
    int rc = nb_carried_settle(r);
    if (rc == 0) {
        nb_relay_apply(here);
        rc = run_errand(r, o, here, &done, &why);
        nb_relay_apply(NULL);
    }
    if (rc == NB_STOPPING)
        (void)nb_error_set(&why, rc, "the daemon is stopping");
    nb_answer_errand(r, awaited, rc == 0 ? &done : NULL, &why);
    return rc == NB_STOPPING ? rc : 0;
}

int nb_incoming_pass(struct nb_replica *r, const struct nb_relayed *here,
                     struct nb_awaited *awaited, const struct nb_error *why)
{
    struct nb_errand_done done; /* nothing is done */
    int rc = nb_carried_settle(r);
    if (rc == 0) {
        nb_relay_apply(here);
        rc = run_errand(r, NULL, here, &done, NULL);
        nb_relay_apply(NULL);
    }
    nb_answer_errand(r, awaited, NULL, why);
    return rc;
}

int nb_incoming_change(struct nb_replica *r, const struct nb_operation *o,
                       const struct nb_relayed *here, struct nb_awaited *awaited)
{
    struct nb_error why = {0};
    int rc = nb_carried_add(r, o, here, awaited, &why);
    while (nb_error_is_passing(rc) && !atomic_load(&r->is_stopping)) {
        nb_carried_pause();
        rc = nb_carried_add(r, o, here, awaited, &why);
    }
    if (rc == 0)
        return 0;
    if (!nb_error_is_passing(rc))
        nb_queue_note(r->settings.queue, here->outbox, &why);
    if (!nb_error_is_passing(rc))
        return nb_incoming_pass(r, here, awaited, &why);
    (void)nb_error_set(&why, NB_STOPPING, "the daemon is stopping");
    nb_answer_errand(r, awaited, NULL, &why);
    return NB_STOPPING;
}
