/* SPDX-License-Identifier: Apache-2.0 */
#include "core/archive/dump/entries.h"

#include <assert.h>

#include "core/base/clock.h"
#include "core/base/pack.h"
#include "core/engine/writer.h"
#include "core/model/live/model_transaction.h"

int nb_import_run(struct nb_import *import,
                  int (*task)(struct nb_engine *engine, void *argument, struct nb_error *error),
                  struct nb_error *error)
{
    return import->parts.count == 0 ? nb_writer_run(import->engine, task, import, error)
                                    : nb_writer_run_ahead(import->engine, task, import, error);
}

int64_t nb_import_time(const struct nb_import *import)
{
    return import->time != 0 ? import->time : nb_clock_now();
}

int nb_import_append(struct nb_import *import, const struct nb_view *view,
                     const struct nb_change *change, struct nb_ledger_totals *totals,
                     uint64_t *number, struct nb_error *error)
{
    if (import->parts.count == 0) {
        *number = nb_serials_entry(&import->engine->serials);
        return nb_ledger_append(view, *number, change, totals, &import->bytes, error);
    }
    int rc = nb_import_parts_number(&import->parts, number, error);
    return rc != 0 ? rc : nb_ledger_insert(view, *number, change, totals, &import->bytes, error);
}

int nb_import_collect(struct nb_import *import, struct nb_change *change, struct nb_error *error)
{
    struct nb_packer p = {.out = &import->entries};
    assert(import->listed.number != 0);
    change->model = import->listed.number;
    if (change->source.length == 0)
        change->source = nb_buffer_string(&import->source);
    struct nb_entry entry = {.change = *change};
    int rc = nb_replay_entry(&import->replay, &entry, error);
    if (rc != 0)
        return rc;
    import->bytes.length = 0;
    if (nb_change_write(change, &import->bytes) != 0)
        return nb_error_no_memory(error);
    nb_pack_string(&p, nb_buffer_string(&import->bytes));
    return p.code != 0 ? nb_error_no_memory(error) : 0;
}

static int check_fresh_id(const struct nb_view *view, const struct nb_change *change,
                          struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_id(change->model, change->id);
    struct nb_string value;
    if (change->kind != NB_CHANGE_TRAIN)
        return 0;
    int rc = nb_store_get(view, NB_TABLE_DOCUMENTS, nb_store_key_string(&key), &value, error);
    if (rc == 0)
        return nb_error_set(error, NB_INVALID, "the dump has two documents with the id '%.*s'",
                            (int)change->id.length, change->id.bytes);
    return rc == NB_NOT_FOUND ? 0 : rc;
}

struct flushing {
    struct nb_import *import;
    struct nb_ledger_totals totals; /* as before this flush, ... */
    uint64_t used;                  /* ... and parts.used */
    uint64_t last;                  /* number of the newest entry */
};

static int write_entries(struct nb_engine *engine, struct nb_view *view, void *argument,
                         struct nb_error *error)
{
    struct flushing *f = argument;
    (void)engine;
    struct nb_import *import = f->import;
    struct nb_ledger_totals *totals = &import->live->checkpoint.totals;
    struct nb_unpacker r = nb_unpacker_of(import->entries.bytes, import->entries.length);
    struct nb_change change;
    int rc = 0;
    *totals = f->totals; /* this may be a second try */
    import->parts.used = f->used;
    while (rc == 0 && r.at < r.end) {
        rc = nb_change_read(&change, nb_unpack_string(&r), error);
        if (rc == 0)
            rc = check_fresh_id(view, &change, error);
        if (rc == 0)
            rc = nb_import_append(import, view, &change, totals, &f->last, error);
    }
    return rc;
}

static int flush_task(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    struct nb_import *import = argument;
    struct nb_checkpoint *c = &import->live->checkpoint;
    struct flushing f = {
        .import = import, .totals = c->totals, .used = import->parts.used, .last = c->last};
    int rc = nb_transaction(engine, import->entries.length, write_entries, &f, error);
    if (rc == 0)
        c->last = f.last;
    else
        c->totals = f.totals;
    import->entries.length = 0;
    return rc;
}

int nb_import_flush(struct nb_import *import, size_t above, struct nb_error *error)
{
    if (import->entries.length <= above)
        return 0;
    return nb_import_run(import, flush_task, error);
}

int nb_import_needs_header(const struct nb_import *import, struct nb_error *error)
{
    if (import->live != NULL)
        return 0;
    return nb_error_set(error, NB_INVALID, "the dump does not begin with its header");
}
