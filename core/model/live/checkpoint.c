/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/live/checkpoint.h"

#include <assert.h>

#include "core/base/clock.h"
#include "core/ledger/entries/ledger.h"
#include "core/ledger/entries/range.h"
#include "core/model/live/dirty.h"
#include "core/model/live/model_transaction.h"

enum {
    /* Ranges per transaction of a full checkpoint, some 800 KB: the pages that the two last ones
     * have freed stay empty. */
    SLICE_RANGES = 64,
    DUE_MOST = 256, /* ranges beside the changes of a commit */
    RANGE_BYTES = 24 * NB_RANGE_ROWS,
    DROPPED_ENTRIES = 1000, /* superfluous entries dropped per such transaction */
};

struct nb_state_record nb_checkpoint_state(const struct nb_live *live, uint64_t last)
{
    const struct nb_checkpoint *c = &live->checkpoint;
    return (struct nb_state_record){.last = last,
                                    .replay = c->replay,
                                    .tail = c->tail,
                                    .vocabulary = nb_model_vocabulary(live->counts, NB_ALL_TOKENS),
                                    .rows = nb_model_rows(live->counts),
                                    .labels = nb_model_label_count(live->counts),
                                    .weights = c->weights,
                                    .totals = c->totals,
                                    .twin = c->twin.stored};
}

/* ---- the list of unsaved models -------------------------------------------------------------- */

static void unlist(struct nb_engine *engine, struct nb_live *live)
{
    if (!live->is_unsaved)
        return;
    struct nb_live *before = live->unsaved_before;
    struct nb_live *after = live->unsaved_after;
    *(before == NULL ? &engine->unsaved : &before->unsaved_after) = after;
    *(after == NULL ? &engine->unsaved_last : &after->unsaved_before) = before;
    live->unsaved_before = live->unsaved_after = NULL;
    live->is_unsaved = false;
}

static void enlist(struct nb_engine *engine, struct nb_live *live)
{
    assert(!live->is_unsaved);
    live->unsaved_before = engine->unsaved_last;
    live->unsaved_after = NULL;
    *(engine->unsaved_last == NULL ? &engine->unsaved : &engine->unsaved_last->unsaved_after) =
        live;
    engine->unsaved_last = live;
    live->is_unsaved = true;
}

static void set_tail(struct nb_engine *engine, struct nb_live *live, uint64_t tail)
{
    uint64_t old = atomic_exchange(&live->tail, tail);
    atomic_fetch_add(&engine->tail, tail - old);
}

void nb_checkpoint_note(struct nb_engine *engine, struct nb_live *live, uint64_t features)
{
    struct nb_checkpoint *c = &live->checkpoint;
    bool was_saved = c->tail < atomic_load(&live->tail); /* a sweep has completed */
    c->tail += features;
    c->sweep_features += features;
    set_tail(engine, live, c->tail);
    if (was_saved || c->tail == 0)
        unlist(engine, live);
    if (c->tail > 0 && !live->is_unsaved)
        enlist(engine, live);
}

void nb_checkpoint_enlist(struct nb_engine *engine, struct nb_live *live)
{
    assert(!live->is_unsaved);
    if (atomic_load(&live->tail) > 0)
        enlist(engine, live);
}

void nb_checkpoint_forget(struct nb_engine *engine, struct nb_live *live)
{
    unlist(engine, live);
    set_tail(engine, live, 0);
}

/* ---- sweeps ---------------------------------------------------------------------------------- */

/* A sweep visits only the ranges that exist when it begins. Otherwise a range that was added since
 * could be stored while one before it is not. */
static void begin_sweep(struct nb_live *live)
{
    struct nb_checkpoint *c = &live->checkpoint;
    c->sweeping = true;
    c->sweep_next = 0;
    c->sweep_end = nb_ranges_of(nb_model_rows(live->counts));
    c->sweep_start = c->last + 1;
    c->sweep_features = 0;
}

int nb_checkpoint_put_range(struct nb_engine *engine, struct nb_view *view,
                            const struct nb_live *live, uint32_t range, struct nb_error *error)
{
    uint32_t first = range * NB_RANGE_ROWS;
    assert(first < nb_model_rows(live->counts));
    uint32_t rows = nb_model_rows(live->counts) - first;
    struct nb_buffer *out = &engine->scratch;
    out->length = 0;
    if (nb_range_write(live->counts, first, rows < NB_RANGE_ROWS ? rows : NB_RANGE_ROWS,
                       live->checkpoint.last, out) != 0)
        return nb_error_no_memory(error);
    struct nb_store_key key = nb_store_key_number(live->number, range);
    return nb_store_put(view, NB_TABLE_ROWS, nb_store_key_string(&key),
                        (struct nb_string){out->bytes, out->length}, error);
}

void nb_checkpoint_restore(struct nb_live *live, const struct nb_checkpoint *saved)
{
    struct nb_checkpoint *c = &live->checkpoint;
    /* The ranges of failed slices may not be stored: mark all of them as dirty, even those that
     * were not before. */
    uint32_t from = saved->sweeping ? saved->sweep_next : 0;
    for (uint32_t range = from; range < c->sweep_next && range < c->room; range++)
        c->dirty[range] = 1;
    unsigned char *dirty = c->dirty;
    size_t room = c->room;
    assert(saved->room <= room);
    *c = *saved;
    c->dirty = dirty;
    c->room = room;
}

/* A slice is written before the entries of the same transaction are applied, so its ranges contain
 * the entries up to `last`. */
int nb_checkpoint_slice(struct nb_engine *engine, struct nb_view *view, struct nb_live *live,
                        uint32_t most, uint32_t *written, struct nb_error *error)
{
    struct nb_checkpoint *c = &live->checkpoint;
    assert(live->number != 0 && live->counts != NULL);
    *written = 0;
    if (!c->sweeping)
        begin_sweep(live);
    if (nb_dirty_reserve(c, c->sweep_end) != 0)
        return nb_error_no_memory(error);
    assert(c->sweep_next <= c->sweep_end && c->sweep_end <= c->room);
    while (c->sweep_next < c->sweep_end && *written < most) {
        uint32_t range = c->sweep_next++;
        if (!c->dirty[range])
            continue;
        int rc = nb_checkpoint_put_range(engine, view, live, range, error);
        if (rc != 0)
            return rc;
        c->dirty[range] = 0;
        ++*written;
    }
    if (c->sweep_next < c->sweep_end)
        return 0;
    c->sweeping = false;
    c->replay = c->sweep_start;
    c->tail = c->sweep_features;
    c->garbage = true;
    return 0;
}

uint32_t nb_checkpoint_due(const struct nb_engine *engine, uint64_t features)
{
    uint64_t half = engine->settings.replay_features / 2 + 1;
    const struct nb_live *oldest = engine->unsaved;
    if (oldest == NULL || atomic_load(&engine->tail) + features < half)
        return 0;
    /* Spread the sweep of the oldest model over the commits that add half of the bound. A small
     * model takes less than a commit's share, so one commit saves several. If another thread is
     * just loading the model, its counts must not be read. */
    bool is_loaded = atomic_load(&oldest->loaded);
    uint64_t ranges = is_loaded ? nb_ranges_of(nb_model_rows(oldest->counts)) : 1;
    uint64_t due = ranges * features / half + 1;
    return due < DUE_MOST ? (uint32_t)due : DUE_MOST;
}

/* The time before which superseded entries of documents are dropped (nb_ledger_drop), in
 * milliseconds since 1970. */
static int64_t checkpoint_keep_from(const struct nb_engine *engine)
{
    uint64_t seconds = atomic_load(&engine->superseded_seconds);
    return seconds == 0 ? INT64_MAX : nb_clock_now() - (int64_t)seconds * 1000;
}

int nb_checkpoint_drop(const struct nb_engine *engine, struct nb_view *view, struct nb_live *live,
                       size_t most, struct nb_error *error)
{
    struct nb_checkpoint *c = &live->checkpoint;
    struct nb_error why;
    if (!c->garbage || live->number == 0)
        return 0;
    int rc = nb_ledger_drop(view, live->number, c->replay, checkpoint_keep_from(engine), most,
                            &c->totals, &c->garbage, &why);
    if (rc == NB_CORRUPT) {
        nb_live_set_damaged(live, &why);
        c->garbage = false;
        return 0;
    }
    return rc == 0 ? 0 : nb_error_set(error, rc, "%s", why.text);
}

struct slice {
    struct nb_live *live;
    struct nb_checkpoint saved;
};

static int write_slice(struct nb_engine *engine, struct nb_view *view, void *argument,
                       struct nb_error *error)
{
    struct slice *slice = argument;
    struct nb_live *live = slice->live;
    struct nb_checkpoint *c = &live->checkpoint;
    uint32_t written;
    nb_checkpoint_restore(live, &slice->saved); /* this may be a second try */
    int rc = nb_checkpoint_slice(engine, view, live, SLICE_RANGES, &written, error);
    if (rc == 0)
        rc = nb_checkpoint_drop(engine, view, live, DROPPED_ENTRIES, error);
    struct nb_state_record state = nb_checkpoint_state(live, c->last);
    return rc != 0 ? rc : nb_put_state(engine, view, live, &state, error);
}

/* Writes one slice in a transaction of its own. On failure the sweep is restored. */
static int commit_slice(struct nb_engine *engine, struct nb_live *live, struct nb_error *error)
{
    struct slice slice = {.live = live, .saved = live->checkpoint};
    int rc =
        nb_transaction(engine, (uint64_t)SLICE_RANGES * RANGE_BYTES, write_slice, &slice, error);
    if (rc != 0)
        nb_checkpoint_restore(live, &slice.saved);
    else
        nb_checkpoint_note(engine, live, 0);
    return rc;
}

int nb_checkpoint_all(struct nb_engine *engine, struct nb_live *live,
                      bool (*stop)(struct nb_engine *engine), struct nb_error *error)
{
    struct nb_checkpoint *c = &live->checkpoint;
    assert(live->number != 0 && live->counts != NULL);
    /* Finish a sweep that is under way, and then run a whole one. */
    int rc = 0;
    while (rc == 0 && (c->sweeping || c->replay <= c->last || c->garbage)) {
        if (stop != NULL && stop(engine))
            return 0;
        rc = commit_slice(engine, live, error);
    }
    return rc;
}
