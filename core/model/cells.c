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

static uint32_t find_in_run(const struct nb_spill *run, uint32_t label, bool *there)
{
    uint32_t low = 0;
    uint32_t high = run->used;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (run[middle].label < label)
            low = middle + 1;
        else
            high = middle;
    }
    *there = low < run->used && run[low].label == label;
    return low;
}

uint32_t nb_row_find(const struct nb_cell_pool *pool, const struct nb_row *row, uint32_t label,
                     bool *there)
{
    if (nb_row_is_spilled(row))
        return find_in_run(nb_row_run(pool, row), label, there);
    const uint32_t packed[2] = {row->first, row->second};
    for (uint32_t i = 0; i < 2; i++) {
        if (packed[i] == 0 || nb_packed_label(packed[i]) >= label) {
            *there = packed[i] != 0 && nb_packed_label(packed[i]) == label;
            return i;
        }
    }
    *there = false;
    return 2;
}

/* Overwrites a cell, whatever the sum of its run says. */
static void put_spill(struct nb_spill *to, struct nb_cell cell)
{
    to->label = (uint16_t)cell.label;
    to->n = cell.occurrences;
    to->d = cell.documents;
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

/* Moves the cells of a row into a run with room for `room` cells. */
static int spill(struct nb_cell_pool *pool, struct nb_row *row, uint32_t room)
{
    uint32_t size = nb_row_size(pool, row);
    uint32_t order = room <= 1 ? 0 : 32u - (uint32_t)__builtin_clz(room - 1);
    uint32_t number;
    assert(!nb_row_is_spilled(row) && size <= room);
    int rc = run_new(pool, order, &number);
    if (rc != 0)
        return rc;
    struct nb_spill *run = nb_segments_at(&pool->cells, number);
    for (uint32_t i = 0; i < size; i++)
        put_spill(&run[i], nb_row_cell(pool, row, i));
    run->used = (uint16_t)size;
    if (order > 0)
        run[1].order = (uint32_t)nb_row_documents(pool, row);
    row->first = NB_SPILLED;
    row->second = number;
    return 0;
}

int nb_row_set(struct nb_cell_pool *pool, struct nb_row *row, uint32_t place, struct nb_cell cell)
{
    if (!nb_row_is_spilled(row)) {
        if (nb_cell_fits(cell)) {
            *(place == 0 ? &row->first : &row->second) = nb_cell_pack(cell);
            return 0;
        }
        int rc = spill(pool, row, nb_row_size(pool, row));
        if (rc != 0)
            return rc;
    }
    struct nb_spill *run = nb_row_run(pool, row);
    uint32_t before = run[place].d;
    put_spill(&run[place], cell);
    add_to_sum(run, (int64_t)cell.documents - before);
    return 0;
}

/* A run with room for one cell more than the row's has. */
static int run_grow(struct nb_cell_pool *pool, struct nb_row *row)
{
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
    run_free(pool, row->second, order);
    row->second = run;
    return 0;
}

static int insert_in_run(struct nb_cell_pool *pool, struct nb_row *row, uint32_t place,
                         struct nb_cell cell)
{
    uint32_t size = nb_row_size(pool, row);
    int rc = nb_row_is_spilled(row) ? run_grow(pool, row) : spill(pool, row, size + 1);
    if (rc != 0)
        return rc;
    struct nb_spill *run = nb_row_run(pool, row);
    for (uint32_t i = size; i > place; i--)
        put_spill(&run[i], nb_row_cell(pool, row, i - 1));
    put_spill(&run[place], cell);
    run->used++;
    add_to_sum(run, cell.documents);
    return 0;
}

int nb_row_insert(struct nb_cell_pool *pool, struct nb_row *row, uint32_t place,
                  struct nb_cell cell)
{
    assert(place <= nb_row_size(pool, row) && cell.occurrences != 0);
    if (nb_row_is_spilled(row) || row->second != 0 || !nb_cell_fits(cell))
        return insert_in_run(pool, row, place, cell);
    if (place == 0)
        row->second = row->first;
    *(place == 0 ? &row->first : &row->second) = nb_cell_pack(cell);
    return 0;
}

/* Moves the cells of a run back into the row, if they fit. */
static void unspill(struct nb_cell_pool *pool, struct nb_row *row)
{
    uint32_t run = row->second;
    uint32_t size = nb_row_size(pool, row);
    uint32_t packed[2] = {0, 0};
    if (size > 2)
        return;
    for (uint32_t i = 0; i < size; i++) {
        struct nb_cell cell = nb_row_cell(pool, row, i);
        if (!nb_cell_fits(cell))
            return;
        packed[i] = nb_cell_pack(cell);
    }
    run_free(pool, run, nb_row_run(pool, row)->order);
    row->first = packed[0];
    row->second = packed[1];
}

static void remove_from_run(struct nb_spill *run, uint32_t place)
{
    uint32_t gone = run[place].d;
    for (uint32_t i = place; i + 1 < run->used; i++)
        put_spill(&run[i], (struct nb_cell){run[i + 1].label, run[i + 1].n, run[i + 1].d});
    run->used--;
    add_to_sum(run, -(int64_t)gone);
}

void nb_row_remove(struct nb_cell_pool *pool, struct nb_row *row, uint32_t place)
{
    assert(place < nb_row_size(pool, row));
    if (nb_row_is_spilled(row)) {
        remove_from_run(nb_row_run(pool, row), place);
        unspill(pool, row);
        return;
    }
    if (place == 0)
        row->first = row->second;
    row->second = 0;
}
