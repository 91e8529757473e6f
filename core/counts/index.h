/* SPDX-License-Identifier: Apache-2.0
 *
 * The index of a model: from a feature's id to the number of its row. For core/counts only.
 *
 * Buckets of one cache line hold fifteen places of 32 bits: the number of a row, and above it a
 * tag: the first bits of the id's position within the bucket. A look-up of an unknown feature
 * mostly touches one line; of a known feature two, because the row has the id. Row numbers take
 * only as many bits as the room of the index requires, so the tags of 10^6 rows have 11 bits and
 * those of 10^7 rows 8. Rows that do not fit go to another bucket, and the full bucket counts them.
 * The index grows when 93 % of its places are filled: it then takes 4.6 bytes a row.
 *
 * Threads: one writer; readers hold the model's read lock. Insertion needs no lock: a place is
 * written in one store, after the row. Growth builds a new index beside the old one.
 */
#ifndef NB_CORE_COUNTS_INDEX_H
#define NB_CORE_COUNTS_INDEX_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/array.h"

/* Without SSE2, classifying a mail takes 17 % more processor time. The thread sanitizer sees only
 * atomic accesses that the compiler generates, not SSE2 loads. */
#if defined(__SSE2__) && !defined(__SANITIZE_THREAD__)
#define NB_BUCKET_SSE2 1
#include <emmintrin.h>
#else
#define NB_BUCKET_SSE2 0
#endif

enum { NB_BUCKET_PLACES = 16 }; /* places for row numbers begin at 1 */

struct nb_bucket {
    /* Place 0 counts the rows that found this bucket full and lie further on, in eight counters
     * chosen by their tags. Another place is 0 if it is empty, else the number of the row plus 1,
     * with the tag in the bits above it. */
    _Atomic uint32_t places[NB_BUCKET_PLACES];
};
_Static_assert(sizeof(struct nb_bucket) == 64, "a bucket is a cache line");

struct nb_index {
    struct nb_bucket *buckets; /* owned; aligned to a cache line */
    uint64_t bucket_count;
    uint64_t room;       /* rows that it may hold before it must grow; all numbers are below */
    unsigned row_bits;   /* bits of a place for the number of a row plus 1 */
    uint64_t multiplier; /* odd and random; each index has its own */
};

/* All row numbers are below this, so that a tag has at least one bit. */
#define NB_INDEX_ROWS_MOST (((uint64_t)1 << 31) - 2)

/* Makes an empty index that can take `rows` rows, at most NB_INDEX_ROWS_MOST, before it must grow.
 * Returns 0 or NB_NO_MEMORY. */
int nb_index_init(struct nb_index *index, uint64_t rows);
void nb_index_deinit(struct nb_index *index);
/* Returns the bytes of an index for `rows` rows. */
size_t nb_index_bytes(uint64_t rows);

size_t nb_index_memory(const struct nb_index *index);

/* Removes a row that is in the index. Under the write lock. */
void nb_index_remove(struct nb_index *index, uint64_t id, uint32_t row);

/* Returns where an id lies: its bucket in the upper 32 bits, its position within the bucket below.
 *
 * A multiplication brings all bits of an id to the top, and the top 32 scale to any number of
 * buckets, always below 2^32, without a division (Lemire 2019). The id of a numeric value is the
 * number itself (core/base/feature.h), which a client chooses. With a secret random odd multiplier
 * two ids collide at most twice as often as by chance (Dietzfelbinger, Hagerup, Katajainen and
 * Penttonen 1997). This holds for the tags too: they are the bits that follow those of the
 * bucket. */
static inline uint64_t nb_index_where(const struct nb_index *index, uint64_t id)
{
    uint64_t mixed = id * index->multiplier;
    return (mixed >> 32) * index->bucket_count;
}

static inline uint64_t nb_index_home(const struct nb_index *index, uint64_t id)
{
    return nb_index_where(index, id) >> 32;
}

/* The tag in a result of nb_index_where. */
static inline uint32_t nb_index_tag(const struct nb_index *index, uint64_t where)
{
    uint32_t tag = (uint32_t)where >> index->row_bits;
    return tag + (tag == 0); /* never 0, the tag of an empty place */
}

/* Returns the bucket to try after the `nth` bucket of a row (0: its home) was full. From its home a
 * row goes to one of the 256 buckets behind it, by its tag; from there always to the next. If all
 * rows went from home to the next bucket, full buckets would form long runs: half of the rows that
 * were not at home lay in the third bucket or later. */
static inline uint64_t nb_index_further(const struct nb_index *index, uint64_t bucket, uint32_t tag,
                                        uint64_t nth)
{
    bucket += nth == 0 ? 1 + (tag & 0xFF) : 1;
    return bucket < index->bucket_count ? bucket : bucket % index->bucket_count;
}

/* Returns the places of a bucket that may hold an id with this tag, one bit for each place. With
 * tag 0: the empty places. */
static inline unsigned nb_bucket_places(const struct nb_bucket *b, unsigned row_bits, uint32_t tag)
{
    enum { FIRST = 1 }; /* place 0 holds no row */
#if NB_BUCKET_SSE2
    const __m128i *at = (const __m128i *)(const void *)b;
    const __m128i shift = _mm_cvtsi32_si128((int)row_bits), wanted = _mm_set1_epi32((int)tag);
    __m128i same[4];
    for (int i = 0; i < 4; i++)
        same[i] = _mm_cmpeq_epi32(_mm_srl_epi32(_mm_load_si128(at + i), shift), wanted);
    __m128i low = _mm_packs_epi32(same[0], same[1]), high = _mm_packs_epi32(same[2], same[3]);
    return (unsigned)_mm_movemask_epi8(_mm_packs_epi16(low, high)) >> FIRST << FIRST;
#else
    unsigned found = 0;
    for (unsigned i = FIRST; i < NB_BUCKET_PLACES; i++) {
        uint32_t place = atomic_load_explicit(&b->places[i], memory_order_relaxed);
        found |= (unsigned)(place >> row_bits == tag) << i;
    }
    return found;
#endif
}

/* Returns the row in the first of `places`: at least one place, and none is empty. */
static inline uint32_t nb_bucket_row(const struct nb_bucket *b, unsigned row_bits, unsigned places)
{
    const _Atomic uint32_t *place = &b->places[(unsigned)__builtin_ctz(places)];
    return (atomic_load_explicit(place, memory_order_acquire) & ((1u << row_bits) - 1)) - 1;
}

/* Tells whether rows with such a tag found the bucket full and lie further on. Seven of eight
 * look-ups of unknown ids need not look at the next bucket then. A counter of four bits that has
 * reached its maximum never goes down, and the answer stays yes. */
enum { NB_PASSED_BITS = 4, NB_PASSED_MOST = (1 << NB_PASSED_BITS) - 1 };

static inline unsigned nb_passed_shift(uint32_t tag)
{
    return (tag & (32 / NB_PASSED_BITS - 1)) * NB_PASSED_BITS;
}

static inline bool nb_bucket_is_passed(const struct nb_bucket *b, uint32_t tag)
{
    uint32_t passed = atomic_load_explicit(&b->places[0], memory_order_acquire);
    return (passed >> nb_passed_shift(tag) & NB_PASSED_MOST) != 0;
}

/* Counts one row more, or one less, that found the bucket full. */
static inline void nb_index_count_passed(struct nb_bucket *b, uint32_t tag, bool more)
{
    uint32_t passed = atomic_load_explicit(&b->places[0], memory_order_relaxed);
    uint32_t one = UINT32_C(1) << nb_passed_shift(tag);
    if ((passed >> nb_passed_shift(tag) & NB_PASSED_MOST) == NB_PASSED_MOST)
        return; /* the counter is full: the number is unknown */
    atomic_store_explicit(&b->places[0], more ? passed + one : passed - one, memory_order_release);
}

/* Adds a row whose id is not in the index. The index must have room, and `row` must be below it. */
static inline void nb_index_insert(struct nb_index *index, uint64_t id, uint32_t row)
{
    uint64_t where = nb_index_where(index, id);
    uint32_t tag = nb_index_tag(index, where), place = tag << index->row_bits | (row + 1);
    uint64_t bucket = where >> 32;
    assert(row < index->room);
    for (uint64_t nth = 0;; nth++) {
        struct nb_bucket *b = &index->buckets[bucket];
        unsigned empty = nb_bucket_places(b, 0, 0);
        if (empty != 0) {
            atomic_store_explicit(&b->places[__builtin_ctz(empty)], place, memory_order_release);
            return;
        }
        nb_index_count_passed(b, tag, true);
        bucket = nb_index_further(index, bucket, tag, nth);
    }
}

/* ---- rows to be inserted soon -----------------------------------------------------------------
 *
 * Waiting for a bucket that was not prefetched takes as long as ten rows. So a row passes three
 * stages: prefetch its bucket; when that has arrived and is full, prefetch the bucket where the row
 * goes on; then insert the row.
 */
NB_PREFETCHING void nb_index_ask(const struct nb_index *index, uint64_t id)
{
    nb_prefetch_to_write(&index->buckets[nb_index_home(index, id)]);
}

/* Call this when the home bucket has arrived. Places are filled from the lowest: if the last one is
 * taken, mostly all are. A branch on this would be unpredictable, so the function prefetches a
 * bucket in any case: the home again if it is not full. */
NB_PREFETCHING void nb_index_ask_further(const struct nb_index *index, uint64_t id)
{
    uint64_t where = nb_index_where(index, id), home = where >> 32;
    uint64_t further = nb_index_further(index, home, nb_index_tag(index, where), 0);
    const _Atomic uint32_t *last = &index->buckets[home].places[NB_BUCKET_PLACES - 1];
    bool is_full = atomic_load_explicit(last, memory_order_relaxed) != 0;
    nb_prefetch_to_write(&index->buckets[is_full ? further : home]);
}

/* ---- growth ------------------------------------------------------------------------------------
 *
 * Builds the larger index that a growing model will need soon, in a thread of its own, beside the
 * index in use. Putting all rows into another index is a twentieth of the writer's cost of
 * learning, and everybody waits for the writer.
 *
 * Threads: all functions are called by the writer. Meanwhile the other thread reads the ids of the
 * rows that existed when it started; these rows do not move. The writer gives the thread up before
 * it changes the id of one of them (nb_growth_spare).
 */

struct nb_growth;

/* Puts the rows from `start` to below `end` into an index, except dropped rows. */
void nb_index_put_rows(struct nb_index *index, unsigned char *const *table, uint32_t start,
                       uint32_t end);

/* Starts a thread that makes an index with room for `room` rows, and puts the first `rows` rows
 * into it, except dropped rows. `table` has their segments, which no longer move; it is copied.
 * Returns NULL without memory or a thread. */
struct nb_growth *nb_growth_begin(unsigned char *const *table, uint32_t rows, uint64_t room);

/* Returns the bytes of the finished index; 0 for NULL. */
size_t nb_growth_memory(const struct nb_growth *growth);

/* Waits for the thread, frees `growth` and sets *index and how many rows it has seen. Returns 0 or
 * NB_NO_MEMORY. */
int nb_growth_end(struct nb_growth **growth, struct nb_index *index, uint32_t *rows);

/* Waits for the thread, and frees *growth with its index. *growth may be NULL. */
void nb_growth_drop(struct nb_growth **growth);

/* As nb_growth_drop, if the thread reads the id of `row` or of a later row, because those ids are
 * about to change. */
void nb_growth_spare(struct nb_growth **growth, uint32_t row);

#endif
