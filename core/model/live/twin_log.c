/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/live/twin_log.h"

#include <assert.h>
#include <inttypes.h>

#include "core/stack/weights.h"

/* Keys of the table: ranges have their numbers; records of the log have theirs plus FIRST_OF_LOG.
 */
enum { FIRST_OF_LOG = 1 << 16 };

enum {
    LEAST_LOG = 65536,    /* least bytes before a sweep: a small table needs none at each commit */
    SLOT_BYTES = 8,       /* bytes of a slot in a table */
    DROPPED_RECORDS = 64, /* records of the log dropped per commit */
};

static struct nb_store_key key_of_log(uint32_t model, uint64_t number)
{
    return nb_store_key_sequence(model, FIRST_OF_LOG + number);
}

/* ---- storing --------------------------------------------------------------------------------- */

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

/* ---- loading --------------------------------------------------------------------------------- */

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
