/* SPDX-License-Identifier: Apache-2.0
 *
 * The results of the pass over the counts (core/stack/stack_inputs.c) for the twin: sums of
 * u_w * r_wv by field and label, and, for learning, the evidence of each feature. For
 * core/stack/stack*.c and their tests.
 *
 * Two labels have one column, with the r of the second label. With more labels, r_v is a gain minus
 * an offset. The gain is the same for all labels that do not have the feature; the offset is the
 * same for all features of a field. So each field has one sum of u and one sum of u times that
 * gain, and each label has one sum of what its cells add.
 */
#ifndef NB_CORE_STACK_STACK_EVIDENCE_H
#define NB_CORE_STACK_STACK_EVIDENCE_H

#include <assert.h>

#include "core/base/feature.h"
#include "core/stack/weights.h"

/* The evidence of a feature. */
struct nb_stack_term {
    double gain;  /* two labels: r; more: the gain of labels that do not have the feature */
    uint32_t key; /* the low bits of the feature's id; the lowest of them select its slot */
    uint32_t field;
    uint32_t end;  /* its cells go from `end` of the previous term to here */
    bool is_dense; /* one cell for each column, in order; cell_labels is not used */
};

struct nb_stack_evidence {
    const struct nb_slots *slots; /* borrowed, until the inputs are computed */
    bool keeps;                   /* whether terms are kept, too */
    bool failed;                  /* out of memory for cells */
    uint32_t columns;             /* 1, or one for each label number */
    uint32_t fields;              /* bits 1u << field: fields that have sums */
    uint64_t features;            /* vocabulary of the model when the sums were computed */
    double *sums;                 /* owned; [field][column] */
    double *offsets;              /* owned; [field][column]; with more than two labels */
    double *errors;               /* owned; e_v by column, for the learning step */
    size_t sum_room;
    double u[NB_FIELDS], gains[NB_FIELDS]; /* sums of u and, with more labels, of u times gain */
    struct nb_stack_term *terms;           /* owned */
    /* Cells: the label, and its gain minus the gain of labels that do not have the feature; in
     * dense terms just the gain. Owned. */
    uint32_t *cell_labels;
    double *cell_gains;
    size_t term_count, term_room, cell_count, cell_room;
};

void nb_stack_evidence_free(struct nb_stack_evidence **evidence);
/* Begins with a document of `size` features. Returns 0 or NB_NO_MEMORY. */
int nb_stack_evidence_start(struct nb_stack_evidence *evidence, const struct nb_slots *slots,
                            bool keeps, uint32_t columns, size_t size);
/* Makes room for `count` more cells. Returns 0, or NB_NO_MEMORY with `failed` set. */
int nb_stack_evidence_room(struct nb_stack_evidence *evidence, size_t count);

/* Sets `shares` to x_w by field, from the document's number of features in each field and the
 * number of attributes that have a value. */
void nb_stack_evidence_shares(const uint32_t *features, uint32_t attributes,
                              double shares[NB_FIELDS]);

static inline double *nb_stack_evidence_sums(const struct nb_stack_evidence *evidence,
                                             unsigned field)
{
    return evidence->sums + (size_t)field * evidence->columns;
}

/* Notes a field that the document has. */
void nb_stack_evidence_begin_field(struct nb_stack_evidence *evidence, unsigned field);

/* Adds a feature to the sums and returns its u; with `keeps`, appends a term without cells yet. */
static inline double nb_stack_evidence_add(struct nb_stack_evidence *evidence, unsigned field,
                                           uint64_t id, double gain)
{
    double u = (double)nb_slots_at(evidence->slots, id);
    if ((evidence->fields >> field & 1u) == 0)
        nb_stack_evidence_begin_field(evidence, field);
    evidence->u[field] += u;
    evidence->gains[field] += u * gain;
    if (evidence->keeps)
        evidence->terms[evidence->term_count++] =
            (struct nb_stack_term){.gain = gain,
                                   .key = (uint32_t)id,
                                   .field = field,
                                   .end = (uint32_t)evidence->cell_count};
    return u;
}

/* Ends the last term, which has `count` cells. */
static inline void nb_stack_evidence_end(struct nb_stack_evidence *evidence, size_t count,
                                         bool is_dense)
{
    struct nb_stack_term *term = &evidence->terms[evidence->term_count - 1];
    evidence->cell_count += count;
    assert(evidence->cell_count <= evidence->cell_room);
    term->end = (uint32_t)evidence->cell_count;
    term->is_dense = is_dense;
}

/* The sum over the columns of e_v times what the cells of a term, which begin at `first`, add to
 * its gain. */
double nb_stack_evidence_gradient(const struct nb_stack_evidence *evidence,
                                  const struct nb_stack_term *term, size_t first);

#endif
