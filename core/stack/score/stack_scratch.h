/* SPDX-License-Identifier: Apache-2.0
 *
 * More than two labels: the working data of a document while stack_many.c reads its rows, one after
 * the other, until it makes the inputs. A scratch belongs to the inputs, and to one thread.
 */
#ifndef NB_CORE_STACK_SCORE_STACK_SCRATCH_H
#define NB_CORE_STACK_SCORE_STACK_SCRATCH_H

#include "core/stack/score/stack_private.h"

/* A key holds the field above D_w. */
enum { NB_STACK_KEY_SHIFT = 56 };

/* Features of a field that equally many documents have. */
struct nb_stack_group {
    double gain; /* g */
    /* Sums over the groups before this one, which have larger gains: */
    double features, gains, squares;
};

struct nb_stack_scratch {
    uint64_t *keys, *other; /* owned: field << NB_STACK_KEY_SHIFT | D_w, and as many to sort with */
    size_t key_count, key_room;
    struct nb_stack_group *groups; /* owned; as many, and one for the sum of all */
    double *sums;  /* owned; [expert][field][label number], of the fields in `fields` */
    double *gains; /* owned; of the row at hand, by label number */
    size_t sum_room;
    double *offsets; /* owned; as `sums`: without the document that is left out */
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

#endif
