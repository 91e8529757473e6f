/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/checkpoint.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/buffer.h"
#include "core/base/system.h"
#include "core/ledger/ledger.h"
#include "core/ledger/record.h"
#include "core/model/model_transaction.h"
#include "core/model/relayed.h"
#include "core/stack/weights.h"

enum {
    /* Ranges per transaction of a full checkpoint, some 800 KB: the pages that the last two
     * transactions have freed stay empty. */
    SLICE_RANGES = 64,
    DUE_MOST = 256, /* most ranges written with the changes of a commit */
    RANGE_BYTES = 24 * NB_RANGE_ROWS,
    DROPPED_ENTRIES = 1000, /* superfluous entries dropped per such transaction */
};

/* ---- dirty marks ----------------------------------------------------------------------------- */

enum { FIRST_ROOM = 16 };

/* Allocates marks for `ranges` ranges. Returns 0 or NB_NO_MEMORY. */
static int dirty_reserve(struct nb_checkpoint *checkpoint, size_t ranges)
{
    if (ranges <= checkpoint->room)
        return 0;
    /* Starts smaller than other arrays, because each of many small models has one. */
    size_t room = ranges <= FIRST_ROOM ? FIRST_ROOM : nb_array_room(checkpoint->room, ranges, 1);
    if (nb_array_resize(&checkpoint->dirty, room, 1) != 0)
        return NB_NO_MEMORY;
    memset(checkpoint->dirty + checkpoint->room, 0, room - checkpoint->room);
    checkpoint->room = room;
    return 0;
}

int nb_dirty_mark(struct nb_checkpoint *checkpoint, const struct nb_rows *rows, uint32_t model_rows)
{
    if (dirty_reserve(checkpoint, nb_ranges_of(model_rows)) != 0)
        return NB_NO_MEMORY;
    assert(rows->size == 0 || rows->counts[rows->size - 1].row < model_rows);
    unsigned char *dirty = checkpoint->dirty;
    for (size_t i = 0; i < rows->size; i++)
        dirty[rows->counts[i].row / NB_RANGE_ROWS] = 1;
    return 0;
}

/* ---- the state record ------------------------------------------------------------------------ */

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
                                    .twin = c->twin.stored,
                                    .version = NB_DERIVED_VERSION};
}

/* ---- the list of unsaved models -------------------------------------------------------------- */

static void unlist(struct nb_engine *engine, struct nb_live *live)
{
    if (!live->unsaved.is_listed)
        return;
    struct nb_live *before = live->unsaved.before;
    struct nb_live *after = live->unsaved.after;
    *(before == NULL ? &engine->unsaved.first : &before->unsaved.after) = after;
    *(after == NULL ? &engine->unsaved.last : &after->unsaved.before) = before;
    live->unsaved.before = live->unsaved.after = NULL;
    live->unsaved.is_listed = false;
}

static void enlist(struct nb_engine *engine, struct nb_live *live)
{
    assert(!live->unsaved.is_listed);
    live->unsaved.before = engine->unsaved.last;
    live->unsaved.after = NULL;
    *(engine->unsaved.last == NULL ? &engine->unsaved.first
                                   : &engine->unsaved.last->unsaved.after) = live;
    engine->unsaved.last = live;
    live->unsaved.is_listed = true;
}

static void set_tail(struct nb_engine *engine, struct nb_live *live, uint64_t tail)
{
    uint64_t old = atomic_exchange(&live->tail, tail);
    atomic_fetch_add(&engine->memory.tail, tail - old);
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
    if (c->tail > 0 && !live->unsaved.is_listed)
        enlist(engine, live);
}

void nb_checkpoint_enlist(struct nb_engine *engine, struct nb_live *live)
{
    assert(!live->unsaved.is_listed);
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
    if (dirty_reserve(c, c->sweep_end) != 0)
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
    const struct nb_live *oldest = engine->unsaved.first;
    if (oldest == NULL || atomic_load(&engine->memory.tail) + features < half)
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

/* ---- records --------------------------------------------------------------------------------- */

int nb_put_model(struct nb_engine *engine, const struct nb_view *view, struct nb_live *live,
                 const struct nb_settings *settings, struct nb_error *error)
{
    struct nb_buffer stored = {0};
    struct nb_buffer key = {0};
    struct nb_buffer *out = &engine->scratch;
    assert(live->number != 0);
    out->length = 0;
    int rc = nb_settings_write(settings, &stored);
    if (rc == 0)
        rc = nb_live_write_key(live, &key);
    struct nb_model_record record = {.number = live->number,
                                     .settings = nb_buffer_string(&stored),
                                     .key = nb_buffer_string(&key)};
    if (rc == 0)
        rc = nb_model_record_write(&record, out);
    nb_buffer_deinit(&stored);
    nb_buffer_deinit(&key);
    if (rc != 0)
        return nb_error_no_memory(error);
    return nb_store_put(view, NB_TABLE_MODELS, nb_live_name(live), nb_buffer_string(out), error);
}

int nb_put_label(struct nb_engine *engine, const struct nb_view *view, const struct nb_live *live,
                 uint32_t label, struct nb_error *error)
{
    struct nb_buffer *out = &engine->scratch;
    struct nb_store_key key = nb_store_key_number(live->number, label);
    struct nb_label_record record = {.name = nb_model_label_name(live->counts, label),
                                     .documents = nb_model_documents(live->counts, label),
                                     .tokens =
                                         nb_model_occurrences(live->counts, label, NB_ALL_TOKENS)};
    assert(live->number != 0 && label < nb_model_label_count(live->counts));
    out->length = 0;
    if (nb_label_write(&record, out) != 0)
        return nb_error_no_memory(error);
    return nb_store_put(view, NB_TABLE_LABELS, nb_store_key_string(&key), nb_buffer_string(out),
                        error);
}

static int put_weights_record(const struct nb_view *view, struct nb_live *live, uint32_t record,
                              struct nb_string value, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_number(live->number, record);
    struct nb_string before;
    int rc = nb_store_get(view, NB_TABLE_WEIGHTS, nb_store_key_string(&key), &before, error);
    if (rc != 0 && rc != NB_NOT_FOUND && rc != NB_CORRUPT)
        return rc;
    live->checkpoint.weights += rc == NB_NOT_FOUND; /* a damaged record is overwritten */
    return nb_store_put(view, NB_TABLE_WEIGHTS, nb_store_key_string(&key), value, error);
}

int nb_put_weights(struct nb_engine *engine, const struct nb_view *view, struct nb_live *live,
                   struct nb_error *error)
{
    struct nb_stack_weights *weights = live->published->weights;
    struct nb_buffer *out = &engine->scratch;
    assert(live->number != 0);
    if (nb_stack_lesson_pack(weights) != 0)
        return nb_error_no_memory(error);
    int rc = 0;
    uint32_t record = nb_stack_weights_changed(weights, 0);
    for (; rc == 0 && record != NB_STACK_NO_RECORD;
         record = nb_stack_weights_changed(weights, record + 1)) {
        struct nb_packer p = {.out = out};
        out->length = 0;
        nb_stack_weights_write_record(weights, record, &p);
        rc = p.code != 0 ? nb_error_no_memory(error)
                         : put_weights_record(view, live, record, nb_buffer_string(out), error);
    }
    return rc;
}

int nb_put_orphan(const struct nb_view *view, uint32_t number, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_model(number);
    assert(number != 0);
    return nb_store_put(view, NB_TABLE_ORPHANS, nb_store_key_string(&key),
                        (struct nb_string){"", 0}, error);
}

/* ---- the twin's slots ------------------------------------------------------------------------ */

/* Keys of the table: ranges have their numbers; records of the log have theirs plus FIRST_OF_LOG.
 */
enum { FIRST_OF_LOG = 1 << 16 };

enum {
    LEAST_LOG = 65536,    /* least bytes of a log before a sweep: small tables are swept rarely */
    SLOT_BYTES = 8,       /* bytes of a slot in a table */
    DROPPED_RECORDS = 64, /* records of the log dropped per commit */
};

static struct nb_store_key key_of_log(uint32_t model, uint64_t number)
{
    return nb_store_key_sequence(model, FIRST_OF_LOG + number);
}

static int put(const struct nb_view *view, const struct nb_store_key *key,
               const struct nb_packer *bytes, struct nb_error *error)
{
    if (bytes->code != 0)
        return nb_error_no_memory(error);
    return nb_store_put(view, NB_TABLE_TWIN, nb_store_key_string(key),
                        (struct nb_string){bytes->out->bytes, bytes->out->length}, error);
}

static int put_range(struct nb_engine *engine, const struct nb_view *view, struct nb_live *live,
                     uint32_t range, struct nb_error *error)
{
    struct nb_packer p = {.out = &engine->scratch};
    struct nb_store_key key = nb_store_key_sequence(live->number, range);
    engine->scratch.length = 0;
    nb_slots_write_range(nb_stack_twin_slots(live->published->weights), range, &p);
    return put(view, &key, &p, error);
}

/* Writes all ranges, and begins a new log: the old one is no longer needed. */
static int put_whole(struct nb_engine *engine, const struct nb_view *view, struct nb_live *live,
                     struct nb_error *error)
{
    struct nb_twin_log *log = &live->checkpoint.twin;
    uint32_t ranges = nb_slots_ranges(nb_stack_twin_slots(live->published->weights));
    int rc = 0;
    for (uint32_t range = 0; rc == 0 && range < ranges; range++)
        rc = put_range(engine, view, live, range, error);
    for (uint32_t range = ranges; rc == 0 && range < log->stored.ranges; range++) {
        struct nb_store_key key = nb_store_key_sequence(live->number, range);
        rc = nb_store_delete(view, NB_TABLE_TWIN, nb_store_key_string(&key), error);
    }
    log->stored.ranges = ranges;
    log->stored.first = log->stored.next;
    log->bytes = 0;
    log->sweeping = false;
    return rc;
}

/* The length of the log at which a sweep begins. */
static uint64_t most_log(const struct nb_twin_log *log)
{
    uint64_t half = (uint64_t)log->stored.ranges * NB_SLOTS_RANGE * SLOT_BYTES / 2;
    return half < LEAST_LOG ? LEAST_LOG : half;
}

/* Writes enough ranges with each commit that the sweep ends before the log has grown by half. */
static int sweep(struct nb_engine *engine, const struct nb_view *view, struct nb_live *live,
                 uint64_t bytes, struct nb_error *error)
{
    struct nb_twin_log *log = &live->checkpoint.twin;
    uint64_t due = 1 + log->stored.ranges * bytes * 2 / most_log(log);
    int rc = 0;
    for (; rc == 0 && due > 0 && log->sweep_next < log->stored.ranges; due--)
        rc = put_range(engine, view, live, log->sweep_next++, error);
    if (log->sweep_next < log->stored.ranges)
        return rc;
    log->sweeping = false;
    log->stored.first = log->sweep_first;
    log->bytes = log->sweep_bytes;
    return rc;
}

static int put_changed(struct nb_engine *engine, const struct nb_view *view, struct nb_live *live,
                       struct nb_error *error)
{
    struct nb_twin_log *log = &live->checkpoint.twin;
    struct nb_packer p = {.out = &engine->scratch};
    struct nb_store_key key = key_of_log(live->number, log->stored.next++);
    engine->scratch.length = 0;
    nb_slots_write_changed(nb_stack_twin_slots(live->published->weights), &p);
    uint64_t bytes = engine->scratch.length;
    int rc = put(view, &key, &p, error);
    log->bytes += bytes;
    log->sweep_bytes += bytes;
    if (!log->sweeping && log->bytes > most_log(log)) {
        log->sweeping = true;
        log->sweep_next = 0;
        log->sweep_first = log->stored.next;
        log->sweep_bytes = 0;
    }
    return rc == 0 && log->sweeping ? sweep(engine, view, live, bytes, error) : rc;
}

static int drop(const struct nb_view *view, struct nb_live *live, struct nb_error *error)
{
    struct nb_twin_stored *stored = &live->checkpoint.twin.stored;
    int rc = 0;
    for (int i = 0; rc == 0 && i < DROPPED_RECORDS && stored->oldest < stored->first; i++) {
        struct nb_store_key key = key_of_log(live->number, stored->oldest++);
        rc = nb_store_delete(view, NB_TABLE_TWIN, nb_store_key_string(&key), error);
    }
    return rc;
}

int nb_twin_log_put(struct nb_engine *engine, const struct nb_view *view, struct nb_live *live,
                    struct nb_error *error)
{
    const struct nb_slots *slots = nb_stack_twin_slots(live->published->weights);
    assert(live->number != 0);
    if (!nb_slots_changed(slots))
        return 0;
    int rc = slots->is_whole ? put_whole(engine, view, live, error)
                             : put_changed(engine, view, live, error);
    return rc != 0 ? rc : drop(view, live, error);
}

struct loading {
    const struct nb_twin_stored *stored;
    struct nb_slots *slots;
    uint32_t ranges;
    uint64_t next; /* number of the next record of the log */
    uint64_t bytes;
};

/* The next key, if no record is missing. */
static uint64_t expected_key(const struct loading *l)
{
    return l->ranges < l->stored->ranges ? l->ranges : FIRST_OF_LOG + l->next;
}

static int load_record(void *user, struct nb_string key, struct nb_string value,
                       struct nb_error *error)
{
    struct loading *l = user;
    bool is_log = l->ranges == l->stored->ranges;
    int rc = nb_store_key_tail(key) == expected_key(l) ? 0 : NB_CORRUPT;
    if (rc == 0 && (!is_log || l->next >= l->stored->first)) {
        rc = nb_slots_read(l->slots, value);
        l->bytes += is_log ? value.length : 0;
    }
    l->ranges += !is_log;
    l->next += is_log;
    if (rc == NB_NO_MEMORY)
        return nb_error_no_memory(error);
    return rc == 0 ? 0
                   : nb_error_set(error, rc, "the store is damaged: the twin does not read back");
}

int nb_twin_log_load(const struct nb_view *view, uint32_t model,
                     const struct nb_twin_stored *stored, struct nb_stack_weights *weights,
                     uint64_t *bytes, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_model(model);
    struct loading l = {
        .stored = stored, .slots = nb_stack_twin_slots(weights), .next = stored->oldest};
    int rc = nb_store_scan(view, NB_TABLE_TWIN, nb_store_key_string(&key), key.length, load_record,
                           &l, error);
    if (rc == 0 && (l.ranges != stored->ranges || l.next != stored->next ||
                    nb_slots_ranges(l.slots) != stored->ranges))
        rc = nb_error_set(error, NB_CORRUPT,
                          "the store is damaged: of the twin %" PRIu32
                          " ranges and a log to %" PRIu64 " were written, %" PRIu32
                          " and to %" PRIu64 " read back",
                          stored->ranges, stored->next, l.ranges, l.next);
    if (bytes != NULL)
        *bytes = l.bytes;
    return rc;
}

enum {
    MAP_TRIES = 16,         /* the map doubles each time */
    FIRST_PAUSE = 50000000, /* nanoseconds before a failed store is tried again; doubles */
};
static const uint64_t LONGEST_PAUSE = 5000000000u;

static void note_health(struct nb_engine *engine, int rc, const struct nb_error *error)
{
    pthread_mutex_lock(&engine->health.lock);
    if (rc == 0)
        engine->health.error.code = 0;
    else
        engine->health.error = *error;
    pthread_mutex_unlock(&engine->health.lock);
    if (rc == 0)
        engine->health.pause = 0;
}

int nb_transaction_health(struct nb_engine *engine, struct nb_error *error)
{
    pthread_mutex_lock(&engine->health.lock);
    struct nb_error health = engine->health.error;
    pthread_mutex_unlock(&engine->health.lock);
    return health.code == 0 ? 0 : nb_error_set(error, health.code, "%s", health.text);
}

/* Each failure doubles the time until the next try. */
static void pause_longer(struct nb_engine *engine)
{
    engine->health.pause = engine->health.pause == 0 ? FIRST_PAUSE : engine->health.pause * 2;
    if (engine->health.pause > LONGEST_PAUSE)
        engine->health.pause = LONGEST_PAUSE;
    engine->health.not_before = nb_clock_monotonic() + engine->health.pause;
}

/* Opens a failed store again, unless the pause since the last try is not over. */
static int reopen(struct nb_engine *engine, struct nb_error *error)
{
    if (!nb_store_failed(engine->store, NULL))
        return 0;
    if (nb_clock_monotonic() < engine->health.not_before &&
        nb_transaction_health(engine, error) != 0)
        return error->code;
    int rc = nb_store_reopen(engine->store, error);
    if (rc != 0)
        pause_longer(engine);
    return rc;
}

static int try_once(struct nb_engine *engine, uint64_t expected, nb_transaction_work *work,
                    void *argument, struct nb_error *error)
{
    struct nb_view view;
    struct nb_serials before = engine->serials;
    int rc = nb_store_begin(engine->store, expected, &view, error);
    if (rc != 0)
        return rc;
    if (work != NULL)
        rc = work(engine, &view, argument, error);
    assert(engine->serials.model >= before.model);
    if (rc == 0)
        rc = nb_stream_states_write(engine, &view, error);
    uint64_t worked = nb_clock_monotonic();
    if (rc == 0)
        rc = nb_store_commit(&view, error);
    else
        nb_store_abort(&view);
    engine->queue.sync_time = nb_clock_monotonic() - worked;
    if (rc == 0)
        nb_stream_states_note(engine);
    else
        engine->serials = before;
    return rc;
}

int nb_transaction(struct nb_engine *engine, uint64_t expected, nb_transaction_work *work,
                   void *argument, struct nb_error *error)
{
    struct nb_error local = {0};
    uint64_t started = nb_clock_monotonic();
    int rc = reopen(engine, &local);
    if (rc == 0)
        rc = NB_STORE_MAP_FULL;
    uint64_t before = nb_store_committed(engine->store);
    for (int i = 0; rc == NB_STORE_MAP_FULL && i < MAP_TRIES; i++)
        rc = try_once(engine, expected, work, argument, &local);
    bool wrote = nb_store_committed(engine->store) != before;
    atomic_fetch_add(rc == 0 ? &engine->counters.commits : &engine->counters.commit_failures, 1);
    atomic_fetch_add(&engine->counters.commit_nanoseconds, nb_clock_monotonic() - started);
    if (rc == NB_STORE_MAP_FULL)
        rc = local.code = NB_IO;
    /* Errors of a caller, damage of one model and an empty commit do not show whether the store
     * works. */
    if ((rc == 0 && wrote) || rc == NB_DISK_FULL || rc == NB_IO)
        note_health(engine, rc, &local);
    if (rc == NB_DISK_FULL || rc == NB_IO)
        engine->health.refused_bytes = expected;
    if (rc != 0 && error != NULL)
        *error = local;
    return rc;
}

static int write_probe(struct nb_engine *engine, struct nb_view *view, void *argument,
                       struct nb_error *error)
{
    static const struct nb_string key = {"probe", 5};
    (void)engine;
    (void)argument;
    return nb_store_put(view, NB_TABLE_META, key, (struct nb_string){"", 0}, error);
}

void nb_transaction_probe(struct nb_engine *engine)
{
    if (nb_transaction_health(engine, NULL) == 0 ||
        nb_clock_monotonic() < engine->health.not_before)
        return;
    if (nb_transaction(engine, engine->health.refused_bytes, write_probe, NULL, NULL) != 0)
        pause_longer(engine);
}

int nb_put_state(struct nb_engine *engine, const struct nb_view *view, struct nb_live *live,
                 const struct nb_state_record *state, struct nb_error *error)
{
    assert(live->number != 0);
    struct nb_store_key key = nb_store_key_model(live->number);
    struct nb_buffer *out = &engine->scratch;
    out->length = 0;
    if (nb_state_write(state, out) != 0)
        return nb_error_no_memory(error);
    return nb_store_put(view, NB_TABLE_STATE, nb_store_key_string(&key),
                        (struct nb_string){out->bytes, out->length}, error);
}

/* ---- a model that was computed from its entries ---------------------------------------------- */

int nb_replayed_put_ranges(struct nb_engine *engine, struct nb_view *view,
                           const struct nb_live *live, uint32_t range, struct nb_error *error)
{
    uint32_t end = nb_ranges_of(nb_model_rows(live->counts));
    int rc = 0;
    assert(range % NB_REPLAYED_RANGES == 0);
    if (end > range + NB_REPLAYED_RANGES)
        end = range + NB_REPLAYED_RANGES;
    for (uint32_t i = range; rc == 0 && i < end; i++)
        rc = nb_checkpoint_put_range(engine, view, live, i, error);
    return rc;
}

int nb_replayed_put_records(struct nb_engine *engine, struct nb_view *view, struct nb_live *live,
                            bool has_weights, struct nb_error *error)
{
    struct nb_checkpoint *c = &live->checkpoint;
    assert(live->number != 0);
    c->replay = c->last + 1;
    c->tail = 0;
    c->weights = 0;
    c->twin = (struct nb_twin_log){.bytes = 0};
    int rc = nb_put_model(engine, view, live, &live->published->settings, error);
    for (uint32_t i = 0; rc == 0 && i < nb_model_label_count(live->counts); i++)
        rc = nb_put_label(engine, view, live, i, error);
    if (rc == 0 && has_weights)
        rc = nb_put_weights(engine, view, live, error);
    if (rc == 0 && has_weights)
        rc = nb_twin_log_put(engine, view, live, error);
    struct nb_state_record state = nb_checkpoint_state(live, c->last);
    return rc != 0 ? rc : nb_put_state(engine, view, live, &state, error);
}
