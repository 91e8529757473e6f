/* SPDX-License-Identifier: Apache-2.0
 *
 * The row of a feature and its cells: what each label has of it. For core/model only; the model's
 * lock protects them.
 *
 * The cells of a row are ordered by label number. Nearly all rows have one or two whose counts are
 * small: these are packed into the row itself. Where one does not fit, or there are three and more,
 * all cells of the row are spilled: they lie side by side in a run of the pool, so that a feature
 * that a thousand labels have is read in one go. Runs have room for a power of two; free ones are
 * kept in a list by size.
 */
#ifndef NB_CORE_MODEL_CELLS_H
#define NB_CORE_MODEL_CELLS_H

#include <stdbool.h>

#include "core/model/cell.h"
#include "core/model/segments.h"

struct nb_row {
    uint64_t id;
    /* Packed cells, 0 if there is none, and then neither is there one behind it. Or NB_SPILLED, and
     * the number of the run. */
    uint32_t first, second;
};
_Static_assert(sizeof(struct nb_row) == 16, "four rows to a cache line");

/* From the lowest bit: d, n, the label. No packed cell has the label of NB_SPILLED. */
enum {
    NB_PACKED_BITS = 11,
    NB_PACKED_MOST = (1 << NB_PACKED_BITS) - 1, /* of n, and so of d */
    NB_PACKED_LABELS = (1 << (32 - 2 * NB_PACKED_BITS)) - 1
};
#define NB_SPILLED UINT32_MAX

struct nb_spill {
    uint32_t n, d;
    uint16_t label;
    uint16_t used; /* in the first cell of a run: how many of its cells are filled */
    /* In the first cell of a run: it has room for 2^order; of a free run: the next. In the second
     * cell: the sum of d over the run, or NB_SUM_UNKNOWN, so that no one has to read a thousand
     * cells for it. */
    uint32_t order;
};
#define NB_SUM_UNKNOWN UINT32_MAX
_Static_assert(sizeof(struct nb_spill) == 16, "four cells to a cache line");

enum { NB_RUN_ORDERS = 17 }; /* 2^16 cells: more than there are labels */

struct nb_cell_pool {
    struct nb_segments cells;
    uint32_t used;                /* cells that were ever handed out */
    uint32_t free[NB_RUN_ORDERS]; /* first free run of each order, or NB_NO_ROW */
};

void nb_cell_pool_init(struct nb_cell_pool *pool);
void nb_cell_pool_deinit(struct nb_cell_pool *pool);

static inline bool nb_cell_fits(struct nb_cell cell)
{
    return cell.label < NB_PACKED_LABELS && cell.occurrences <= NB_PACKED_MOST;
}

static inline uint32_t nb_cell_pack(struct nb_cell cell)
{
    return cell.label << 2 * NB_PACKED_BITS | cell.occurrences << NB_PACKED_BITS | cell.documents;
}

static inline uint32_t nb_packed_label(uint32_t packed)
{
    return packed >> 2 * NB_PACKED_BITS;
}

static inline uint32_t nb_packed_occurrences(uint32_t packed)
{
    return packed >> NB_PACKED_BITS & NB_PACKED_MOST;
}

static inline uint32_t nb_packed_documents(uint32_t packed)
{
    return packed & NB_PACKED_MOST;
}

static inline struct nb_cell nb_cell_unpack(uint32_t packed)
{
    return (struct nb_cell){nb_packed_label(packed), nb_packed_occurrences(packed),
                            nb_packed_documents(packed)};
}

/* Whether some label has the feature. */
static inline bool nb_row_is_used(const struct nb_row *row)
{
    return row->first != 0;
}

static inline bool nb_row_is_spilled(const struct nb_row *row)
{
    return row->first == NB_SPILLED;
}

/* Of a row that is spilled: its run, which is never empty. */
static inline struct nb_spill *nb_row_run(const struct nb_cell_pool *pool, const struct nb_row *row)
{
    return nb_segments_at(&pool->cells, row->second);
}

/* How many cells a row has. */
static inline uint32_t nb_row_size(const struct nb_cell_pool *pool, const struct nb_row *row)
{
    if (nb_row_is_spilled(row))
        return nb_row_run(pool, row)->used;
    return (uint32_t)(row->first != 0) + (uint32_t)(row->second != 0);
}

static inline struct nb_cell nb_row_cell(const struct nb_cell_pool *pool, const struct nb_row *row,
                                         uint32_t i)
{
    if (!nb_row_is_spilled(row))
        return nb_cell_unpack(i == 0 ? row->first : row->second);
    const struct nb_spill *s = nb_row_run(pool, row) + i;
    return (struct nb_cell){s->label, s->n, s->d};
}

static inline uint64_t nb_run_documents(const struct nb_spill *run)
{
    if (run->order == 0)
        return run->d;
    if (run[1].order != NB_SUM_UNKNOWN)
        return run[1].order;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < run->used; i++)
        sum += run[i].d;
    return sum;
}

/* D_w: documents of all labels that have the feature. */
static inline uint64_t nb_row_documents(const struct nb_cell_pool *pool, const struct nb_row *row)
{
    if (nb_row_is_spilled(row))
        return nb_run_documents(nb_row_run(pool, row));
    return (uint64_t)nb_packed_documents(row->first) + nb_packed_documents(row->second);
}

/* Occurrences of the feature in all labels. */
static inline uint64_t nb_row_occurrences(const struct nb_cell_pool *pool, const struct nb_row *row)
{
    if (!nb_row_is_spilled(row))
        return (uint64_t)nb_packed_occurrences(row->first) + nb_packed_occurrences(row->second);
    const struct nb_spill *run = nb_row_run(pool, row);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < run->used; i++)
        sum += run[i].n;
    return sum;
}

/* The place of a label among the cells of a row, or where it would have to be put in; *there says
 * which. */
uint32_t nb_row_find(const struct nb_cell_pool *pool, const struct nb_row *row, uint32_t label,
                     bool *there);

/* Counts a document that has the feature `count` times, where the label's cell is packed and stays
 * so, which is what nearly all of learning is. False: nothing was done. */
static inline bool nb_row_count(struct nb_row *row, uint32_t label, uint32_t count)
{
    uint32_t *cell = nb_packed_label(row->first) == label ? &row->first : &row->second;
    if (nb_row_is_spilled(row) || *cell == 0 || nb_packed_label(*cell) != label ||
        count > NB_PACKED_MOST - nb_packed_occurrences(*cell))
        return false;
    *cell += count << NB_PACKED_BITS | 1;
    return true;
}

/* Puts a cell in at a place that nb_row_find gave. Returns 0 or NB_NO_MEMORY, and then the row is
 * as it was. The pool may grow; that takes no lock: the caller has it. */
int nb_row_insert(struct nb_cell_pool *pool, struct nb_row *row, uint32_t place,
                  struct nb_cell cell);
/* Overwrites the counts of the cell at a place. Returns 0 or NB_NO_MEMORY, and then the row is as
 * it was. Counts that are not above those that were there need no memory. */
int nb_row_set(struct nb_cell_pool *pool, struct nb_row *row, uint32_t place, struct nb_cell cell);
/* Takes the cell at a place out. What is left is packed again if it fits. */
void nb_row_remove(struct nb_cell_pool *pool, struct nb_row *row, uint32_t place);

#endif
