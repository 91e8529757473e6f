/* SPDX-License-Identifier: Apache-2.0 */
#include "core/store/rows.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/pack.h"

void nb_rows_deinit(struct nb_rows *rows)
{
    free(rows->counts);
    *rows = (struct nb_rows){0};
}

int nb_rows_add(struct nb_rows *rows, uint32_t row, uint32_t count)
{
    if (nb_array_reserve(&rows->counts, &rows->room, rows->size + 1, sizeof *rows->counts) != 0)
        return NB_NO_MEMORY;
    rows->counts[rows->size++] = (struct nb_row_count){.row = row, .count = count};
    return 0;
}

static int by_row(const void *a, const void *b)
{
    uint32_t x = ((const struct nb_row_count *)a)->row;
    uint32_t y = ((const struct nb_row_count *)b)->row;
    return (x > y) - (x < y);
}

/* Two long digits are enough for 4 million rows; their counts take longer than those of short ones,
 * so they are for MANY rows. */
enum { SHORT_DIGIT = 8, LONG_DIGIT = 11, MANY = 512 };

/* Scatters by the digit of `bits` bits from bit `shift` on; keeps the order of the passes before.
 * False if all rows have the same digit: then nothing is done. */
static bool scatter(const struct nb_row_count *from, size_t size, unsigned shift, unsigned bits,
                    struct nb_row_count *to)
{
    uint32_t starts[1 << LONG_DIGIT];
    const uint32_t values = 1u << bits;
    memset(starts, 0, values * sizeof *starts);
    for (size_t i = 0; i < size; i++)
        starts[from[i].row >> shift & (values - 1)]++;
    if (starts[from[0].row >> shift & (values - 1)] == size)
        return false;
    for (uint32_t v = 0, sum = 0; v < values; v++) {
        uint32_t count = starts[v];
        starts[v] = sum;
        sum += count;
    }
    for (size_t i = 0; i < size; i++)
        to[starts[from[i].row >> shift & (values - 1)]++] = from[i];
    return true;
}

/* From the lowest digit to the highest one that is needed (Knuth, The Art of Computer Programming
 * 3, 5.2.5). */
void nb_row_counts_sort(struct nb_row_count *counts, size_t size, struct nb_row_count *scratch)
{
    const unsigned bits = size < MANY ? SHORT_DIGIT : LONG_DIGIT;
    struct nb_row_count *from = counts;
    struct nb_row_count *to = scratch;
    uint64_t all = 0;
    assert(size <= UINT32_MAX);
    for (size_t i = 0; i < size; i++)
        all |= counts[i].row;
    for (unsigned shift = 0; all >> shift != 0; shift += bits) {
        if (!scatter(from, size, shift, bits, to))
            continue;
        struct nb_row_count *swap = from;
        from = to;
        to = swap;
    }
    if (from != counts)
        memcpy(counts, from, size * sizeof *counts);
}

/* How many rows at the beginning are in order, and below all others. Most of a document's rows are:
 * those that were known before come first. */
static size_t count_sorted(const struct nb_rows *rows)
{
    const struct nb_row_count *c = rows->counts;
    size_t sorted = rows->size > 0;
    while (sorted < rows->size && c[sorted - 1].row < c[sorted].row)
        sorted++;
    if (sorted == rows->size)
        return sorted;
    uint32_t least = c[sorted].row;
    for (size_t i = sorted + 1; i < rows->size; i++)
        least = c[i].row < least ? c[i].row : least;
    while (sorted > 0 && c[sorted - 1].row > least)
        sorted--;
    return sorted;
}

void nb_rows_sort(struct nb_rows *rows)
{
    enum { FEW = 64 }; /* comparing so few costs less than counting their digits */
    size_t sorted = count_sorted(rows);
    size_t size = rows->size - sorted;
    bool has_scratch =
        size >= FEW &&
        nb_array_reserve(&rows->counts, &rows->room, rows->size + size, sizeof *rows->counts) == 0;
    if (has_scratch)
        nb_row_counts_sort(rows->counts + sorted, size, rows->counts + rows->size);
    else if (size > 1)
        qsort(rows->counts + sorted, size, sizeof *rows->counts, by_row);
}

/* A feature is its row's distance to the previous row, shifted by one bit that says whether a count
 * above one follows. */
int nb_bag_encode(const struct nb_rows *rows, struct nb_buffer *out)
{
    uint32_t next = 0;
    if (rows->size == 0)
        return 0;
    if (nb_buffer_reserve(out, rows->size * 2 * NB_VARINT_32_MOST) != 0)
        return NB_NO_MEMORY;
    char *at = out->bytes + out->length;
    for (size_t i = 0; i < rows->size; i++) {
        const struct nb_row_count *c = &rows->counts[i];
        assert(c->count > 0 && (i == 0 || c->row >= next));
        at = nb_put_varint(at, (uint64_t)(c->row - next) << 1 | (c->count > 1));
        if (c->count > 1)
            at = nb_put_varint(at, c->count);
        next = c->row + 1;
    }
    out->length = (size_t)(at - out->bytes);
    return 0;
}

/* Any varint; returns where it ends, or NULL. */
static const unsigned char *read_long(const unsigned char *at, const unsigned char *end,
                                      uint64_t *value)
{
    struct nb_unpacker r = {.at = at, .end = end};
    *value = nb_unpack_varint(&r);
    return r.failed ? NULL : r.at;
}

/* A varint, of which nearly all have one byte or two. The place is a value and not behind a
 * pointer, so that it stays in a register: a refit reads thousands of bags. */
static inline const unsigned char *read_varint(const unsigned char *at, const unsigned char *end,
                                               uint64_t *value)
{
    uint64_t slow;
    if (*at < 0x80) {
        *value = *at;
        return at + 1;
    }
    if (end - at >= 2 && at[1] < 0x80) {
        *value = (at[0] & 0x7Fu) | (unsigned)at[1] << 7;
        return at + 2;
    }
    at = read_long(at, end, &slow);
    *value = slow;
    return at;
}

static int damaged_bag(struct nb_error *error)
{
    return nb_error_set(error, NB_CORRUPT,
                        "the store is damaged: a document's bag does not read back");
}

int nb_bag_decode(struct nb_string bag, uint32_t limit, struct nb_rows *rows,
                  struct nb_error *error)
{
    const unsigned char *at = (const unsigned char *)bag.bytes;
    const unsigned char *end = bag.length == 0 ? at : at + bag.length;
    uint64_t next = 0;
    rows->size = 0;
    /* A feature takes a byte at least. */
    if (nb_array_reserve(&rows->counts, &rows->room, bag.length, sizeof *rows->counts) != 0)
        return nb_error_no_memory(error);
    struct nb_row_count *to = rows->counts;
    while (at != end) {
        uint64_t code, count = 1;
        at = read_varint(at, end, &code);
        if (at != NULL && (code & 1) != 0)
            at = at == end ? NULL : read_varint(at, end, &count);
        uint64_t row = next + (code >> 1);
        if (at == NULL || row >= limit || count == 0 || count > UINT32_MAX)
            return damaged_bag(error);
        *to++ = (struct nb_row_count){.row = (uint32_t)row, .count = (uint32_t)count};
        next = row + 1;
    }
    rows->size = (size_t)(to - rows->counts);
    assert(rows->size <= rows->room);
    return 0;
}
