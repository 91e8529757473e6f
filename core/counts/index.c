/* SPDX-License-Identifier: Apache-2.0 */
#include "core/counts/index.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/base/aligned.h"
#include "core/base/error.h"
#include "core/base/key.h"
#include "core/counts/segments.h"

/* The highest load, in percent of places: with fifteen places in a bucket about one row in fourteen
 * lies outside its own bucket. */
enum { LOAD_PERCENT = 93, BUCKET_ROWS = NB_BUCKET_PLACES - 1, LEAST_BUCKETS = 4 };

/* A look-up touches the index anywhere, and with pages of 4 KB it misses the table of addresses
 * nearly always: that was two fifths of a start with 10^7 rows. An index of a huge page or more
 * begins with one. What is behind the last whole one stays small pages, of which those behind
 * `size` are never touched, so no memory is wasted; a kernel that has no huge pages refuses, which
 * is no harm. */
static struct nb_bucket *make_buckets(size_t size)
{
    bool is_large = size >= NB_HUGE_PAGE;
    struct nb_bucket *buckets = nb_aligned_alloc(is_large ? NB_HUGE_PAGE : sizeof *buckets, size);
    if (buckets != NULL && is_large)
        (void)madvise(buckets, size, MADV_HUGEPAGE);
    return buckets;
}

static uint64_t buckets_for(uint64_t rows)
{
    uint64_t count = rows * 100 / ((uint64_t)LOAD_PERCENT * BUCKET_ROWS) + 1;
    return count < LEAST_BUCKETS ? LEAST_BUCKETS : count;
}

size_t nb_index_bytes(uint64_t rows)
{
    return buckets_for(rows) * sizeof(struct nb_bucket);
}

int nb_index_init(struct nb_index *index, uint64_t rows)
{
    uint64_t count = buckets_for(rows);
    assert(rows <= NB_INDEX_ROWS_MOST);
    uint64_t room = count * BUCKET_ROWS * LOAD_PERCENT / 100;
    if (room > NB_INDEX_ROWS_MOST)
        room = NB_INDEX_ROWS_MOST;
    struct nb_bucket *buckets = make_buckets(count * sizeof *buckets);
    if (buckets == NULL)
        return NB_NO_MEMORY;
    memset(buckets, 0, count * sizeof *buckets);
    *index = (struct nb_index){.buckets = buckets,
                               .bucket_count = count,
                               .room = room,
                               .row_bits = 64 - (unsigned)__builtin_clzll(room),
                               .multiplier = nb_key_random() | 1};
    return 0;
}

void nb_index_deinit(struct nb_index *index)
{
    free(index->buckets);
    *index = (struct nb_index){0};
}

size_t nb_index_memory(const struct nb_index *index)
{
    return index->bucket_count * sizeof *index->buckets;
}

static void count_passed(struct nb_bucket *b, uint32_t tag, bool more)
{
    uint32_t passed = atomic_load_explicit(&b->places[0], memory_order_relaxed);
    uint32_t one = UINT32_C(1) << nb_passed_shift(tag);
    if ((passed >> nb_passed_shift(tag) & NB_PASSED_MOST) == NB_PASSED_MOST)
        return; /* nobody knows how many there are */
    atomic_store_explicit(&b->places[0], more ? passed + one : passed - one, memory_order_release);
}

void nb_index_insert(struct nb_index *index, uint64_t id, uint32_t row)
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
        count_passed(b, tag, true);
        bucket = nb_index_further(index, bucket, tag, nth);
    }
}

void nb_index_remove(struct nb_index *index, uint64_t id, uint32_t row)
{
    uint64_t where = nb_index_where(index, id);
    uint32_t tag = nb_index_tag(index, where), place = tag << index->row_bits | (row + 1);
    uint64_t bucket = where >> 32;
    for (uint64_t nth = 0; nth <= index->bucket_count; nth++) {
        struct nb_bucket *b = &index->buckets[bucket];
        unsigned found = nb_bucket_places(b, 0, place);
        if (found != 0) {
            atomic_store_explicit(&b->places[__builtin_ctz(found)], 0, memory_order_relaxed);
            return;
        }
        count_passed(b, tag, false);
        bucket = nb_index_further(index, bucket, tag, nth);
    }
    assert(false); /* the caller gives a row that is in the index */
}
