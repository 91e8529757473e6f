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

enum { DIGITS = 4, DIGIT_BITS = 8, VALUES = 1 << DIGIT_BITS };

static unsigned digit_of(uint32_t row, unsigned digit)
{
    return row >> (digit * DIGIT_BITS) & (VALUES - 1);
}

/* Scatters by one digit, of which starts[value] rows have the value; keeps the order of the passes
 * before. */
static void scatter(const struct nb_row_count *from, size_t size, unsigned digit, uint32_t *starts,
                    struct nb_row_count *to)
{
    uint32_t sum = 0;
    for (size_t v = 0; v < VALUES; v++) {
        uint32_t before = sum;
        sum += starts[v];
        starts[v] = before;
    }
    for (size_t i = 0; i < size; i++)
        to[starts[digit_of(from[i].row, digit)]++] = from[i];
}

/* From the lowest digit to the highest one that is needed (Knuth, The Art of Computer Programming
 * 3, 5.2.5): with less than 16 million rows, three. A digit that all rows share is skipped. */
void nb_row_counts_sort(struct nb_row_count *counts, size_t size, struct nb_row_count *scratch)
{
    uint32_t starts[VALUES];
    struct nb_row_count *from = counts;
    struct nb_row_count *to = scratch;
    uint32_t all = 0;
    assert(size <= UINT32_MAX);
    for (size_t i = 0; i < size; i++)
        all |= counts[i].row;
    for (unsigned d = 0; d < DIGITS && all >> (d * DIGIT_BITS) != 0; d++) {
        memset(starts, 0, sizeof starts);
        for (size_t i = 0; i < size; i++)
            starts[digit_of(from[i].row, d)]++;
        if (starts[digit_of(from[0].row, d)] == size)
            continue;
        scatter(from, size, d, starts, to);
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

int nb_bag_decode(struct nb_string bag, uint32_t limit, struct nb_rows *rows,
                  struct nb_error *error)
{
    struct nb_unpacker r = nb_unpacker_of(bag.bytes, bag.length);
    uint64_t next = 0;
    rows->size = 0;
    while (r.at < r.end) {
        uint64_t code = nb_unpack_varint(&r);
        uint64_t count = code & 1 ? nb_unpack_bounded(&r, UINT32_MAX) : 1;
        uint64_t row = next + (code >> 1);
        if (r.failed || row >= limit || count == 0)
            return nb_error_set(error, NB_CORRUPT,
                                "the store is damaged: a document's bag does not read back");
        if (nb_rows_add(rows, (uint32_t)row, (uint32_t)count) != 0)
            return nb_error_no_memory(error);
        next = row + 1;
    }
    return 0;
}
