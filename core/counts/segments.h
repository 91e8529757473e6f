/* SPDX-License-Identifier: Apache-2.0
 *
 * A growable array of small records in segments of equal size, so that growth copies nothing. For
 * core/counts only; the model's lock protects it.
 *
 * The first segment alone starts small and grows, so that a model of a hundred words does not take
 * half a megabyte. Growing moves it: that, and growing the table of segments, is what needs
 * the write lock. Adding a further segment leaves all records where they are, and readers on.
 *
 * Records are read anywhere, and with pages of 4 KB of a large array each read misses the table of
 * addresses. So the segments of a large array are mapped by blocks, and get huge pages where they
 * are full; the last page, which is not, stays small pages, and takes no memory that is not used.
 */
#ifndef NB_CORE_COUNTS_SEGMENTS_H
#define NB_CORE_COUNTS_SEGMENTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* The size of a huge page, for the large arrays of a model. A kernel with huge pages of another
 * size, or none, refuses requests for this size, which does no harm. */
enum { NB_HUGE_PAGE = 2 << 20 }; /* bytes */

enum { NB_SEGMENT_BITS_MOST = 16 };

struct nb_segments {
    unsigned char **table; /* owned segments, each aligned to a cache line */
    uint32_t segment_count, table_room;
    uint32_t mapped;     /* segments that have an address; those above segment_count no memory */
    uint32_t first_room; /* records in segment 0 while it is the only one and not full size */
    uint32_t bits;       /* a full segment has 2^bits records */
    uint32_t record;     /* bytes, an even number */
    uint32_t block;      /* so many segments are whole huge pages */
    atomic_size_t bytes; /* of the segments; any thread may read it */
};

void nb_segments_init(struct nb_segments *s, uint32_t record, uint32_t bits);
void nb_segments_deinit(struct nb_segments *s);

/* How many records there is room for. */
static inline uint64_t nb_segments_room(const struct nb_segments *s)
{
    return s->segment_count <= 1 ? s->first_room : (uint64_t)s->segment_count << s->bits;
}

/* Makes room for `records` in all, taking `lock` for writing where readers would notice. Returns 0
 * or NB_NO_MEMORY; existing records stay either way. */
int nb_segments_reserve(struct nb_segments *s, uint64_t records, pthread_rwlock_t *lock);

static inline void *nb_segments_at(const struct nb_segments *s, uint32_t number)
{
    uint32_t within = number & ((1u << s->bits) - 1);
    return s->table[number >> s->bits] + (size_t)within * s->record;
}

#endif
