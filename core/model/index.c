/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/index.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/key.h"

/* So many of a hundred places: with twelve in a bucket about one row in twenty lies outside its
 * own. */
enum { LOAD_PERCENT = 87, LEAST_BUCKETS = 4 };

/* Bytes from which on huge pages are asked for: below, the page table is in the caches. */
enum { LARGE = 4 << 20 };

/* A look-up touches the index anywhere, and with pages of 4 KB it misses the table of addresses
 * nearly always: that was two fifths of a start with 10^7 rows. Only whole huge pages inside of the
 * buckets are affected, so no memory is wasted; a kernel that has none refuses, which is no harm.
 */
static void ask_for_huge_pages(struct nb_bucket *buckets, size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t before = -(uintptr_t)buckets & (page - 1);
    if (size >= LARGE)
        (void)madvise((unsigned char *)buckets + before, size - before, MADV_HUGEPAGE);
}

int nb_index_init(struct nb_index *index, uint64_t rows)
{
    uint64_t count = rows * 100 / ((uint64_t)LOAD_PERCENT * NB_BUCKET_ROWS) + 1;
    if (count < LEAST_BUCKETS)
        count = LEAST_BUCKETS;
    struct nb_bucket *buckets = aligned_alloc(sizeof *buckets, count * sizeof *buckets);
    if (buckets == NULL)
        return NB_NO_MEMORY;
    ask_for_huge_pages(buckets, count * sizeof *buckets);
    memset(buckets, 0, count * sizeof *buckets);
    *index = (struct nb_index){.buckets = buckets,
                               .bucket_count = count,
                               .room = count * NB_BUCKET_ROWS * LOAD_PERCENT / 100,
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

static struct nb_bucket *bucket_after(struct nb_index *index, struct nb_bucket *b)
{
    return ++b == index->buckets + index->bucket_count ? index->buckets : b;
}

static void set_tag(struct nb_bucket *b, int place, unsigned tag)
{
    if (place < 8) {
        unsigned shift = (unsigned)place * 8;
        uint64_t tags = atomic_load_explicit(&b->tags_low, memory_order_relaxed);
        tags = (tags & ~(UINT64_C(0xFF) << shift)) | (uint64_t)tag << shift;
        atomic_store_explicit(&b->tags_low, tags, memory_order_release);
    } else {
        unsigned shift = (unsigned)(place - 8) * 8;
        uint32_t tags = atomic_load_explicit(&b->tags_high, memory_order_relaxed);
        tags = (tags & ~(UINT32_C(0xFF) << shift)) | (uint32_t)tag << shift;
        atomic_store_explicit(&b->tags_high, tags, memory_order_release);
    }
}

static void count_passed(struct nb_bucket *b, int change)
{
    uint32_t passed = atomic_load_explicit(&b->passed, memory_order_relaxed);
    atomic_store_explicit(&b->passed, passed + (uint32_t)change, memory_order_release);
}

void nb_index_insert(struct nb_index *index, uint64_t id, uint32_t row)
{
    struct nb_bucket *b = index->buckets + nb_index_home(index, id);
    assert(index->bucket_count > 0);
    for (;;) {
        struct nb_places empty = nb_bucket_places(b, 0);
        int place = nb_places_next(&empty);
        if (place >= 0) {
            atomic_store_explicit(&b->rows[place], row, memory_order_relaxed);
            set_tag(b, place, nb_index_tag(id));
            return;
        }
        count_passed(b, 1);
        b = bucket_after(index, b);
    }
}

void nb_index_remove(struct nb_index *index, uint64_t id, uint32_t row)
{
    struct nb_bucket *b = index->buckets + nb_index_home(index, id);
    for (uint64_t seen = 0; seen < index->bucket_count; seen++) {
        struct nb_places places = nb_bucket_places(b, nb_index_tag(id));
        for (int place; (place = nb_places_next(&places)) >= 0;) {
            if (nb_bucket_row(b, place) == row) {
                set_tag(b, place, 0);
                return;
            }
        }
        count_passed(b, -1);
        b = bucket_after(index, b);
    }
    assert(false); /* the caller gives a row that is in the index */
}
