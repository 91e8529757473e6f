/* SPDX-License-Identifier: Apache-2.0
 *
 * Checkpoints: the counts, a view of the ledger, are written in ranges of rows, a bounded slice at
 * a time. A sweep passes once over all ranges and writes the dirty ones; when it has passed, no
 * entry from before its beginning needs to be replayed any more, and what those entries replaced
 * can be dropped.
 *
 * The ranges that exist when a sweep begins are the ones it visits: were it to run on into ranges
 * that came later, a stored range could lie behind a gap.
 */
#include <stdlib.h>
#include <string.h>

#include "core/engine_private.h"

enum {
    SLICE_RANGES = 256, /* ranges per transaction of a full checkpoint, some 4 MB */
    RANGE_BYTES = 24 * NB_RANGE_ROWS,
    GARBAGE_ENTRIES = 10000, /* superfluous entries dropped per transaction at most */
};

static uint32_t ranges_of(uint32_t rows)
{
    return rows / NB_RANGE_ROWS + (rows % NB_RANGE_ROWS != 0);
}

static int make_room(struct nb_checkpoint *checkpoint, size_t ranges)
{
    if (ranges <= checkpoint->room)
        return 0;
    size_t room = checkpoint->room == 0 ? 64 : checkpoint->room;
    while (room < ranges)
        room *= 2;
    unsigned char *dirty = realloc(checkpoint->dirty, room);
    if (dirty == NULL)
        return NB_NO_MEMORY;
    memset(dirty + checkpoint->room, 0, room - checkpoint->room);
    checkpoint->dirty = dirty;
    checkpoint->room = room;
    return 0;
}

int nb_checkpoint_touch(struct nb_checkpoint *checkpoint, const struct nb_rows *rows,
                        uint32_t model_rows)
{
    if (make_room(checkpoint, ranges_of(model_rows)) != 0)
        return NB_NO_MEMORY;
    for (size_t i = 0; i < rows->size; i++)
        checkpoint->dirty[rows->counts[i].row / NB_RANGE_ROWS] = 1;
    return 0;
}

static void begin_sweep(struct nb_live *live)
{
    struct nb_checkpoint *c = &live->checkpoint;
    c->sweeping = true;
    c->sweep_next = 0;
    c->sweep_end = ranges_of(nb_model_rows(live->counts));
    c->sweep_start = c->last + 1;
    c->sweep_features = 0;
}

/* Drops the entries that only a replay from before `replay` would have needed. */
struct garbage {
    uint64_t replay;
    uint64_t numbers[GARBAGE_ENTRIES];
    size_t count, most;
};

static int collect(void *user, struct nb_string key, struct nb_string value, struct nb_error *error)
{
    struct garbage *g = user;
    (void)value;
    (void)error;
    uint64_t number = nb_store_key_tail(key);
    if (number >= g->replay || g->count == g->most)
        return 1;
    g->numbers[g->count++] = number;
    return 0;
}

/* An entry of the garbage table names the replacing entry; its value the replaced one, and whether
 * the replacing one itself (a forgotten document) can go too. */
static int drop_one(struct nb_view *view, const struct nb_live *live, uint64_t number,
                    struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_sequence(live->number, number);
    struct nb_string value;
    int rc = nb_store_get(view, NB_TABLE_GARBAGE, nb_store_key_string(&key), &value, error);
    if (rc != 0)
        return rc;
    struct nb_unpacker r = nb_unpacker_of(value.bytes, value.length);
    uint64_t replaced = nb_unpack_varint(&r);
    bool both = nb_unpack_u8(&r) != 0;
    struct nb_store_key old = nb_store_key_sequence(live->number, replaced);
    rc = nb_store_delete(view, NB_TABLE_LEDGER, nb_store_key_string(&old), error);
    if (rc == 0 && both)
        rc = nb_store_delete(view, NB_TABLE_LEDGER, nb_store_key_string(&key), error);
    if (rc == 0)
        rc = nb_store_delete(view, NB_TABLE_GARBAGE, nb_store_key_string(&key), error);
    return rc;
}

int nb_checkpoint_drop(struct nb_view *view, struct nb_live *live, size_t most,
                       struct nb_error *error)
{
    if (!live->checkpoint.garbage)
        return 0;
    struct garbage *g = malloc(sizeof *g);
    if (g == NULL)
        return nb_error_no_memory(error);
    g->replay = live->checkpoint.replay;
    g->count = 0;
    g->most = most < GARBAGE_ENTRIES ? most : GARBAGE_ENTRIES;
    struct nb_store_key key = nb_store_key_model(live->number);
    int rc = nb_store_scan(view, NB_TABLE_GARBAGE, nb_store_key_string(&key), key.length, collect,
                           g, error);
    if (rc > 0)
        rc = 0;
    for (size_t i = 0; rc == 0 && i < g->count; i++)
        rc = drop_one(view, live, g->numbers[i], error);
    live->checkpoint.garbage = g->count == g->most;
    free(g);
    return rc;
}

static int put_range(struct nb_engine *engine, struct nb_view *view, const struct nb_live *live,
                     uint32_t range, struct nb_error *error)
{
    uint32_t first = range * NB_RANGE_ROWS;
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
    /* What the failed slices passed is dirty, or marked so without harm. */
    uint32_t from = saved->sweeping ? saved->sweep_next : 0;
    for (uint32_t range = from; range < c->sweep_next && range < c->room; range++)
        c->dirty[range] = 1;
    unsigned char *dirty = c->dirty;
    size_t room = c->room;
    *c = *saved;
    c->dirty = dirty;
    c->room = room;
}

/* A slice is written before the transaction's own entries are counted: the ranges are true up to
 * `last`. */
int nb_checkpoint_slice(struct nb_engine *engine, struct nb_view *view, struct nb_live *live,
                        uint32_t most, struct nb_error *error)
{
    struct nb_checkpoint *c = &live->checkpoint;
    if (!c->sweeping)
        begin_sweep(live);
    if (make_room(c, c->sweep_end) != 0)
        return nb_error_no_memory(error);
    uint32_t written = 0;
    while (c->sweep_next < c->sweep_end && written < most) {
        uint32_t range = c->sweep_next++;
        if (!c->dirty[range])
            continue;
        int rc = put_range(engine, view, live, range, error);
        if (rc != 0)
            return rc;
        c->dirty[range] = 0;
        written++;
    }
    if (c->sweep_next < c->sweep_end)
        return 0;
    c->sweeping = false;
    c->replay = c->sweep_start;
    c->tail_features = c->sweep_features;
    c->garbage = true;
    return 0;
}

uint32_t nb_checkpoint_due(const struct nb_engine *engine, const struct nb_live *live,
                           uint64_t features)
{
    const struct nb_checkpoint *c = &live->checkpoint;
    uint64_t half = engine->settings.replay_features / 2 + 1;
    if (!c->sweeping && c->tail_features + features < half)
        return 0;
    /* A whole sweep within the time that half the bound's feature changes take. */
    uint64_t ranges = ranges_of(nb_model_rows(live->counts));
    uint64_t due = ranges * features / half + 1;
    return due < SLICE_RANGES ? (uint32_t)due : SLICE_RANGES;
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
    nb_checkpoint_restore(live, &slice->saved); /* this may be a second try */
    int rc = nb_checkpoint_slice(engine, view, live, SLICE_RANGES, error);
    if (rc == 0)
        rc = nb_checkpoint_drop(view, live, GARBAGE_ENTRIES, error);
    struct nb_state_record state = {.last = live->checkpoint.last,
                                    .replay = live->checkpoint.replay,
                                    .rows = nb_model_rows(live->counts)};
    return rc != 0 ? rc : nb_writer_put_state(engine, view, live, &state, error);
}

/* One slice in a transaction of its own; on failure the sweep is as it was before. */
static int commit_slice(struct nb_engine *engine, struct nb_live *live, struct nb_error *error)
{
    struct slice slice = {.live = live, .saved = live->checkpoint};
    int rc = nb_writer_transaction(engine, (uint64_t)SLICE_RANGES * RANGE_BYTES, write_slice,
                                   &slice, error);
    if (rc != 0)
        nb_checkpoint_restore(live, &slice.saved);
    return rc;
}

int nb_checkpoint_all(struct nb_engine *engine, struct nb_live *live, struct nb_error *error)
{
    /* A sweep under way began earlier: finish it, then pass once more over everything. */
    int rc = 0;
    while (rc == 0 && live->checkpoint.sweeping)
        rc = commit_slice(engine, live, error);
    if (rc != 0 || live->checkpoint.replay > live->checkpoint.last)
        return rc;
    do
        rc = commit_slice(engine, live, error);
    while (rc == 0 && live->checkpoint.sweeping);
    return rc;
}
