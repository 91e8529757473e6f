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

/* Two digits of eleven bits are enough for 4 million rows; adding up so many counts takes longer
 * than another pass over few rows, so these have digits of eight bits at most. */
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

/* As many digits as `all`, the bits of all rows, ask for, all of the same width. */
static void choose_digits(struct digits *d, size_t size, uint32_t all)
{
    const unsigned bits = 32 - (unsigned)__builtin_clz(all | 1);
    const unsigned most = size < MANY ? SHORT_DIGIT : LONG_DIGIT;
    d->count = (bits + most - 1) / most;
    d->bits = (bits + d->count - 1) / d->count;
    assert(d->count <= DIGITS_MOST && d->bits <= LONG_DIGIT);
}

/* Counts all digits in one pass. `count`, how many there are, is a constant where this is called.
 */
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

/* Scatters by a digit; keeps the order of the passes before. */
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

/* From the lowest digit to the highest one that is needed (Knuth, The Art of Computer Programming
 * 3, 5.2.5). */
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

/* ---- stored bags ----------------------------------------------------------------------------- */

/* The two lowest bits of a number say how long a run is, or how large a count, if it is small
 * (core/store/rows.h). */
enum {
    SMALL_BITS = 2,
    LONG = (1 << SMALL_BITS) - 1, /* neither: how much more follows */
    LONG_RUN = LONG + 1,
    LARGE_COUNT = LONG + 2,
};

/* As nb_put_varint, but whether the number has one byte or two, which cannot be foreseen, is no
 * branch. There is room for a byte more. */
static inline char *put_short(char *at, uint64_t value)
{
    if (value >= 1 << 14)
        return nb_put_varint(at, value);
    bool two = value >= 0x80;
    at[0] = (char)(value | (unsigned)two << 7);
    at[1] = (char)(value >> 7);
    return at + 1 + two;
}

static inline char *put_item(char *at, uint64_t skipped, uint64_t small, uint64_t size)
{
    bool is_long = size - small >= LONG;
    at = put_short(at, skipped << SMALL_BITS | (is_long ? LONG : size - small));
    return is_long ? put_short(at, size - small - LONG) : at;
}

/* Where runs begin, and which counts are above 1, cannot be foreseen either: so the places are
 * listed first, without a branch, of so many rows at a time. */
enum { STEP = 256 };

/* Lists the rows from `i` to `end` that are not neighbours of the one before. */
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

/* Where the writing of runs stands: `begin` is the first row of the run that may go on, `next` the
 * row behind the run before it. */
struct run_state {
    size_t begin;
    uint32_t next;
    size_t runs; /* that were written */
};

/* Writes the runs that end before the rows from `i` to `size`, or among them. */
static char *put_runs(const struct nb_row_count *c, size_t i, size_t size, struct run_state *state,
                      char *at)
{
    size_t places[STEP];
    size_t begin = state->begin;
    uint32_t next = state->next;
    for (; i < size; i = step_end(size, i)) {
        size_t count = list_starts(c, i, step_end(size, i), places);
        state->runs += count;
        for (size_t k = 0; k < count; begin = places[k++]) {
            assert(c[begin].row >= next);
            at = put_item(at, c[begin].row - next, 1, places[k] - begin);
            next = c[begin].row + (uint32_t)(places[k] - begin);
        }
    }
    state->begin = begin;
    state->next = next;
    return at;
}

/* Writes the counts of the rows from `i` to `size`. *next is the place behind the last one that was
 * written. */
static char *put_counts(const struct nb_row_count *c, size_t i, size_t size, size_t *next, char *at)
{
    size_t places[STEP];
    for (; i < size; i = step_end(size, i)) {
        size_t count = list_counts(c, i, step_end(size, i), places);
        for (size_t k = 0; k < count; k++) {
            assert(c[places[k]].count > 1);
            at = put_item(at, places[k] - *next, 2, c[places[k]].count);
            *next = places[k] + 1;
        }
    }
    return at;
}

/* Most bytes of a bag of so many rows. put_short may write one behind. */
static size_t most_bytes(size_t rows)
{
    return NB_VARINT_MOST + rows * 4 * NB_VARINT_32_MOST + 1;
}

void nb_bag_beginning_deinit(struct nb_bag_beginning *beginning)
{
    nb_buffer_deinit(&beginning->bytes);
    *beginning = (struct nb_bag_beginning){0};
}

int nb_bag_begin_encoding(const struct nb_row_count *counts, size_t size, struct nb_buffer *scratch,
                          struct nb_bag_beginning *beginning)
{
    struct run_state state = {0};
    scratch->length = 0;
    if (size == 0)
        return 0;
    if (nb_buffer_reserve(scratch, most_bytes(size)) != 0)
        return NB_NO_MEMORY;
    char *start = scratch->bytes;
    char *middle = put_runs(counts, 1, size, &state, start);
    char *end = put_counts(counts, 0, size, &beginning->next_count, middle);
    beginning->runs_length = (size_t)(middle - start);
    beginning->size = size;
    beginning->runs = state.runs;
    beginning->begin = state.begin;
    beginning->next = state.next;
    return nb_buffer_append(&beginning->bytes, start, (size_t)(end - start));
}

/* The end of a run is written with what comes behind it, and of a bag's last one here. */
static char *put_last_run(const struct nb_rows *rows, struct run_state *state, char *at)
{
    const struct nb_row_count *c = rows->counts;
    state->runs++;
    return put_item(at, c[state->begin].row - state->next, 1, rows->size - state->begin);
}

static char *copy_bytes(char *at, const char *from, size_t length)
{
    if (length > 0)
        memcpy(at, from, length);
    return at + length;
}

int nb_bag_end_encoding(const struct nb_bag_beginning *b, const struct nb_rows *rows,
                        struct nb_buffer *out)
{
    struct run_state state = {.begin = b->begin, .next = b->next, .runs = b->runs};
    size_t next_count = b->next_count;
    assert(b->size <= rows->size);
    if (rows->size == 0)
        return 0;
    if (nb_buffer_reserve(out, most_bytes(rows->size)) != 0)
        return NB_NO_MEMORY;
    char *start = out->bytes + out->length;
    char *items = start + NB_VARINT_MOST;
    char *at = copy_bytes(items, b->bytes.bytes, b->runs_length);
    at = put_runs(rows->counts, b->size == 0 ? 1 : b->size, rows->size, &state, at);
    at = put_last_run(rows, &state, at);
    at = copy_bytes(at, nb_buffer_string(&b->bytes).bytes + b->runs_length,
                    b->bytes.length - b->runs_length);
    at = put_counts(rows->counts, b->size, rows->size, &next_count, at);
    char *behind = nb_put_varint(start, state.runs);
    memmove(behind, items, (size_t)(at - items));
    out->length += (size_t)(behind - start) + (size_t)(at - items);
    return 0;
}

int nb_bag_encode(const struct nb_rows *rows, struct nb_buffer *out)
{
    static const struct nb_bag_beginning none;
    return nb_bag_end_encoding(&none, rows, out);
}

/* Any varint; returns where it ends, or NULL. */
static const unsigned char *read_long(const unsigned char *at, const unsigned char *end,
                                      uint64_t *value)
{
    struct nb_unpacker r = {.at = at, .end = end};
    *value = nb_unpack_varint(&r);
    return r.failed ? NULL : r.at;
}

/* A varint, of which nearly all have one byte or two; which of these is no branch. The place is a
 * value and not behind a pointer, so that it stays in a register: a refit reads thousands of bags.
 */
static inline const unsigned char *read_varint(const unsigned char *at, const unsigned char *end,
                                               uint64_t *value)
{
    uint64_t slow;
    if (end - at >= 2 && (at[0] & at[1] & 0x80) == 0) {
        unsigned two = at[0] >> 7;
        *value = (at[0] & 0x7Fu) | (at[1] & -two) << 7;
        return at + 1 + two;
    }
    at = read_long(at, end, &slow);
    *value = slow;
    return at;
}

/* Adds to *size, of an item whose size is not small, what follows. Returns where it ends, or NULL.
 */
static const unsigned char *read_size(const unsigned char *at, const unsigned char *end,
                                      uint64_t *size)
{
    uint64_t more;
    at = read_varint(at, end, &more);
    *size += more;
    return at != NULL && more <= UINT32_MAX ? at : NULL;
}

/* Makes room for `size` rows and, of each of `runs` runs behind them, for a short one, whatever its
 * length is. A damaged run asks for no more memory than the longest bag. */
static int make_room(struct nb_rows *rows, uint64_t size, uint64_t runs)
{
    if (size > NB_BAG_MOST)
        return NB_CORRUPT;
    return nb_array_reserve(&rows->counts, &rows->room, (size_t)(size + (runs + 1) * LONG),
                            sizeof *rows->counts);
}

static inline void fill_run(struct nb_row_count *to, uint64_t row, uint64_t length)
{
    for (uint32_t i = 0; i < LONG; i++)
        to[i] = (struct nb_row_count){.row = (uint32_t)row + i, .count = 1};
    for (uint32_t i = LONG; i < length; i++)
        to[i] = (struct nb_row_count){.row = (uint32_t)row + i, .count = 1};
}

/* Reads `runs` runs, with one occurrence of each row. As many rows as a short run can have are
 * always written: how long it is cannot be foreseen. Sets *from to where they end. */
static int read_runs(const unsigned char **from, const unsigned char *end, uint64_t runs,
                     uint32_t limit, struct nb_rows *rows)
{
    const unsigned char *at = *from;
    uint64_t next = 0;
    size_t size = 0;
    int rc = runs > (uint64_t)(end - at) ? NB_CORRUPT : make_room(rows, 0, runs);
    for (; rc == 0 && runs > 0; runs--) {
        uint64_t head;
        at = read_varint(at, end, &head);
        uint64_t row = next + (head >> SMALL_BITS);
        uint64_t length = 1 + (head & LONG);
        if (at != NULL && length == LONG_RUN) {
            at = read_size(at, end, &length);
            rc = make_room(rows, size + length, runs);
        }
        if (at == NULL || row > limit || length > limit - row)
            return NB_CORRUPT;
        if (rc != 0)
            return rc;
        fill_run(rows->counts + size, row, length);
        size += length;
        next = row + length;
    }
    *from = at;
    rows->size = size;
    return rc;
}

static int read_counts(const unsigned char *at, const unsigned char *end, struct nb_rows *rows)
{
    uint64_t next = 0;
    while (at != end) {
        uint64_t head;
        at = read_varint(at, end, &head);
        if (at == NULL || next + (head >> SMALL_BITS) >= rows->size)
            return NB_CORRUPT;
        next += head >> SMALL_BITS;
        uint64_t count = 2 + (head & LONG);
        if (count == LARGE_COUNT)
            at = read_size(at, end, &count);
        if (at == NULL || count > UINT32_MAX)
            return NB_CORRUPT;
        rows->counts[next++].count = (uint32_t)count;
    }
    return 0;
}

int nb_bag_decode(struct nb_string bag, uint32_t limit, struct nb_rows *rows,
                  struct nb_error *error)
{
    const unsigned char *at = (const unsigned char *)bag.bytes;
    const unsigned char *end = bag.length == 0 ? at : at + bag.length;
    uint64_t runs;
    rows->size = 0;
    if (bag.length == 0)
        return 0;
    at = read_varint(at, end, &runs);
    int rc = at == NULL ? NB_CORRUPT : read_runs(&at, end, runs, limit, rows);
    if (rc == 0)
        rc = read_counts(at, end, rows);
    if (rc == 0)
        return 0;
    rows->size = 0;
    return rc == NB_NO_MEMORY
               ? nb_error_no_memory(error)
               : nb_error_set(error, NB_CORRUPT,
                              "the store is damaged: a document's bag does not read back");
}
