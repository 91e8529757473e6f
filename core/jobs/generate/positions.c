/* SPDX-License-Identifier: Apache-2.0 */
#include "core/jobs/generate/positions.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/error.h"

int nb_positions_begin(struct nb_positions *positions, size_t length, uint64_t seed,
                       double temperature)
{
    assert(length < UINT32_MAX && temperature > 0);
    *positions = (struct nb_positions){.power = 1 / temperature, .last = -1};
    positions->heap = calloc(length + 1, sizeof *positions->heap);
    if (positions->heap == NULL)
        return NB_NO_MEMORY;
    positions->length = length;
    for (size_t i = 0; i < length; i++)
        positions->heap[i] = (struct nb_position){
            .random = nb_random_of(seed, i), .row = UINT32_MAX, .place = (uint32_t)i};
    return 0;
}

void nb_positions_deinit(struct nb_positions *positions)
{
    free(positions->heap);
    *positions = (struct nb_positions){0};
}

/* ---- the walk -------------------------------------------------------------------------------- */

static double fraction(struct nb_random *random)
{
    return (double)((nb_random_next(random) >> 11) + 1) * 0x1p-53;
}

static void sift(struct nb_positions *p)
{
    struct nb_position moved = p->heap[0];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= p->length)
            break;
        if (child + 1 < p->length && p->heap[child + 1].next < p->heap[child].next)
            child++;
        if (moved.next <= p->heap[child].next)
            break;
        p->heap[at] = p->heap[child];
        at = child;
    }
    p->heap[at] = moved;
}

static double weight_of(struct nb_positions *p, double count)
{
    if (p->power == 1)
        return count;
    if (count < p->last || count > p->last) {
        p->last = count;
        p->last_weight = pow(count, p->power);
    }
    return p->last_weight;
}

void nb_positions_offer(struct nb_positions *positions, uint64_t feature, uint32_t row,
                        double count)
{
    if (positions->length == 0)
        return;
    double weight = weight_of(positions, count);
    if (!(weight > 0)) /* the estimate is 0, or a power that a double cannot hold */
        return;
    positions->sum += weight;
    while (positions->heap[0].next <= positions->sum) {
        struct nb_position *p = &positions->heap[0];
        p->feature = feature;
        p->row = row;
        p->next = positions->sum / fraction(&p->random);
        if (p->next <= positions->sum) /* u was 1: the next word has it */
            p->next = nextafter(positions->sum, INFINITY);
        sift(positions);
    }
}

/* ---- the document ---------------------------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
    const struct nb_position *x = a, *y = b;
    return (x->place > y->place) - (x->place < y->place);
}

void nb_positions_sort(struct nb_positions *positions)
{
    if (positions->length > 0)
        qsort(positions->heap, positions->length, sizeof *positions->heap, by_place);
}
