/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/cells.h"

#include <assert.h>
#include <string.h>

#include "core/base/error.h"

enum { SEGMENT_BITS = 16 };
_Static_assert((int)SEGMENT_BITS == (int)NB_RUN_ORDERS - 1, "a run never straddles two segments");

void nb_cell_pool_init(struct nb_cell_pool *pool)
{
    nb_segments_init(&pool->cells, sizeof(struct nb_spill), SEGMENT_BITS);
    pool->used = 0;
    for (unsigned i = 0; i < NB_RUN_ORDERS; i++)
        pool->free[i] = NB_NO_ROW;
}

void nb_cell_pool_deinit(struct nb_cell_pool *pool)
{
    nb_segments_deinit(&pool->cells);
    nb_cell_pool_init(pool);
}

static void run_free(struct nb_cell_pool *pool, uint32_t run, uint32_t order)
{
    struct nb_spill *first = nb_segments_at(&pool->cells, run);
    first->order = pool->free[order];
    pool->free[order] = run;
}

/* What is left of a segment and too small for the next run becomes free runs. */
static void fill_segment(struct nb_cell_pool *pool, uint32_t need)
{
    uint32_t left = (1u << SEGMENT_BITS) - (pool->used & ((1u << SEGMENT_BITS) - 1));
    if (left >= need)
        return;
    while (left != 0) {
        uint32_t order = 31u - (uint32_t)__builtin_clz(left);
        run_free(pool, pool->used, order);
        pool->used += 1u << order;
        left -= 1u << order;
    }
}

static int run_new(struct nb_cell_pool *pool, uint32_t order, uint32_t *run)
{
    uint32_t need = 1u << order;
    if (pool->free[order] != NB_NO_ROW) {
        *run = pool->free[order];
        pool->free[order] = ((struct nb_spill *)nb_segments_at(&pool->cells, *run))->order;
    } else {
        uint32_t left = (1u << SEGMENT_BITS) - (pool->used & ((1u << SEGMENT_BITS) - 1));
        uint64_t end = (uint64_t)pool->used + need + (left < need ? left : 0);
        if (end >= NB_NO_ROW || nb_segments_reserve(&pool->cells, end, NULL) != 0)
            return NB_NO_MEMORY;
        fill_segment(pool, need);
        *run = pool->used;
        pool->used += need;
    }
    struct nb_spill *first = nb_segments_at(&pool->cells, *run);
    first->used = 0;
    first->order = order;
    return 0;
}

uint32_t nb_row_find(const struct nb_cell_pool *pool, const struct nb_row *row, uint32_t label,
                     bool *there)
{
    *there = true;
    for (uint32_t i = 0; i < 2; i++) {
        if (row->n[i] == 0 || row->label[i] >= label) {
            *there = row->n[i] != 0 && row->label[i] == label;
            return i;
        }
    }
    uint32_t low = 0;
    uint32_t high = row->more == NB_NO_ROW ? 0 : nb_row_run(pool, row)->used;
    uint32_t size = high;
    const struct nb_spill *cells = size == 0 ? NULL : nb_row_run(pool, row);
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (cells[middle].label < label)
            low = middle + 1;
        else
            high = middle;
    }
    *there = low < size && cells[low].label == label;
    return low + 2;
}

/* Overwrites a cell, whatever the sum of its run says. */
static void put_cell(const struct nb_cell_pool *pool, struct nb_row *row, uint32_t place,
                     struct nb_cell cell)
{
    if (place < 2) {
        row->label[place] = (uint16_t)cell.label;
        row->n[place] = cell.occurrences;
        row->d[place] = cell.documents;
    } else {
        struct nb_spill *s = nb_row_run(pool, row) + (place - 2);
        s->label = (uint16_t)cell.label;
        s->n = cell.occurrences;
        s->d = cell.documents;
    }
}

/* The run's cells have changed, and with them the sum of their documents by `change`. */
static void add_to_sum(struct nb_spill *run, int64_t change)
{
    if (run->order == 0)
        return;
    uint64_t sum = (uint64_t)run[1].order + (uint64_t)change;
    if (run[1].order == NB_SUM_UNKNOWN)
        sum = nb_run_documents(run);
    run[1].order = sum < NB_SUM_UNKNOWN ? (uint32_t)sum : NB_SUM_UNKNOWN;
}

void nb_row_set(const struct nb_cell_pool *pool, struct nb_row *row, uint32_t place,
                struct nb_cell cell)
{
    uint32_t before = nb_row_cell(pool, row, place).documents;
    put_cell(pool, row, place, cell);
    if (place >= 2)
        add_to_sum(nb_row_run(pool, row), (int64_t)cell.documents - before);
}

/* A run with room for one cell more than the row's has. */
static int run_grow(struct nb_cell_pool *pool, struct nb_row *row)
{
    if (row->more == NB_NO_ROW)
        return run_new(pool, 0, &row->more);
    struct nb_spill *old = nb_row_run(pool, row);
    uint32_t order = old->order;
    uint32_t used = old->used;
    if (used < 1u << order)
        return 0;
    uint32_t run;
    int rc = run_new(pool, order + 1, &run);
    if (rc != 0)
        return rc;
    old = nb_row_run(pool, row); /* the pool may have moved */
    struct nb_spill *cells = nb_segments_at(&pool->cells, run);
    assert(used == 1u << order && order + 1 < NB_RUN_ORDERS);
    memcpy(cells, old, used * sizeof *cells);
    if (order == 0)
        cells[1].order = cells->d;
    cells->order = order + 1;
    run_free(pool, row->more, order);
    row->more = run;
    return 0;
}

int nb_row_insert(struct nb_cell_pool *pool, struct nb_row *row, uint32_t place,
                  struct nb_cell cell)
{
    uint32_t size = nb_row_size(pool, row);
    assert(place <= size && cell.occurrences != 0);
    uint32_t pushed = row->d[1];
    if (size >= 2) {
        int rc = run_grow(pool, row);
        if (rc != 0)
            return rc;
        nb_row_run(pool, row)->used++;
    }
    for (uint32_t i = size; i > place; i--)
        put_cell(pool, row, i, nb_row_cell(pool, row, i - 1));
    put_cell(pool, row, place, cell);
    if (size >= 2) /* what has come to the run: the new cell, or the one that it pushed out */
        add_to_sum(nb_row_run(pool, row), place < 2 ? pushed : cell.documents);
    return 0;
}

void nb_row_remove(struct nb_cell_pool *pool, struct nb_row *row, uint32_t place)
{
    uint32_t size = nb_row_size(pool, row);
    assert(place < size);
    uint32_t gone = size > 2 ? nb_row_cell(pool, row, place < 2 ? 2 : place).documents : 0;
    for (uint32_t i = place; i + 1 < size; i++)
        put_cell(pool, row, i, nb_row_cell(pool, row, i + 1));
    if (size <= 2) {
        row->n[size - 1] = 0;
        row->d[size - 1] = 0;
        row->label[size - 1] = 0;
        return;
    }
    struct nb_spill *run = nb_row_run(pool, row);
    if (--run->used == 0) {
        run_free(pool, row->more, run->order);
        row->more = NB_NO_ROW;
    } else {
        add_to_sum(run, -(int64_t)gone);
    }
}
