/* SPDX-License-Identifier: Apache-2.0 */
#include "core/writer/unused.h"

#include <assert.h>
#include <stdlib.h>

#include "core/ledger/ledger_features.h"
#include "core/ledger/record.h"
#include "core/model/checkpoint.h"
#include "core/model/model_transaction.h"
#include "core/model/registry.h"

enum {
    SLICE_ROWS = 4096, /* rows that one transaction drops ... */
    SLICE_RANGES = 32, /* ... of at most so many ranges */
    SLICE_BAGS = 256,  /* bags of documents without a label that one step reads */
    ENDED = 1,
    SHARE = 8, /* 1/SHARE of a model's rows may be unused while the writer is busy */
    FEATURE_BYTES = 256,
    RANGE_BYTES = 24 * NB_RANGE_ROWS,
};

/* The number of rows of a loaded model that have no counts and are not dropped. */
static uint32_t nb_unused_rows(const struct nb_live *live)
{
    const struct nb_model *counts = live->counts;
    uint64_t used = nb_model_dropped_rows(counts);
    for (unsigned field = 0; field < NB_FIELDS; field++)
        used += nb_model_vocabulary(counts, field);
    for (unsigned part = 0; part < nb_model_parts(counts); part++)
        used += nb_model_vocabulary(counts, NB_FIRST_PART + part);
    assert(used <= nb_model_rows(counts));
    uint32_t unused = nb_model_rows(counts) - (uint32_t)used;
    uint32_t held = atomic_load(&live->unlabelled) == 0 ? 0 : live->unused.held;
    return unused > held ? unused - held : 0;
}

uint32_t nb_unused_allowed(const struct nb_engine *engine, const struct nb_live *live)
{
    uint32_t share = nb_model_rows(live->counts) / SHARE;
    uint32_t least = engine->settings.unused_rows;
    return (share > least ? share : least) + 1;
}

/* ---- the pass -------------------------------------------------------------------------------- */

static bool can_be_changed(const struct nb_live *live)
{
    return live->number != 0 && atomic_load(&live->persisted) && atomic_load(&live->loaded) &&
           !atomic_load(&live->removed) && !atomic_load(&live->unusable);
}

void nb_unused_begin(struct nb_engine *engine, struct nb_live *live, uint32_t least)
{
    unsigned epoch = atomic_load(&live->epoch.now);
    /* Sums follow the order of the rows: if several nodes dropped rows at different times, their
     * weights would drift apart. */
    if (engine->settings.shared)
        return;
    if (engine->unused.live != NULL || !can_be_changed(live) ||
        live->unused.tried == engine->serials.entry || nb_unused_rows(live) < least ||
        atomic_load(&live->epoch.pins[(epoch + 1) & 1]) != 0)
        return;
    uint32_t rows = nb_model_rows(live->counts);
    unsigned char *unused = calloc((size_t)rows / 8 + 1, 1);
    if (unused == NULL)
        return;
    atomic_store(&live->epoch.now, epoch + 1); /* before the rows are checked */
    for (uint32_t row = 0; row < rows; row++)
        if (nb_model_row_is_unused(live->counts, row) &&
            !nb_model_is_dropped(nb_model_row_id(live->counts, row)))
            unused[row / 8] = (unsigned char)(unused[row / 8] | 1u << row % 8);
    assert(live->unused.rows == NULL);
    live->unused.rows = unused;
    live->unused.count = rows;
    live->unused.held = 0;
    atomic_fetch_add(&live->references, 1);
    engine->unused = (struct nb_unused_pass){.live = live,
                                             .until = live->checkpoint.last,
                                             .newest = engine->serials.entry,
                                             .pin = epoch & 1};
}

void nb_unused_end(struct nb_engine *engine)
{
    struct nb_live *live = engine->unused.live;
    if (live == NULL)
        return;
    if (engine->unused.has_dropped && live->counts != NULL)
        nb_model_sort_dropped(live->counts);
    free(live->unused.rows);
    live->unused.rows = NULL;
    live->unused.tried = engine->unused.newest;
    engine->unused = (struct nb_unused_pass){.live = NULL};
    nb_registry_release(engine, &live);
}

/* ---- documents without a label --------------------------------------------------------------- */

struct holding {
    struct nb_live *live;
    struct nb_rows bag;
    uint64_t next; /* next entry to read */
    unsigned seen;
};

static int hold(void *user, struct nb_entry *entry, struct nb_error *error)
{
    struct holding *h = user;
    struct nb_live *live = h->live;
    h->next = entry->number;
    if (h->seen++ == SLICE_BAGS)
        return ENDED;
    int rc = nb_bag_decode(entry->change.bag, nb_model_rows(live->counts), &h->bag, error);
    for (size_t i = 0; rc == 0 && i < h->bag.size; i++) {
        uint32_t row = h->bag.counts[i].row;
        if (row >= live->unused.count || !nb_unused_has(live, row))
            continue;
        nb_unused_clear(live, row);
        live->unused.held++;
    }
    return rc;
}

/* Removes the rows of some documents without a label from the list, because these are not counted.
 * Changes since the pass began remove their own rows (nb_apply). Returns 0 when all such documents
 * were read, ENDED if more remain, or a code. */
static int hold_some(struct nb_engine *engine, struct nb_unused_pass *pass)
{
    struct holding h = {.live = pass->live, .next = pass->next_bag};
    struct nb_view view;
    struct nb_error why;
    int rc = nb_store_snapshot(engine->store, &view, &why);
    if (rc != 0)
        return rc;
    rc = nb_ledger_walk_only(&view, pass->live->number, pass->next_bag, NB_LEDGER_UNLABELLED, hold,
                             &h, &why);
    nb_store_snapshot_end(&view);
    nb_rows_deinit(&h.bag);
    pass->next_bag = h.next;
    if (rc == NB_CORRUPT)
        nb_live_set_damaged(pass->live, &why);
    return rc;
}

/* Whether no entry and no batch can refer to the rows any more. */
static bool is_ready(struct nb_engine *engine)
{
    struct nb_unused_pass *pass = &engine->unused;
    struct nb_live *live = pass->live;
    struct nb_view view;
    bool has_garbage = true;
    if (atomic_load(&live->epoch.pins[pass->pin]) != 0)
        return false;
    if (pass->is_ready)
        return true;
    if (live->checkpoint.replay <= pass->until ||
        nb_store_snapshot(engine->store, &view, NULL) != 0)
        return false;
    if (nb_ledger_has_garbage(&view, live->number, pass->until, &has_garbage, NULL) != 0)
        has_garbage = true;
    nb_store_snapshot_end(&view);
    pass->is_ready = !has_garbage;
    return pass->is_ready;
}

/* ---- a slice --------------------------------------------------------------------------------- */

struct slice {
    struct nb_live *live;
    uint32_t rows[SLICE_ROWS]; /* ascending */
    uint64_t ids[SLICE_ROWS];
    bool taken[SLICE_ROWS];
    size_t count;
    size_t dropped[SLICE_ROWS]; /* indexes of the rows that are dropped in memory */
    size_t dropped_count;
    struct nb_ledger_totals totals; /* totals before the transaction */
};

/* Restores the rows in reverse order: the last row that was dropped is the first to be reused. */
static void take_back(struct slice *s)
{
    uint32_t row;
    while (s->dropped_count > 0) {
        size_t i = s->dropped[--s->dropped_count];
        nb_model_undrop_row(s->live->counts, s->ids[i], &row);
        assert(row == s->rows[i]);
    }
    s->live->checkpoint.totals = s->totals;
}

/* Removes rows of ranges that were never stored and so have no mark; another pass drops them. */
static int leave_unstored(const struct nb_view *view, struct slice *s, struct nb_error *error)
{
    size_t kept = 0;
    bool stored = false;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < s->count; i++) {
        uint32_t range = s->rows[i] / NB_RANGE_ROWS;
        if (i == 0 || range != s->rows[i - 1] / NB_RANGE_ROWS) {
            struct nb_store_key key = nb_store_key_number(s->live->number, range);
            struct nb_string value;
            rc = nb_store_get(view, NB_TABLE_ROWS, nb_store_key_string(&key), &value, error);
            stored = rc == 0;
            rc = rc == NB_NOT_FOUND ? 0 : rc;
        }
        if (stored)
            s->rows[kept++] = s->rows[i];
        else
            break; /* ranges after it are not stored either */
    }
    s->count = kept;
    return rc;
}

static int drop_rows(struct slice *s, struct nb_error *error)
{
    for (size_t i = 0; i < s->count; i++) {
        if (!s->taken[i])
            continue;
        s->ids[i] = nb_model_row_id(s->live->counts, s->rows[i]);
        if (nb_model_drop_row(s->live->counts, s->rows[i]) != 0)
            return nb_error_no_memory(error);
        s->dropped[s->dropped_count++] = i;
    }
    return 0;
}

static int put_ranges(struct nb_engine *engine, struct nb_view *view, const struct slice *s,
                      struct nb_error *error)
{
    uint32_t last = UINT32_MAX;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < s->dropped_count; i++) {
        uint32_t range = s->rows[s->dropped[i]] / NB_RANGE_ROWS;
        if (range != last)
            rc = nb_checkpoint_put_range(engine, view, s->live, range, error);
        last = range;
    }
    return rc;
}

static int write_slice(struct nb_engine *engine, struct nb_view *view, void *argument,
                       struct nb_error *error)
{
    struct slice *s = argument;
    struct nb_live *live = s->live;
    take_back(s); /* this may be a second try */
    int rc = leave_unstored(view, s, error);
    if (rc == 0)
        rc = nb_ledger_drop_features(view, live->number, s->rows, s->count, engine->coder,
                                     live->key, s->taken, &live->checkpoint.totals, error);
    if (rc == 0)
        rc = drop_rows(s, error);
    if (rc == 0)
        rc = put_ranges(engine, view, s, error);
    struct nb_state_record state = nb_checkpoint_state(live, live->checkpoint.last);
    return rc != 0 ? rc : nb_put_state(engine, view, live, &state, error);
}

/* Collects the next candidates, from pass->next on. */
static void collect(struct nb_unused_pass *pass, struct slice *s)
{
    const struct nb_live *live = pass->live;
    uint32_t ranges = 0;
    uint32_t last = UINT32_MAX;
    for (; pass->next < live->unused.count && s->count < SLICE_ROWS; pass->next++) {
        uint32_t range = pass->next / NB_RANGE_ROWS;
        if (!nb_unused_has(live, pass->next))
            continue;
        if (range != last && ranges++ == SLICE_RANGES)
            return;
        last = range;
        s->rows[s->count++] = pass->next;
    }
}

static void note_clean(const struct slice *s)
{
    struct nb_checkpoint *c = &s->live->checkpoint;
    for (size_t i = 0; i < s->dropped_count; i++) {
        uint32_t range = s->rows[s->dropped[i]] / NB_RANGE_ROWS;
        if (range < c->room)
            c->dirty[range] = 0;
    }
}

/* Drops the rows of a slice in a transaction. Returns whether it was committed. */
static bool drop_slice(struct nb_engine *engine, struct slice *s)
{
    struct nb_error why;
    uint64_t expected = (uint64_t)s->count * FEATURE_BYTES + (uint64_t)SLICE_RANGES * RANGE_BYTES;
    int rc = nb_transaction(engine, expected, write_slice, s, &why);
    if (rc != 0)
        take_back(s);
    if (rc == NB_CORRUPT)
        nb_live_set_damaged(s->live, &why);
    if (rc != 0)
        return false;
    note_clean(s);
    engine->unused.has_dropped = engine->unused.has_dropped || s->dropped_count > 0;
    atomic_fetch_add(&engine->counters.features_dropped, s->dropped_count);
    return true;
}

bool nb_unused_step(struct nb_engine *engine)
{
    struct nb_unused_pass *pass = &engine->unused;
    struct nb_live *live = pass->live;
    if (live == NULL)
        return false;
    if (!can_be_changed(live) || nb_transaction_health(engine, NULL) != 0) {
        nb_unused_end(engine);
        return false;
    }
    if (!pass->has_held) {
        int rc = atomic_load(&live->unlabelled) == 0 ? 0 : hold_some(engine, pass);
        pass->has_held = rc == 0;
        if (rc != 0 && rc != ENDED)
            nb_unused_end(engine);
        return rc == 0 || rc == ENDED;
    }
    if (!is_ready(engine))
        return false;
    struct slice *s = calloc(1, sizeof *s);
    bool goes_on = s != NULL;
    if (goes_on) {
        s->live = live;
        s->totals = live->checkpoint.totals;
        collect(pass, s);
        goes_on = s->count > 0 && drop_slice(engine, s) && pass->next < live->unused.count;
    }
    free(s);
    if (!goes_on)
        nb_unused_end(engine);
    return goes_on;
}

void nb_unused_drop_some(struct nb_engine *engine, const struct nb_group *group)
{
    for (size_t i = 0; i < group->model_count; i++) {
        struct nb_live *live = group->models[i].live;
        nb_unused_begin(engine, live, nb_unused_allowed(engine, live));
    }
    (void)nb_unused_step(engine);
}
