/* SPDX-License-Identifier: Apache-2.0 */
#include "core/counts/index.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/error.h"
#include "core/base/key.h"
#include "core/base/platform/platform.h"
#include "core/counts/cells.h"

/* The highest load, in percent of places. With fifteen places in a bucket, about one row in
 * fourteen then lies outside its home bucket. */
enum { LOAD_PERCENT = 93, BUCKET_ROWS = NB_BUCKET_PLACES - 1, LEAST_BUCKETS = 4 };

/* A look-up touches a random place of the index, and with 4 KB pages it nearly always misses the
 * TLB: that took two fifths of a start with 10^7 rows. So an index of at least a huge page is
 * aligned to one. The rest behind the last whole huge page stays small pages; those behind `size`
 * are never touched, so no memory is wasted. */
static struct nb_bucket *make_buckets(uint64_t count)
{
    if (count > SIZE_MAX / sizeof(struct nb_bucket))
        return NULL;
    size_t size = (size_t)count * sizeof(struct nb_bucket);
    bool is_large = size >= NB_HUGE_PAGE;
    struct nb_bucket *buckets = nb_aligned_alloc(is_large ? NB_HUGE_PAGE : sizeof *buckets, size);
    if (buckets != NULL && is_large)
        nb_platform_want_huge_pages(buckets, size, false);
    return buckets;
}

static uint64_t buckets_for(uint64_t rows)
{
    uint64_t count = rows * 100 / ((uint64_t)LOAD_PERCENT * BUCKET_ROWS) + 1;
    return count < LEAST_BUCKETS ? LEAST_BUCKETS : count;
}

size_t nb_index_bytes(uint64_t rows)
{
    uint64_t bytes = buckets_for(rows) * sizeof(struct nb_bucket);
    return bytes < SIZE_MAX ? (size_t)bytes : SIZE_MAX;
}

int nb_index_init(struct nb_index *index, uint64_t rows)
{
    uint64_t count = buckets_for(rows);
    assert(rows <= NB_INDEX_ROWS_MOST);
    uint64_t room = count * BUCKET_ROWS * LOAD_PERCENT / 100;
    if (room > NB_INDEX_ROWS_MOST)
        room = NB_INDEX_ROWS_MOST;
    struct nb_bucket *buckets = make_buckets(count);
    if (buckets == NULL)
        return NB_NO_MEMORY;
    memset(buckets, 0, (size_t)count * sizeof *buckets);
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
    return (size_t)index->bucket_count * sizeof *index->buckets;
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
        nb_index_count_passed(b, tag, false);
        bucket = nb_index_further(index, bucket, tag, nth);
    }
    assert(false); /* the row must be in the index */
}

/* ---- growth ---------------------------------------------------------------------------------- */

enum { AHEAD = 32 }; /* rows whose buckets are being prefetched */

struct nb_growth {
    pthread_t thread;
    unsigned char **table; /* owned; the segments belong to the model */
    uint32_t rows;
    uint64_t room;
    /* Only the thread uses these until it has ended: */
    struct nb_index index;
    int code;
};

void nb_index_put_rows(struct nb_index *index, unsigned char *const *table, uint32_t start,
                       uint32_t end)
{
    for (uint64_t i = start; i < (uint64_t)end + AHEAD; i++) {
        if (i < end)
            nb_index_ask(index, nb_row_at(table, (uint32_t)i)->id);
        if (i < (uint64_t)start + AHEAD)
            continue;
        uint32_t row = (uint32_t)i - AHEAD;
        if (!nb_model_is_dropped(nb_row_at(table, row)->id))
            nb_index_insert(index, nb_row_at(table, row)->id, row);
    }
}

static void *growth_main(void *user)
{
    struct nb_growth *growth = user;
    growth->code = nb_index_init(&growth->index, growth->room);
    if (growth->code == 0)
        nb_index_put_rows(&growth->index, growth->table, 0, growth->rows);
    return NULL;
}

struct nb_growth *nb_growth_begin(unsigned char *const *table, uint32_t rows, uint64_t room)
{
    size_t segments = ((size_t)rows + (1u << NB_ROW_SEGMENT_BITS) - 1) >> NB_ROW_SEGMENT_BITS;
    struct nb_growth *growth = calloc(1, sizeof *growth);
    assert(rows > 0 && rows <= room && room <= NB_INDEX_ROWS_MOST);
    if (growth == NULL)
        return NULL;
    *growth = (struct nb_growth){
        .table = malloc(segments * sizeof *growth->table), .rows = rows, .room = room};
    if (growth->table != NULL) {
        memcpy(growth->table, table, segments * sizeof *growth->table);
        if (pthread_create(&growth->thread, NULL, growth_main, growth) == 0) {
            nb_platform_name_thread(growth->thread, "index");
            return growth;
        }
    }
    free(growth->table);
    free(growth);
    return NULL;
}

size_t nb_growth_memory(const struct nb_growth *growth)
{
    return growth == NULL ? 0 : nb_index_bytes(growth->room);
}

int nb_growth_end(struct nb_growth **growth, struct nb_index *index, uint32_t *rows)
{
    struct nb_growth *g = *growth;
    *growth = NULL;
    pthread_join(g->thread, NULL);
    int rc = g->code;
    if (rc == 0) {
        *index = g->index;
        *rows = g->rows;
    }
    free(g->table);
    free(g);
    return rc;
}

void nb_growth_drop(struct nb_growth **growth)
{
    struct nb_index index;
    uint32_t rows;
    if (*growth != NULL && nb_growth_end(growth, &index, &rows) == 0)
        nb_index_deinit(&index);
}

void nb_growth_spare(struct nb_growth **growth, uint32_t row)
{
    if (*growth != NULL && row < (*growth)->rows)
        nb_growth_drop(growth);
}
