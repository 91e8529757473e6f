/* SPDX-License-Identifier: Apache-2.0 */
#include "core/stack/weights.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/error.h"
#include "core/base/feature.h"
#include "core/base/platform/byte_order.h"
#include "core/base/system.h"

/* Room above MOST_OLD_KEPT, for the changes of a large group, is freed. */
enum { FIRST_OLD = 16, MOST_OLD_KEPT = 1024 };

_Static_assert(sizeof(struct nb_weights_old) <= 16, "four to a cache line");

/* Makes a vector without places; the same as `struct nb_weights w = {0}`. */
static void weights_init(struct nb_weights *w)
{
    *w = (struct nb_weights){0};
}

void nb_weights_deinit(struct nb_weights *w)
{
    free(w->values);
    free(w->changed);
    free(w->noted);
    free(w->old);
    weights_init(w);
}

size_t nb_weights_memory(const struct nb_weights *w)
{
    return atomic_load(&w->bytes);
}

/* Updates `bytes`; the writer calls it after each change of allocations. */
static void note_memory(struct nb_weights *w)
{
    size_t range = NB_WEIGHTS_RANGE * sizeof *w->values + sizeof *w->changed + sizeof *w->noted;
    atomic_store(&w->bytes, w->ranges * range + w->old_room * sizeof *w->old);
}

/* ---- places ---------------------------------------------------------------------------------- */

/* Copies the vector's arrays into larger ones. */
static int copy_larger(const struct nb_weights *w, uint32_t ranges, struct nb_weights *larger)
{
    *larger = *w;
    larger->ranges = ranges;
    larger->values = calloc((size_t)ranges * NB_WEIGHTS_RANGE, sizeof *larger->values);
    larger->changed = calloc(ranges, sizeof *larger->changed);
    larger->noted = calloc(ranges, sizeof *larger->noted);
    if (larger->values == NULL || larger->changed == NULL || larger->noted == NULL) {
        free(larger->values);
        free(larger->changed);
        free(larger->noted);
        return NB_NO_MEMORY;
    }
    if (w->ranges != 0) {
        memcpy(larger->values, w->values, nb_weights_places(w) * sizeof *w->values);
        memcpy(larger->changed, w->changed, w->ranges * sizeof *w->changed);
        memcpy(larger->noted, w->noted, w->ranges * sizeof *w->noted);
    }
    return 0;
}

int nb_weights_grow(struct nb_weights *w, size_t places, pthread_rwlock_t *lock)
{
    if (places <= nb_weights_places(w))
        return 0;
    assert(places < INT32_MAX); /* a place has 31 bits in the undo list */
    uint32_t need = (uint32_t)((places + NB_WEIGHTS_RANGE - 1) / NB_WEIGHTS_RANGE);
    struct nb_weights larger;
    struct nb_weights before = *w;
    /* Grow by at least a quarter, so that labels added one by one do not copy it each time. */
    if (copy_larger(w, need < w->ranges + w->ranges / 4 ? w->ranges + w->ranges / 4 : need,
                    &larger) != 0)
        return NB_NO_MEMORY;
    if (lock != NULL)
        nb_lock_write(lock);
    w->values = larger.values;
    w->changed = larger.changed;
    w->noted = larger.noted;
    w->ranges = larger.ranges;
    if (lock != NULL)
        nb_lock_release(lock);
    note_memory(w);
    free(before.values);
    free(before.changed);
    free(before.noted);
    return 0;
}

int nb_weights_reserve(struct nb_weights *w, size_t count)
{
    if (w->old_room - w->old_size >= count)
        return 0;
    size_t room = w->old_room == 0 ? FIRST_OLD : w->old_room;
    while (room - w->old_size < count)
        room *= 2;
    struct nb_weights_old *old = realloc(w->old, room * sizeof *old);
    if (old == NULL)
        return NB_NO_MEMORY;
    w->old = old;
    w->old_room = room;
    note_memory(w);
    return 0;
}

void nb_weights_set(struct nb_weights *w, size_t place, double value)
{
    assert(place < nb_weights_places(w));
    size_t range = place / NB_WEIGHTS_RANGE;
    uint64_t bit = UINT64_C(1) << place % NB_WEIGHTS_RANGE;
    if ((w->noted[range] & bit) == 0) {
        assert(w->old_size < w->old_room);
        w->old[w->old_size++] = (struct nb_weights_old){.value = w->values[place],
                                                        .place = place & INT32_MAX,
                                                        .was_changed = w->changed[range]};
        w->noted[range] |= bit;
        w->changed[range] = true;
    }
    w->values[place] = value;
}

/* ---- taking changes back --------------------------------------------------------------------- */

/* Clears the bits in `noted`, so that the next change of each place keeps its old value again. */
static void forget_noted(struct nb_weights *w)
{
    for (size_t i = w->mark; i < w->old_size; i++)
        w->noted[w->old[i].place / NB_WEIGHTS_RANGE] = 0;
    w->mark = w->old_size;
}

size_t nb_weights_mark(struct nb_weights *w)
{
    forget_noted(w);
    return w->mark;
}

void nb_weights_rollback(struct nb_weights *w, size_t mark)
{
    assert(mark <= w->old_size);
    forget_noted(w);
    while (w->old_size > mark) {
        const struct nb_weights_old *old = &w->old[--w->old_size];
        w->values[old->place] = old->value;
        w->changed[old->place / NB_WEIGHTS_RANGE] = old->was_changed;
    }
    w->mark = mark;
}

void nb_weights_settle(struct nb_weights *w)
{
    forget_noted(w);
    w->old_size = w->mark = 0;
}

void nb_weights_commit(struct nb_weights *w)
{
    nb_weights_settle(w);
    if (w->old_room > MOST_OLD_KEPT) {
        free(w->old);
        w->old = NULL;
        w->old_room = 0;
        note_memory(w);
    }
    if (w->ranges != 0)
        memset(w->changed, 0, w->ranges * sizeof *w->changed);
}

/* ---- stored form ----------------------------------------------------------------------------- */

uint32_t nb_weights_changed(const struct nb_weights *w, uint32_t from)
{
    for (uint32_t range = from; range < w->ranges; range++)
        if (w->changed[range])
            return range;
    return NB_WEIGHTS_NO_RANGE;
}

void nb_weights_change_all(struct nb_weights *w)
{
    if (w->ranges != 0)
        memset(w->changed, 1, w->ranges * sizeof *w->changed);
}

bool nb_weights_is_zero(const struct nb_weights *w, uint32_t range)
{
    static const double zeros[NB_WEIGHTS_RANGE];
    assert(range < w->ranges);
    return memcmp(w->values + (size_t)range * NB_WEIGHTS_RANGE, zeros, sizeof zeros) == 0;
}

/* Room above SLOTS_MOST_OLD_KEPT, for the changes of a large group, is freed. */
enum { SLOTS_MOST_OLD_KEPT = 4096, NOTED_BITS = 64 };

_Static_assert((int)NB_SLOTS_MOST_BITS <= (int)NB_FEATURE_OPEN_BITS, "no slot depends on a key");
_Static_assert(1 << NB_SLOTS_LEAST_BITS >= NOTED_BITS, "whole words of noted slots");

const float nb_slots_none = 0;

/* ---- tables ---------------------------------------------------------------------------------- */

static void table_free(struct nb_slots_table *t)
{
    free(t->values);
    free(t->squares);
    free(t->noted);
    *t = (struct nb_slots_table){.bits = 0};
}

static int table_make(struct nb_slots_table *t, unsigned bits)
{
    size_t count = (size_t)1 << bits;
    *t = (struct nb_slots_table){.values = calloc(count, sizeof *t->values),
                                 .squares = calloc(count, sizeof *t->squares),
                                 .noted = calloc(count / NOTED_BITS, sizeof *t->noted),
                                 .bits = bits};
    if (t->values != NULL && t->squares != NULL && t->noted != NULL)
        return 0;
    table_free(t);
    return NB_NO_MEMORY;
}

static size_t table_memory(const struct nb_slots_table *t)
{
    size_t count = (size_t)1 << t->bits;
    if (t->values == NULL)
        return 0;
    return count * (sizeof *t->values + sizeof *t->squares) + count / NOTED_BITS * sizeof *t->noted;
}

static void copy_doubled(const struct nb_slots_table *from, struct nb_slots_table *to)
{
    size_t count = (size_t)1 << from->bits;
    if (from->values == NULL)
        return;
    for (size_t at = 0; at < (size_t)1 << to->bits; at += count) {
        memcpy(to->values + at, from->values, count * sizeof *to->values);
        memcpy(to->squares + at, from->squares, count * sizeof *to->squares);
    }
}

/* Makes a table without slots; the same as `struct nb_slots s = {0}`. */
static void slots_init(struct nb_slots *s)
{
    *s = (struct nb_slots){.old = NULL};
}

static void free_before(struct nb_slots *s)
{
    while (s->before_size > 0)
        table_free(&s->before[--s->before_size].table);
}

void nb_slots_deinit(struct nb_slots *s)
{
    free_before(s);
    table_free(&s->table);
    free(s->before);
    free(s->old);
    slots_init(s);
}

size_t nb_slots_memory(const struct nb_slots *s)
{
    return atomic_load(&s->bytes);
}

/* Updates `bytes`; the writer calls it after each change of allocations. */
static void slots_note_memory(struct nb_slots *s)
{
    size_t bytes = table_memory(&s->table) + s->old_room * sizeof *s->old;
    for (size_t i = 0; i < s->before_size; i++)
        bytes += table_memory(&s->before[i].table);
    atomic_store(&s->bytes, bytes);
}

/* ---- changes --------------------------------------------------------------------------------- */

int nb_slots_reserve(struct nb_slots *s, size_t count)
{
    if (s->old_size + count <= s->old_room)
        return 0;
    int rc = nb_array_reserve(&s->old, &s->old_room, s->old_size + count, sizeof *s->old);
    slots_note_memory(s);
    return rc;
}

/* Clears the bits in `noted`, so that the next change of each slot keeps its old value again. */
static void slots_forget_noted(struct nb_slots *s)
{
    for (size_t i = s->mark; i < s->old_size; i++)
        s->table.noted[s->old[i].slot / NOTED_BITS] = 0;
    s->mark = s->old_size;
}

/* Keeps the present table for a rollback. */
static int keep_table(struct nb_slots *s)
{
    if (nb_slots_reserve(s, 1) != 0 ||
        nb_array_reserve(&s->before, &s->before_room, s->before_size + 1, sizeof *s->before) != 0)
        return NB_NO_MEMORY;
    slots_forget_noted(s);
    s->before[s->before_size++] =
        (struct nb_slots_before){.table = s->table, .is_whole = s->is_whole};
    s->old[s->old_size++] = (struct nb_slots_old){.slot = NB_SLOTS_EXCHANGED};
    s->mark = s->old_size;
    return 0;
}

int nb_slots_grow(struct nb_slots *s, uint64_t features, pthread_rwlock_t *lock)
{
    struct nb_slots_table larger;
    unsigned bits = s->table.values == NULL ? NB_SLOTS_LEAST_BITS : s->table.bits;
    while (bits < NB_SLOTS_MOST_BITS && UINT64_C(1) << bits < features)
        bits++;
    if (s->table.values != NULL && bits == s->table.bits)
        return 0;
    if (table_make(&larger, bits) != 0)
        return NB_NO_MEMORY;
    copy_doubled(&s->table, &larger);
    if (keep_table(s) != 0) {
        table_free(&larger);
        return NB_NO_MEMORY;
    }
    if (lock != NULL)
        nb_lock_write(lock);
    s->table = larger;
    s->is_whole = true;
    if (lock != NULL)
        nb_lock_release(lock);
    slots_note_memory(s);
    return 0;
}

int nb_slots_take(struct nb_slots *s, struct nb_slots *from)
{
    if (s->table.values == NULL && from->table.values == NULL)
        return 0;
    if (keep_table(s) != 0)
        return NB_NO_MEMORY;
    nb_slots_commit(from);
    s->table = from->table;
    s->is_whole = true;
    from->table = (struct nb_slots_table){.bits = 0};
    slots_note_memory(s);
    slots_note_memory(from);
    return 0;
}

void nb_slots_set(struct nb_slots *s, uint32_t slot, float value, float squares)
{
    assert(slot < nb_slots_count(s));
    uint64_t bit = UINT64_C(1) << slot % NOTED_BITS;
    uint64_t *noted = &s->table.noted[slot / NOTED_BITS];
    if ((*noted & bit) == 0) {
        assert(s->old_size < s->old_room);
        s->old[s->old_size++] = (struct nb_slots_old){
            .slot = slot, .value = s->table.values[slot], .squares = s->table.squares[slot]};
        *noted |= bit;
    }
    s->table.values[slot] = value;
    s->table.squares[slot] = squares;
}

void nb_slots_exchange(struct nb_slots *a, struct nb_slots *b)
{
    nb_slots_commit(a);
    nb_slots_commit(b);
    struct nb_slots_table table = a->table;
    a->table = b->table;
    b->table = table;
    a->is_whole = b->is_whole = true;
    slots_note_memory(a);
    slots_note_memory(b);
}

/* ---- taking changes back --------------------------------------------------------------------- */

size_t nb_slots_mark(struct nb_slots *s)
{
    slots_forget_noted(s);
    return s->mark;
}

static void take_table_back(struct nb_slots *s)
{
    assert(s->before_size > 0);
    struct nb_slots_before *before = &s->before[--s->before_size];
    table_free(&s->table);
    s->table = before->table;
    s->is_whole = before->is_whole;
}

void nb_slots_rollback(struct nb_slots *s, size_t mark)
{
    assert(mark <= s->old_size);
    slots_forget_noted(s);
    while (s->old_size > mark) {
        const struct nb_slots_old *old = &s->old[--s->old_size];
        if (old->slot == NB_SLOTS_EXCHANGED) {
            take_table_back(s);
            continue;
        }
        assert(old->slot < nb_slots_count(s));
        s->table.values[old->slot] = old->value;
        s->table.squares[old->slot] = old->squares;
    }
    s->mark = mark;
    slots_note_memory(s);
}

void nb_slots_settle(struct nb_slots *s)
{
    slots_forget_noted(s);
    free_before(s);
    s->old_size = s->mark = 0;
    s->is_whole = s->table.values != NULL;
}

void nb_slots_commit(struct nb_slots *s)
{
    nb_slots_settle(s);
    s->is_whole = false;
    if (s->old_room > SLOTS_MOST_OLD_KEPT) {
        free(s->old);
        s->old = NULL;
        s->old_room = 0;
    }
    slots_note_memory(s);
}

enum { SLOT_BITS = 64, SHIFT = 32, SLOT_MOST = NB_VARINT_MOST + (int)sizeof(uint64_t) };

static uint64_t bits_of(const struct nb_slots *s, uint32_t slot)
{
    uint32_t value, squares;
    memcpy(&value, &s->table.values[slot], sizeof value);
    memcpy(&squares, &s->table.squares[slot], sizeof squares);
    return (uint64_t)squares << SHIFT | value;
}

/* Writes a varint and 64 bits with one check of room for both: a commit has thousands of slots. */
static void write_slot(const struct nb_slots *s, uint32_t slot, uint32_t *next,
                       struct nb_packer *to)
{
    uint64_t bits = htole64(bits_of(s, slot));
    assert(slot >= *next);
    if (to->code == 0)
        to->code = nb_buffer_reserve(to->out, SLOT_MOST);
    if (to->code != 0)
        return;
    char *at = nb_put_varint(to->out->bytes + to->out->length, slot - *next);
    memcpy(at, &bits, sizeof bits);
    to->out->length = (size_t)(at - to->out->bytes) + sizeof bits;
    *next = slot + 1;
}

bool nb_slots_range_is_zero(const struct nb_slots *s, uint32_t range)
{
    uint64_t all = 0;
    assert(range < nb_slots_ranges(s));
    for (uint32_t i = 0; i < NB_SLOTS_RANGE; i++)
        all |= bits_of(s, range * NB_SLOTS_RANGE + i);
    return all == 0;
}

void nb_slots_write_range(const struct nb_slots *s, uint32_t range, struct nb_packer *to)
{
    uint32_t next = 0;
    assert(range < nb_slots_ranges(s));
    nb_pack_u8(to, (uint8_t)s->table.bits);
    for (uint32_t i = 0; i < NB_SLOTS_RANGE; i++)
        if (bits_of(s, range * NB_SLOTS_RANGE + i) != 0)
            write_slot(s, range * NB_SLOTS_RANGE + i, &next, to);
}

/* Marks the changed slots in the bits of `noted`, which sorts them and removes duplicates. The bits
 * are free, because nothing has been noted since the mark. */
void nb_slots_write_changed(struct nb_slots *s, struct nb_packer *to)
{
    uint64_t *noted = s->table.noted;
    uint32_t next = 0;
    assert(!s->is_whole && s->before_size == 0);
    (void)nb_slots_mark(s);
    nb_pack_u8(to, (uint8_t)s->table.bits);
    for (size_t i = 0; i < s->old_size; i++)
        noted[s->old[i].slot / SLOT_BITS] |= UINT64_C(1) << s->old[i].slot % SLOT_BITS;
    for (uint32_t word = 0; word < nb_slots_count(s) / SLOT_BITS; word++) {
        for (uint64_t left = noted[word]; left != 0; left &= left - 1)
            write_slot(s, word * SLOT_BITS + (uint32_t)__builtin_ctzll(left), &next, to);
        noted[word] = 0;
    }
}

static int read_slot(struct nb_slots *s, uint64_t slot, uint64_t bits)
{
    uint32_t low = (uint32_t)bits, high = (uint32_t)(bits >> SHIFT);
    float value, squares;
    memcpy(&value, &low, sizeof value);
    memcpy(&squares, &high, sizeof squares);
    if (slot >= nb_slots_count(s) || !isfinite(value) || !isfinite(squares) || squares < 0)
        return NB_CORRUPT;
    s->table.values[slot] = value;
    s->table.squares[slot] = squares;
    return 0;
}

int nb_slots_read(struct nb_slots *s, struct nb_string stored)
{
    struct nb_unpacker r = nb_unpacker_of(stored.bytes, stored.length);
    unsigned bits = nb_unpack_u8(&r);
    uint64_t next = 0;
    if (bits < NB_SLOTS_LEAST_BITS || bits > NB_SLOTS_MOST_BITS)
        return NB_CORRUPT;
    if (s->table.values == NULL && nb_slots_grow(s, UINT64_C(1) << bits, NULL) != 0)
        return NB_NO_MEMORY;
    nb_slots_commit(s);
    if (s->table.bits != bits)
        return NB_CORRUPT;
    while (r.at < r.end && !r.failed) {
        uint64_t slot = next + nb_unpack_bounded(&r, nb_slots_count(s));
        uint64_t value = nb_unpack_u64(&r);
        if (r.failed || read_slot(s, slot, value) != 0)
            return NB_CORRUPT;
        next = slot + 1;
    }
    return nb_unpacker_done(&r) ? 0 : NB_CORRUPT;
}
