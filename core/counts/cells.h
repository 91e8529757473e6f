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
 * How the 64 bits are stored, in 16 of the row or beside it, is core/counts/wides.h.
 */
#ifndef NB_CORE_COUNTS_CELLS_H
#define NB_CORE_COUNTS_CELLS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/cache_line.h"

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

#endif
