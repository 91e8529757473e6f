/* SPDX-License-Identifier: Apache-2.0 */
#include "core/counts/segments.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/base/aligned.h"
#include "core/base/error.h"
#include "core/base/lock.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

/* The first segment doubles while it is small, then grows by a quarter. */
enum { CACHE_LINE = 64, FIRST_RECORDS = 16, DOUBLED = 256, FIRST_TABLE = 4 };

enum { LARGE = 2 << 20 }; /* bytes; below, nothing is mapped */

static size_t segment_bytes(const struct nb_segments *s)
{
    return (size_t)s->record << s->bits;
}

/* Whether the segment of this number is mapped. */
static bool is_mapped(const struct nb_segments *s, uint32_t number)
{
    return number * segment_bytes(s) >= LARGE;
}

/* How many segments get their addresses together, after those that have one. */
static uint32_t segments_at_once(const struct nb_segments *s)
{
    return is_mapped(s, s->mapped) ? s->block : 1;
}

void nb_segments_init(struct nb_segments *s, uint32_t record, uint32_t bits)
{
    assert(bits <= NB_SEGMENT_BITS_MOST && record % 2 == 0);
    *s = (struct nb_segments){.bits = bits, .record = record, .block = 1};
    while (s->block * segment_bytes(s) % NB_HUGE_PAGE != 0)
        s->block++;
}

void nb_segments_deinit(struct nb_segments *s)
{
    for (uint32_t i = 0; i < s->mapped;) {
        if (is_mapped(s, i)) {
            (void)munmap(s->table[i], s->block * segment_bytes(s));
            i += s->block;
        } else
            free(s->table[i++]);
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

/* Replaces the full table by one twice as large. */
static int grow_table(struct nb_segments *s, pthread_rwlock_t *lock)
{
    uint32_t room = s->table_room == 0 ? FIRST_TABLE : s->table_room * 2;
    unsigned char **table = malloc(room * sizeof *table);
    if (table == NULL)
        return NB_NO_MEMORY;
    unsigned char **old = s->table;
    if (s->mapped != 0)
        memcpy(table, old, s->mapped * sizeof *table);
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

static size_t first_bytes(const struct nb_segments *s, uint32_t room)
{
    return ((size_t)room * s->record + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
}

/* Makes or enlarges the first segment, up to `records` or its full size. */
static int grow_first(struct nb_segments *s, uint64_t records, pthread_rwlock_t *lock)
{
    uint32_t room = larger_room(s, records);
    unsigned char *segment = nb_aligned_alloc(CACHE_LINE, first_bytes(s, room));
    if (segment == NULL)
        return NB_NO_MEMORY;
    unsigned char *old = s->segment_count == 0 ? NULL : s->table[0];
    assert(room > s->first_room);
    if (old != NULL)
        memcpy(segment, old, (size_t)s->first_room * s->record);
    lock_if(lock);
    s->table[0] = segment;
    unlock_if(lock);
    free(old);
    atomic_fetch_add(&s->bytes, first_bytes(s, room) - first_bytes(s, s->first_room));
    s->first_room = room;
    s->segment_count = s->mapped = 1;
    return 0;
}

/* Maps addresses for whole huge pages, which begin as small ones. NULL: no memory. */
static unsigned char *map_pages(size_t size)
{
    unsigned char *mapped =
        mmap(NULL, size + NB_HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED)
        return NULL;
    size_t before = -(uintptr_t)mapped & (NB_HUGE_PAGE - 1);
    unsigned char *pages = mapped + before;
    if (before > 0)
        (void)munmap(mapped, before);
    if (before < NB_HUGE_PAGE)
        (void)munmap(pages + size, NB_HUGE_PAGE - before);
    return pages;
}

/* Maps the addresses of further segments. The table has room for them. */
static int map_segments(struct nb_segments *s)
{
    size_t each = segment_bytes(s);
    uint32_t count = segments_at_once(s);
    unsigned char *block =
        is_mapped(s, s->mapped) ? map_pages(count * each) : nb_aligned_alloc(CACHE_LINE, each);
    if (block == NULL)
        return NB_NO_MEMORY;
    for (uint32_t i = 0; i < count; i++)
        s->table[s->mapped++] = block + i * each;
    return 0;
}

/* Asks for the huge pages that the segments from `first` on fill up. A page of which older segments
 * have a part has small pages by now, which are copied by a kernel that can (Linux 6.1). One that
 * has no huge pages refuses, which is no harm. */
static void ask_for_huge_pages(const struct nb_segments *s, uint32_t first)
{
    size_t each = segment_bytes(s);
    for (uint32_t i = first; i < s->segment_count; i++) {
        unsigned char *segment = s->table[i];
        size_t before = (uintptr_t)segment % NB_HUGE_PAGE; /* of its first page */
        size_t full = (before + each) / NB_HUGE_PAGE * NB_HUGE_PAGE;
        if (!is_mapped(s, i) || full == 0)
            continue;
        (void)madvise(segment - before, full, MADV_HUGEPAGE);
        if (before > (i - first) * each)
            (void)madvise(segment - before, NB_HUGE_PAGE, MADV_COLLAPSE);
    }
}

/* Takes the next segment, which may have an address already. */
static int add_segment(struct nb_segments *s)
{
    int rc = s->segment_count < s->mapped ? 0 : map_segments(s);
    if (rc != 0)
        return rc;
    s->segment_count++;
    atomic_fetch_add(&s->bytes, segment_bytes(s));
    return 0;
}

int nb_segments_reserve(struct nb_segments *s, uint64_t records, pthread_rwlock_t *lock)
{
    int rc = 0;
    uint32_t first = s->segment_count;
    assert(records <= (uint64_t)UINT32_MAX + 1);
    while (rc == 0 && nb_segments_room(s) < records) {
        while (rc == 0 && s->mapped + segments_at_once(s) > s->table_room)
            rc = grow_table(s, lock);
        if (rc == 0 && s->first_room < 1u << s->bits)
            rc = grow_first(s, records, lock);
        else if (rc == 0)
            rc = add_segment(s);
    }
    ask_for_huge_pages(s, first);
    return rc;
}
