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

void nb_rows_sort(struct nb_rows *rows)
{
    if (rows->size > 1)
        qsort(rows->counts, rows->size, sizeof *rows->counts, by_row);
}

/* Scatters by one digit of the row, lowest first; each pass keeps the order of the passes before it
 * (Knuth, The Art of Computer Programming 3, 5.2.5). A digit that all rows share is skipped: with a
 * million rows, one of the four. */
void nb_row_counts_sort(struct nb_row_count *counts, size_t size, struct nb_row_count *scratch)
{
    enum { DIGITS = 4, DIGIT_BITS = 8, VALUES = 1 << DIGIT_BITS };
    size_t starts[DIGITS][VALUES] = {{0}};
    struct nb_row_count *from = counts;
    struct nb_row_count *to = scratch;
    for (size_t i = 0; i < size; i++)
        for (unsigned d = 0; d < DIGITS; d++)
            starts[d][counts[i].row >> (d * DIGIT_BITS) & (VALUES - 1)]++;
    for (unsigned d = 0; d < DIGITS && size > 1; d++) {
        size_t *start = starts[d];
        unsigned shift = d * DIGIT_BITS;
        if (start[from[0].row >> shift & (VALUES - 1)] == size)
            continue;
        for (size_t v = 0, sum = 0; v < VALUES; v++) {
            size_t before = sum;
            sum += start[v];
            start[v] = before;
        }
        for (size_t i = 0; i < size; i++)
            to[start[from[i].row >> shift & (VALUES - 1)]++] = from[i];
        struct nb_row_count *swap = from;
        from = to;
        to = swap;
    }
    if (from != counts)
        memcpy(counts, from, size * sizeof *counts);
}

/* A feature is its row's distance to the previous row, shifted by one bit that says whether a count
 * above one follows. */
int nb_bag_encode(const struct nb_rows *rows, struct nb_buffer *out)
{
    struct nb_packer w = {.out = out};
    uint32_t next = 0;
    for (size_t i = 0; i < rows->size; i++) {
        const struct nb_row_count *c = &rows->counts[i];
        assert(c->count > 0 && (i == 0 || c->row >= next));
        nb_pack_varint(&w, (uint64_t)(c->row - next) << 1 | (c->count > 1));
        if (c->count > 1)
            nb_pack_varint(&w, c->count);
        next = c->row + 1;
    }
    return w.code;
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
