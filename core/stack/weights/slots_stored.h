/* SPDX-License-Identifier: Apache-2.0
 *
 * The stored form of a table of slots. A document changes hundreds of slots all over the table, so
 * that its ranges cannot be stored with every commit. They are a checkpoint: each commit stores the
 * slots that it changed, as one list; and a list that is read twice, or after a later range, gives
 * the same. Ranges and lists have the same bytes:
 *
 *     u8       bits of the table
 *     for each slot, ascending:
 *         varint   its distance to the slot behind the one before (the first: its number)
 *         u64      the bits of its value; above them those of its sum of squares
 *
 * A range lists its slots that are not 0, to the bit. Any thread that owns the table.
 */
#ifndef NB_CORE_STACK_WEIGHTS_SLOTS_STORED_H
#define NB_CORE_STACK_WEIGHTS_SLOTS_STORED_H

#include "core/base/pack.h"
#include "core/base/string.h"
#include "core/stack/weights/slots.h"

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
/* Appends the slots that differ from those of the last commit, of which the table was not exchanged
 * since. For the writer: the next change of a slot keeps its old value anew. */
void nb_slots_write_changed(struct nb_slots *s, struct nb_packer *to);
/* Puts stored slots into the table, which nobody else sees yet; a table without slots is made with
 * as many as the bytes say. It counts as stored. Returns 0, NB_CORRUPT (also: of a table of another
 * size) or NB_NO_MEMORY. */
int nb_slots_read(struct nb_slots *s, struct nb_string stored);

#endif
