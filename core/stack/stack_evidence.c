/* SPDX-License-Identifier: Apache-2.0 */
#include "core/stack/stack_evidence.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/error.h"

void nb_stack_evidence_free(struct nb_stack_evidence **evidence)
{
    struct nb_stack_evidence *e = *evidence;
    *evidence = NULL;
    if (e == NULL)
        return;
    free(e->sums);
    free(e->offsets);
    free(e->errors);
    free(e->terms);
    free(e->cell_labels);
    free(e->cell_gains);
    free(e);
}

static int sums_room(struct nb_stack_evidence *e, uint32_t columns)
{
    size_t room = (size_t)columns * NB_FIELDS;
    if (room <= e->sum_room)
        return 0;
    e->sum_room = 0;
    if (nb_array_resize(&e->sums, room, sizeof *e->sums) != 0 ||
        nb_array_resize(&e->offsets, room, sizeof *e->offsets) != 0 ||
        nb_array_resize(&e->errors, columns, sizeof *e->errors) != 0)
        return NB_NO_MEMORY;
    e->sum_room = room;
    return 0;
}

int nb_stack_evidence_start(struct nb_stack_evidence *e, const struct nb_slots *slots, bool keeps,
                            uint32_t columns, size_t size)
{
    e->slots = slots;
    e->keeps = keeps;
    e->columns = columns;
    e->fields = 0;
    e->term_count = e->cell_count = 0;
    e->failed = false;
    memset(e->u, 0, sizeof e->u);
    memset(e->gains, 0, sizeof e->gains);
    if (columns > 0 && sums_room(e, columns) != 0)
        return NB_NO_MEMORY;
    return keeps ? nb_array_renew(&e->terms, &e->term_room, size, sizeof *e->terms) : 0;
}

int nb_stack_evidence_room(struct nb_stack_evidence *e, size_t count)
{
    size_t wanted = e->cell_count + count;
    size_t room = nb_array_room(e->cell_room, wanted, sizeof *e->cell_gains);
    if (wanted <= e->cell_room)
        return 0;
    if (nb_array_resize(&e->cell_labels, room, sizeof *e->cell_labels) != 0 ||
        nb_array_resize(&e->cell_gains, room, sizeof *e->cell_gains) != 0) {
        e->failed = true;
        return NB_NO_MEMORY;
    }
    e->cell_room = room;
    return 0;
}

void nb_stack_evidence_shares(const uint32_t *features, uint32_t attributes,
                              double shares[NB_FIELDS])
{
    uint32_t fields = attributes;
    for (unsigned field = 0; field < NB_FIELDS; field++)
        fields += features[field] != 0;
    for (unsigned field = 0; field < NB_FIELDS; field++)
        shares[field] = features[field] == 0 ? 0 : 1 / sqrt((double)features[field] * fields);
}

void nb_stack_evidence_begin_field(struct nb_stack_evidence *e, unsigned field)
{
    assert(field < NB_FIELDS && e->columns > 0);
    e->fields |= 1u << field;
    memset(nb_stack_evidence_sums(e, field), 0, e->columns * sizeof *e->sums);
}

/* Sums are split into four parts that do not wait for each other: in one sum each addition would
 * wait for the one before. */
enum { PARTS = 4 };

static double gradient_dense(const double *errors, const double *gains, double absent, size_t size)
{
    double sums[PARTS] = {0};
    size_t i = 0;
    for (; i + PARTS <= size; i += PARTS)
        for (size_t k = 0; k < PARTS; k++)
            sums[k] += errors[i + k] * (gains[i + k] - absent);
    for (; i < size; i++)
        sums[0] += errors[i] * (gains[i] - absent);
    return sums[0] + sums[1] + (sums[2] + sums[3]);
}

static double gradient_sparse(const double *errors, const uint32_t *labels, const double *gains,
                              size_t size)
{
    double sums[PARTS] = {0};
    size_t i = 0;
    for (; i + PARTS <= size; i += PARTS)
        for (size_t k = 0; k < PARTS; k++)
            sums[k] += errors[labels[i + k]] * gains[i + k];
    for (; i < size; i++)
        sums[0] += errors[labels[i]] * gains[i];
    return sums[0] + sums[1] + (sums[2] + sums[3]);
}

double nb_stack_evidence_gradient(const struct nb_stack_evidence *e,
                                  const struct nb_stack_term *term, size_t first)
{
    const double *gains = e->cell_gains + first;
    size_t size = term->end - first;
    assert(first <= term->end && (!term->is_dense || size == e->columns));
    return term->is_dense ? gradient_dense(e->errors, gains, term->gain, size)
                          : gradient_sparse(e->errors, e->cell_labels + first, gains, size);
}
