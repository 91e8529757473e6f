/* SPDX-License-Identifier: Apache-2.0
 *
 * What every label gets of the rows that few labels have: F(o) of its offset o in each field
 * (stack_many.c), and with it the inputs.
 *
 * With the power 2, e(r) is r |r|: with the g_w sorted, and prefix sums of 1, g and g^2, F costs a
 * binary search for each label. Equal D_w are one group; with a power that does not expand, F goes
 * over the groups.
 */
#include <assert.h>
#include <string.h>

#include "core/stack/score/stack_scratch.h"

enum { DIGIT_BITS = 8, DIGITS = 1 << DIGIT_BITS };

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
