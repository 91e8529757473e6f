/* SPDX-License-Identifier: Apache-2.0
 *
 * The index of a model: from a feature's id to the number of its row. For core/model only.
 *
 * Buckets of one cache line hold twelve row numbers and one byte of each one's id, so that a
 * look-up of a feature that is not there mostly touches one line, and of one that is there two (the
 * row has the id). What does not fit goes to the next bucket, and the bucket counts what passed it
 * by. Ten of twelve places are filled on average before the index grows: 6 to 7 bytes a
 * row.
 *
 * Threads: one writer; readers hold the model's read lock. Insertion needs no lock: a place is
 * filled first and its tag published after it. Growth builds a new index beside the old one.
 */
#ifndef NB_CORE_MODEL_INDEX_H
#define NB_CORE_MODEL_INDEX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NB_BUCKET_ROWS = 12 };

struct nb_bucket {
    _Atomic uint64_t tags_low;  /* one byte for each of places 0 to 7; 0: empty */
    _Atomic uint32_t tags_high; /* places 8 to 11 */
    _Atomic uint32_t passed;    /* rows that found this bucket full and lie further on */
    _Atomic uint32_t rows[NB_BUCKET_ROWS];
};
_Static_assert(sizeof(struct nb_bucket) == 64, "a bucket is a cache line");

struct nb_index {
    struct nb_bucket *buckets; /* owned; aligned to a cache line */
    uint64_t bucket_count;
    uint64_t room;       /* rows that it may hold before it must grow */
    uint64_t multiplier; /* odd; of this index alone, and random */
};

/* An index of at least `rows` rows at the load that it may have. Returns 0 or NB_NO_MEMORY. */
int nb_index_init(struct nb_index *index, uint64_t rows);
void nb_index_deinit(struct nb_index *index);

size_t nb_index_memory(const struct nb_index *index);

/* Adds a row whose id is not in the index; there must be room. */
void nb_index_insert(struct nb_index *index, uint64_t id, uint32_t row);
/* Takes out a row that is in the index. Under the write lock. */
void nb_index_remove(struct nb_index *index, uint64_t id, uint32_t row);

/* A multiplication brings all bits of an id to the top, and the top 32 scale to any number of
 * buckets, always below 2^32, without a division (Lemire 2019). The ids of numbers are these
 * numbers (core/base/feature.h), which a client chooses: by a random odd multiplier that nobody
 * knows two ids meet no more often than chance has it, within a factor of two (Dietzfelbinger,
 * Hagerup, Katajainen and Penttonen 1997). */
static inline uint64_t nb_index_home(const struct nb_index *index, uint64_t id)
{
    uint64_t mixed = id * index->multiplier;
    return ((mixed >> 32) * index->bucket_count) >> 32;
}

static inline unsigned nb_index_tag(uint64_t id)
{
    unsigned tag = (unsigned)id & 0xFF;
    return tag == 0 ? 1 : tag;
}

/* Which bytes of a word equal `tag`: their top bits, exactly (Warren, Hacker's Delight, 6-1).
 * Exactly, because an empty place still has the number of the row that was there. */
static inline uint64_t nb_index_matches(uint64_t tags, unsigned tag)
{
    const uint64_t low7 = UINT64_C(0x7F7F7F7F7F7F7F7F);
    uint64_t x = tags ^ (UINT64_C(0x0101010101010101) * tag);
    return ~(((x & low7) + low7) | x | low7);
}

/* The places of a bucket that may hold an id of this tag, one after another. */
struct nb_places {
    uint64_t low, high;
};

static inline struct nb_places nb_bucket_places(const struct nb_bucket *b, unsigned tag)
{
    uint64_t low = atomic_load_explicit(&b->tags_low, memory_order_acquire);
    uint64_t high = atomic_load_explicit(&b->tags_high, memory_order_acquire);
    return (struct nb_places){nb_index_matches(low, tag), nb_index_matches(high, tag) & UINT32_MAX};
}

/* The next place, or -1. */
static inline int nb_places_next(struct nb_places *p)
{
    if (p->low != 0) {
        int place = __builtin_ctzll(p->low) >> 3;
        p->low &= p->low - 1;
        return place;
    }
    if (p->high != 0) {
        int place = 8 + (__builtin_ctzll(p->high) >> 3);
        p->high &= p->high - 1;
        return place;
    }
    return -1;
}

static inline uint32_t nb_bucket_row(const struct nb_bucket *b, int place)
{
    return atomic_load_explicit(&b->rows[place], memory_order_relaxed);
}

#endif
