/* SPDX-License-Identifier: Apache-2.0
 *
 * How rows are stored: the id, and 16 bits for the cells. These suffice for most features, because
 * few documents have them. Cells of other features take 64 bits beside the rows (wide). For
 * core/counts only; the model's lock protects them.
 *
 * Rows are most of a model's memory. Of 1,345,185 rows of 6,047 mails of two labels, 6 % are wide,
 * but they are seven tenths of the features in a mail. Each segment of rows has its own array of
 * wide cells, because a row has only 15 bits for their number. The arrays of the first segments,
 * which have the most frequent features, are small enough for the caches.
 */
#ifndef NB_CORE_COUNTS_WIDES_H
#define NB_CORE_COUNTS_WIDES_H

#include "core/base/cache_line.h"
#include "core/counts/cells.h"

/* Rows of 10 bytes make segments of 320 KB. From a million rows on, a half-filled segment wastes
 * less than 2 %. */
enum { NB_ROW_SEGMENT_BITS = 15 };

/* 32 rows take 320 bytes, so an id may straddle two 8-byte words. */
struct __attribute__((packed, aligned(2))) nb_packed_row {
    uint64_t id;
    uint16_t code; /* 0: no label has the feature */
};
_Static_assert(sizeof(struct nb_packed_row) == 10, "what most of a model's memory is");

/* The forms of `code`, by its two top bits. n is never below d, so the difference n - d is stored.
 *
 *     00  a pair: labels 0 and 1, one of which may be without counts: from the lowest bit, d of
 *         each in 4 bits, then n - d of each in 3 bits
 *     01  a single: one other label in 10 bits, then n - d and d - 1 in 2 bits each
 *     1   wide: the number of wide cells in the row's segment
 */
enum {
    NB_CODE_FORM_SHIFT = 14,
    NB_CODE_SINGLE = 1 << NB_CODE_FORM_SHIFT,
    NB_CODE_WIDE = 1 << 15,
    NB_CODE_PAIR_D = 4,
    NB_CODE_PAIR_MORE = 3,
    NB_CODE_PAIR_MORES = 2 * NB_CODE_PAIR_D,
    NB_CODE_PAIR_D_MOST = (1 << NB_CODE_PAIR_D) - 1,
    NB_CODE_PAIR_MORE_MOST = (1 << NB_CODE_PAIR_MORE) - 1,
    NB_CODE_SINGLE_BITS = 2, /* for d - 1, and for n - d */
    NB_CODE_SINGLE_MOST = (1 << NB_CODE_SINGLE_BITS) - 1,
    NB_CODE_SINGLE_LABELS = 1 << 10
};
_Static_assert(NB_CODE_WIDE == 1 << NB_ROW_SEGMENT_BITS, "every row of a segment may be wide");

/* The wide cells of a segment of rows. */
struct nb_wide_segment {
    uint64_t *cells; /* owned; at least one, because rows that are not wide read the first */
    uint32_t room, used;
    uint32_t free; /* the first freed one, which holds the number of the next; or NB_NO_ROW */
};

struct nb_wides {
    struct nb_wide_segment *segments; /* owned; one for each segment of rows */
    uint32_t count;
    atomic_size_t bytes; /* any thread may read it */
};

/* An empty struct is {0}. */
void nb_wides_deinit(struct nb_wides *wides);
/* Makes room for `segments` segments, as many as the rows have; takes `lock` (may be NULL) for
 * writing. Returns 0 or NB_NO_MEMORY. */
int nb_wides_reserve(struct nb_wides *wides, uint32_t segments, pthread_rwlock_t *lock);
/* Makes room for the wide cells of a row, whatever their values, so that nb_wides_store cannot
 * fail. Under the write lock. Returns 0 or NB_NO_MEMORY. */
int nb_wides_reserve_cells(struct nb_wides *wides, uint32_t row);
/* Stores the cells of a row. There must be room if the row becomes wide. */
void nb_wides_store(struct nb_wides *wides, struct nb_packed_row *packed, uint32_t row,
                    uint64_t cells);

/* Whether some label has the feature. */
static inline bool nb_code_is_used(uint16_t code)
{
    return code != 0;
}

static inline bool nb_code_is_wide(uint16_t code)
{
    return code >= NB_CODE_WIDE;
}

/* Returns d of labels 0 and 1, placed as in cells, from a code that is not wide. */
static inline uint32_t nb_code_pair_d(uint32_t code)
{
    enum { TO = NB_PAIR_D - NB_CODE_PAIR_D };
    return (code & NB_CODE_PAIR_D_MOST) | (code << TO & (uint32_t)NB_CODE_PAIR_D_MOST << NB_PAIR_D);
}

/* The form of a code that is not wide, at its place in cells. */
static inline uint64_t nb_code_form(uint64_t code)
{
    return (code & NB_CODE_SINGLE) << (NB_FORM_SHIFT - 14);
}

/* The cells of a code that is not wide. */
static inline uint64_t nb_code_pair(uint64_t code)
{
    return (code & NB_CODE_PAIR_D_MOST) |
           (code >> NB_CODE_PAIR_D & NB_CODE_PAIR_D_MOST) << NB_PAIR_D |
           (code >> NB_CODE_PAIR_MORES & NB_CODE_PAIR_MORE_MOST) << NB_PAIR_MORES |
           (code >> (NB_CODE_PAIR_MORES + NB_CODE_PAIR_MORE) & NB_CODE_PAIR_MORE_MOST)
               << (NB_PAIR_MORES + NB_PAIR_MORE);
}

static inline uint64_t nb_code_single(uint64_t code)
{
    uint64_t label = code >> 2 * NB_CODE_SINGLE_BITS & (NB_CODE_SINGLE_LABELS - 1);
    return NB_FORM_SINGLE | label << NB_SINGLE_LABEL |
           (code >> NB_CODE_SINGLE_BITS & NB_CODE_SINGLE_MOST) << NB_SINGLE_D |
           ((code & NB_CODE_SINGLE_MOST) + 1);
}

/* Sets *code for cells that are ordered by label; nearly all are pairs. False: the cells are no
 * pair, or do not fit into a code, and *code is unchanged. */
static inline bool nb_code_of_pair(const struct nb_cell *cells, size_t size, uint16_t *code)
{
    uint32_t packed = 0;
    for (size_t i = 0; i < size; i++) {
        uint32_t label = cells[i].label, more = cells[i].occurrences - cells[i].documents;
        if (label > 1 || cells[i].documents > NB_CODE_PAIR_D_MOST || more > NB_CODE_PAIR_MORE_MOST)
            return false;
        packed |= cells[i].documents << label * NB_CODE_PAIR_D |
                  more << (NB_CODE_PAIR_MORES + label * NB_CODE_PAIR_MORE);
    }
    *code = (uint16_t)packed;
    return true;
}

/* The bit positions for counting a document of one label in a pair: in a code or in wide cells. */
struct nb_pair_place {
    uint64_t one;   /* 1 at the place of d */
    uint64_t guard; /* the bits above d and above n - d: a carry into them is an overflow */
    uint64_t form;  /* the bits that are not all 0 in other forms */
    int32_t most;   /* that can be added to n - d; -1: the label has no place in a pair */
    uint32_t shift; /* position of n - d */
};

/* Returns the two places of a label: in a code, and in wide cells. They are valid forever. */
const struct nb_pair_place *nb_pair_places(uint32_t label);

/* Counts a document that has the feature `count` times, if the form of the cells stays the same.
 * False: the form would change, and nothing was done. A branch on whether a row is wide is
 * unpredictable, so both the code and wide cells are written; the wide cells belong to another row,
 * and keep their value, if this row is not wide. */
static inline bool nb_pair_count(const struct nb_pair_place *places, struct nb_packed_row *packed,
                                 uint64_t *wide, uint32_t count)
{
    uint64_t code = packed->code, is_wide = -(code >> NB_ROW_SEGMENT_BITS);
    const struct nb_pair_place *place = &places[code >> NB_ROW_SEGMENT_BITS];
    uint64_t cells = ((*wide ^ code) & is_wide) ^ code, more = count - 1;
    uint64_t added = place->one + (more << place->shift);
    uint64_t carried = cells ^ added ^ (cells + added);
    if (((carried & place->guard) | (cells & place->form)) != 0 || (int64_t)more > place->most)
        return false;
    *wide += added & is_wide;
    packed->code = (uint16_t)(code + (added & ~is_wide));
    return true;
}

/* The address of a row's wide cells; if the row is not wide, of another row's. */
static inline uint64_t *nb_wides_at(const struct nb_wide_segment *segments, uint32_t row,
                                    uint16_t code)
{
    int32_t number = code - NB_CODE_WIDE; /* below 0: not wide */
    number = number < 0 ? 0 : number;
    return &segments[row >> NB_ROW_SEGMENT_BITS].cells[number];
}

/* The cells of a row. A branch on whether a row is wide is unpredictable, so both forms are read,
 * and one is masked. */
static inline uint64_t nb_wides_cells(const struct nb_wide_segment *segments, uint32_t row,
                                      uint16_t code)
{
    uint64_t is_wide = -(uint64_t)(code >> NB_ROW_SEGMENT_BITS);
    if (__builtin_expect((code >> 14) == 1, 0))
        return nb_code_single(code);
    return (*nb_wides_at(segments, row, code) & is_wide) | (nb_code_pair(code) & ~is_wide);
}

/* Whether labels 0 and 1 alone have the feature of a row with this code and, if it is wide, these
 * cells. */
static inline bool nb_code_is_pair(uint16_t code, uint64_t wide)
{
    uint32_t form = (uint32_t)(wide >> NB_FORM_SHIFT) & -(uint32_t)(code >> NB_ROW_SEGMENT_BITS);
    return (form | (code >> 14 == 1)) == 0;
}

/* If nb_code_is_pair: returns d of label 0 and of label 1, placed as in the cells of a pair. */
static inline uint32_t nb_code_pair_documents(uint16_t code, uint64_t wide)
{
    uint32_t is_wide = -(uint32_t)(code >> NB_ROW_SEGMENT_BITS);
    return ((uint32_t)wide & is_wide) | (nb_code_pair_d(code) & ~is_wide);
}

/* As nb_segments_at, with sizes known at compile time: this is half the time of a look-up. */
static inline struct nb_packed_row *nb_row_at(unsigned char *const *table, uint32_t row)
{
    void *segment = table[row >> NB_ROW_SEGMENT_BITS];
    return (struct nb_packed_row *)segment + (row & ((1u << NB_ROW_SEGMENT_BITS) - 1));
}

/* Prefetches a row. One row in eight straddles two cache lines. */
NB_PREFETCHING void nb_packed_row_prefetch(const struct nb_packed_row *row)
{
    __builtin_prefetch(row);
    __builtin_prefetch(&row->code);
}

NB_PREFETCHING void nb_packed_row_prefetch_to_write(const struct nb_packed_row *row)
{
    nb_prefetch_to_write(row);
    nb_prefetch_to_write(&row->code);
}

#endif
