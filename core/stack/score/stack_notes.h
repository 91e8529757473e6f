/* SPDX-License-Identifier: Apache-2.0
 *
 * Two labels: notes of rows, which are summed when all are known, and the sums of the twin.
 * For core/stack/score/stack_two*.c. Rules as in core/stack/score/stack.h.
 */
#ifndef NB_CORE_STACK_SCORE_STACK_NOTES_H
#define NB_CORE_STACK_SCORE_STACK_NOTES_H

#include "core/stack/score/stack_private.h"

/* ---- notes ----------------------------------------------------------------------------------- */

/* The target of noted rows for add_noted: a local copy of the loop's data, which stores to the
 * notes cannot change. */
struct nb_stack_notes {
    const struct nb_model *model;
    struct nb_slots_values slots; /* of the twin: asked for when the row is noted */
    struct nb_stack_noted *next;
    uint32_t label;      /* the first one */
    uint32_t out, first; /* 1: a document is left out; and it has the first label */
};

static inline struct nb_stack_notes nb_stack_notes_of(const struct nb_stack_pass *p)
{
    bool is_out = p->without != NULL;
    return (struct nb_stack_notes){.model = p->model,
                                   .slots =
                                       nb_slots_values(p->twin == NULL ? NULL : p->twin->slots),
                                   .next = p->inputs->noted,
                                   .label = p->view->labels[0],
                                   .out = is_out,
                                   .first = is_out && p->without->label == p->view->labels[0]};
}

/* Writes the number of notes back to the inputs. */
static inline void nb_stack_keep_notes(const struct nb_stack_pass *p,
                                       const struct nb_stack_notes *notes)
{
    p->inputs->noted_count = notes->next == NULL ? 0 : (size_t)(notes->next - p->inputs->noted);
    assert(p->inputs->noted_count <= p->inputs->noted_room);
}

/* Notes a row without the left-out document; there must be room. Returns D_w including that
 * document. The next note overwrites a row that no document has, which avoids a branch. */
static inline uint64_t nb_stack_note(struct nb_stack_notes *n, uint64_t id, uint32_t row)
{
    struct nb_two_documents d = nb_counts_of_two(n->model, row, n->label);
    uint64_t left = nb_stack_less(d.all, n->out);
    uint64_t own = nb_stack_less(d.own, n->first);
    own = own < left ? own : left;
    assert(n->next != NULL);
    n->next->first = (uint32_t)own;
    n->next->second = (uint32_t)(left - own);
    n->next->id = id;
    n->next += left != 0;
    nb_slots_values_prefetch(&n->slots, (uint32_t)id);
    return d.all;
}

/* ---- the twin -------------------------------------------------------------------------------- */

/* A local copy of the twin's sums, which stores to the features' evidence cannot change. */
struct nb_stack_twin_sums {
    struct nb_slots_values slots; /* without a twin: of no slots */
    double gains[NB_FIELDS];
};

static inline struct nb_stack_twin_sums nb_stack_twin_sums_of(const struct nb_stack_pass *p)
{
    return (struct nb_stack_twin_sums){
        .slots = nb_slots_values(p->twin == NULL ? NULL : p->twin->slots)};
}

/* `r` is that of the first label; that of the second is minus it. */
static inline void nb_stack_add_to_twin(struct nb_stack_twin_sums *sums, unsigned field,
                                        uint32_t key, double r)
{
    sums->gains[field] -= (double)sums->slots.values[key & sums->slots.mask] * r;
}

/* Writes a term for the twin, member by member: a copy of a whole term would wait for its parts. */
static inline void nb_stack_put_term(struct nb_stack_term *term, double r, uint32_t key,
                                     unsigned field)
{
    term->gain = -r;
    term->key = key;
    term->field = field;
    term->end = 0;
    term->is_dense = false;
}

/* Whether the terms that the twin learns from are kept. */
static inline bool nb_stack_keeps_terms(const struct nb_stack_pass *p)
{
    return p->twin != NULL && p->twin->keeps;
}

#endif
