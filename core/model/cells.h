/* SPDX-License-Identifier: Apache-2.0
 *
 * The row of a feature and its cells: what each label has of it. For core/model only; the model's
 * lock protects them.
 *
 * The cells of a row are ordered by label number. The first two lie in the row itself; with three
 * labels and more the others lie side by side in a run of the pool, so that a feature that a
 * thousand labels have is read in one go. Runs have room for a power of two; free ones are kept in
 * a list by size.
 */
#ifndef NB_CORE_MODEL_CELLS_H
#define NB_CORE_MODEL_CELLS_H

#include <stdbool.h>

#include "core/model/cell.h"
#include "core/model/segments.h"

/* A cell whose n is 0 is not there; then neither are those after it. */
struct nb_row {
    uint64_t id;
    uint16_t label[2];
    uint32_t n[2];
    uint32_t d[2];
    uint32_t more; /* the run of further cells, NB_NO_ROW if there is none */
};
_Static_assert(sizeof(struct nb_row) == 32, "two rows to a cache line");

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

static inline struct nb_spill *nb_row_run(const struct nb_cell_pool *pool, const struct nb_row *row)
{
    return nb_segments_at(&pool->cells, row->more);
}

/* How many cells a row has. */
static inline uint32_t nb_row_size(const struct nb_cell_pool *pool, const struct nb_row *row)
{
    if (row->more != NB_NO_ROW)
        return 2u + nb_row_run(pool, row)->used;
    return (uint32_t)(row->n[0] != 0) + (uint32_t)(row->n[1] != 0);
}

static inline struct nb_cell nb_row_cell(const struct nb_cell_pool *pool, const struct nb_row *row,
                                         uint32_t i)
{
    if (i < 2)
        return (struct nb_cell){row->label[i], row->n[i], row->d[i]};
    const struct nb_spill *s = nb_row_run(pool, row) + (i - 2);
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
    uint64_t sum = (uint64_t)row->d[0] + row->d[1];
    return row->more == NB_NO_ROW ? sum : sum + nb_run_documents(nb_row_run(pool, row));
}

/* Occurrences of the feature in all labels. */
static inline uint64_t nb_row_occurrences(const struct nb_cell_pool *pool, const struct nb_row *row)
{
    uint64_t sum = (uint64_t)row->n[0] + row->n[1];
    if (row->more != NB_NO_ROW) {
        const struct nb_spill *run = nb_row_run(pool, row);
        for (uint32_t i = 0; i < run->used; i++)
            sum += run[i].n;
    }
    return sum;
}

/* The place of a label among the cells of a row, or where it would have to be put in; *there says
 * which. */
uint32_t nb_row_find(const struct nb_cell_pool *pool, const struct nb_row *row, uint32_t label,
                     bool *there);

/* Puts a cell in at a place that nb_row_find gave. Returns 0 or NB_NO_MEMORY, and then the row is
 * as it was. The pool may grow; that takes no lock: the caller has it. */
int nb_row_insert(struct nb_cell_pool *pool, struct nb_row *row, uint32_t place,
                  struct nb_cell cell);
/* Overwrites the counts of the cell at a place. */
void nb_row_set(const struct nb_cell_pool *pool, struct nb_row *row, uint32_t place,
                struct nb_cell cell);
/* Takes the cell at a place out. */
void nb_row_remove(struct nb_cell_pool *pool, struct nb_row *row, uint32_t place);

#endif
