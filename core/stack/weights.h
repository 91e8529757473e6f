/* SPDX-License-Identifier: Apache-2.0
 *
 * Containers of learned numbers that can grow, be rolled back and be stored: vectors, and hash
 * tables.
 *
 * A document changes a few places of a vector that may have a hundred thousand. So the vector is
 * stored in ranges of NB_WEIGHTS_RANGE places, and knows which ranges differ from what is stored.
 * It keeps the old value of each changed place, so that the time of a rollback depends on the
 * number of changes, not on the size of the vector.
 *
 * Threads: one writer calls the functions that change; others may read `values` under a lock of the
 * owner, which the writer holds for nb_weights_set and nb_weights_rollback. The writer itself reads
 * without the lock.
 */
#ifndef NB_CORE_STACK_WEIGHTS_H
#define NB_CORE_STACK_WEIGHTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/array.h"
#include "core/base/buffer.h"
#include "core/base/string.h"

enum { NB_WEIGHTS_RANGE = 64 };
#define NB_WEIGHTS_NO_RANGE UINT32_MAX

/* What a place held before it was changed. */
struct nb_weights_old {
    double value;
    uint32_t place : 31;
    uint32_t was_changed : 1; /* the range already differed from what is stored */
};

struct nb_weights {
    double *values; /* owned; `ranges` whole ranges */
    uint32_t ranges;
    bool *changed;              /* owned; by range: it differs from what is stored */
    uint64_t *noted;            /* owned; by range: a bit for each place changed since the mark */
    struct nb_weights_old *old; /* owned; since the last commit, oldest first */
    size_t old_size, old_room, mark;
    atomic_size_t bytes; /* allocated; any thread may read it */
};

void nb_weights_deinit(struct nb_weights *w);
/* Bytes allocated. Any thread may ask, without a lock. */
size_t nb_weights_memory(const struct nb_weights *w);

/* Makes the vector hold `places` places at least; new ones are 0. Takes `lock` (may be NULL) for
 * writing while it exchanges `values`. Growth stays when changes are rolled back. Returns 0 or
 * NB_NO_MEMORY. */
int nb_weights_grow(struct nb_weights *w, size_t places, pthread_rwlock_t *lock);

static inline size_t nb_weights_places(const struct nb_weights *w)
{
    return (size_t)w->ranges * NB_WEIGHTS_RANGE;
}

/* 0 for a place that the vector does not have. */
static inline double nb_weights_at(const struct nb_weights *w, size_t place)
{
    return place < nb_weights_places(w) ? w->values[place] : 0;
}

/* Makes room for the old values of `count` more changes, so that nb_weights_set cannot fail.
 * Returns 0 or NB_NO_MEMORY. */
int nb_weights_reserve(struct nb_weights *w, size_t count);
/* Changes a place. There must be room for its old value. */
void nb_weights_set(struct nb_weights *w, size_t place, double value);

/* ---- taking changes back --------------------------------------------------------------------- */

/* Marks the present state. The mark is valid until the next commit, or a rollback to an older mark.
 * The mark 0 is the state of the last commit. */
size_t nb_weights_mark(struct nb_weights *w);
/* Restores, to the bit, the values at the mark and which ranges had changed then. Takes time
 * proportional to the changes since. */
void nb_weights_rollback(struct nb_weights *w, size_t mark);
/* Call this after the values were stored: no range differs any more, and earlier changes can no
 * longer be rolled back. */
void nb_weights_commit(struct nb_weights *w);
/* Earlier changes can no longer be rolled back; their ranges still differ from what is stored. */
void nb_weights_settle(struct nb_weights *w);

/* ---- stored form ----------------------------------------------------------------------------- */

/* The first range at or after `from` that differs from what is stored, or NB_WEIGHTS_NO_RANGE. */
uint32_t nb_weights_changed(const struct nb_weights *w, uint32_t from);
/* Marks every range as different from what is stored. */
void nb_weights_change_all(struct nb_weights *w);
/* Whether all places of a range are 0, to the bit. */
bool nb_weights_is_zero(const struct nb_weights *w, uint32_t range);

/* ---- tables of slots ---------------------------------------------------------------------------
 *
 * A hash table of learned numbers for features: a power of two of slots, each with a value and the
 * sum of its squared gradients, as floats. Features whose ids end in the same bits share a slot;
 * these bits are the same under every key (core/base/feature.h).
 *
 * The table doubles by copying slot i to i and i + size, so that every feature finds its old value.
 * Until the next commit it keeps the old value of each changed slot, so that the time of a rollback
 * depends on the number of changes, not on the table size. If the table was exchanged (doubled,
 * cleared), it keeps the whole old table.
 *
 * Threads: one writer calls the functions that change; others may call nb_slots_at under a lock of
 * the owner. The writer holds that lock for nb_slots_set, nb_slots_take and nb_slots_rollback;
 * nb_slots_grow takes it.
 */

enum { NB_SLOTS_LEAST_BITS = 12, NB_SLOTS_MOST_BITS = 18 };

/* 1 << bits slots. With NULL pointers there are no slots, and every value is 0. */
struct nb_slots_table {
    float *values, *squares; /* owned */
    uint64_t *noted; /* owned; a bit for each slot whose old value was kept since the mark */
    unsigned bits;
};

/* What a slot held before it was changed; slot NB_SLOTS_EXCHANGED: the table was exchanged. */
struct nb_slots_old {
    uint32_t slot;
    float value, squares;
};
#define NB_SLOTS_EXCHANGED UINT32_MAX

/* A table that was exchanged. */
struct nb_slots_before {
    struct nb_slots_table table;
    bool is_whole;
};

struct nb_slots {
    struct nb_slots_table table;
    struct nb_slots_old *old; /* owned; since the last commit, oldest first */
    size_t old_size, old_room, mark;
    struct nb_slots_before *before; /* owned; since the last commit, oldest first */
    size_t before_size, before_room;
    atomic_size_t bytes; /* allocated; any thread may read it */
    bool is_whole;       /* nothing of the table is stored: slots outside `old` differ, too */
};

void nb_slots_deinit(struct nb_slots *s);
/* Bytes allocated. Any thread may ask, without a lock. */
size_t nb_slots_memory(const struct nb_slots *s);

static inline size_t nb_slots_count(const struct nb_slots *s)
{
    return s->table.values == NULL ? 0 : (size_t)1 << s->table.bits;
}

/* The slot of a feature. There must be slots. */
static inline uint32_t nb_slots_of(const struct nb_slots *s, uint64_t id)
{
    return (uint32_t)(id & ((UINT64_C(1) << s->table.bits) - 1));
}

/* The value for a feature; 0 without slots. */
static inline float nb_slots_at(const struct nb_slots *s, uint64_t id)
{
    if (s->table.values == NULL)
        return 0;
    return s->table.values[nb_slots_of(s, id)];
}

/* For a loop over many features: the values, and the mask of the id bits that select a slot.
 * Without slots there is one value, which is 0. Valid until the table is exchanged. */
struct nb_slots_values {
    const float *values;
    uint32_t mask;
};
extern const float nb_slots_none;
static inline struct nb_slots_values nb_slots_values(const struct nb_slots *s)
{
    if (s == NULL || s->table.values == NULL)
        return (struct nb_slots_values){&nb_slots_none, 0};
    return (struct nb_slots_values){s->table.values, (UINT32_C(1) << s->table.bits) - 1};
}

/* Prefetches the value for a feature. */
NB_PREFETCHING void nb_slots_values_prefetch(const struct nb_slots_values *v, uint32_t key)
{
    __builtin_prefetch(&v->values[key & v->mask]);
}

/* Prefetches the value for a feature that will be read soon. */
NB_PREFETCHING void nb_slots_prefetch(const struct nb_slots *s, uint64_t id)
{
    if (s->table.values != NULL)
        __builtin_prefetch(&s->table.values[nb_slots_of(s, id)]);
}

/* Prefetches a slot that will be changed soon. There must be slots. */
NB_PREFETCHING void nb_slots_expect(const struct nb_slots *s, uint64_t id)
{
    nb_prefetch_to_write(&s->table.squares[nb_slots_of(s, id)]);
    nb_prefetch_to_write(&s->table.values[nb_slots_of(s, id)]);
}

/* Grows the table to at least `features` slots, within the bounds above. It never shrinks. Takes
 * `lock` (may be NULL) for writing while it exchanges the table. Returns 0 or NB_NO_MEMORY, and
 * then nothing was changed. */
int nb_slots_grow(struct nb_slots *s, uint64_t features, pthread_rwlock_t *lock);
/* Replaces the table by that of `from`, which then has no table and cannot be rolled back. Returns
 * 0, or NB_NO_MEMORY with nothing changed. */
int nb_slots_take(struct nb_slots *s, struct nb_slots *from);

/* Makes room for the old values of `count` more changes, so that nb_slots_set cannot fail. Returns
 * 0 or NB_NO_MEMORY. */
int nb_slots_reserve(struct nb_slots *s, size_t count);
/* Changes a slot. There must be room for its old value. */
void nb_slots_set(struct nb_slots *s, uint32_t slot, float value, float squares);
/* Swaps the tables of both. Afterwards neither table counts as stored, and neither can be rolled
 * back. */
void nb_slots_exchange(struct nb_slots *a, struct nb_slots *b);

/* ---- taking changes back --------------------------------------------------------------------- */

/* Marks the present state. The mark is valid until the next commit, or a rollback to an older mark.
 * The mark 0 is the state of the last commit. */
size_t nb_slots_mark(struct nb_slots *s);
/* Restores the state at the mark, to the bit, in time proportional to the changes since. Cannot
 * fail. */
void nb_slots_rollback(struct nb_slots *s, size_t mark);
/* Call this after the table was stored: earlier changes can no longer be rolled back. */
void nb_slots_commit(struct nb_slots *s);
/* Earlier changes can no longer be rolled back, and nothing of the table counts as stored. */
void nb_slots_settle(struct nb_slots *s);

/* The stored form of a table of slots. A document changes hundreds of slots all over the table, so
 * its ranges cannot be stored with every commit. They are a checkpoint, and each commit stores the
 * slots that it changed as one list. Reading a list twice, or after a later range, gives the same
 * result. Ranges and lists have the same format:
 *
 *     u8       bits of the table
 *     for each slot, ascending:
 *         varint   its number minus (the number of the previous slot + 1); the first: its number
 *         u64      the bits of its value; above them the bits of its sum of squares
 *
 * A range lists its slots that are not 0, to the bit. Any thread that owns the table. */
enum { NB_SLOTS_RANGE = 1024 };

static inline uint32_t nb_slots_ranges(const struct nb_slots *s)
{
    return (uint32_t)(nb_slots_count(s) / NB_SLOTS_RANGE);
}

/* Whether anything changed since the last commit. */
static inline bool nb_slots_changed(const struct nb_slots *s)
{
    return s->is_whole || s->old_size > 0;
}

/* Whether all slots of a range are 0, to the bit. */
bool nb_slots_range_is_zero(const struct nb_slots *s, uint32_t range);
void nb_slots_write_range(const struct nb_slots *s, uint32_t range, struct nb_packer *to);
/* Appends the slots that differ from the last commit; the table must not have been exchanged since.
 * For the writer: the next change of a slot keeps its old value anew. */
void nb_slots_write_changed(struct nb_slots *s, struct nb_packer *to);
/* Reads stored slots into the table, which no other thread sees yet; a table without slots gets as
 * many as the stored bytes say. The table counts as stored. Returns 0, NB_CORRUPT (also if the
 * bytes are from a table of another size) or NB_NO_MEMORY. */
int nb_slots_read(struct nb_slots *s, struct nb_string stored);

#endif
