/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/segments.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/base/error.h"
#include "core/base/lock.h"

/* The first segment doubles while it is small, then grows by a quarter. Its bytes are a multiple of
 * a cache line. */
enum { CACHE_LINE = 64, FIRST_RECORDS = 16, DOUBLED = 256, FIRST_TABLE = 4 };

/* Records are read anywhere, and with pages of 4 KB of a large array each read misses the table of
 * addresses. So from LARGE bytes on, segments are mapped by huge pages, as many as fill one: a
 * smaller array would waste more than a tenth of itself on the last page. */
enum { HUGE_PAGE = 2 << 20, LARGE = 8 << 20 };

static size_t segment_bytes(const struct nb_segments *s)
{
    return (size_t)s->record << s->bits;
}

/* Whether the segment of this number is mapped. */
static bool is_mapped(const struct nb_segments *s, uint32_t number)
{
    return number * segment_bytes(s) >= LARGE;
}

/* How many segments are allocated together, from this number on. */
static uint32_t block_segments(const struct nb_segments *s, uint32_t number)
{
    return is_mapped(s, number) ? (uint32_t)(HUGE_PAGE / segment_bytes(s)) : 1;
}

void nb_segments_init(struct nb_segments *s, uint32_t record, uint32_t bits)
{
    assert(bits <= NB_SEGMENT_BITS_MOST && (record & (record - 1)) == 0);
    assert((size_t)record << bits <= HUGE_PAGE);
    *s = (struct nb_segments){.bits = bits, .record = record};
}

void nb_segments_deinit(struct nb_segments *s)
{
    for (uint32_t i = 0, step; i < s->segment_count; i += step) {
        step = block_segments(s, i);
        if (is_mapped(s, i))
            (void)munmap(s->table[i], step * segment_bytes(s));
        else
            free(s->table[i]);
    }
    free(s->table);
    nb_segments_init(s, s->record, s->bits);
}

static void lock_if(pthread_rwlock_t *lock)
{
    if (lock != NULL)
        nb_lock_write(lock);
}

static void unlock_if(pthread_rwlock_t *lock)
{
    if (lock != NULL)
        nb_lock_release(lock);
}

/* A table twice as large takes the place of the full one. */
static int grow_table(struct nb_segments *s, pthread_rwlock_t *lock)
{
    uint32_t room = s->table_room == 0 ? FIRST_TABLE : s->table_room * 2;
    unsigned char **table = malloc(room * sizeof *table);
    if (table == NULL)
        return NB_NO_MEMORY;
    unsigned char **old = s->table;
    if (s->segment_count != 0)
        memcpy(table, old, s->segment_count * sizeof *table);
    lock_if(lock);
    s->table = table;
    unlock_if(lock);
    free(old);
    atomic_fetch_add(&s->bytes, (room - s->table_room) * sizeof *table);
    s->table_room = room;
    return 0;
}

static uint32_t larger_room(const struct nb_segments *s, uint64_t records)
{
    uint32_t room = s->first_room == 0 ? FIRST_RECORDS : s->first_room;
    while (room < records && room < 1u << s->bits)
        room += room < DOUBLED ? room : room / 4 / FIRST_RECORDS * FIRST_RECORDS;
    return room < 1u << s->bits ? room : 1u << s->bits;
}

/* The first segment, made or enlarged until it has `records` or its full size. */
static int grow_first(struct nb_segments *s, uint64_t records, pthread_rwlock_t *lock)
{
    uint32_t room = larger_room(s, records);
    unsigned char *segment = aligned_alloc(CACHE_LINE, (size_t)room * s->record);
    if (segment == NULL)
        return NB_NO_MEMORY;
    unsigned char *old = s->segment_count == 0 ? NULL : s->table[0];
    assert(room > s->first_room && (size_t)room * s->record % CACHE_LINE == 0);
    if (old != NULL)
        memcpy(segment, old, (size_t)s->first_room * s->record);
    lock_if(lock);
    s->table[0] = segment;
    unlock_if(lock);
    free(old);
    atomic_fetch_add(&s->bytes, (size_t)(room - s->first_room) * s->record);
    s->first_room = room;
    s->segment_count = 1;
    return 0;
}

/* Whole huge pages. A kernel that has none gives small ones, which is no harm. NULL: no memory. */
static unsigned char *map_pages(size_t size)
{
    unsigned char *mapped =
        mmap(NULL, size + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED)
        return NULL;
    size_t before = -(uintptr_t)mapped & (HUGE_PAGE - 1);
    unsigned char *pages = mapped + before;
    if (before > 0)
        (void)munmap(mapped, before);
    if (before < HUGE_PAGE)
        (void)munmap(pages + size, HUGE_PAGE - before);
    (void)madvise(pages, size, MADV_HUGEPAGE);
    return pages;
}

/* Makes a further segment, or as many as are allocated together. The table has room for them. */
static int add_segments(struct nb_segments *s)
{
    uint32_t count = block_segments(s, s->segment_count);
    size_t each = segment_bytes(s);
    unsigned char *block =
        is_mapped(s, s->segment_count) ? map_pages(count * each) : aligned_alloc(CACHE_LINE, each);
    if (block == NULL)
        return NB_NO_MEMORY;
    for (uint32_t i = 0; i < count; i++)
        s->table[s->segment_count++] = block + i * each;
    atomic_fetch_add(&s->bytes, count * each);
    return 0;
}

int nb_segments_reserve(struct nb_segments *s, uint64_t records, pthread_rwlock_t *lock)
{
    int rc = 0;
    assert(records <= (uint64_t)UINT32_MAX + 1);
    while (rc == 0 && nb_segments_room(s) < records) {
        if (s->segment_count + block_segments(s, s->segment_count) > s->table_room)
            rc = grow_table(s, lock);
        if (rc == 0 && s->first_room < 1u << s->bits)
            rc = grow_first(s, records, lock);
        else if (rc == 0)
            rc = add_segments(s);
    }
    return rc;
}
