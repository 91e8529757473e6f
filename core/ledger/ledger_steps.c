/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ledger/ledger_steps.h"

static int visit(void *user, struct nb_entry *entry, struct nb_error *error)
{
    struct nb_ledger_steps *s = user;
    s->from = entry->number;
    if (s->seen++ >= s->most || nb_store_wanted(&s->view))
        return NB_STEP_ENDS;
    int rc = s->visit(s->user, entry, error);
    s->from += rc == 0;
    return rc;
}

int nb_ledger_step(struct nb_ledger_steps *steps, struct nb_error *error)
{
    int rc = nb_store_snapshot(steps->store, &steps->view, error);
    if (rc != 0)
        return rc;
    steps->seen = 0;
    rc = nb_ledger_walk_only(&steps->view, steps->model, steps->from, steps->only, visit, steps,
                             error);
    nb_store_snapshot_end(&steps->view);
    steps->is_done = rc == 0;
    return rc == NB_STEP_ENDS ? 0 : rc;
}

int nb_step_check(bool (*stop)(void *user), void *user, struct nb_error *error)
{
    if (stop == NULL || !stop(user))
        return 0;
    return nb_error_set(error, NB_STOPPING, "the daemon is stopping");
}

int nb_ledger_steps_all(struct nb_ledger_steps *steps, bool (*stop)(void *user), void *user,
                        struct nb_error *error)
{
    int rc = 0;
    while (rc == 0 && !steps->is_done) {
        rc = nb_step_check(stop, user, error);
        if (rc == 0)
            rc = nb_ledger_step(steps, error);
    }
    return rc;
}
