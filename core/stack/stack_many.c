/* SPDX-License-Identifier: Apache-2.0
 *
 * The inputs of a document with more than two labels, in time proportional to the non-zero counts.
 *
 * For a label v that has no document with the feature w, r_v = g_w - o_v: g_w = ln a - ln(D_w + a)
 * depends on the feature alone, and the offset o_v on the label and the field. So for each field
 *
 *     sum of e_v = F(o_v) + sum over the non-zero cells of e(g_wv - o_v) - e(g_w - o_v)
 *
 * where F(o) is the sum of e(g_w - o) over the features of the field. stack_many.h adds what the
 * cells contribute; for rows that most labels have, it adds up e(r_v) directly.
 */
#include "core/stack/stack_many.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* What sparse rows add to every label: F(o) of its offset o in each field. This completes the
 * inputs.
 *
 * With the power 2, e(r) is r |r|: with the g_w sorted, and prefix sums of 1, g and g^2, F costs a
 * binary search for each label. Equal D_w are one group; with a power that has no such expansion, F
 * loops over the groups. */
enum { DIGIT_BITS = 8, DIGITS = 1 << DIGIT_BITS };

/* Radix sort (Knuth, The Art of Computer Programming 3, 5.2.5), from the lowest digit; digits that
 * all keys share are skipped. */
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

/* Makes the groups of a field, in order of falling gain, and behind them one with the sums of all.
 * The field's keys begin at *at, which is moved behind them. Returns the number of groups. */
static size_t make_groups(const struct nb_stack_scratch *s, unsigned field,
                          const struct nb_stack_reading *reading, size_t *at)
{
    const uint64_t mask = (UINT64_C(1) << NB_STACK_KEY_SHIFT) - 1;
    struct nb_stack_group next = {0};
    size_t count = 0, end = *at;
    while (end < s->key_count && s->keys[end] >> NB_STACK_KEY_SHIFT == field) {
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
static size_t groups_above(const struct nb_stack_group *groups, size_t count, double offset)
{
    const struct nb_stack_group *base = groups;
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
static double base_of(const struct nb_stack_reading *reading, const struct nb_stack_group *groups,
                      size_t count, double o)
{
    const struct nb_stack_group *all = &groups[count];
    if (reading->kind == NB_POWER_1)
        return all->gains - o * all->features;
    if (reading->kind == NB_POWER_2) {
        const struct nb_stack_group *a = &groups[groups_above(groups, count, o)];
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

/* ---- the inputs ------------------------------------------------------------------------------ */

/* Turns the twin's sums into t. */
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
        const double *offsets = nb_stack_many_offsets(p, p->experts - 1, field);
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

void nb_stack_many_sums_of_field(const struct nb_stack_pass *p, unsigned field, double *to)
{
    const struct nb_stack_evidence *evidence = p->twin;
    const uint32_t columns = p->view->columns;
    bool has = (p->inputs->scratch->fields >> field & 1u) != 0;
    bool has_twin = evidence != NULL && (evidence->fields >> field & 1u) != 0;
    assert(columns <= NB_STACK_FEW_LABELS);
    memset(to, 0, ((size_t)p->experts + 1) * columns * sizeof *to);
    for (unsigned e = 0; has && e < p->experts; e++)
        memcpy(to + (size_t)e * columns, nb_stack_many_sums(p, e, field), columns * sizeof *to);
    if (!has_twin)
        return;
    const double *offsets = nb_stack_many_offsets(p, p->experts - 1, field);
    const double *sums = nb_stack_evidence_sums(evidence, field);
    to += (size_t)p->experts * columns;
    for (uint32_t c = 0; c < columns; c++)
        to[c] = sums[c] + evidence->gains[field] - offsets[c] * evidence->u[field];
}

/* Handles each field that has sums: its groups, possibly none, and then every label. */
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
            const double *offsets = nb_stack_many_offsets(p, e, field);
            const double *sums = nb_stack_many_sums(p, e, field);
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

/* Makes room for `count` elements; old contents may be lost. */
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

/* Computes the offsets of the document's fields. */
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
                                     nb_stack_added(&bank->experts[e]),
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

/* ---- a row, for all experts and the twin ----------------------------------------------------- */

static void start_field(const struct nb_stack_pass *p, unsigned field)
{
    struct nb_stack_scratch *s = p->inputs->scratch;
    s->fields |= 1u << field;
    for (unsigned e = 0; e < p->experts; e++)
        memset(nb_stack_many_sums(p, e, field), 0, p->view->columns * sizeof *s->sums);
}

/* Notes what the row adds to every label if its cells are 0; its cells add the difference. */
static void begin_twin(const struct nb_stack_pass *p, unsigned field, struct nb_row row,
                       size_t cells, struct nb_stack_target *t)
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

static void end_twin(const struct nb_stack_pass *p, const struct nb_stack_target *t, bool is_dense)
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
    bool is_dense = cells > p->view->columns / 2 || p->view->columns <= NB_STACK_FEW_LABELS;
    assert(s->key_count < s->key_room && all >> NB_STACK_KEY_SHIFT == 0);
    if (!is_dense)
        s->keys[s->key_count++] = (uint64_t)field << NB_STACK_KEY_SHIFT | all;
    if ((s->fields >> field & 1u) == 0)
        start_field(p, field);
    for (unsigned e = 0; e < p->experts; e++) {
        const struct nb_stack_row_gains gains = nb_stack_gains_of_row(&p->readings[e], all);
        struct nb_stack_target target = {.gains = &gains,
                                         .offsets = nb_stack_many_offsets(p, e, field),
                                         .sums = nb_stack_many_sums(p, e, field),
                                         .without = p->without == NULL ? NB_STACK_NO_LABEL
                                                                       : p->without->label,
                                         .is_whole = p->without != NULL && p->without->is_whole};
        if (p->twin != NULL && e == p->experts - 1)
            begin_twin(p, field, row, is_dense ? p->view->columns : cells, &target);
        if (is_dense)
            nb_stack_add_dense(p, row, &target);
        else
            nb_stack_add_sparse(p, row, &target);
        end_twin(p, &target, is_dense);
    }
}
