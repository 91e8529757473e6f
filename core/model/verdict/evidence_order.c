/* SPDX-License-Identifier: Apache-2.0
 *
 * Sorts an explanation's rows: strongest first. A mail has about a thousand rows, of which hundreds
 * may be requested. This is a bucket sort: rows are counted into bins by magnitude, the rows of the
 * bins that are requested are moved to the front and from there to their bin, and only rows of the
 * same bin are compared.
 */
#include "core/model/verdict/evidence_order.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* With fewer rows the heap alone is as fast. */
enum { BINNED_ROWS = 32 };

/* Strongest first, ties by feature. */
static inline bool comes_after(const struct nb_evidence *a, const struct nb_evidence *b)
{
    double ma = fabs(a->evidence);
    double mb = fabs(b->evidence);
    return ma != mb ? !(ma > mb) : a->feature > b->feature;
}

static inline void swap(struct nb_evidence *a, struct nb_evidence *b)
{
    struct nb_evidence was = *a;
    *a = *b;
    *b = was;
}

/* ---- a heap ---------------------------------------------------------------------------------- */

/* Moves row `at` of a heap, whose root comes after all others, down as far as needed. Typed, and
 * not core/base/heap.h: it is called for every row of a document. */
static void sift_down(struct nb_evidence *heap, size_t at, size_t count)
{
    struct nb_evidence moved = heap[at];
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && comes_after(&heap[child + 1], &heap[child]))
            child++;
        if (!comes_after(&heap[child], &moved))
            break;
        heap[at] = heap[child];
    }
    heap[at] = moved;
}

/* Puts the `size` strongest of `count` rows first, in order. */
static void sort_by_heap(struct nb_evidence *rows, size_t count, size_t size)
{
    for (size_t i = size / 2; i > 0; i--)
        sift_down(rows, i - 1, size);
    for (size_t i = size; i < count && size > 0; i++)
        if (comes_after(&rows[0], &rows[i])) {
            swap(&rows[0], &rows[i]);
            sift_down(rows, 0, size);
        }
    for (size_t left = size; left > 1; left--) {
        swap(&rows[0], &rows[left - 1]);
        sift_down(rows, 0, left - 1);
    }
}

/* ---- bins ------------------------------------------------------------------------------------ */

/* 64 bins for each power of two below the strongest; the last bin has all weaker rows. */
enum { BINS = 1024, BIN_SHIFT = 46 };

struct bins {
    uint64_t strongest;    /* magnitude_of, shifted */
    uint32_t begins[BINS]; /* first row of each bin; until place_bins: its number of rows */
    uint32_t next[BINS];   /* where the bin's next row is put */
};

/* The bits of a double that is not negative, read as an integer, have the same order (IEEE 754). */
static inline uint64_t magnitude_of(const struct nb_evidence *row)
{
    uint64_t bits;
    double magnitude = fabs(row->evidence);
    _Static_assert(sizeof bits == sizeof magnitude, "a double has 64 bits");
    memcpy(&bits, &magnitude, sizeof bits);
    return bits;
}

static inline size_t bin_of(const struct bins *bins, const struct nb_evidence *row)
{
    uint64_t below = bins->strongest - (magnitude_of(row) >> BIN_SHIFT);
    return below < BINS - 1 ? below : BINS - 1;
}

static uint64_t strongest_of(const struct nb_evidence *rows, size_t count)
{
    uint64_t even = 0, odd = 0; /* two, which do not wait for each other */
    size_t i = 0;
    for (; i + 1 < count; i += 2) {
        uint64_t one = magnitude_of(&rows[i]), other = magnitude_of(&rows[i + 1]);
        even = one > even ? one : even;
        odd = other > odd ? other : odd;
    }
    if (i < count && magnitude_of(&rows[i]) > even)
        even = magnitude_of(&rows[i]);
    return even > odd ? even : odd;
}

/* Counts the rows of each bin. */
static void count_bins(struct bins *bins, const struct nb_evidence *rows, size_t count)
{
    bins->strongest = strongest_of(rows, count) >> BIN_SHIFT;
    memset(bins->begins, 0, sizeof bins->begins);
    for (size_t i = 0; i < count; i++)
        bins->begins[bin_of(bins, &rows[i])]++;
}

/* Replaces the counts of the bins by the index of their first row, up to the bin of row number
 * `size`, and returns that bin. */
static size_t place_bins(struct bins *bins, size_t size)
{
    size_t bin = 0;
    for (uint32_t begin = 0, end;; bin++, begin = end) {
        end = begin + bins->begins[bin];
        bins->begins[bin] = bins->next[bin] = begin;
        if (end >= size)
            return bin;
        assert(bin + 1 < BINS);
    }
}

/* Moves the rows of the bins up to `last` to the front, over the others, and returns their number.
 * Each row is written, and the next over it if it is not chosen, so that there is no branch. */
static size_t bring_forward(const struct bins *bins, struct nb_evidence *rows, size_t count,
                            size_t last)
{
    const uint64_t strongest = bins->strongest; /* which no store to the rows can change */
    const uint64_t most = last == BINS - 1 ? UINT64_MAX : last;
    size_t chosen = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_chosen = strongest - (magnitude_of(&rows[i]) >> BIN_SHIFT) <= most;
        rows[chosen] = rows[i];
        chosen += is_chosen;
    }
    return chosen;
}

/* Puts rows into their bins, in the order in which they come. */
static void fill_bins(struct bins *bins, const struct nb_evidence *rows, size_t count,
                      struct nb_evidence *to)
{
    for (size_t i = 0; i < count; i++)
        to[bins->next[bin_of(bins, &rows[i])]++] = rows[i];
}

static bool is_sorted(const struct nb_evidence *rows, size_t count)
{
    size_t i = 1;
    while (i < count && !comes_after(&rows[i - 1], &rows[i]))
        i++;
    return i >= count;
}

static void sort_by_insertion(struct nb_evidence *rows, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct nb_evidence moved = rows[i];
        size_t to = i;
        for (; to > 0 && comes_after(&rows[to - 1], &moved); to--)
            rows[to] = rows[to - 1];
        rows[to] = moved;
    }
}

/* Most bins have few rows. Many are of the same magnitude, and then they lie in order. */
static void sort_bin(struct nb_evidence *rows, size_t count, size_t size)
{
    enum { FEW = 64 };
    if (count <= FEW)
        sort_by_insertion(rows, count);
    else if (!is_sorted(rows, count))
        sort_by_heap(rows, count, size);
}

static void sort_by_bins(struct nb_evidence *rows, size_t count, size_t size,
                         struct nb_evidence *room)
{
    struct bins bins;
    count_bins(&bins, rows, count);
    size_t last = place_bins(&bins, size);
    size_t chosen = bring_forward(&bins, rows, count, last);
    fill_bins(&bins, rows, chosen, room);
    for (size_t bin = 0; bin <= last; bin++) {
        size_t begin = bins.begins[bin];
        size_t end = bin == last ? chosen : bins.begins[bin + 1];
        if (end > begin + 1)
            sort_bin(room + begin, end - begin, end < size ? end - begin : size - begin);
    }
    memcpy(rows, room, size * sizeof *rows);
}

void nb_evidence_sort(struct nb_evidence *rows, size_t count, size_t most, struct nb_evidence *room)
{
    size_t size = most < count ? most : count;
    assert(count <= UINT32_MAX);
    if (count < BINNED_ROWS || size == 0)
        sort_by_heap(rows, count, size);
    else
        sort_by_bins(rows, count, size, room);
}
