/* SPDX-License-Identifier: Apache-2.0
 *
 * Learned numbers that grow, are rolled back and stored: vectors, and tables by hash.
 *
 * A vector is stored by range.
 *
 * A document changes a few places of a vector that may have a hundred thousand. So the vector is
 * stored in ranges of NB_WEIGHTS_RANGE places, and knows which of them differ from what is stored;
 * and it keeps the old value of each place that changed, so that a rollback costs time of the
 * changes, not of the vector size.
 *
 * Threads: one writer calls the functions that change; others may read `values` under a lock of the
 * owner, which the writer holds for nb_weights_set and nb_weights_rollback. The writer itself reads
 * without it.
 */
#ifndef NB_CORE_STACK_WEIGHTS_H
#define NB_CORE_STACK_WEIGHTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/cache_line.h"
#include "core/base/pack.h"
#include "core/base/string.h"

enum { NB_WEIGHTS_RANGE = 64 };
#define NB_WEIGHTS_NO_RANGE UINT32_MAX

/* What a place held before it was changed. */
struct nb_weights_old {
    double value;
    uint32_t place : 31;
    uint32_t was_changed : 1; /* the range differed from what is stored already */
};

struct nb_weights {
    double *values; /* owned; `ranges` whole ranges */
    uint32_t ranges;
    bool *changed;              /* owned; by range: it differs from what is stored */
    uint64_t *noted;            /* owned; by range: a bit for each place changed since the mark */
    struct nb_weights_old *old; /* owned; since the last commit, oldest first */
    size_t old_size, old_room, mark;
    atomic_size_t bytes; /* allocated, for whoever asks */
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

/* Makes room for the old values of `count` more changes: nb_weights_set cannot fail. Returns 0 or
 * NB_NO_MEMORY. */
int nb_weights_reserve(struct nb_weights *w, size_t count);
/* Changes a place. There must be room for its old value. */
void nb_weights_set(struct nb_weights *w, size_t place, double value);

/* ---- taking changes back --------------------------------------------------------------------- */

/* Remembers the state as it is. The mark is good until the next commit, or a rollback to an older
 * one. The mark 0 is the state of the last commit. */
size_t nb_weights_mark(struct nb_weights *w);
/* Restores, to the bit, the values and which ranges had changed at the mark. In time of what was
 * changed since. */
void nb_weights_rollback(struct nb_weights *w, size_t mark);
/* The values are stored as they are: no range differs any more, and there is no way back. */
void nb_weights_commit(struct nb_weights *w);

/* ---- stored form ----------------------------------------------------------------------------- */

/* The first range at or after `from` that differs from what is stored, or NB_WEIGHTS_NO_RANGE. */
uint32_t nb_weights_changed(const struct nb_weights *w, uint32_t from);
/* Marks every range as different from what is stored. */
void nb_weights_change_all(struct nb_weights *w);
/* Whether all places of a range are 0, to the bit. */
bool nb_weights_is_zero(const struct nb_weights *w, uint32_t range);

/* ---- tables of slots ---------------------------------------------------------------------------
 *
 * A table of learned numbers for features, by hash: a power of two of slots, each a value and the
 * sum of its squared gradients, as floats. Features whose ids end in the same bits share a slot.
 *
 * The table doubles by copying slot i to i and i + size, so that every feature finds its old value.
 * Until the next commit it keeps the old value of each changed slot, so that a rollback costs time
 * of the changes, not of the table size; if the table was exchanged (doubled, cleared), it keeps
 * the whole old table.
 *
 * Threads: one writer calls the functions that change; others may
 * call nb_slots_at under a lock of the owner, which the writer holds for nb_slots_set,
 * nb_slots_take and nb_slots_rollback, and nb_slots_grow takes.
 */

enum { NB_SLOTS_LEAST_BITS = 12, NB_SLOTS_MOST_BITS = 18 };

/* 1 << bits slots; none with NULLs, and then every value is 0. */
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
    atomic_size_t bytes; /* allocated, for whoever asks */
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
    return s->table.values == NULL ? 0 : s->table.values[nb_slots_of(s, id)];
}

/* For a loop over many features: the values, and the bits of an id that tell its slot. Without
 * slots there is one value, which is 0. As long as the table stays as it is. */
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

/* Begins to fetch the value for a feature. */
NB_PREFETCHING void nb_slots_values_prefetch(const struct nb_slots_values *v, uint32_t key)
{
    __builtin_prefetch(&v->values[key & v->mask]);
}

/* Begins to fetch the value for a feature that is asked for next: slots lie anywhere. */
NB_PREFETCHING void nb_slots_prefetch(const struct nb_slots *s, uint64_t id)
{
    if (s->table.values != NULL)
        __builtin_prefetch(&s->table.values[nb_slots_of(s, id)]);
}

/* Begins to fetch a slot that is changed next. There must be slots. */
NB_PREFETCHING void nb_slots_expect(const struct nb_slots *s, uint64_t id)
{
    nb_prefetch_to_write(&s->table.squares[nb_slots_of(s, id)]);
    nb_prefetch_to_write(&s->table.values[nb_slots_of(s, id)]);
}

/* Grows the table to at least `features` slots, within the bounds above. It never shrinks. Takes
 * `lock` (may be NULL) for writing while it exchanges the table. Returns 0 or NB_NO_MEMORY, and
 * then nothing was changed. */
int nb_slots_grow(struct nb_slots *s, uint64_t features, pthread_rwlock_t *lock);
/* Replaces the table by that of `from`, which then has none and cannot be rolled back. Returns 0 or
 * NB_NO_MEMORY, and then nothing was changed. */
int nb_slots_take(struct nb_slots *s, struct nb_slots *from);

/* Makes room for the old values of `count` more changes: nb_slots_set cannot fail. Returns 0 or
 * NB_NO_MEMORY. */
int nb_slots_reserve(struct nb_slots *s, size_t count);
/* Changes a slot. There must be room for its old value. */
void nb_slots_set(struct nb_slots *s, uint32_t slot, float value, float squares);
/* Copies the slot of the feature `from_id` in `from` to that of `id` in this table. If several
 * features share a slot here, the one with the greatest sum of squares prevails. There must be as
 * many slots as in `from`. Returns 0 or NB_NO_MEMORY. */
int nb_slots_carry(struct nb_slots *s, uint64_t id, const struct nb_slots *from, uint64_t from_id);
/* Swaps the tables of both. Afterwards nothing of either counts as stored, and neither can be
 * rolled back. */
void nb_slots_exchange(struct nb_slots *a, struct nb_slots *b);

/* ---- taking changes back --------------------------------------------------------------------- */

/* Remembers the state as it is. The mark is good until the next commit, or a rollback to an older
 * one. The mark 0 is the state of the last commit. */
size_t nb_slots_mark(struct nb_slots *s);
/* Restores the state at the mark, to the bit. In time of what was changed since. Cannot fail. */
void nb_slots_rollback(struct nb_slots *s, size_t mark);
/* The table is stored as it is; there is no way back. */
void nb_slots_commit(struct nb_slots *s);

/* The stored form of a table of slots. A document changes hundreds of slots all over the table, so
 * that its ranges cannot be stored with every commit. They are a checkpoint: each commit stores the
 * slots that it changed, as one list; and a list that is read twice, or after a later range, gives
 * the same. Ranges and lists have the same bytes:
 *
 *     u8       bits of the table
 *     for each slot, ascending:
 *         varint   its distance to the slot behind the one before (the first: its number)
 *         u64      the bits of its value; above them those of its sum of squares
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
/* Puts stored slots into the table, which nobody else sees yet; a table without slots is made with
 * as many as the bytes say. It counts as stored. Returns 0, NB_CORRUPT (also: of a table of another
 * size) or NB_NO_MEMORY. */
int nb_slots_read(struct nb_slots *s, struct nb_string stored);

#endif
