/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ledger/rows_coding.h"

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

/* Two digits of eleven bits suffice for 4 million rows. For few rows, adding up that many counts
 * takes longer than another pass, so the digits then have at most eight bits. */
enum { SHORT_DIGIT = 8, LONG_DIGIT = 11, MANY = 512, DIGITS_MOST = 4 };
_Static_assert(DIGITS_MOST *SHORT_DIGIT >= 32, "a row number has no more digits");

struct digits {
    unsigned bits, count;
    uint32_t starts[DIGITS_MOST][1 << LONG_DIGIT];
};

static inline uint32_t digit_of(uint32_t row, unsigned shift, unsigned bits)
{
    return row >> shift & ((1u << bits) - 1);
}

/* Chooses as many digits as `all`, the bits of all rows, requires, all of the same width. */
static void choose_digits(struct digits *d, size_t size, uint32_t all)
{
    const unsigned bits = 32 - (unsigned)__builtin_clz(all | 1);
    const unsigned most = size < MANY ? SHORT_DIGIT : LONG_DIGIT;
    d->count = (bits + most - 1) / most;
    d->bits = (bits + d->count - 1) / d->count;
    assert(d->count <= DIGITS_MOST && d->bits <= LONG_DIGIT);
}

/* Counts all digits in one pass. Callers pass a constant as `count`, the number of digits. */
static inline __attribute__((always_inline)) void
count_digits(struct digits *d, const struct nb_row_count *rows, size_t size, unsigned count)
{
    const unsigned bits = d->bits;
    for (unsigned k = 0; k < count; k++)
        memset(d->starts[k], 0, sizeof *d->starts[k] << bits);
    for (size_t i = 0; i < size; i++)
        for (unsigned k = 0; k < count; k++)
            d->starts[k][digit_of(rows[i].row, k * bits, bits)]++;
}

static void count_all(struct digits *d, const struct nb_row_count *rows, size_t size)
{
    if (d->count == 1)
        count_digits(d, rows, size, 1);
    else if (d->count == 2)
        count_digits(d, rows, size, 2);
    else
        count_digits(d, rows, size, d->count);
}

/* Scatters the rows by digit `k`, and keeps the order of the previous passes. */
static void scatter(struct digits *d, unsigned k, const struct nb_row_count *from, size_t size,
                    struct nb_row_count *to)
{
    const unsigned bits = d->bits, shift = k * bits;
    uint32_t *starts = d->starts[k];
    uint32_t sum = 0;
    for (uint32_t v = 0; v < 1u << bits; v++) {
        uint32_t count = starts[v];
        starts[v] = sum;
        sum += count;
    }
    for (size_t i = 0; i < size; i++)
        to[starts[digit_of(from[i].row, shift, bits)]++] = from[i];
}

/* A radix sort, from the lowest digit to the highest one that is needed (Knuth, The Art of Computer
 * Programming 3, 5.2.5). */
void nb_row_counts_sort(struct nb_row_count *counts, size_t size, struct nb_row_count *scratch)
{
    struct digits digits;
    struct nb_row_count *from = counts;
    struct nb_row_count *to = scratch;
    uint32_t all = 0;
    assert(size <= UINT32_MAX);
    if (size < 2)
        return;
    for (size_t i = 0; i < size; i++)
        all |= counts[i].row;
    choose_digits(&digits, size, all);
    count_all(&digits, counts, size);
    for (unsigned k = 0; k < digits.count; k++) {
        scatter(&digits, k, from, size, to);
        struct nb_row_count *swap = from;
        from = to;
        to = swap;
    }
    if (from != counts)
        memcpy(counts, from, size * sizeof *counts);
}

/* Returns how many rows at the beginning are in order and below all others. In a document most are:
 * rows that were known before come first. */
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
    enum { FEW = 64 }; /* for so few rows, comparing costs less than counting digits */
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
