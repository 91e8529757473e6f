/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ledger/bag_coding.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/buffer.h"

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

/* ---- writing --------------------------------------------------------------------------------- */

/* The two lowest bits of an item hold the length of a run, or a count, if it is small; otherwise
 * the tail has it (core/ledger/bag_coding.h). */
enum {
    SMALL_BITS = 2,
    LONG = (1 << SMALL_BITS) - 1,
    SKIPPED_BITS = 16 - SMALL_BITS,
    SKIPPED_MOST = (1 << SKIPPED_BITS) - 1,
    LEAST_RUN = 1,
    LEAST_COUNT = 2,
    PER_BYTE = 8 /* items per byte of bits */
};

/* Where the items of a list are written. Until their number is known, the bytes, the bits and the
 * tail are written to separate places. */
struct items {
    char *bytes, *wide, *tail; /* next position in each place */
};

/* The most bytes of an item in the tail, and in all places together. */
enum { TAIL_MOST = NB_VARINT_32_MOST + 3, ITEM_MOST = 3 + TAIL_MOST };

/* Writes an item. Always writes a second byte, for which there is room: a branch on whether the
 * item needs it would be unpredictable. */
static inline void put_item(struct items *items, uint64_t skipped, uint64_t more)
{
    bool is_long = more >= LONG || skipped > SKIPPED_MOST;
    unsigned item =
        (unsigned)(skipped & SKIPPED_MOST) << SMALL_BITS | (is_long ? LONG : (unsigned)more);
    bool is_wide = item > UINT8_MAX;
    items->bytes[0] = (char)item;
    items->bytes[1] = (char)(item >> 8);
    items->bytes += 1 + is_wide;
    *items->wide++ = (char)is_wide;
    if (!is_long)
        return;
    items->tail = nb_put_varint(items->tail, more << 1 | (skipped > SKIPPED_MOST));
    if (skipped > SKIPPED_MOST)
        items->tail = nb_put_varint(items->tail, skipped >> SKIPPED_BITS);
}

/* Branches on where runs begin, and on which counts are above 1, would be unpredictable, too. So
 * these places are listed first, without branches, for this many rows at a time. */
enum { STEP = 256 };

/* Lists the rows from `i` to `end` that are not neighbours of the row before. */
static size_t list_starts(const struct nb_row_count *c, size_t i, size_t end, size_t places[STEP])
{
    size_t count = 0;
    for (; i < end; i++) {
        places[count] = i;
        count += c[i].row != c[i - 1].row + 1;
    }
    return count;
}

static size_t list_counts(const struct nb_row_count *c, size_t i, size_t end, size_t places[STEP])
{
    size_t count = 0;
    for (; i < end; i++) {
        places[count] = i;
        count += c[i].count != 1;
    }
    return count;
}

static size_t step_end(size_t size, size_t i)
{
    return size - i < STEP ? size : i + STEP;
}

/* Writes the runs of rows. There is at least one row, and none is below `next`. */
static void put_runs(const struct nb_row_count *c, size_t size, uint32_t next, struct items *out)
{
    size_t places[STEP];
    struct items items = *out;
    size_t begin = 0;
    for (size_t i = 1; i < size; i = step_end(size, i)) {
        size_t count = list_starts(c, i, step_end(size, i), places);
        for (size_t k = 0; k < count; begin = places[k++]) {
            assert(c[begin].row >= next);
            /* All `places` up to the count are set, which the analyzer does not see.
             * NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult) */
            put_item(&items, c[begin].row - next, places[k] - begin - LEAST_RUN);
            next = c[begin].row + (uint32_t)(places[k] - begin);
        }
    }
    put_item(&items, c[begin].row - next, size - begin - LEAST_RUN);
    *out = items;
}

static void put_counts(const struct nb_row_count *c, size_t size, struct items *out)
{
    size_t places[STEP];
    struct items items = *out;
    size_t next = 0;
    for (size_t i = 0; i < size; i = step_end(size, i)) {
        size_t count = list_counts(c, i, step_end(size, i), places);
        for (size_t k = 0; k < count; k++) {
            /* All `places` up to the count are set, which the analyzer does not see.
             * NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign) */
            size_t place = places[k];
            assert(c[place].count >= LEAST_COUNT);
            put_item(&items, place - next, c[place].count - LEAST_COUNT);
            next = place + 1;
        }
    }
    *out = items;
}

static char *copy_bytes(char *at, const char *from, const char *end)
{
    memcpy(at, from, (size_t)(end - from));
    return at + (end - from);
}

/* Writes one bit for each byte, which is 0 or 1. Zero bytes must follow the last one. */
static char *put_bits(char *at, const char *bytes, const char *end)
{
    for (; bytes < end; bytes += PER_BYTE) {
        uint64_t eight;
        memcpy(&eight, bytes, sizeof eight);
        *at++ = (char)(le64toh(eight) * UINT64_C(0x0102040810204080) >> 56);
    }
    return at;
}

/* Writes the items between `from` and `end`. */
static char *put_list(char *at, const struct items *from, const struct items *end)
{
    uint64_t size = (uint64_t)(end->wide - from->wide);
    memset(end->wide, 0, PER_BYTE);
    at = nb_put_varint(at, size);
    at = nb_put_varint(at, (uint64_t)(end->bytes - from->bytes) - size);
    at = copy_bytes(at, from->bytes, end->bytes);
    at = put_bits(at, from->wide, end->wide);
    return copy_bytes(at, from->tail, end->tail);
}

/* Most bytes of a list of this many items, with the bytes that are written behind its end. */
static size_t list_most(size_t items)
{
    return items * ITEM_MOST + (size_t)2 * NB_VARINT_32_MOST + PER_BYTE;
}

/* Appends a part of a bag: rows that are sorted and distinct, and not below `next`. While the part
 * is written, its items are collected behind it in the buffer. */
static int put_part(const struct nb_row_count *c, size_t size, uint32_t next, struct nb_buffer *out)
{
    if (nb_buffer_reserve(out, 3 * list_most(size)) != 0)
        return NB_NO_MEMORY;
    char *start = out->bytes + out->length, *parts = start + 2 * list_most(size);
    const struct items empty = {
        .bytes = parts, .wide = parts + 2 * size + 1, .tail = parts + 3 * size + 1 + PER_BYTE};
    struct items end = empty;
    put_runs(c, size, next, &end);
    char *at = put_list(start, &empty, &end);
    end = empty;
    put_counts(c, size, &end);
    at = put_list(at, &empty, &end);
    out->length = (size_t)(at - out->bytes);
    return 0;
}

void nb_bag_beginning_deinit(struct nb_bag_beginning *beginning)
{
    nb_buffer_deinit(&beginning->bytes);
    *beginning = (struct nb_bag_beginning){0};
}

int nb_bag_begin_encoding(const struct nb_row_count *counts, size_t size, struct nb_buffer *scratch,
                          struct nb_bag_beginning *beginning)
{
    scratch->length = 0;
    if (size == 0)
        return 0;
    if (put_part(counts, size, 0, scratch) != 0)
        return NB_NO_MEMORY;
    beginning->size = size;
    return nb_buffer_append(&beginning->bytes, scratch->bytes, scratch->length);
}

int nb_bag_end_encoding(const struct nb_bag_beginning *b, const struct nb_rows *rows,
                        struct nb_buffer *out)
{
    assert(b->size <= rows->size);
    uint32_t next = b->size == 0 ? 0 : rows->counts[b->size - 1].row + 1;
    int rc = b->size == 0 ? 0 : nb_buffer_append(out, b->bytes.bytes, b->bytes.length);
    return rc != 0 || b->size == rows->size
               ? rc
               : put_part(rows->counts + b->size, rows->size - b->size, next, out);
}

int nb_bag_encode(const struct nb_rows *rows, struct nb_buffer *out)
{
    static const struct nb_bag_beginning none;
    return nb_bag_end_encoding(&none, rows, out);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* A list of items. The caller counts how many it has read. */
struct list {
    uint64_t size;
    const unsigned char *at, *bits;
    unsigned eight; /* bits of the next items */
};

static uint64_t count_bits(const unsigned char *bytes, uint64_t length)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < length; i++) {
        unsigned pairs = bytes[i] - (bytes[i] >> 1 & 0x55u);
        unsigned fours = (pairs & 0x33u) + (pairs >> 2 & 0x33u);
        count += (fours + (fours >> 4)) & 0x0Fu;
    }
    return count;
}

/* Begins to read a list. Checks that all bits are there, and as many bytes as the bits require, so
 * that next_item need not check the bounds. */
static struct list begin_list(struct nb_unpacker *r)
{
    struct list list = {.size = nb_unpack_bounded(r, (uint64_t)(r->end - r->at))};
    uint64_t wide = nb_unpack_bounded(r, list.size);
    uint64_t bits = (list.size + PER_BYTE - 1) / PER_BYTE;
    list.at = r->at;
    nb_unpack_bytes(r, (size_t)(list.size + wide + bits));
    if (r->failed)
        return (struct list){0};
    list.bits = list.at + list.size + wide;
    r->failed = count_bits(list.bits, bits) != wide;
    if (r->failed)
        return (struct list){0};
    return list;
}

/* Returns the next item, number `number` of the list. Always reads two bytes; behind the last item
 * are the bits, so this is safe. */
static inline uint64_t next_item(struct list *list, uint64_t number)
{
    static const uint32_t masks[] = {UINT8_MAX, UINT16_MAX};
    uint16_t two;
    if (number % PER_BYTE == 0)
        list->eight = *list->bits++;
    unsigned is_wide = list->eight & 1;
    memcpy(&two, list->at, sizeof two);
    list->at += 1 + is_wide;
    list->eight >>= 1;
    return le16toh(two) & masks[is_wide];
}

/* Reads the tail of a long item. Returns its length or count less the minimum, and adds to
 * *skipped. */
static uint64_t read_tail(struct nb_unpacker *r, uint64_t *skipped)
{
    uint64_t more = nb_unpack_bounded(r, (uint64_t)UINT32_MAX << 1 | 1);
    if ((more & 1) != 0)
        *skipped += nb_unpack_bounded(r, UINT32_MAX >> SKIPPED_BITS) << SKIPPED_BITS;
    return more >> 1;
}

/* Rows that are written at once: at least as many as a short run has, and twice as many for a long
 * run. */
enum { FOUR = 4, EIGHT = 8 };
_Static_assert(LEAST_RUN + LONG <= FOUR, "a short run is written at once");

/* Makes room for `size` rows, and for `runs` more runs as if all were short. A damaged run cannot
 * request more memory than the longest bag. */
static int make_room(struct nb_rows *rows, uint64_t size, uint64_t runs)
{
    if (size > NB_BAG_MOST)
        return NB_CORRUPT;
    return nb_array_reserve(&rows->counts, &rows->room, (size_t)(size + (runs + 1) * FOUR),
                            sizeof *rows->counts);
}

/* Writes four rows, with one occurrence each. */
static inline void fill_four(struct nb_row_count *to, uint32_t row)
{
    for (uint32_t i = 0; i < FOUR; i++)
        to[i] = (struct nb_row_count){.row = row + i, .count = 1};
}

/* Writes the rest of a long run, after its first four rows. Most runs have up to eight more, so the
 * end of the loop is unpredictable, and eight are written at a time. Rows written behind the run
 * fit into the room for this run and one more (make_room). */
static void fill_rest(struct nb_row_count *to, uint64_t row, uint64_t length)
{
    for (uint64_t k = FOUR; k < length; k += EIGHT) {
        fill_four(to + k, (uint32_t)(row + k));
        fill_four(to + k + FOUR, (uint32_t)(row + k + FOUR));
    }
}

/* Appends the rows of a list of runs, with one occurrence each. Always writes four rows for a short
 * run, because its length is unpredictable. Sets *next to the row after the last. */
static int read_runs(struct nb_unpacker *r, uint32_t limit, struct nb_rows *rows, uint64_t *next)
{
    struct list list = begin_list(r);
    uint64_t row = *next;
    size_t size = rows->size;
    int rc = make_room(rows, size, list.size);
    for (uint64_t i = 0; rc == 0 && i < list.size; i++) {
        uint64_t item = next_item(&list, i);
        uint64_t length = LEAST_RUN + (item & LONG);
        row += item >> SMALL_BITS;
        if (length == LEAST_RUN + LONG) {
            length = LEAST_RUN + read_tail(r, &row);
            rc = row + length > limit ? NB_CORRUPT : make_room(rows, size + length, list.size - i);
            if (rc != 0)
                break;
            fill_rest(rows->counts + size, row, length);
        }
        fill_four(rows->counts + size, (uint32_t)row);
        size += (size_t)length; /* at most `limit` rows */
        row += length;
    }
    *next = row;
    rows->size = size;
    return rc == 0 && (r->failed || row > limit) ? NB_CORRUPT : rc;
}

/* Reads the counts of the rows from `first` on. */
static int read_counts(struct nb_unpacker *r, size_t first, struct nb_rows *rows)
{
    struct list list = begin_list(r);
    uint64_t next = first;
    for (uint64_t i = 0; i < list.size; i++) {
        uint64_t item = next_item(&list, i);
        uint64_t count = LEAST_COUNT + (item & LONG);
        next += item >> SMALL_BITS;
        if (count == LEAST_COUNT + LONG)
            count = LEAST_COUNT + read_tail(r, &next);
        if (next >= rows->size || count > UINT32_MAX)
            return NB_CORRUPT;
        rows->counts[next++].count = (uint32_t)count;
    }
    return r->failed ? NB_CORRUPT : 0;
}

int nb_bag_decode(struct nb_string bag, uint32_t limit, struct nb_rows *rows,
                  struct nb_error *error)
{
    struct nb_unpacker r = nb_unpacker_of(bag.bytes, bag.length);
    uint64_t next = 0;
    int rc = 0;
    rows->size = 0;
    while (rc == 0 && r.at != r.end) {
        size_t first = rows->size;
        rc = read_runs(&r, limit, rows, &next);
        if (rc == 0)
            rc = read_counts(&r, first, rows);
    }
    if (rc == 0)
        return 0;
    rows->size = 0;
    return rc == NB_NO_MEMORY
               ? nb_error_no_memory(error)
               : nb_error_set(error, NB_CORRUPT,
                              "the store is damaged: a document's bag does not read back");
}
