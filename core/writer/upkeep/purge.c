/* SPDX-License-Identifier: Apache-2.0 */
#include "core/writer/upkeep/purge.h"

#include <assert.h>

#include "core/base/clock.h"
#include "core/ledger/entries/ledger.h"
#include "core/model/live/transaction.h"
#include "core/writer/upkeep/importing.h"

enum { PURGE_ENTRIES = 2000 }; /* deleted per transaction */

struct purge {
    struct nb_engine *engine;
    uint32_t number;
    bool found;
};

static int first_orphan(void *user, struct nb_string key, struct nb_string value,
                        struct nb_error *error)
{
    struct purge *purge = user;
    (void)value;
    (void)error;
    purge->number = nb_store_key_head(key);
    purge->found = !nb_import_is_running(purge->engine, purge->number);
    return purge->found;
}

/* The newest entry of the ledger must stay, because the next number follows from it, but for a
 * cluster's (core/ledger/entries/serials.h). If an unfinished import has written it, a new entry,
 * which says that the import is gone, becomes the newest. */
static int keep_newest(struct nb_engine *engine, const struct nb_view *view, uint32_t number,
                       struct nb_error *error)
{
    uint64_t newest;
    struct nb_entry entry = {0};
    struct nb_ledger_totals totals = {0};
    struct nb_change gone = {.kind = NB_CHANGE_DELETE, .model = number, .time = nb_clock_now()};
    if (engine->standing.is_known)
        return 0;
    int rc = nb_ledger_newest(view, &newest, error);
    if (rc == 0 && newest != 0)
        rc = nb_ledger_read(view, newest, &entry, error);
    if (rc == 0 && newest != 0 && entry.change.model == number &&
        entry.change.kind != NB_CHANGE_DELETE)
        rc = nb_ledger_append(view, nb_serials_entry(&engine->serials), &gone, &totals,
                              &engine->scratch, error);
    nb_entry_deinit(&entry);
    return rc;
}

static int purge_tables(const struct nb_view *view, uint32_t number, struct nb_error *error)
{
    static const enum nb_table tables[] = {
        NB_TABLE_STATE,       NB_TABLE_LABELS,  NB_TABLE_ROWS,       NB_TABLE_WEIGHTS,
        NB_TABLE_TWIN,        NB_TABLE_WAITING, NB_TABLE_QUARANTINE, NB_TABLE_HISTORY,
        NB_TABLE_HISTORY_IDS, NB_TABLE_ORPHANS};
    struct nb_store_key key = nb_store_key_model(number);
    size_t deleted;
    int rc = nb_ledger_clear(view, number, PURGE_ENTRIES, &deleted, error);
    for (size_t i = 0; rc == 0 && deleted < PURGE_ENTRIES && i < sizeof tables / sizeof *tables;
         i++) {
        size_t some;
        rc = nb_store_clear(view, tables[i], nb_store_key_string(&key), PURGE_ENTRIES - deleted,
                            &some, error);
        deleted += some;
    }
    return rc;
}

static int purge_slice(struct nb_engine *engine, struct nb_view *view, void *argument,
                       struct nb_error *error)
{
    struct purge *purge = argument;
    *purge = (struct purge){.engine = engine};
    int rc = nb_store_scan(view, NB_TABLE_ORPHANS, (struct nb_string){"", 0}, 0, first_orphan,
                           purge, error);
    if (rc < 0 || !purge->found)
        return rc < 0 ? rc : 0;
    assert(!nb_import_is_running(engine, purge->number));
    rc = keep_newest(engine, view, purge->number, error);
    return rc != 0 ? rc : purge_tables(view, purge->number, error);
}

int nb_purge_slice(struct nb_engine *engine)
{
    struct purge purge = {.found = false};
    struct nb_error error;
    int rc = nb_transaction(engine, 0, purge_slice, &purge, &error);
    if (rc == 0)
        engine->purge = purge.found;
    /* Damaged data of a model that is gone do no harm; a rebuild removes them. */
    if (rc == NB_CORRUPT)
        engine->purge = false;
    return rc;
}
