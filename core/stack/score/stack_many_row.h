/* SPDX-License-Identifier: Apache-2.0
 *
 * What a row with more than two labels says: its gains, where what its cells add goes, and which
 * rows have their cells one behind the other. For stack_many.c alone, into whose function for a row
 * all of it is inlined. Any thread; the model's read lock is held.
 */
#ifndef NB_CORE_STACK_SCORE_STACK_MANY_ROW_H
#define NB_CORE_STACK_SCORE_STACK_MANY_ROW_H

#include "core/stack/score/stack_scratch.h"

/* As nb_stack_power. The kind is a constant where it is called, so that loops have no branch. */
static inline __attribute__((always_inline)) double
nb_stack_power_of(const struct nb_stack_reading *reading, enum nb_stack_power_kind kind, double r)
{
    return kind == NB_POWER_2 ? r * fabs(r) : kind == NB_POWER_1 ? r : nb_stack_power(reading, r);
}

/* The gains of a row. */
struct nb_stack_row_gains {
    const struct nb_stack_reading *reading;
    uint64_t all;
    const double *logs; /* of all counts up to `all`; NULL: they are not all in the table */
    double absent;      /* g_w */
};

static inline struct nb_stack_row_gains
nb_stack_gains_of_row(const struct nb_stack_reading *reading, uint64_t all)
{
    return (struct nb_stack_row_gains){.reading = reading,
                                       .all = all,
                                       .logs = all < reading->logs.size ? reading->logs.logs : NULL,
                                       .absent = nb_stack_gain(reading, 0, all)};
}

/* `documents` is at most `all`. */
static inline double nb_stack_gain_of(const struct nb_stack_row_gains *g, uint32_t documents)
{
    return g->logs != NULL ? g->logs[documents] - g->logs[g->all - documents]
                           : nb_stack_gain(g->reading, documents, g->all);
}

/* Where the cells of a row go. */
struct nb_stack_target {
    const struct nb_stack_row_gains *gains;
    const double *offsets;
    double *sums;
    uint32_t without; /* label of the document that is left out */
    /* The twin's sums; NULL: without it, or with another expert. */
    double *twin;
    double u;
    /* The next cell that is kept; NULL: they are not. */
    double *kept_gains;
    uint32_t *kept_labels;
};

/* What is left of a cell when the document is left out. */
static inline struct nb_cell nb_stack_cell_without(const struct nb_stack_target *t,
                                                   struct nb_cell cell)
{
    cell.documents -= cell.label == t->without && cell.documents > 0;
    return cell;
}

/* Whether the cells of a row may be read without a question for each: they are a run, their
 * logarithms are in the table, and no document is left out, or it is in the counts: it is in the
 * cell at *place then. Else *place is that behind the last one. */
static bool nb_stack_is_plain(const struct nb_stack_pass *p, struct nb_row row,
                              const struct nb_stack_target *t, uint32_t *place)
{
    bool there = true;
    if (!nb_row_is_spilled(row) || t->gains->logs == NULL)
        return false;
    const struct nb_spill *run = nb_row_run(&p->model->pool, row);
    *place = run->used;
    if (p->without != NULL)
        *place = nb_row_find(&p->model->pool, row, t->without, &there);
    return there && (*place == run->used || run[*place].d > 0);
}

#endif
