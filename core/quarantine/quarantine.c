/* SPDX-License-Identifier: Apache-2.0
 *
 * Applying and dropping.
 */
#include "core/quarantine/quarantine.h"

#include "core/engine/writer.h"
#include "core/live/relay.h"
#include "core/live/transaction.h"
#include "core/quarantine/find.h"
#include "core/registry/registry.h"

enum { STEP_CHANGES = 500 };

/* One pass over the quarantine. */
struct settling {
    struct nb_engine *engine;
    struct nb_live *live;
    struct nb_string model;
    const struct nb_quarantine_wish *wish;
    struct nb_quarantine_search search;
    struct nb_quarantine_report *report;
    size_t removed; /* by the transaction */
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

/* In the writer's transaction. Another try begins with the counts of the first. */
static int write_drop(struct nb_engine *engine, struct nb_view *view, void *argument,
                      struct nb_error *error)
{
    struct settling *s = argument;
    int rc = 0;
    (void)engine;
    s->removed = 0;
    for (size_t i = 0; rc == 0 && i < s->search.count; i++) {
        const struct nb_quarantine_found *f = &s->search.found[i];
        struct nb_string id = {f->id.bytes, f->id.length};
        bool has;
        rc = nb_quarantine_has(view, s->live->number, id,
                               (struct nb_string){f->stored.bytes, f->stored.length}, &has, error);
        if (rc == 0 && has)
            rc = nb_quarantine_remove(view, s->live->number, id, error);
        s->removed += rc == 0 && has;
    }
    return rc;
}

static int drop_task(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    struct settling *s = argument;
    return nb_transaction(engine, 0, write_drop, s, error);
}

static int drop_found(struct settling *s, struct nb_error *error)
{
    int rc = nb_writer_run(s->engine, drop_task, s, error);
    if (rc != 0)
        return rc;
    s->report->dropped += s->removed;
    s->report->changed_since += s->search.count - s->removed;
    return 0;
}

struct clearing {
    struct nb_live *live;
    size_t deleted;
};

static int write_clear(struct nb_engine *engine, struct nb_view *view, void *argument,
                       struct nb_error *error)
{
    struct clearing *c = argument;
    (void)engine;
    return nb_quarantine_clear(view, c->live->number, STEP_CHANGES, &c->deleted, error);
}

static int clear_task(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    struct clearing *c = argument;
    return nb_transaction(engine, 0, write_clear, c, error);
}

/* All of it, without reading it. */
static int clear_some(struct settling *s, struct nb_error *error)
{
    struct clearing c = {.live = s->live};
    int rc = nb_writer_run(s->engine, clear_task, &c, error);
    s->report->dropped += rc == 0 ? c.deleted : 0;
    s->search.is_done = rc == 0 && c.deleted < STEP_CHANGES;
    return rc;
}

/* ---- both ------------------------------------------------------------------------------------ */

static int step(struct settling *s, int (*settle)(struct settling *s, struct nb_error *error),
                struct nb_error *error)
{
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
    int rc = nb_relay_refuse(engine, "dropping what waits in the quarantine", error);
    if (rc != 0)
        return rc;
    return settle_all(&s, is_all ? clear_some : drop_found, stop, user, error);
}
