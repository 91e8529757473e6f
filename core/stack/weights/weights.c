/* SPDX-License-Identifier: Apache-2.0 */
#include "core/stack/weights/weights.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/lock.h"

/* Room for the changes of a large group is given back. */
enum { FIRST_OLD = 16, MOST_OLD_KEPT = 1024 };

_Static_assert(sizeof(struct nb_weights_old) == 16, "four to a cache line");

/* Also `struct nb_weights w = {0}`: a vector without places. */
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

/* The vector's arrays, larger, with what was in them. */
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
    /* By a quarter at least: labels that come one by one must not copy the vector each time. */
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

/* From here on the old value of every place is noted anew. */
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

void nb_weights_commit(struct nb_weights *w)
{
    forget_noted(w);
    w->old_size = w->mark = 0;
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
