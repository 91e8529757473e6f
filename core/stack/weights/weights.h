/* SPDX-License-Identifier: Apache-2.0
 *
 * A growable vector of learned weights that can be stored by range and rolled back.
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
#ifndef NB_CORE_STACK_WEIGHTS_WEIGHTS_H
#define NB_CORE_STACK_WEIGHTS_WEIGHTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
