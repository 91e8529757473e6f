/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows that most labels have, and all rows in a model of few labels: the gains of all labels, one
 * beside the other, and what they add, two at a time. For stack_many.c alone, as
 * core/stack/score/stack_many_row.h.
 */
#ifndef NB_CORE_STACK_SCORE_STACK_MANY_DENSE_H
#define NB_CORE_STACK_SCORE_STACK_MANY_DENSE_H

#include "core/stack/score/stack_many_row.h"

/* Two numbers at a time. */
typedef double pair __attribute__((vector_size(16), aligned(8), may_alias));
typedef int64_t pair_of_bits __attribute__((vector_size(16)));
enum { PAIR = 2 };

/* Puts a cell's gain over that of labels that do not have the feature. */
static inline __attribute__((always_inline)) void put_gain(void *user, struct nb_cell cell)
{
    const struct nb_stack_target *t = user;
    t->sums[cell.label] = nb_stack_gain_of(t->gains, cell.documents);
}

static inline __attribute__((always_inline)) void put_gain_without(void *user, struct nb_cell cell)
{
    const struct nb_stack_target *t = user;
    struct nb_cell left = nb_stack_cell_without(t, cell);
    if (left.documents <= t->gains->all)
        t->sums[cell.label] = nb_stack_gain_of(t->gains, left.documents);
}

/* The gains of the cells of a run. */
static void put_gains(const struct nb_stack_target *t, const struct nb_spill *cells, size_t size)
{
    const double *logs = t->gains->logs, *others = logs + t->gains->all;
    double *gains = t->sums;
    for (size_t i = 0; i < size; i++)
        gains[cells[i].label] = logs[cells[i].d] - *(others - cells[i].d);
}

/* Puts the gains of a row's cells over those of labels that do not have the feature. */
static void put_cells(const struct nb_stack_pass *p, struct nb_row row, struct nb_stack_target *t)
{
    uint32_t place;
    if (!nb_stack_is_plain(p, row, t, &place)) {
        nb_counts_each(p->model, row, p->without == NULL ? put_gain : put_gain_without, t);
        return;
    }
    const struct nb_spill *run = nb_row_run(&p->model->pool, row);
    put_gains(t, run, place);
    if (place == run->used)
        return;
    put_gain_without(t, (struct nb_cell){run[place].label, run[place].n, run[place].d});
    put_gains(t, run + place + 1, run->used - place - 1);
}

/* The gains of all labels, one beside the other. */
static void spread_gains(const struct nb_stack_pass *p, struct nb_row row,
                         const struct nb_stack_target *t, double *gains)
{
    const uint32_t columns = p->view->columns;
    const double absent = t->gains->absent;
    struct nb_stack_target spread = {.gains = t->gains, .sums = gains, .without = t->without};
    for (uint32_t v = 0; v < columns; v++)
        gains[v] = absent;
    put_cells(p, row, &spread);
}

/* r |r| of each of two numbers. */
static inline pair squares_of_pair(pair r)
{
    const pair_of_bits magnitude = {INT64_MAX, INT64_MAX};
    return r * (pair)((pair_of_bits)r & magnitude);
}

/* sums[v] += e(gains[v] - offsets[v]) with the power 2. */
static void add_squares(double *restrict sums, const double *restrict gains,
                        const double *restrict offsets, uint32_t columns)
{
    uint32_t v = 0;
    for (; v + PAIR <= columns; v += PAIR)
        *(pair *)(sums + v) +=
            squares_of_pair(*(const pair *)(gains + v) - *(const pair *)(offsets + v));
    for (; v < columns; v++) {
        double r = gains[v] - offsets[v];
        sums[v] += r * fabs(r);
    }
}

static inline __attribute__((always_inline)) void add_powers(const struct nb_stack_target *t,
                                                             enum nb_stack_power_kind kind,
                                                             uint32_t columns, const double *gains)
{
    for (uint32_t v = 0; v < columns; v++)
        t->sums[v] += nb_stack_power_of(t->gains->reading, kind, gains[v] - t->offsets[v]);
}

/* The same, and twin[v] += u (gains[v] - absent). */
static void add_squares_and_twin(const struct nb_stack_target *t, const double *restrict gains,
                                 uint32_t columns)
{
    const double *restrict offsets = t->offsets;
    double *restrict sums = t->sums, *restrict twin = t->twin;
    const double absent = t->gains->absent, u = t->u;
    uint32_t v = 0;
    for (; v + PAIR <= columns; v += PAIR) {
        pair gain = *(const pair *)(gains + v);
        *(pair *)(sums + v) += squares_of_pair(gain - *(const pair *)(offsets + v));
        *(pair *)(twin + v) += u * (gain - absent);
    }
    for (; v < columns; v++) {
        double r = gains[v] - offsets[v];
        sums[v] += r * fabs(r);
        twin[v] += u * (gains[v] - absent);
    }
}

static void add_twin_gains(const struct nb_stack_target *t, const double *restrict gains,
                           uint32_t columns)
{
    double *restrict twin = t->twin;
    for (uint32_t v = 0; v < columns; v++)
        twin[v] += t->u * (gains[v] - t->gains->absent);
}

/* A row that most labels have, or in a model of few: all of its gains, one beside the other, cost
 * less than corrections. They are kept like that. */
static void nb_stack_add_dense(const struct nb_stack_pass *p, struct nb_row row,
                               struct nb_stack_target *t)
{
    uint32_t columns = p->view->columns;
    double *gains = t->kept_gains != NULL ? t->kept_gains : p->inputs->scratch->gains;
    enum nb_stack_power_kind kind = t->gains->reading->kind;
    spread_gains(p, row, t, gains);
    if (kind == NB_POWER_2 && t->twin != NULL)
        add_squares_and_twin(t, gains, columns);
    else if (kind == NB_POWER_2)
        add_squares(t->sums, gains, t->offsets, columns);
    else if (kind == NB_POWER_1)
        add_powers(t, NB_POWER_1, columns, gains);
    else
        add_powers(t, NB_POWER_ANY, columns, gains);
    if (t->twin != NULL && kind != NB_POWER_2)
        add_twin_gains(t, gains, columns);
    t->kept_gains = t->kept_gains != NULL ? t->kept_gains + columns : NULL;
}

#endif
