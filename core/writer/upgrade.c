/* SPDX-License-Identifier: Apache-2.0 */
#include "core/writer/upgrade.h"

#include <assert.h>
#include <stdlib.h>

#include "core/ledger/features_coding.h"
#include "core/ledger/record.h"
#include "core/model/apply.h"
#include "core/model/checkpoint.h"
#include "core/model/model_transaction.h"
#include "core/model/registry.h"

enum {
    STEP_ENTRIES = 32, /* entries that a step applies: 10 to 30 ms for mails */
    STEP_ROWS = 2000   /* records that a transaction deletes */
};

/* What comes next for the model: its entries are applied, the old records are deleted, the new ones
 * written. */
enum phase { REPLAY, CLEAR, WRITE_RANGES, WRITE_RECORDS };

struct nb_upgrading {
    struct nb_live *stored; /* referenced; the model of the registry */
    struct nb_state_record state;
    struct nb_replay replay;
    uint64_t next;    /* number of the entry from which the replay goes on */
    uint64_t applied; /* entries */
    enum phase phase;
    uint32_t range;
};

/* Ends the upgrade of the model; with `why`, it is damaged. */
static void finish(struct nb_engine *engine, const struct nb_error *why)
{
    struct nb_live *live = engine->upgrading->stored;
    if (why != NULL)
        nb_live_set_damaged(live, why);
    else
        atomic_store(&live->unusable, NB_LIVE_USABLE);
    atomic_fetch_sub(&engine->upgrades.left, 1);
    nb_upgrade_end(engine);
}

void nb_upgrade_end(struct nb_engine *engine)
{
    struct nb_upgrading *u = engine->upgrading;
    engine->upgrading = NULL;
    if (u == NULL)
        return;
    nb_replay_deinit(&u->replay);
    if (u->replay.live != NULL)
        nb_live_free(u->replay.live);
    nb_registry_release(engine, &u->stored);
    free(u);
}

/* ---- the steps ------------------------------------------------------------------------------- */

static int read_state(const struct nb_view *view, struct nb_upgrading *u, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_model(u->stored->number);
    struct nb_string value;
    int rc = nb_store_get(view, NB_TABLE_STATE, nb_store_key_string(&key), &value, error);
    return rc != 0 ? rc : nb_state_read(&u->state, value, error);
}

/* Begins the upgrade of a model of the registry, if one is left. Returns 0, NB_NO_MEMORY or
 * NB_NOT_FOUND. */
static int begin(struct nb_engine *engine)
{
    struct nb_live *live = nb_registry_first_older(engine);
    if (live == NULL)
        return NB_NOT_FOUND;
    struct nb_upgrading *u = engine->upgrading = calloc(1, sizeof *u);
    if (u == NULL) {
        nb_registry_release(engine, &live);
        return NB_NO_MEMORY;
    }
    u->stored = live;
    int rc = nb_replay_begin(engine, live->number, nb_live_name(live), live->own, &u->replay, NULL);
    u->replay.most = STEP_ENTRIES;
    return rc;
}

/* Version 0 hashed features otherwise. Of features without texts only the hashes are stored. */
static int refuse_hashes(void *user, struct nb_entry *entry, struct nb_error *error)
{
    (void)user;
    if (entry->change.new_count == 0 || nb_features_have_texts(entry->change.features))
        return 0;
    return nb_error_set(error, NB_VERSION,
                        "its features were stored without their texts (keep_words = no) by a "
                        "version that hashed them otherwise: learn its documents again");
}

static int replay(struct nb_engine *engine, struct nb_upgrading *u, struct nb_error *error)
{
    struct nb_view view;
    int rc = nb_store_snapshot(engine->store, &view, error);
    if (rc != 0)
        return rc;
    u->replay.view = &view;
    if (u->next == 0)
        rc = read_state(&view, u, error);
    if (rc == 0 && u->next == 0 && u->state.version == 0)
        rc = nb_ledger_walk(&view, u->stored->number, 0, refuse_hashes, NULL, error);
    if (rc == 0)
        rc = nb_replay_from(&u->replay, u->next, error);
    nb_store_snapshot_end(&view);
    u->replay.view = NULL;
    u->applied += u->replay.applied;
    atomic_fetch_add(&engine->upgrades.done, u->replay.applied);
    u->next = u->replay.last + 1;
    if (rc == 0)
        u->phase = CLEAR;
    return rc < 0 ? rc : 0;
}

/* Deletes a bounded number of records of the older version. */
static int clear(struct nb_engine *engine, struct nb_view *view, void *argument,
                 struct nb_error *error)
{
    static const enum nb_table tables[] = {NB_TABLE_LABELS, NB_TABLE_ROWS, NB_TABLE_WEIGHTS,
                                           NB_TABLE_TWIN};
    struct nb_upgrading *u = argument;
    struct nb_store_key key = nb_store_key_model(u->stored->number);
    size_t deleted = 0;
    int rc = 0;
    (void)engine;
    for (size_t i = 0; rc == 0 && i < sizeof tables / sizeof *tables; i++) {
        size_t some = 0;
        if (deleted < STEP_ROWS)
            rc = nb_store_clear(view, tables[i], nb_store_key_string(&key), STEP_ROWS - deleted,
                                &some, error);
        deleted += some;
    }
    u->phase = deleted < STEP_ROWS ? WRITE_RANGES : CLEAR;
    return rc;
}

static int write_ranges(struct nb_engine *engine, struct nb_view *view, void *argument,
                        struct nb_error *error)
{
    const struct nb_upgrading *u = argument;
    return nb_replayed_put_ranges(engine, view, u->replay.live, u->range, error);
}

static int write_records(struct nb_engine *engine, struct nb_view *view, void *argument,
                         struct nb_error *error)
{
    struct nb_upgrading *u = argument;
    u->replay.live->checkpoint.totals = u->state.totals;
    return nb_replayed_put_records(engine, view, u->replay.live, u->replay.has_weights, error);
}

static int put_ranges(struct nb_engine *engine, struct nb_upgrading *u, struct nb_error *error)
{
    struct nb_live *live = u->replay.live;
    uint32_t ranges = nb_ranges_of(nb_model_rows(live->counts));
    int rc = 0;
    live->checkpoint.last = u->state.last; /* nothing of the model has changed since */
    if (u->range < ranges)
        rc = nb_transaction(engine, (uint64_t)NB_REPLAYED_RANGES * NB_REPLAYED_RANGE_BYTES,
                            write_ranges, u, error);
    if (rc == 0)
        u->range += NB_REPLAYED_RANGES;
    if (rc == 0 && u->range >= ranges)
        u->phase = WRITE_RECORDS;
    return rc;
}

/* Returns 1 when the model is ready, 0 when there is more to do, or a code. */
static int step(struct nb_engine *engine, struct nb_upgrading *u, struct nb_error *error)
{
    int rc = 0;
    switch (u->phase) {
    case REPLAY:
        return replay(engine, u, error);
    case CLEAR:
        return nb_transaction(engine, 0, clear, u, error);
    case WRITE_RANGES:
        return put_ranges(engine, u, error);
    case WRITE_RECORDS:
        rc = nb_transaction(engine, 0, write_records, u, error);
        return rc == 0 ? 1 : rc;
    default:
        break;
    }
    assert(false);
    return NB_INVALID;
}

/* After a failure, such as a full disk: an entry may be half applied in memory, and records that
 * were to be deleted may be there still. Returns `rc`, the code of the failure. */
static int begin_again(struct nb_engine *engine, int rc)
{
    if (engine->upgrading != NULL)
        atomic_fetch_sub(&engine->upgrades.done, engine->upgrading->applied);
    nb_upgrade_end(engine);
    return rc;
}

static int run_step(struct nb_engine *engine, struct nb_error *error)
{
    int rc = engine->upgrading == NULL ? begin(engine) : 0;
    if (rc == NB_NOT_FOUND) { /* those that were left are deleted or replaced */
        atomic_store(&engine->upgrades.left, 0);
        return 0;
    }
    if (rc == 0 &&
        !nb_registry_is_older(engine->upgrading->stored)) { /* it was deleted or replaced */
        atomic_fetch_sub(&engine->upgrades.left, 1);
        nb_upgrade_end(engine);
        return 0;
    }
    if (rc == 0)
        rc = step(engine, engine->upgrading, error);
    if (rc == 1)
        finish(engine, NULL);
    else if (rc == NB_CORRUPT || rc == NB_VERSION || rc == NB_TOO_LARGE)
        finish(engine, error);
    else if (rc != 0)
        return begin_again(engine, rc);
    return 0;
}

bool nb_upgrade_some(struct nb_engine *engine)
{
    struct nb_error why;
    if (atomic_load(&engine->upgrades.left) == 0 || nb_transaction_health(engine, NULL) != 0)
        return false;
    return run_step(engine, &why) == 0 && atomic_load(&engine->upgrades.left) > 0;
}

int nb_upgrade_all(struct nb_engine *engine, struct nb_error *error)
{
    int rc = 0;
    while (rc == 0 && atomic_load(&engine->upgrades.left) > 0)
        rc = run_step(engine, error);
    return rc;
}
