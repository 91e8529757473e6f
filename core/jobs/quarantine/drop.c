/* SPDX-License-Identifier: Apache-2.0 */
#include "core/jobs/quarantine/drop.h"

#include "core/base/pack.h"
#include "core/base/wide.h"
#include "core/engine/writer.h"
#include "core/ledger/entries/quarantine.h"
#include "core/model/live/transaction.h"
#include "core/model/registry/registry.h"

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

/* In the writer's transaction. Another try begins with the counts of the first. */
static int write_drop(struct nb_engine *engine, struct nb_view *view, void *argument,
                      struct nb_error *error)
{
    struct dropping *d = argument;
    struct nb_unpacker u = nb_unpacker_of(d->list.bytes, d->list.length);
    int rc = 0;
    (void)engine;
    d->dropped = 0;
    while (rc == 0 && u.at < u.end) {
        struct nb_string id = nb_unpack_string(&u);
        uint64_t hash = nb_unpack_u64(&u);
        rc = u.failed ? nb_error_set(error, NB_UNUSABLE, "a list of changes does not read back")
                      : drop_one(d, view, id, hash, error);
    }
    return rc;
}

static int write_clear(struct nb_engine *engine, struct nb_view *view, void *argument,
                       struct nb_error *error)
{
    struct dropping *d = argument;
    (void)engine;
    return nb_quarantine_clear(view, d->live->number, NB_QUARANTINE_CLEARED, &d->dropped, error);
}

static int drop_task(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    return nb_transaction(engine, 0, write_drop, argument, error);
}

static int clear_task(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    return nb_transaction(engine, 0, write_clear, argument, error);
}

static int run(struct nb_engine *engine, struct nb_string model,
               int (*task)(struct nb_engine *engine, void *argument, struct nb_error *error),
               struct dropping *d, uint64_t *dropped, struct nb_error *error)
{
    int rc = nb_registry_find(engine, model, false, &d->live, error);
    if (rc != 0)
        return rc;
    rc = nb_writer_run(engine, task, d, error);
    nb_registry_release(engine, &d->live);
    if (rc == 0)
        *dropped = d->dropped;
    return rc;
}

int nb_quarantine_drop_listed(struct nb_engine *engine, struct nb_string model,
                              struct nb_string list, uint64_t *dropped, struct nb_error *error)
{
    struct dropping d = {.list = list};
    return run(engine, model, drop_task, &d, dropped, error);
}

int nb_quarantine_clear_some(struct nb_engine *engine, struct nb_string model, uint64_t *dropped,
                             struct nb_error *error)
{
    struct dropping d = {.live = NULL};
    return run(engine, model, clear_task, &d, dropped, error);
}
