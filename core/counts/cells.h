/* SPDX-License-Identifier: Apache-2.0
 *
 * The cells of a row: the counts of the feature in each label. For core/counts only; the model's
 * lock protects them.
 *
 * The cells of a row are ordered by label number. Nearly all rows have one or two: these are packed
 * into 64 bits, in one of three forms. Where none of them fits, all cells of the row are spilled:
 * they lie side by side in a run of the pool, so that the cells of a thousand labels are read in
 * one go. The room of a run is a power of two; free runs are listed by size.
 *
 * How the 64 bits are stored, in 16 of the row or beside it, stands below.
 */
#ifndef NB_CORE_COUNTS_CELLS_H
#define NB_CORE_COUNTS_CELLS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/array.h"

/* ---- segments ----------------------------------------------------------------------------------
 *
 * A growable array of small records in segments of equal size, so that growth copies nothing. For
 * core/counts only; the model's lock protects it.
 *
 * The first segment alone starts small and grows, so that a model of a hundred words does not take
 * half a megabyte. Growing moves it. Only this, and growing the table of segments, needs the
 * write lock. Adding a further segment moves no record and does not stop readers.
 *
 * Reads go to random records, so with 4 KB pages each read of a large array would miss the TLB.
 * Therefore the segments of a large array are mapped in blocks, and full blocks get huge pages. The
 * last block, which is not full, keeps small pages, so that its unused part takes no memory.
 */

/* The size of a huge page, for the large arrays of a model. A kernel with huge pages of another
 * size, or none, refuses requests for this size, which does no harm. */
enum { NB_HUGE_PAGE = 2 << 20 }; /* bytes */

enum { NB_SEGMENT_BITS_MOST = 16 };

struct nb_segments {
    unsigned char **table; /* owned segments, each aligned to a cache line */
    uint32_t segment_count, table_room;
    uint32_t mapped;     /* segments with an address; those from segment_count on have no memory */
    uint32_t first_room; /* records in segment 0 while it is the only one and not full size */
    uint32_t bits;       /* a full segment has 2^bits records */
    uint32_t record;     /* bytes, an even number */
    uint32_t block;      /* number of segments that fill whole huge pages */
    atomic_size_t bytes; /* of the segments; any thread may read it */
};

void nb_segments_init(struct nb_segments *s, uint32_t record, uint32_t bits);
void nb_segments_deinit(struct nb_segments *s);

/* How many records there is room for. */
static inline uint64_t nb_segments_room(const struct nb_segments *s)
{
    return s->segment_count <= 1 ? s->first_room : (uint64_t)s->segment_count << s->bits;
}

/* Makes room for `records` in all, taking `lock` for writing where readers would notice. Returns 0
 * or NB_NO_MEMORY; existing records stay either way. */
int nb_segments_reserve(struct nb_segments *s, uint64_t records, pthread_rwlock_t *lock);

static inline void *nb_segments_at(const struct nb_segments *s, uint32_t number)
{
    uint32_t within = number & ((1u << s->bits) - 1);
    return s->table[number >> s->bits] + (size_t)within * s->record;
}

/* ---- cells -------------------------------------------------------------------------------------
 *
 * Numbers of rows and labels, and the cell where both meet. Constants and a struct; any thread. */
#define NB_NO_ROW UINT32_MAX
/* The id of a dropped row. No feature has this id: its field number would be too large. */
#define NB_DROPPED_ID UINT64_MAX
static inline bool nb_model_is_dropped(uint64_t id)
{
    return id == NB_DROPPED_ID;
}
#define NB_LABELS_MOST 65535u

/* One cell of a row: the counts of the feature in label `label`. */
struct nb_cell {
    uint32_t label;
    uint32_t occurrences; /* n_wv */
    uint32_t documents;   /* d_wv */
};

/* A row as it is read. */
struct nb_row {
    uint64_t id;
    uint64_t cells; /* 0: no label has the feature */
};

/* The forms of `cells`, by its two top bits. n is never below d, so the difference n - d is stored.
 *
 *     pair     00  labels 0 and 1, one of which may be without counts: from the lowest bit, d of
 *                  each in 16 bits, then n - d of each in 15 bits
 *     single   01  one other label in 16 bits, n - d in 23 bits, d in 23 bits
 *     two      10  two labels in 16 bits each, then for each d in 8 bits and n - d in 7 bits
 *     spilled  11  the number of the run
 */
enum { NB_FORM_SHIFT = 62 };
#define NB_FORM_SINGLE (UINT64_C(1) << NB_FORM_SHIFT)
#define NB_FORM_TWO (UINT64_C(2) << NB_FORM_SHIFT)
#define NB_FORM_SPILLED (UINT64_C(3) << NB_FORM_SHIFT)
enum {
    NB_LABEL_BITS = 16,
    NB_LABEL_MASK = (1 << NB_LABEL_BITS) - 1,
    NB_PAIR_D = 16,
    NB_PAIR_MORE = 15,
    NB_PAIR_MORES = 2 * NB_PAIR_D, /* the bit where the n - d begin */
    NB_PAIR_D_MOST = (1 << NB_PAIR_D) - 1,
    NB_PAIR_MORE_MOST = (1 << NB_PAIR_MORE) - 1,
    NB_SINGLE_D = 23,
    NB_SINGLE_LABEL = 2 * NB_SINGLE_D,
    NB_SINGLE_MOST = (1 << NB_SINGLE_D) - 1, /* largest d, and largest n - d */
    NB_TWO_MORE = 7,
    NB_TWO_BITS = 15, /* for the counts of one label */
    NB_TWO_D_MOST = (1 << (NB_TWO_BITS - NB_TWO_MORE)) - 1,
    NB_TWO_MORE_MOST = (1 << NB_TWO_MORE) - 1
};

struct nb_spill {
    uint32_t n, d;
    uint16_t label;
    uint16_t used; /* in the first cell of a run: how many of its cells are filled */
    /* In the first cell of a run: the run has room for 2^order cells, at least two. In a free run:
     * the next free run. In the second cell, whose other numbers are 0 if it is not used: the sum
     * of d over the run, so that nobody has to read a thousand cells for it, or NB_SUM_UNKNOWN. */
    uint32_t order;
};
#define NB_SUM_UNKNOWN UINT32_MAX
_Static_assert(sizeof(struct nb_spill) == 16, "four cells to a cache line");

enum { NB_RUN_ORDERS = 17 }; /* 2^16 cells: more than there are labels */

struct nb_cell_pool {
    struct nb_segments cells;
    uint32_t used;                /* cells that were ever handed out; the first run stays empty */
    uint32_t free[NB_RUN_ORDERS]; /* first free run of each order, or NB_NO_ROW */
};

/* Returns 0 or NB_NO_MEMORY. */
int nb_cell_pool_init(struct nb_cell_pool *pool);
void nb_cell_pool_deinit(struct nb_cell_pool *pool);

/* Whether some label has the feature. */
static inline bool nb_row_is_used(struct nb_row row)
{
    return row.cells != 0;
}

static inline bool nb_row_is_spilled(struct nb_row row)
{
    return row.cells >= NB_FORM_SPILLED;
}

static inline bool nb_row_is_pair(struct nb_row row)
{
    return row.cells < NB_FORM_SINGLE;
}

/* Returns d of label 0 or 1 in a pair. */
static inline uint32_t nb_pair_documents(uint64_t cells, uint32_t label)
{
    return (uint32_t)(cells >> label * NB_PAIR_D) & NB_PAIR_D_MOST;
}

static inline struct nb_cell nb_pair_cell(uint64_t cells, uint32_t label)
{
    uint32_t d = nb_pair_documents(cells, label);
    uint32_t more = (uint32_t)(cells >> (NB_PAIR_MORES + label * NB_PAIR_MORE)) & NB_PAIR_MORE_MOST;
    return (struct nb_cell){label, d + more, d};
}

static inline struct nb_cell nb_single_cell(uint64_t cells)
{
    uint32_t d = (uint32_t)cells & NB_SINGLE_MOST;
    uint32_t more = (uint32_t)(cells >> NB_SINGLE_D) & NB_SINGLE_MOST;
    return (struct nb_cell){(uint32_t)(cells >> NB_SINGLE_LABEL) & NB_LABEL_MASK, d + more, d};
}

/* The first or second cell of two. */
static inline struct nb_cell nb_two_cell(uint64_t cells, uint32_t i)
{
    uint32_t counts = (uint32_t)(cells >> (i == 0 ? NB_TWO_BITS : 0));
    uint32_t label =
        (uint32_t)(cells >> (2 * NB_TWO_BITS + (i == 0 ? NB_LABEL_BITS : 0))) & NB_LABEL_MASK;
    uint32_t d = counts >> NB_TWO_MORE & NB_TWO_D_MOST;
    return (struct nb_cell){label, d + (counts & NB_TWO_MORE_MOST), d};
}

/* Unpacks the cells of a row that is not spilled. Returns their number. */
static inline uint32_t nb_row_unpack(struct nb_row row, struct nb_cell cells[2])
{
    uint64_t packed = row.cells;
    if (packed < NB_FORM_SINGLE) {
        struct nb_cell one = nb_pair_cell(packed, 0), other = nb_pair_cell(packed, 1);
        cells[0] = one.documents != 0 ? one : other;
        cells[1] = other;
        return (uint32_t)(one.documents != 0) + (uint32_t)(other.documents != 0);
    }
    cells[0] = packed < NB_FORM_TWO ? nb_single_cell(packed) : nb_two_cell(packed, 0);
    cells[1] = nb_two_cell(packed, 1);
    return packed < NB_FORM_TWO ? 1 : 2;
}

/* Packs cells into a row. False: they do not fit, and the row is unchanged. */
bool nb_row_pack(struct nb_row *row, const struct nb_cell *cells, size_t size);

/* The run of a spilled row; it is never empty. */
static inline struct nb_spill *nb_row_run(const struct nb_cell_pool *pool, struct nb_row row)
{
    return nb_segments_at(&pool->cells, (uint32_t)(row.cells & ~NB_FORM_SPILLED));
}

/* The run of a row, or a run without cells if the row is not spilled. Two cells of either can be
 * read. */
static inline const struct nb_spill *nb_row_run_or_none(const struct nb_cell_pool *pool,
                                                        struct nb_row row)
{
    uint64_t number = row.cells & ~NB_FORM_SPILLED & -(uint64_t)nb_row_is_spilled(row);
    return nb_segments_at(&pool->cells, (uint32_t)number);
}

/* How many cells a row has. */
static inline uint32_t nb_row_size(const struct nb_cell_pool *pool, struct nb_row row)
{
    struct nb_cell cells[2];
    return nb_row_is_spilled(row) ? nb_row_run(pool, row)->used : nb_row_unpack(row, cells);
}

static inline struct nb_cell nb_row_cell(const struct nb_cell_pool *pool, struct nb_row row,
                                         uint32_t i)
{
    if (!nb_row_is_spilled(row)) {
        struct nb_cell cells[2];
        (void)nb_row_unpack(row, cells);
        return cells[i];
    }
    const struct nb_spill *s = nb_row_run(pool, row) + i;
    return (struct nb_cell){s->label, s->n, s->d};
}

static inline uint64_t nb_run_documents(const struct nb_spill *run)
{
    if (run[1].order != NB_SUM_UNKNOWN)
        return run[1].order;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < run->used; i++)
        sum += run[i].d;
    return sum;
}

/* As nb_row_documents, for a row that is not a pair. */
static inline uint64_t nb_row_documents_else(const struct nb_cell_pool *pool, struct nb_row row)
{
    struct nb_cell cells[2];
    if (nb_row_is_spilled(row))
        return nb_run_documents(nb_row_run(pool, row));
    uint32_t size = nb_row_unpack(row, cells);
    return (uint64_t)cells[0].documents + (size > 1 ? cells[1].documents : 0);
}

/* D_w: documents of all labels that have the feature. */
static inline uint64_t nb_row_documents(const struct nb_cell_pool *pool, struct nb_row row)
{
    if (nb_row_is_pair(row))
        return (uint64_t)nb_pair_documents(row.cells, 0) + nb_pair_documents(row.cells, 1);
    return nb_row_documents_else(pool, row);
}

/* Occurrences of the feature in all labels. */
static inline uint64_t nb_row_occurrences(const struct nb_cell_pool *pool, struct nb_row row)
{
    uint64_t sum = 0;
    if (!nb_row_is_spilled(row)) {
        struct nb_cell cells[2];
        uint32_t size = nb_row_unpack(row, cells);
        for (uint32_t i = 0; i < size; i++)
            sum += cells[i].occurrences;
        return sum;
    }
    const struct nb_spill *run = nb_row_run(pool, row);
    for (uint32_t i = 0; i < run->used; i++)
        sum += run[i].n;
    return sum;
}

/* Returns the place of a label among the cells of a row, or the place where it would be inserted.
 * Sets *there to whether the label has a cell. */
uint32_t nb_row_find(const struct nb_cell_pool *pool, struct nb_row row, uint32_t label,
                     bool *there);

/* Counts a document in one of the first two cells of a run. False: neither cell belongs to the
 * label, or its counts would pass 32 bits; then nothing changes. */
static inline bool nb_run_count(struct nb_spill *run, uint32_t label, uint32_t count)
{
    struct nb_spill *cell = &run[run->label == label ? 0 : 1];
    if (cell->label != label || cell->d == 0 || count > UINT32_MAX - cell->n)
        return false;
    cell->n += count;
    cell->d++;
    run[1].order += run[1].order != NB_SUM_UNKNOWN;
    return true;
}

/* Counts a document that has the feature `count` times, if the form of the cells stays the same,
 * which is nearly always so. False: the form would change, and nothing was done. */
static inline bool nb_cells_count(struct nb_cell_pool *pool, uint64_t *cells, uint32_t label,
                                  uint32_t count)
{
    uint64_t packed = *cells;
    uint32_t more = count - 1;
    if (packed >= NB_FORM_SPILLED)
        return nb_run_count(nb_row_run(pool, (struct nb_row){.cells = packed}), label, count);
    if (packed < NB_FORM_SINGLE && label <= 1) {
        struct nb_cell cell = nb_pair_cell(packed, label);
        if (cell.documents == NB_PAIR_D_MOST ||
            more > NB_PAIR_MORE_MOST - (cell.occurrences - cell.documents))
            return false;
        *cells += (UINT64_C(1) << label * NB_PAIR_D) +
                  ((uint64_t)more << (NB_PAIR_MORES + label * NB_PAIR_MORE));
        return true;
    }
    if (packed < NB_FORM_SINGLE || packed >= NB_FORM_TWO)
        return false;
    struct nb_cell cell = nb_single_cell(packed);
    if (cell.label != label || cell.documents == NB_SINGLE_MOST ||
        more > NB_SINGLE_MOST - (cell.occurrences - cell.documents))
        return false;
    *cells += (uint64_t)more << NB_SINGLE_D | 1;
    return true;
}

/* Inserts a cell at a place that nb_row_find returned. Returns 0, or NB_NO_MEMORY with the row
 * unchanged. The pool may grow under the lock that the caller holds. */
int nb_row_insert(struct nb_cell_pool *pool, struct nb_row *row, uint32_t place,
                  struct nb_cell cell);
/* Overwrites the counts of the cell at a place. Returns 0, or NB_NO_MEMORY with the row unchanged.
 * Counts that do not increase need no memory. */
int nb_row_set(struct nb_cell_pool *pool, struct nb_row *row, uint32_t place, struct nb_cell cell);
/* Removes the cell at a place. Packs the remaining cells again if they fit. */
void nb_row_remove(struct nb_cell_pool *pool, struct nb_row *row, uint32_t place);

/* ---- rows ------------------------------------------------------------------------------------ */

/* How rows are stored: the id, and 16 bits for the cells. These suffice for most features, because
 * few documents have them. Cells of other features take 64 bits beside the rows (wide). For
 * core/counts only; the model's lock protects them.
 *
 * Rows are most of a model's memory. Of 1,345,185 rows of 6,047 mails of two labels, 6 % are wide,
 * but they are seven tenths of the features in a mail. Each segment of rows has its own array of
 * wide cells, because a row has only 15 bits for their number. The arrays of the first segments,
 * which have the most frequent features, are small enough for the caches. */

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
