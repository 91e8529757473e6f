/* SPDX-License-Identifier: Apache-2.0
 *
 * Applying and dropping.
 */
#include "core/jobs/quarantine/quarantine.h"

#include <assert.h>
#include <stdlib.h>

#include "core/base/array.h"
#include "core/base/buffer.h"
#include "core/base/wide.h"
#include "core/ledger/ledger.h"
#include "core/ledger/quarantine_entries.h"
#include "core/model/model_transaction.h"
#include "core/model/registry.h"
#include "core/model/relayed.h"
#include "core/model/state.h"
#include "core/writer/writer.h"

enum {
    BYTES_MOST = 4 << 20, /* one search ends when it has found more bytes than this */
    ENDED = 1,            /* the search has to end */
    MODEL_BYTES = 4,      /* bytes of a key before the id: the model's number */
};

static void clear(struct nb_quarantine_search *s)
{
    for (size_t i = 0; i < s->count; i++) {
        nb_buffer_deinit(&s->found[i].id);
        nb_buffer_deinit(&s->found[i].stored);
    }
    s->count = s->bytes = 0;
}

int nb_quarantine_search_begin(struct nb_quarantine_search *search,
                               const struct nb_quarantine_options *options, struct nb_string after)
{
    assert(options->id_count == 0 || options->ids != NULL);
    *search = (struct nb_quarantine_search){.options = options};
    return nb_buffer_append(&search->after, after.bytes, after.length);
}

void nb_quarantine_search_deinit(struct nb_quarantine_search *search)
{
    clear(search);
    free(search->found);
    nb_buffer_deinit(&search->after);
    *search = (struct nb_quarantine_search){.options = NULL};
}

static int add(struct nb_quarantine_search *s, struct nb_string id, struct nb_string stored,
               struct nb_error *error)
{
    if (nb_array_reserve(&s->found, &s->room, s->count + 1, sizeof *s->found) != 0)
        return nb_error_no_memory(error);
    struct nb_quarantine_found *f = &s->found[s->count++];
    *f = (struct nb_quarantine_found){.id = {NULL, 0, 0}};
    s->bytes += id.length + stored.length;
    if (nb_buffer_append(&f->id, id.bytes, id.length) != 0 ||
        nb_buffer_append(&f->stored, stored.bytes, stored.length) != 0)
        return nb_error_no_memory(error);
    return 0;
}

static int look(struct nb_quarantine_search *s, struct nb_string id, struct nb_string stored,
                struct nb_error *error)
{
    struct nb_quarantined q;
    int rc = nb_quarantined_read(&q, stored, error);
    if (rc != 0)
        return rc;
    bool matches = q.time <= s->options->until &&
                   (!s->options->has_source || nb_string_same(q.source, s->options->source));
    return matches ? add(s, id, stored, error) : 0;
}

static bool is_full(const struct nb_quarantine_search *s)
{
    return s->count >= s->most || s->bytes > BYTES_MOST || nb_store_wanted(s->view);
}

static int visit(void *user, struct nb_string key, struct nb_string value, struct nb_error *error)
{
    struct nb_quarantine_search *s = user;
    assert(key.length >= MODEL_BYTES);
    struct nb_string id = nb_string_from(key, MODEL_BYTES);
    if (nb_string_same(id, (struct nb_string){s->after.bytes, s->after.length}))
        return 0;
    if (is_full(s))
        return ENDED;
    int rc = look(s, id, value, error);
    s->after.length = 0;
    if (rc == 0 && nb_buffer_append(&s->after, id.bytes, id.length) != 0)
        rc = nb_error_no_memory(error);
    return rc;
}

static int look_for_ids(struct nb_quarantine_search *s, uint32_t model, struct nb_error *error)
{
    int rc = 0;
    while (rc == 0 && s->next_id < s->options->id_count && !is_full(s)) {
        struct nb_string id = s->options->ids[s->next_id], value;
        struct nb_store_key key = nb_store_key_id(model, id);
        rc = nb_store_get(s->view, NB_TABLE_QUARANTINE, nb_store_key_string(&key), &value, error);
        if (rc == 0)
            rc = look(s, id, value, error);
        rc = rc == NB_NOT_FOUND ? 0 : rc;
        s->next_id++;
    }
    s->is_done = s->next_id == s->options->id_count;
    return rc;
}

int nb_quarantine_search_some(struct nb_quarantine_search *search, struct nb_engine *engine,
                              const struct nb_live *live, size_t most, struct nb_error *error)
{
    struct nb_quarantine_search *s = search;
    struct nb_view view;
    assert(s->options != NULL && s->view == NULL && live->number != 0);
    clear(s);
    int rc = nb_store_snapshot(engine->store, &view, error);
    if (rc != 0)
        return rc;
    s->view = &view;
    s->most = most;
    if (s->options->id_count > 0) {
        rc = look_for_ids(s, live->number, error);
    } else {
        struct nb_store_key from =
            nb_store_key_id(live->number, (struct nb_string){s->after.bytes, s->after.length});
        rc = nb_store_scan(&view, NB_TABLE_QUARANTINE, nb_store_key_string(&from), MODEL_BYTES,
                           visit, s, error);
        s->is_done = rc == 0;
        rc = rc == ENDED ? 0 : rc;
    }
    nb_store_snapshot_end(&view);
    s->view = NULL;
    return rc;
}

int nb_quarantine_tell(int rc, const struct nb_error *why, struct nb_error *error)
{
    if (rc != NB_CORRUPT)
        return rc >= 0 ? rc : nb_error_set(error, rc, "%s", why->text);
    return nb_error_set(error, NB_DAMAGED,
                        "the quarantine is damaged: drop all of it (bayesc quarantine drop --all)");
}

struct dropping {
    struct nb_live *live;
    struct nb_string list;
    size_t dropped; /* by the transaction */
};

int nb_quarantine_drop_list(struct nb_buffer *list, struct nb_string id, struct nb_string stored)
{
    struct nb_packer w = {.out = list};
    nb_pack_string(&w, id);
    nb_pack_u64(&w, XXH3_64bits(stored.bytes, stored.length));
    return w.code;
}

static int drop_one(struct dropping *d, const struct nb_view *view, struct nb_string id,
                    uint64_t hash, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_id(d->live->number, id);
    struct nb_string value;
    int rc = nb_store_get(view, NB_TABLE_QUARANTINE, nb_store_key_string(&key), &value, error);
    if (rc == NB_NOT_FOUND || rc == NB_CORRUPT ||
        (rc == 0 && XXH3_64bits(value.bytes, value.length) != hash))
        return 0;
    if (rc == 0)
        rc = nb_quarantine_remove(view, d->live->number, id, error);
    d->dropped += rc == 0;
    return rc;
}

/* Runs in the writer's transaction. A repeated try begins with the same counts as the first. */
static int write_drop(struct nb_engine *engine, struct nb_view *view, void *argument,
                      struct nb_error *error)
{
    struct dropping *d = argument;
    struct nb_unpacker u = nb_unpacker_of(d->list.bytes, d->list.length);
    int rc = 0;
    (void)engine;
    d->dropped = 0;
    if (d->list.length == 0)
        return nb_quarantine_clear(view, d->live->number, NB_QUARANTINE_CLEARED, &d->dropped,
                                   error);
    while (rc == 0 && u.at < u.end) {
        struct nb_string id = nb_unpack_string(&u);
        uint64_t hash = nb_unpack_u64(&u);
        rc = u.failed ? nb_error_set(error, NB_UNUSABLE, "a list of changes does not read back")
                      : drop_one(d, view, id, hash, error);
    }
    return rc;
}

static int drop_task(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    return nb_transaction(engine, 0, write_drop, argument, error);
}

int nb_quarantine_drop_listed(struct nb_engine *engine, struct nb_string model,
                              struct nb_string list, uint64_t *dropped, struct nb_error *error)
{
    struct dropping d = {.list = list};
    int rc = nb_registry_find(engine, model, false, &d.live, error);
    if (rc != 0)
        return rc;
    rc = nb_writer_run(engine, drop_task, &d, error);
    nb_registry_release(engine, &d.live);
    if (rc == 0)
        *dropped = d.dropped;
    return rc;
}

enum { STEP_CHANGES = 500 };

/* One pass over the quarantine. */
struct settling {
    struct nb_engine *engine;
    struct nb_live *live;
    struct nb_string model;
    const struct nb_quarantine_options *options;
    struct nb_quarantine_search search;
    struct nb_quarantine_report *report;
};

/* ---- applying -------------------------------------------------------------------------------- */

/* A refused change concerns only itself; an error of the store or the daemon ends the pass. */
static bool concerns_all(int code)
{
    return code == NB_IO || code == NB_DISK_FULL || code == NB_STOPPING || code == NB_NO_MEMORY ||
           code == NB_DAMAGED;
}

static void count_refused(struct nb_quarantine_report *r, const struct nb_error *why)
{
    if (r->refused++ == 0)
        r->why = *why;
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
        count_refused(r, &receipt->error);
    }
    return 0;
}

static int apply_found(struct settling *s, struct nb_error *error)
{
    struct nb_batch *batch = NULL;
    struct nb_error why = {0};
    int rc = nb_batch_new(s->engine, s->model, false, &batch, error);
    for (size_t i = 0; rc == 0 && i < s->search.count; i++) {
        const struct nb_quarantine_found *f = &s->search.found[i];
        rc = nb_batch_release(batch, (struct nb_string){f->id.bytes, f->id.length},
                              (struct nb_string){f->stored.bytes, f->stored.length}, &why);
        if (rc == NB_UNUSABLE) { /* documents had one label when it came, and now have several */
            count_refused(s->report, &why);
            rc = 0;
        } else if (rc != 0 && error != NULL) {
            *error = why;
        }
    }
    if (rc == 0)
        nb_engine_apply(s->engine, batch);
    for (size_t i = 0; rc == 0 && i < nb_batch_size(batch); i++)
        rc = count_receipt(s, nb_batch_receipt(batch, i), error);
    nb_batch_free(&batch);
    return rc;
}

/* ---- dropping -------------------------------------------------------------------------------- */

/* Drops on all nodes, or only here, as nb_quarantine_drop_listed. */
static int drop(struct settling *s, struct nb_string list, uint64_t *dropped,
                struct nb_error *error)
{
    if (nb_relay_is_wanted(s->engine)) {
        struct nb_relayed_change relayed_change = {
            .kind = NB_RELAYED_CHANGE_DROP, .model = s->model, .settings = list};
        struct nb_relayed_change_done done;
        int rc = nb_relay_ask(s->engine, &relayed_change, &done, error);
        if (rc == 0)
            *dropped = done.dropped;
        return rc;
    }
    return nb_quarantine_drop_listed(s->engine, s->model, list, dropped, error);
}

static int drop_found(struct settling *s, struct nb_error *error)
{
    struct nb_buffer list = {0};
    uint64_t dropped = 0;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < s->search.count; i++)
        rc = nb_quarantine_drop_list(&list, nb_buffer_string(&s->search.found[i].id),
                                     nb_buffer_string(&s->search.found[i].stored));
    rc = rc != 0 ? nb_error_no_memory(error) : drop(s, nb_buffer_string(&list), &dropped, error);
    nb_buffer_deinit(&list);
    if (rc != 0)
        return rc;
    s->report->dropped += dropped;
    s->report->changed_since += s->search.count - dropped;
    return 0;
}

/* Drops everything without reading it. */
static int clear_some(struct settling *s, struct nb_error *error)
{
    uint64_t dropped = 0;
    int rc = drop(s, (struct nb_string){"", 0}, &dropped, error);
    s->report->dropped += dropped;
    s->search.is_done = rc == 0 && dropped < NB_QUARANTINE_CLEARED;
    return rc;
}

/* ---- passes ---------------------------------------------------------------------------------- */

static int step(struct settling *s, int (*settle)(struct settling *s, struct nb_error *error),
                struct nb_error *error)
{
    /* Applying and dropping find the model by its name. */
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
    if (nb_quarantine_search_begin(&s->search, s->options, (struct nb_string){"", 0}) != 0)
        rc = nb_error_no_memory(&why);
    while (rc == 0 && !s->search.is_done) {
        rc = nb_step_check(stop, user, &why);
        if (rc == 0)
            rc = step(s, settle, &why);
    }
    nb_quarantine_search_deinit(&s->search);
    nb_registry_release(s->engine, &s->live);
    return nb_quarantine_tell(rc, &why, error);
}

int nb_engine_quarantine_apply(struct nb_engine *engine, struct nb_string model,
                               const struct nb_quarantine_options *options,
                               bool (*stop)(void *user), void *user,
                               struct nb_quarantine_report *report, struct nb_error *error)
{
    struct settling s = {.engine = engine, .model = model, .options = options, .report = report};
    int rc = nb_relay_catch_up(engine, model, true, error);
    return rc != 0 ? rc : settle_all(&s, apply_found, stop, user, error);
}

int nb_engine_quarantine_drop(struct nb_engine *engine, struct nb_string model,
                              const struct nb_quarantine_options *options, bool (*stop)(void *user),
                              void *user, struct nb_quarantine_report *report,
                              struct nb_error *error)
{
    struct settling s = {.engine = engine, .model = model, .options = options, .report = report};
    bool is_all = !options->has_source && options->until == INT64_MAX && options->id_count == 0;
    int rc = nb_relay_catch_up(engine, model, true, error);
    return rc != 0 ? rc : settle_all(&s, is_all ? clear_some : drop_found, stop, user, error);
}
