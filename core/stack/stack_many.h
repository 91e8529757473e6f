/* SPDX-License-Identifier: Apache-2.0
 *
 * More than two labels: the evidence of a row, and the working data of a document while its rows
 * are read one after the other, until the inputs are complete. For stack_many.c alone, whose
 * function for a row inlines all of this. Any thread, under the model's read lock. A scratch
 * belongs to the inputs, and to one thread.
 */
#ifndef NB_CORE_STACK_STACK_MANY_H
#define NB_CORE_STACK_STACK_MANY_H

#include "core/stack/stack_private.h"

/* A key holds the field above D_w. */
enum { NB_STACK_KEY_SHIFT = 56 };

/* The features of a field that have the same D_w. */
struct nb_stack_group {
    double gain; /* g */
    /* Sums over the groups before this one, which have larger gains: */
    double features, gains, squares;
};

struct nb_stack_scratch {
    uint64_t *keys, *other; /* owned: field << NB_STACK_KEY_SHIFT | D_w, and a buffer for sorting */
    size_t key_count, key_room;
    struct nb_stack_group *groups; /* owned; room for one per key, and one for the sum of all */
    double *sums;  /* owned; [expert][field][label number], of the fields in `fields` */
    double *gains; /* owned; of the row being read, by label number */
    size_t sum_room;
    double *offsets; /* owned; laid out as `sums`: offsets without the left-out document */
    size_t offset_room;
    uint32_t fields;
};

/* Returns the offsets of a field for an expert, by column. */
static inline const double *nb_stack_many_offsets(const struct nb_stack_pass *p, unsigned e,
                                                  unsigned field)
{
    size_t at = ((size_t)e * NB_FIELDS + field) * p->view->columns;
    return p->without != NULL ? p->inputs->scratch->offsets + at
                              : nb_stack_offsets(p->stack, p->model, e, field);
}

/* Returns the sums of a field for an expert, by label number. */
static inline double *nb_stack_many_sums(const struct nb_stack_pass *p, unsigned e, unsigned field)
{
    return p->inputs->scratch->sums + ((size_t)e * NB_FIELDS + field) * p->view->columns;
}

/* As nb_stack_power. Callers pass a constant `kind`, so that their loops have no branch. */
static inline __attribute__((always_inline)) double
nb_stack_power_of(const struct nb_stack_reading *reading, enum nb_stack_power_kind kind, double r)
{
    return kind == NB_POWER_2 ? r * fabs(r) : kind == NB_POWER_1 ? r : nb_stack_power(reading, r);
}

/* The gains of a row. */
struct nb_stack_row_gains {
    const struct nb_stack_reading *reading;
    uint64_t all;
    const double *logs; /* of all counts up to `all`; NULL: not all are in the table */
    double absent;      /* g_w: the gain of labels without the feature */
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

/* Where the evidence of a row's cells is added. */
struct nb_stack_target {
    const struct nb_stack_row_gains *gains;
    const double *offsets;
    double *sums;
    uint32_t without; /* label of the left-out document */
    bool is_whole;    /* all documents of that label are left out */
    /* The twin's sums; NULL: there is no twin, or it reads another expert. */
    double *twin;
    double u;
    /* Where the next cell is kept; NULL: cells are not kept. */
    double *kept_gains;
    uint32_t *kept_labels;
};

/* Returns the cell without the left-out document. */
static inline struct nb_cell nb_stack_cell_without(const struct nb_stack_target *t,
                                                   struct nb_cell cell)
{
    if (cell.label == t->without)
        cell.documents -= t->is_whole ? cell.documents : cell.documents > 0;
    return cell;
}

/* Tells whether the cells of a row can be read without a check for each: they are a run, their
 * logarithms are in the table, and a left-out document, if any, is in the counts. *place is then
 * the cell of the left-out document's label, or the end of the run if no document is left out. */
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

/* Dense rows: features that most labels have, and all features in a model of few labels. The gains
 * of all labels are computed in one array. */

/* Vectors of two numbers, without which classifying a text with 20 labels takes about 4 % more
 * processor time, and the same in memory. (gcc 14 for arm64 crashes over an argument of a
 * vector type with less than a vector's alignment.) */
typedef double pair __attribute__((vector_size(16)));
typedef pair pair_stored __attribute__((aligned(8), may_alias));
typedef int64_t pair_of_bits __attribute__((vector_size(16)));
enum { PAIR = 2 };

/* Replaces the gain of a label without the feature by the cell's gain. */
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

/* As put_gain, for the cells of a run. */
static void put_gains(const struct nb_stack_target *t, const struct nb_spill *cells, size_t size)
{
    const double *logs = t->gains->logs, *others = logs + t->gains->all;
    double *gains = t->sums;
    for (size_t i = 0; i < size; i++)
        gains[cells[i].label] = logs[cells[i].d] - *(others - cells[i].d);
}

/* Replaces the gains of labels without the feature by those of the row's cells. */
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

/* Writes the gains of all labels, in the order of the columns. */
static void spread_gains(const struct nb_stack_pass *p, struct nb_row row,
                         const struct nb_stack_target *t, double *gains)
{
    const uint32_t columns = p->view->columns;
    const double absent = t->gains->absent;
    struct nb_stack_target spread = {
        .gains = t->gains, .sums = gains, .without = t->without, .is_whole = t->is_whole};
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
        *(pair_stored *)(sums + v) += squares_of_pair(*(const pair_stored *)(gains + v) -
                                                      *(const pair_stored *)(offsets + v));
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

/* As add_squares, and twin[v] += u (gains[v] - absent). */
static void add_squares_and_twin(const struct nb_stack_target *t, const double *restrict gains,
                                 uint32_t columns)
{
    const double *restrict offsets = t->offsets;
    double *restrict sums = t->sums, *restrict twin = t->twin;
    const double absent = t->gains->absent, u = t->u;
    uint32_t v = 0;
    for (; v + PAIR <= columns; v += PAIR) {
        pair gain = *(const pair_stored *)(gains + v);
        *(pair_stored *)(sums + v) += squares_of_pair(gain - *(const pair_stored *)(offsets + v));
        *(pair_stored *)(twin + v) += u * (gain - absent);
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

/* Adds a dense row: computing all gains in one array costs less than correcting each cell. Kept
 * gains have this form, too. */
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

/* Sparse rows, which few labels have: each cell adds its difference from a cell of 0. The sums for
 * cells of 0 are added at the end (stack_many.c). For stack_many.c alone. */
static inline __attribute__((always_inline)) void add_twin_cell(struct nb_stack_target *t,
                                                                uint32_t label, double more)
{
    t->twin[label] += t->u * more;
    if (t->kept_gains == NULL)
        return;
    *t->kept_gains++ = more;
    *t->kept_labels++ = label;
}

/* Adds a cell's difference from a cell of 0. Skips a cell with more documents than all labels
 * together: the counts no longer have the left-out document. */
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

/* Adds each cell of a row. `t` is copied, so that the loops keep it in registers. */
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

/* As add_cell, without its checks, for a run without a left-out document and with the power 2.
 * `has_twin` and `keeps` are constants at each call. */
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

/* Adds a run; the left-out document is in the cell at `place`. */
static void add_run_without(struct nb_stack_target *t, const struct nb_spill *run, size_t place)
{
    add_run(t, run, place);
    add_cell_2(t, (struct nb_cell){run[place].label, run[place].n, run[place].d});
    add_run(t, run + place + 1, run->used - place - 1);
}

/* Adds the cells of a row to the sums of the target, and keeps them if the target asks for it. */
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
