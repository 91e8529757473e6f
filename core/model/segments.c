/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/segments.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/lock.h"

/* The first segment doubles while it is small, then grows by a quarter. Its bytes are a multiple of
 * a cache line. */
enum { CACHE_LINE = 64, FIRST_RECORDS = 16, DOUBLED = 256, FIRST_TABLE = 4 };

void nb_segments_init(struct nb_segments *s, uint32_t record, uint32_t bits)
{
    assert(bits <= NB_SEGMENT_BITS_MOST && (record & (record - 1)) == 0);
    *s = (struct nb_segments){.bits = bits, .record = record};
}

void nb_segments_deinit(struct nb_segments *s)
{
    for (uint32_t i = 0; i < s->segment_count; i++)
        free(s->table[i]);
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

int nb_segments_reserve(struct nb_segments *s, uint64_t records, pthread_rwlock_t *lock)
{
    assert(records <= (uint64_t)UINT32_MAX + 1);
    while (nb_segments_room(s) < records) {
        int rc = s->segment_count == s->table_room ? grow_table(s, lock) : 0;
        if (rc == 0 && s->first_room < 1u << s->bits) {
            rc = grow_first(s, records, lock);
        } else if (rc == 0) {
            size_t size = (size_t)s->record << s->bits;
            unsigned char *segment = aligned_alloc(CACHE_LINE, size);
            if (segment != NULL) {
                s->table[s->segment_count++] = segment;
                atomic_fetch_add(&s->bytes, size);
            } else {
                rc = NB_NO_MEMORY;
            }
        }
        if (rc != 0)
            return rc;
    }
    return 0;
}
