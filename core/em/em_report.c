/* SPDX-License-Identifier: Apache-2.0 */
#include "core/em/em_report.h"

#include <assert.h>
#include <string.h>

#include "core/em/unlabelled.h"
#include "core/model/registry/registry.h"

const char *nb_unlabelled_state_name(enum nb_unlabelled_state state)
{
    static const char *const names[] = {[NB_UNLABELLED_OFF] = "off",
                                        [NB_UNLABELLED_WAITING] = "waiting",
                                        [NB_UNLABELLED_RUNNING] = "running",
                                        [NB_UNLABELLED_READY] = "ready"};
    assert((size_t)state < sizeof names / sizeof *names);
    return names[state];
}

static enum nb_unlabelled_state state_of(struct nb_live *live)
{
    enum nb_refining is = nb_refining_of(live, NULL);
    if (is == NB_REFINING_OFF)
        return NB_UNLABELLED_OFF;
    if (atomic_load(&live->is_refining))
        return NB_UNLABELLED_RUNNING;
    return is == NB_REFINING_DUE ? NB_UNLABELLED_WAITING : NB_UNLABELLED_READY;
}

static void tell(struct nb_live *live, enum nb_unlabelled_state state,
                 struct nb_unlabelled_report *report)
{
    struct nb_refined *r = nb_live_refined(live);
    *report = (struct nb_unlabelled_report){.state = state};
    if (report->state == NB_UNLABELLED_OFF)
        nb_refining_tell_why_off(live, report->reason, sizeof report->reason);
    if (report->state == NB_UNLABELLED_RUNNING) {
        report->fits = atomic_load(&live->refining);
        report->fits_all = atomic_load(&live->refinings);
    }
    report->is_known = r != NULL && report->state != NB_UNLABELLED_OFF;
    if (report->is_known) {
        report->weight = r->weight;
        report->is_pooled = r->is_pooled && r->weight > 0;
        report->share = r->share;
        report->smoothing = r->smoothing;
        report->documents = r->documents;
        report->changed = atomic_load(&live->replaced) - r->replaced;
        report->iterations = r->iterations;
        report->log_likelihood = r->log_likelihood;
        report->first = r->first;
        report->measured = r->measured;
        report->folds = r->folds;
        report->without = (struct nb_unlabelled_loss){r->without.log_loss, r->without.accuracy};
        report->with = (struct nb_unlabelled_loss){r->with.log_loss, r->with.accuracy};
        report->seconds = r->seconds;
        memcpy(report->reason, r->reason, sizeof report->reason);
    }
    nb_refined_release(&r);
}

void nb_unlabelled_tell(struct nb_live *live, struct nb_unlabelled_report *report)
{
    tell(live, state_of(live), report);
}

int nb_engine_unlabelled(struct nb_engine *engine, struct nb_string model,
                         struct nb_unlabelled_report *report, struct nb_error *error)
{
    struct nb_live *live;
    int rc = nb_registry_acquire(engine, model, false, &live, error);
    if (rc != 0)
        return rc;
    nb_unlabelled_tell(live, report);
    nb_registry_release(engine, &live);
    return 0;
}

int nb_engine_refine(struct nb_engine *engine, struct nb_string model, bool (*stop)(void *user),
                     void *user, struct nb_unlabelled_report *report, struct nb_error *error)
{
    struct nb_live *live;
    int rc = nb_registry_acquire(engine, model, false, &live, error);
    if (rc != 0)
        return rc;
    rc = nb_refine(engine, live, false, stop, user, error);
    if (rc == 0)
        nb_unlabelled_tell(live, report);
    else if (rc == NB_BUSY) /* the other fit may have ended meanwhile, but it began earlier */
        tell(live, NB_UNLABELLED_RUNNING, report);
    nb_registry_release(engine, &live);
    return rc == NB_BUSY ? 0 : rc;
}
