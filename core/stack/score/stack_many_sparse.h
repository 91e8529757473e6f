/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows that few labels have: of each cell, what it adds over one of 0; what all labels would get if
 * all cells were 0 is added at the end (stack_many_groups.c). For stack_many.c alone, as
 * core/stack/score/stack_many_row.h.
 */
#ifndef NB_CORE_STACK_SCORE_STACK_MANY_SPARSE_H
#define NB_CORE_STACK_SCORE_STACK_MANY_SPARSE_H

#include "core/stack/score/stack_many_row.h"

static inline __attribute__((always_inline)) void add_twin_cell(struct nb_stack_target *t,
                                                                uint32_t label, double more)
{
    t->twin[label] += t->u * more;
    if (t->kept_gains == NULL)
        return;
    *t->kept_gains++ = more;
    *t->kept_labels++ = label;
}

/* What a cell adds over one of 0. One with more documents than all labels together is not read: the
 * document that is left out is in the counts no more. */
static inline __attribute__((always_inline)) void
add_cell(struct nb_stack_target *t, enum nb_stack_power_kind kind, struct nb_cell cell)
{
    const struct nb_stack_row_gains *g = t->gains;
    cell = nb_stack_cell_without(t, cell);
    if (cell.documents > g->all)
        return;
    double offset = t->offsets[cell.label];
    double gain = nb_stack_gain_of(g, cell.documents);
    t->sums[cell.label] += nb_stack_power_of(g->reading, kind, gain - offset) -
                           nb_stack_power_of(g->reading, kind, g->absent - offset);
    if (t->twin != NULL)
        add_twin_cell(t, cell.label, gain - g->absent);
}

static inline __attribute__((always_inline)) void add_cell_1(void *user, struct nb_cell cell)
{
    add_cell(user, NB_POWER_1, cell);
}

static inline __attribute__((always_inline)) void add_cell_2(void *user, struct nb_cell cell)
{
    add_cell(user, NB_POWER_2, cell);
}

static inline __attribute__((always_inline)) void add_cell_any(void *user, struct nb_cell cell)
{
    add_cell(user, NB_POWER_ANY, cell);
}

/* `t` is copied, so that the loops have it in registers. */
static void add_each(const struct nb_stack_pass *p, struct nb_row row, struct nb_stack_target *t)
{
    struct nb_stack_target own = *t;
    if (t->gains->reading->kind == NB_POWER_2)
        nb_counts_each(p->model, row, add_cell_2, &own);
    else if (t->gains->reading->kind == NB_POWER_1)
        nb_counts_each(p->model, row, add_cell_1, &own);
    else
        nb_counts_each(p->model, row, add_cell_any, &own);
    *t = own;
}

/* Cells of a run of which nothing is left out, with the power 2: as add_cell, without its
 * questions. What is asked for is a constant where it is called. */
static inline __attribute__((always_inline)) void add_squares_of(const struct nb_stack_target *t,
                                                                 const struct nb_spill *cells,
                                                                 size_t size, bool has_twin,
                                                                 bool keeps)
{
    const double *logs = t->gains->logs, *others = logs + t->gains->all;
    const double *offsets = t->offsets;
    const double absent = t->gains->absent, u = t->u;
    double *sums = t->sums, *twin = t->twin, *kept_gains = t->kept_gains;
    uint32_t *kept_labels = t->kept_labels;
    for (size_t i = 0; i < size; i++) {
        const uint32_t documents = cells[i].d, label = cells[i].label;
        const double gain = logs[documents] - *(others - documents);
        const double r = gain - offsets[label], r_absent = absent - offsets[label];
        sums[label] += r * fabs(r) - r_absent * fabs(r_absent);
        if (has_twin)
            twin[label] += u * (gain - absent);
        if (keeps) {
            kept_gains[i] = gain - absent;
            kept_labels[i] = label;
        }
    }
}

static void add_run(struct nb_stack_target *t, const struct nb_spill *cells, size_t size)
{
    if (t->kept_gains != NULL) {
        add_squares_of(t, cells, size, true, true);
        t->kept_gains += size;
        t->kept_labels += size;
    } else if (t->twin != NULL) {
        add_squares_of(t, cells, size, true, false);
    } else {
        add_squares_of(t, cells, size, false, false);
    }
}

/* A run of which the document that is left out has the cell at `place`. */
static void add_run_without(struct nb_stack_target *t, const struct nb_spill *run, size_t place)
{
    add_run(t, run, place);
    add_cell_2(t, (struct nb_cell){run[place].label, run[place].n, run[place].d});
    add_run(t, run + place + 1, run->used - place - 1);
}

/* Adds what the cells of a row add to the sums of the target, and keeps them, if it says so. */
static void nb_stack_add_sparse(const struct nb_stack_pass *p, struct nb_row row,
                                struct nb_stack_target *t)
{
    uint32_t place;
    if (t->gains->reading->kind != NB_POWER_2 || !nb_stack_is_plain(p, row, t, &place)) {
        add_each(p, row, t);
        return;
    }
    const struct nb_spill *run = nb_row_run(&p->model->pool, row);
    if (place < run->used)
        add_run_without(t, run, place);
    else
        add_run(t, run, run->used);
}

#endif
