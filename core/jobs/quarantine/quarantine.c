/* SPDX-License-Identifier: Apache-2.0
 *
 * Applying and dropping.
 */
#include "core/jobs/quarantine/quarantine.h"

#include "core/jobs/quarantine/drop.h"
#include "core/jobs/quarantine/find.h"
#include "core/model/live/relay.h"
#include "core/model/live/relayed.h"
#include "core/model/registry/registry.h"

enum { STEP_CHANGES = 500 };

/* One pass over the quarantine. */
struct settling {
    struct nb_engine *engine;
    struct nb_live *live;
    struct nb_string model;
    const struct nb_quarantine_wish *wish;
    struct nb_quarantine_search search;
    struct nb_quarantine_report *report;
};

/* ---- applying -------------------------------------------------------------------------------- */

/* A refusal concerns one change; what the store or the daemon refuses ends the pass. */
static bool concerns_all(int code)
{
    return code == NB_IO || code == NB_DISK_FULL || code == NB_STOPPING || code == NB_NO_MEMORY ||
           code == NB_DAMAGED;
}

static int count_receipt(struct settling *s, const struct nb_receipt *receipt,
                         struct nb_error *error)
{
    struct nb_quarantine_report *r = s->report;
    if (receipt->code == 0) {
        r->statuses[receipt->status]++;
    } else if (concerns_all(receipt->code)) {
        *error = receipt->error;
        return receipt->code;
    } else if (receipt->code == NB_CONFLICT && receipt->status == NB_QUARANTINED) {
        r->changed_since++;
    } else {
        if (r->refused++ == 0)
            r->why = receipt->error;
    }
    return 0;
}

static int apply_found(struct settling *s, struct nb_error *error)
{
    struct nb_batch *batch = NULL;
    int rc = nb_batch_new(s->engine, s->model, false, &batch, error);
    for (size_t i = 0; rc == 0 && i < s->search.count; i++) {
        const struct nb_quarantine_found *f = &s->search.found[i];
        rc = nb_batch_release(batch, (struct nb_string){f->id.bytes, f->id.length},
                              (struct nb_string){f->stored.bytes, f->stored.length}, error);
    }
    if (rc == 0)
        nb_engine_apply(s->engine, batch);
    for (size_t i = 0; rc == 0 && i < nb_batch_size(batch); i++)
        rc = count_receipt(s, nb_batch_receipt(batch, i), error);
    nb_batch_free(&batch);
    return rc;
}

/* ---- dropping -------------------------------------------------------------------------------- */

/* What is asked of all nodes, or done here: NB_ERRAND_DROP with a list, or NB_ERRAND_CLEAR. */
static int drop(struct settling *s, enum nb_errand_kind kind, struct nb_string list,
                uint64_t *dropped, struct nb_error *error)
{
    if (nb_relay_is_wanted(s->engine)) {
        struct nb_errand errand = {.kind = kind, .model = s->model, .settings = list};
        struct nb_errand_done done;
        int rc = nb_relay_ask(s->engine, &errand, &done, error);
        if (rc == 0)
            *dropped = done.dropped;
        return rc;
    }
    return kind == NB_ERRAND_CLEAR
               ? nb_quarantine_clear_some(s->engine, s->model, dropped, error)
               : nb_quarantine_drop_listed(s->engine, s->model, list, dropped, error);
}

static int drop_found(struct settling *s, struct nb_error *error)
{
    struct nb_buffer list = {0};
    uint64_t dropped = 0;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < s->search.count; i++)
        rc = nb_quarantine_drop_list(&list, nb_buffer_string(&s->search.found[i].id),
                                     nb_buffer_string(&s->search.found[i].stored));
    rc = rc != 0 ? nb_error_no_memory(error)
                 : drop(s, NB_ERRAND_DROP, nb_buffer_string(&list), &dropped, error);
    nb_buffer_deinit(&list);
    if (rc != 0)
        return rc;
    s->report->dropped += dropped;
    s->report->changed_since += s->search.count - dropped;
    return 0;
}

/* All of it, without reading it. */
static int clear_some(struct settling *s, struct nb_error *error)
{
    uint64_t dropped = 0;
    int rc = drop(s, NB_ERRAND_CLEAR, (struct nb_string){"", 0}, &dropped, error);
    s->report->dropped += dropped;
    s->search.is_done = rc == 0 && dropped < NB_QUARANTINE_CLEARED;
    return rc;
}

/* ---- both ------------------------------------------------------------------------------------ */

static int step(struct settling *s, int (*settle)(struct settling *s, struct nb_error *error),
                struct nb_error *error)
{
    /* What is applied and dropped is found by the model's name. */
    if (atomic_load(&s->live->removed))
        return nb_error_set(error, NB_NOT_FOUND, "the model '%s' was deleted or replaced meanwhile",
                            s->live->name);
    if (settle == clear_some)
        return clear_some(s, error);
    int rc = nb_quarantine_search_some(&s->search, s->engine, s->live, STEP_CHANGES, error);
    return rc == 0 && s->search.count > 0 ? settle(s, error) : rc;
}

static int settle_all(struct settling *s, int (*settle)(struct settling *s, struct nb_error *error),
                      bool (*stop)(void *user), void *user, struct nb_error *error)
{
    struct nb_error why = {0};
    *s->report = (struct nb_quarantine_report){.dropped = 0};
    int rc = nb_registry_acquire(s->engine, s->model, false, &s->live, error);
    if (rc != 0)
        return rc;
    if (nb_quarantine_search_begin(&s->search, s->wish, (struct nb_string){"", 0}) != 0)
        rc = nb_error_no_memory(&why);
    while (rc == 0 && !s->search.is_done) {
        if (stop != NULL && stop(user))
            rc = nb_error_set(&why, NB_STOPPING, "the daemon is stopping");
        else
            rc = step(s, settle, &why);
    }
    nb_quarantine_search_deinit(&s->search);
    nb_registry_release(s->engine, &s->live);
    return nb_quarantine_tell(rc, &why, error);
}

int nb_engine_quarantine_apply(struct nb_engine *engine, struct nb_string model,
                               const struct nb_quarantine_wish *wish, bool (*stop)(void *user),
                               void *user, struct nb_quarantine_report *report,
                               struct nb_error *error)
{
    struct settling s = {.engine = engine, .model = model, .wish = wish, .report = report};
    int rc = nb_relay_catch_up(engine, model, error);
    return rc != 0 ? rc : settle_all(&s, apply_found, stop, user, error);
}

int nb_engine_quarantine_drop(struct nb_engine *engine, struct nb_string model,
                              const struct nb_quarantine_wish *wish, bool (*stop)(void *user),
                              void *user, struct nb_quarantine_report *report,
                              struct nb_error *error)
{
    struct settling s = {.engine = engine, .model = model, .wish = wish, .report = report};
    bool is_all = !wish->has_source && wish->until == INT64_MAX && wish->id_count == 0;
    int rc = nb_relay_catch_up(engine, model, error);
    return rc != 0 ? rc : settle_all(&s, is_all ? clear_some : drop_found, stop, user, error);
}
