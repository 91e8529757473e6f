/* SPDX-License-Identifier: Apache-2.0
 *
 * The inputs of a document with more than two labels, in time of the counts that are not zero.
 *
 * For a label v that has no document with the feature w, r_v = g_w - o_v: g_w = ln a - ln(D_w + a)
 * depends on the feature alone, and the offset o_v on the label and the field. So for each field
 *
 *     sum of e_v = F(o_v) + sum over the non-zero cells of e(g_wv - o_v) - e(g_w - o_v)
 *
 * where F(o) is the sum of e(g_w - o) over the features of the field. With the power 2, e(r) is
 * r |r|: with the g_w sorted, and prefix sums of 1, g and g^2, F costs a binary search for each
 * label. Equal D_w are one group; with a power that does not expand, F goes over the groups.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/score/stack_private.h"

enum { KEY_SHIFT = 56, DIGIT_BITS = 8, DIGITS = 1 << DIGIT_BITS };

/* With no more labels than this every row is taken as dense: measured with 20. */
enum { FEW_LABELS = 32 };

/* Features of a field that equally many documents have. */
struct group {
    double gain; /* g */
    /* Of the groups before this one, which have larger gains: */
    double features, gains, squares;
};

struct nb_stack_scratch {
    uint64_t *keys, *other; /* owned: field << KEY_SHIFT | D_w, and as many to sort with */
    size_t key_count, key_room;
    struct group *groups; /* owned; as many, and one for the sum of all */
    double *sums;         /* owned; [expert][field][label number], of the fields in `fields` */
    double *gains;        /* owned; of the row at hand, by label number */
    size_t sum_room;
    double *offsets; /* owned; as `sums`: without the document that is left out */
    size_t offset_room;
    uint32_t fields;
};

/* ---- memory ---------------------------------------------------------------------------------- */

void nb_stack_scratch_free(struct nb_stack_scratch **scratch)
{
    struct nb_stack_scratch *s = *scratch;
    *scratch = NULL;
    if (s == NULL)
        return;
    free(s->keys);
    free(s->other);
    free(s->groups);
    free(s->sums);
    free(s->gains);
    free(s->offsets);
    free(s);
}

/* Room for `count` of something of which nothing needs to be kept. */
static int room_for(void *array, size_t count, size_t size)
{
    void **at = array;
    free(*at);
    *at = reallocarray(NULL, count, size);
    return *at != NULL ? 0 : NB_NO_MEMORY;
}

static int keys_room(struct nb_stack_scratch *s, size_t size)
{
    if (size <= s->key_room)
        return 0;
    s->key_room = 0;
    if (room_for(&s->keys, size, sizeof *s->keys) != 0 ||
        room_for(&s->other, size, sizeof *s->other) != 0 ||
        room_for(&s->groups, size + 1, sizeof *s->groups) != 0)
        return NB_NO_MEMORY;
    s->key_room = size;
    return 0;
}

/* Of a field of the document, for an expert, by column. */
static inline const double *offsets_of(const struct nb_stack_pass *p, unsigned e, unsigned field)
{
    size_t at = ((size_t)e * NB_FIELDS + field) * p->view->columns;
    return p->without != NULL ? p->inputs->scratch->offsets + at
                              : nb_stack_offsets(p->stack, p->model, e, field);
}

/* The offsets of the document's fields. */
static int put_own_offsets(const struct nb_stack_pass *p, size_t room)
{
    struct nb_stack_scratch *s = p->inputs->scratch;
    const struct nb_stack_bank *bank = nb_stack_bank(&p->stack->settings, p->view->size);
    if (room > s->offset_room) {
        s->offset_room = 0;
        if (room_for(&s->offsets, room, sizeof *s->offsets) != 0)
            return NB_NO_MEMORY;
        s->offset_room = room;
    }
    for (unsigned e = 0; e < p->experts; e++)
        for (unsigned field = 0; field < NB_FIELDS; field++)
            if (p->without->features[field] != 0)
                nb_stack_put_offsets(p->view, p->model, nb_stack_taken(p->without, field), field,
                                     bank->experts[e].smoothing,
                                     s->offsets +
                                         ((size_t)e * NB_FIELDS + field) * p->view->columns);
    return 0;
}

int nb_stack_many_start(const struct nb_stack_pass *p, size_t size)
{
    size_t sums = (size_t)p->experts * NB_FIELDS * p->view->columns;
    struct nb_stack_scratch *s = p->inputs->scratch;
    if (s == NULL && (s = p->inputs->scratch = calloc(1, sizeof *s)) == NULL)
        return NB_NO_MEMORY;
    if (sums > s->sum_room) {
        s->sum_room = 0;
        if (room_for(&s->sums, sums, sizeof *s->sums) != 0 ||
            room_for(&s->gains, p->view->columns, sizeof *s->gains) != 0)
            return NB_NO_MEMORY;
        s->sum_room = sums;
    }
    s->key_count = 0;
    s->fields = 0;
    if (p->without != NULL && put_own_offsets(p, sums) != 0)
        return NB_NO_MEMORY;
    return keys_room(s, size);
}

/* ---- cells that are not zero ----------------------------------------------------------------- */

static inline double *sums_of(const struct nb_stack_pass *p, unsigned e, unsigned field)
{
    return p->inputs->scratch->sums + ((size_t)e * NB_FIELDS + field) * p->view->columns;
}

/* As nb_stack_power. The kind is a constant where it is called, so that loops have no branch. */
static inline __attribute__((always_inline)) double
power_of(const struct nb_stack_reading *reading, enum nb_stack_power_kind kind, double r)
{
    return kind == NB_POWER_2 ? r * fabs(r) : kind == NB_POWER_1 ? r : nb_stack_power(reading, r);
}

/* The gains of a row. */
struct row_gains {
    const struct nb_stack_reading *reading;
    uint64_t all;
    const double *logs; /* of all counts up to `all`; NULL: they are not all in the table */
    double absent;      /* g_w */
};

static inline struct row_gains gains_of(const struct nb_stack_reading *reading, uint64_t all)
{
    return (struct row_gains){.reading = reading,
                              .all = all,
                              .logs = all < reading->logs.size ? reading->logs.logs : NULL,
                              .absent = nb_stack_gain(reading, 0, all)};
}

/* `documents` is at most `all`. */
static inline double gain_of(const struct row_gains *g, uint32_t documents)
{
    return g->logs != NULL ? g->logs[documents] - g->logs[g->all - documents]
                           : nb_stack_gain(g->reading, documents, g->all);
}

/* Where the cells of a row go. */
struct target {
    const struct row_gains *gains;
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
static inline struct nb_cell cell_without(const struct target *t, struct nb_cell cell)
{
    cell.documents -= cell.label == t->without && cell.documents > 0;
    return cell;
}

static inline __attribute__((always_inline)) void add_twin_cell(struct target *t, uint32_t label,
                                                                double more)
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
add_cell(struct target *t, enum nb_stack_power_kind kind, struct nb_cell cell)
{
    const struct row_gains *g = t->gains;
    cell = cell_without(t, cell);
    if (cell.documents > g->all)
        return;
    double offset = t->offsets[cell.label];
    double gain = gain_of(g, cell.documents);
    t->sums[cell.label] +=
        power_of(g->reading, kind, gain - offset) - power_of(g->reading, kind, g->absent - offset);
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
static void add_each(const struct nb_stack_pass *p, struct nb_row row, struct target *t)
{
    struct target own = *t;
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
static inline __attribute__((always_inline)) void add_squares_of(const struct target *t,
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

static void add_run(struct target *t, const struct nb_spill *cells, size_t size)
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
static void add_run_without(struct target *t, const struct nb_spill *run, size_t place)
{
    add_run(t, run, place);
    add_cell_2(t, (struct nb_cell){run[place].label, run[place].n, run[place].d});
    add_run(t, run + place + 1, run->used - place - 1);
}

/* Whether the cells of a row may be read without a question for each: they are a run, their
 * logarithms are in the table, and no document is left out, or it is in the counts: it is in the
 * cell at *place then. Else *place is that behind the last one. */
static bool is_plain(const struct nb_stack_pass *p, struct nb_row row, const struct target *t,
                     uint32_t *place)
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

static void add_sparse(const struct nb_stack_pass *p, struct nb_row row, struct target *t)
{
    uint32_t place;
    if (t->gains->reading->kind != NB_POWER_2 || !is_plain(p, row, t, &place)) {
        add_each(p, row, t);
        return;
    }
    const struct nb_spill *run = nb_row_run(&p->model->pool, row);
    if (place < run->used)
        add_run_without(t, run, place);
    else
        add_run(t, run, run->used);
}

/* Two numbers at a time. */
typedef double pair __attribute__((vector_size(16), aligned(8), may_alias));
typedef int64_t pair_of_bits __attribute__((vector_size(16)));
enum { PAIR = 2 };

/* Puts a cell's gain over that of labels that do not have the feature. */
static inline __attribute__((always_inline)) void put_gain(void *user, struct nb_cell cell)
{
    const struct target *t = user;
    t->sums[cell.label] = gain_of(t->gains, cell.documents);
}

static inline __attribute__((always_inline)) void put_gain_without(void *user, struct nb_cell cell)
{
    const struct target *t = user;
    struct nb_cell left = cell_without(t, cell);
    if (left.documents <= t->gains->all)
        t->sums[cell.label] = gain_of(t->gains, left.documents);
}

/* The gains of the cells of a run. */
static void put_gains(const struct target *t, const struct nb_spill *cells, size_t size)
{
    const double *logs = t->gains->logs, *others = logs + t->gains->all;
    double *gains = t->sums;
    for (size_t i = 0; i < size; i++)
        gains[cells[i].label] = logs[cells[i].d] - *(others - cells[i].d);
}

/* Puts the gains of a row's cells over those of labels that do not have the feature. */
static void put_cells(const struct nb_stack_pass *p, struct nb_row row, struct target *t)
{
    uint32_t place;
    if (!is_plain(p, row, t, &place)) {
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
static void spread_gains(const struct nb_stack_pass *p, struct nb_row row, const struct target *t,
                         double *gains)
{
    const uint32_t columns = p->view->columns;
    const double absent = t->gains->absent;
    struct target spread = {.gains = t->gains, .sums = gains, .without = t->without};
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

static inline __attribute__((always_inline)) void add_powers(const struct target *t,
                                                             enum nb_stack_power_kind kind,
                                                             uint32_t columns, const double *gains)
{
    for (uint32_t v = 0; v < columns; v++)
        t->sums[v] += power_of(t->gains->reading, kind, gains[v] - t->offsets[v]);
}

/* The same, and twin[v] += u (gains[v] - absent). */
static void add_squares_and_twin(const struct target *t, const double *restrict gains,
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

static void add_twin_gains(const struct target *t, const double *restrict gains, uint32_t columns)
{
    double *restrict twin = t->twin;
    for (uint32_t v = 0; v < columns; v++)
        twin[v] += t->u * (gains[v] - t->gains->absent);
}

/* A row that most labels have, or in a model of few: all of its gains, one beside the other, cost
 * less than corrections. They are kept like that. */
static void add_dense(const struct nb_stack_pass *p, struct nb_row row, struct target *t)
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

/* ---- a row, for all experts and the twin ------------------------------------------------------
 */

static void start_field(const struct nb_stack_pass *p, unsigned field)
{
    struct nb_stack_scratch *s = p->inputs->scratch;
    s->fields |= 1u << field;
    for (unsigned e = 0; e < p->experts; e++)
        memset(sums_of(p, e, field), 0, p->view->columns * sizeof *s->sums);
}

/* What the row adds for every label is noted; what its cells add over that comes with them. */
static void begin_twin(const struct nb_stack_pass *p, unsigned field, struct nb_row row,
                       size_t cells, struct target *t)
{
    if (p->twin->keeps && nb_stack_evidence_room(p->twin, cells) != 0)
        return;
    t->u = nb_stack_evidence_add(p->twin, field, row.id, t->gains->absent);
    if (t->u != 0 || p->twin->keeps)
        t->twin = nb_stack_evidence_sums(p->twin, field);
    if (p->twin->keeps) {
        t->kept_gains = p->twin->cell_gains + p->twin->cell_count;
        t->kept_labels = p->twin->cell_labels + p->twin->cell_count;
    }
}

static void end_twin(const struct nb_stack_pass *p, const struct target *t, bool is_dense)
{
    struct nb_stack_evidence *evidence = p->twin;
    if (evidence != NULL && t->kept_gains != NULL)
        nb_stack_evidence_end(evidence,
                              (size_t)(t->kept_gains - evidence->cell_gains) - evidence->cell_count,
                              is_dense);
}

void nb_stack_many_add(const struct nb_stack_pass *p, unsigned field, struct nb_row row,
                       uint64_t all)
{
    struct nb_stack_scratch *s = p->inputs->scratch;
    uint32_t cells = nb_counts_labels(p->model, row);
    bool is_dense = cells > p->view->columns / 2 || p->view->columns <= FEW_LABELS;
    assert(s->key_count < s->key_room && all >> KEY_SHIFT == 0);
    if (!is_dense)
        s->keys[s->key_count++] = (uint64_t)field << KEY_SHIFT | all;
    if ((s->fields >> field & 1u) == 0)
        start_field(p, field);
    for (unsigned e = 0; e < p->experts; e++) {
        const struct row_gains gains = gains_of(&p->readings[e], all);
        struct target target = {.gains = &gains,
                                .offsets = offsets_of(p, e, field),
                                .sums = sums_of(p, e, field),
                                .without =
                                    p->without == NULL ? NB_STACK_NO_LABEL : p->without->label};
        if (p->twin != NULL && e == p->experts - 1)
            begin_twin(p, field, row, is_dense ? p->view->columns : cells, &target);
        if (is_dense)
            add_dense(p, row, &target);
        else
            add_sparse(p, row, &target);
        end_twin(p, &target, is_dense);
    }
}

/* What is in the sums becomes t. */
static void finish_twin(const struct nb_stack_pass *p)
{
    struct nb_stack_evidence *evidence = p->twin;
    const struct nb_stack_view *view = p->view;
    double shares[NB_FIELDS];
    nb_stack_evidence_shares(p->inputs->features, nb_stack_attribute_count(p->inputs), shares);
    memset(p->inputs->t, 0, view->size * sizeof *p->inputs->t);
    for (unsigned field = 0; field < NB_FIELDS; field++) {
        if ((evidence->fields >> field & 1u) == 0)
            continue;
        const double *offsets = offsets_of(p, p->experts - 1, field);
        const double *sums = nb_stack_evidence_sums(evidence, field);
        for (uint32_t v = 0; v < view->size; v++) {
            uint32_t label = view->labels[v];
            p->inputs->t[v] += shares[field] * (sums[label] + evidence->gains[field] -
                                                offsets[label] * evidence->u[field]);
        }
        if (evidence->keeps)
            memcpy(evidence->offsets + (size_t)field * evidence->columns, offsets,
                   evidence->columns * sizeof *offsets);
    }
}

/* ---- what every label gets ------------------------------------------------------------------- */

/* Radix sort (Knuth, The Art of Computer Programming 3, 5.2.5), from the lowest digit; digits that
 * all keys share are passed over. */
static void sort_keys(struct nb_stack_scratch *s)
{
    uint64_t same = UINT64_MAX, first = s->key_count == 0 ? 0 : s->keys[0];
    for (size_t i = 1; i < s->key_count; i++)
        same &= ~(s->keys[i] ^ first);
    for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS) {
        size_t starts[DIGITS + 1] = {0};
        if ((same >> shift & (DIGITS - 1)) == DIGITS - 1)
            continue;
        for (size_t i = 0; i < s->key_count; i++)
            starts[(s->keys[i] >> shift & (DIGITS - 1)) + 1]++;
        for (unsigned i = 0; i < DIGITS; i++)
            starts[i + 1] += starts[i];
        for (size_t i = 0; i < s->key_count; i++)
            s->other[starts[s->keys[i] >> shift & (DIGITS - 1)]++] = s->keys[i];
        uint64_t *sorted = s->other;
        s->other = s->keys;
        s->keys = sorted;
    }
}

/* Makes the groups of a field, by falling gain, and behind them one that has the sums of all. Its
 * keys begin at *at, which moves on behind them. Returns how many there are. */
static size_t make_groups(const struct nb_stack_scratch *s, unsigned field,
                          const struct nb_stack_reading *reading, size_t *at)
{
    const uint64_t mask = (UINT64_C(1) << KEY_SHIFT) - 1;
    struct group next = {0};
    size_t count = 0, end = *at;
    while (end < s->key_count && s->keys[end] >> KEY_SHIFT == field) {
        size_t first = end;
        while (end < s->key_count && s->keys[end] == s->keys[first])
            end++;
        double features = (double)(end - first);
        next.gain = nb_stack_gain(reading, 0, s->keys[first] & mask);
        s->groups[count++] = next;
        next.features += features;
        next.gains += features * next.gain;
        next.squares += features * next.gain * next.gain;
    }
    s->groups[count] = next;
    *at = end;
    return count;
}

/* How many groups have a gain above the offset. */
static size_t groups_above(const struct group *groups, size_t count, double offset)
{
    const struct group *base = groups;
    for (size_t left = count; left > 0;) {
        size_t half = (left + 1) / 2;
        base += base[half - 1].gain > offset ? half : 0;
        left -= half;
    }
    return (size_t)(base - groups);
}

/* Sum of (g - o)^2 from sums of 1, g and g^2. */
static inline double squares_of(double features, double gains, double squares, double o)
{
    return squares - 2 * o * gains + o * o * features;
}

/* F(o). */
static double base_of(const struct nb_stack_reading *reading, const struct group *groups,
                      size_t count, double o)
{
    const struct group *all = &groups[count];
    if (reading->kind == NB_POWER_1)
        return all->gains - o * all->features;
    if (reading->kind == NB_POWER_2) {
        const struct group *a = &groups[groups_above(groups, count, o)];
        return squares_of(a->features, a->gains, a->squares, o) -
               squares_of(all->features - a->features, all->gains - a->gains,
                          all->squares - a->squares, o);
    }
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (groups[i + 1].features - groups[i].features) *
               nb_stack_power(reading, groups[i].gain - o);
    return sum;
}

/* The fields of which there are sums, each once: its groups, which may be none, and every label. */
void nb_stack_many_finish(const struct nb_stack_pass *p)
{
    const struct nb_stack_view *view = p->view;
    struct nb_stack_scratch *s = p->inputs->scratch;
    sort_keys(s);
    for (unsigned e = 0; e < p->experts; e++) {
        const struct nb_stack_reading *reading = &p->readings[e];
        size_t at = 0;
        for (unsigned field = 0; field < NB_FIELDS; field++) {
            if ((s->fields >> field & 1u) == 0)
                continue;
            const double *offsets = offsets_of(p, e, field);
            const double *sums = sums_of(p, e, field);
            double *x = p->inputs->x + (size_t)(e * NB_STACK_GROUPS + field) * view->size;
            size_t groups = make_groups(s, field, reading, &at);
            for (uint32_t v = 0; v < view->size; v++) {
                uint32_t label = view->labels[v];
                x[v] = sums[label] + base_of(reading, s->groups, groups, offsets[label]);
            }
        }
        assert(at == s->key_count);
    }
    if (p->twin != NULL)
        finish_twin(p);
}
