/* SPDX-License-Identifier: Apache-2.0
 *
 * Isotonic regression by pool-adjacent-violators.
 */
#include <assert.h>
#include <stdlib.h>

#include "core/base/error.h"
#include "core/bayes/calibrate/fit.h"

/* Neighbours that have one value: from x to x, so many documents of the label among so many. Whole
 * numbers, so that means are compared exactly. */
struct block {
    double first, last, with, all;
};

static int by_odds(const void *a, const void *b)
{
    const struct nb_calibration_point *x = a, *y = b;
    return x->f < y->f ? -1 : x->f > y->f;
}

static struct block joined(struct block one, struct block next)
{
    return (struct block){one.first, next.last, one.with + next.with, one.all + next.all};
}

/* Blocks of rising means; documents of equal odds are one. Returns how many there are. */
static size_t pool(const struct nb_calibration_point *points, size_t count, struct block *blocks)
{
    size_t size = 0;
    for (size_t i = 0; i < count;) {
        struct block next = {points[i].f, points[i].f, points[i].target, 1};
        for (i++; i < count && !(points[i].f > next.last); i++)
            next = joined(next, (struct block){next.last, next.last, points[i].target, 1});
        while (size > 0 && blocks[size - 1].with * next.all >= next.with * blocks[size - 1].all)
            next = joined(blocks[--size], next);
        blocks[size++] = next;
    }
    return size;
}

int nb_calibrator_reserve(struct nb_calibrator *c, uint32_t size)
{
    assert(size > 0);
    c->x = calloc(size, 2 * sizeof *c->x);
    c->y = c->x == NULL ? NULL : c->x + size;
    c->size = c->x == NULL ? 0 : size;
    return c->x == NULL ? NB_NO_MEMORY : 0;
}

/* Both ends of each block. */
static int keep(const struct block *blocks, size_t count, struct nb_calibrator *c)
{
    uint32_t size = 0;
    for (size_t i = 0; i < count; i++)
        size += blocks[i].last > blocks[i].first ? 2 : 1;
    if (nb_calibrator_reserve(c, size) != 0)
        return NB_NO_MEMORY;
    size = 0;
    for (size_t i = 0; i < count; i++) {
        c->x[size] = blocks[i].first;
        c->y[size++] = blocks[i].with / blocks[i].all;
        if (blocks[i].last > blocks[i].first) {
            c->x[size] = blocks[i].last;
            c->y[size] = c->y[size - 1];
            size++;
        }
    }
    return 0;
}

int nb_fit_isotonic(struct nb_calibration_point *points, size_t count, struct nb_calibrator *c)
{
    assert(count > 0);
    struct block *blocks = malloc(count * sizeof *blocks);
    if (blocks == NULL)
        return NB_NO_MEMORY;
    qsort(points, count, sizeof *points, by_odds);
    int rc = keep(blocks, pool(points, count, blocks), c);
    free(blocks);
    return rc;
}

double nb_calibrator_isotonic(const struct nb_calibrator *c, double f)
{
    uint32_t low = 0, high = c->size - 1;
    assert(c->size > 0);
    if (!(f > c->x[low]))
        return c->y[low];
    if (!(f < c->x[high]))
        return c->y[high];
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        *(c->x[middle] <= f ? &low : &high) = middle;
    }
    double part = (f - c->x[low]) / (c->x[high] - c->x[low]);
    return c->y[low] + part * (c->y[high] - c->y[low]);
}
