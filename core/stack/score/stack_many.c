/* SPDX-License-Identifier: Apache-2.0
 *
 * The inputs of a document with more than two labels, in time of the counts that are not zero.
 *
 * For a label v that has no document with the feature w, r_v = g_w - o_v: g_w = ln a - ln(D_w + a)
 * depends on the feature alone, and the offset o_v on the label and the field. So for each field
 *
 *     sum of e_v = F(o_v) + sum over the non-zero cells of e(g_wv - o_v) - e(g_w - o_v)
 *
 * where F(o) is the sum of e(g_w - o) over the features of the field (stack_many_groups.c). What
 * cells add is in stack_many_sparse.h; of rows that most labels have, stack_many_dense.h adds up
 * e(r_v) as it is.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/stack/score/stack_many_dense.h"
#include "core/stack/score/stack_many_sparse.h"

/* With no more labels than this every row is taken as dense: measured with 20. */
enum { FEW_LABELS = 32 };

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

/* ---- a row, for all experts and the twin ------------------------------------------------------
 */

static void start_field(const struct nb_stack_pass *p, unsigned field)
{
    struct nb_stack_scratch *s = p->inputs->scratch;
    s->fields |= 1u << field;
    for (unsigned e = 0; e < p->experts; e++)
        memset(nb_stack_many_sums(p, e, field), 0, p->view->columns * sizeof *s->sums);
}

/* What the row adds for every label is noted; what its cells add over that comes with them. */
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
    bool is_dense = cells > p->view->columns / 2 || p->view->columns <= FEW_LABELS;
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
                                                                       : p->without->label};
        if (p->twin != NULL && e == p->experts - 1)
            begin_twin(p, field, row, is_dense ? p->view->columns : cells, &target);
        if (is_dense)
            nb_stack_add_dense(p, row, &target);
        else
            nb_stack_add_sparse(p, row, &target);
        end_twin(p, &target, is_dense);
    }
}
