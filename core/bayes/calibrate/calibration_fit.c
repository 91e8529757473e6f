/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bayes/calibrate/calibration_fit.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/base/error.h"

/* Isotonic regression by pool-adjacent-violators. */
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

/* Makes blocks of rising means; documents with equal odds share a block. Returns their number. */
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

/* The sigmoid, by the algorithm of Lin, Lin and Weng 2007 (their appendix C): Newton's method with
 * backtracking on the negative log-likelihood, written so that nothing overflows or cancels. Near
 * its end the steps go on as long as they make the gradient smaller. */
enum { STEPS_MOST = 100 };
/* A step is halved down to 2^-33, about the 1e-10 of Lin, Lin and Weng. */
enum { HALVINGS_MOST = 33 };
static const double RIDGE = 1e-12; /* keeps the Hessian positive definite */
static const double FLAT = 1e-5;   /* steepness from which the loss is too coarse a guide */

/* The targets of documents with the label, and of the others. */
struct targets {
    double with, without;
};

static struct targets targets_of(const struct nb_calibration_point *points, size_t count)
{
    double with = 0;
    for (size_t i = 0; i < count; i++)
        with += points[i].target;
    return (struct targets){(with + 1) / (with + 2), 1 / ((double)count - with + 2)};
}

static double target_of(const struct targets *t, const struct nb_calibration_point *point)
{
    return point->target > 0 ? t->with : t->without;
}

/* The negative log-likelihood. */
static double loss(const struct nb_calibration_point *points, size_t count, const struct targets *t,
                   double a, double b)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        double z = a * points[i].f + b, target = target_of(t, &points[i]);
        sum += z >= 0 ? target * z + log1p(exp(-z)) : (target - 1) * z + log1p(exp(z));
    }
    return sum;
}

/* Gradient, Hessian, and the size of the terms that the gradient sums. */
struct slope {
    double a, b, aa, ab, bb, size_a, size_b;
};

static struct slope slope_of(const struct nb_calibration_point *points, size_t count,
                             const struct targets *t, double a, double b)
{
    struct slope s = {.aa = RIDGE, .bb = RIDGE};
    for (size_t i = 0; i < count; i++) {
        double f = points[i].f;
        double z = a * f + b;
        double p = z >= 0 ? exp(-z) / (1 + exp(-z)) : 1 / (1 + exp(z));
        double q = z >= 0 ? 1 / (1 + exp(-z)) : exp(z) / (1 + exp(z));
        double error = target_of(t, &points[i]) - p;
        s.aa += f * f * p * q;
        s.ab += f * p * q;
        s.bb += p * q;
        s.a += f * error;
        s.b += error;
        s.size_a += fabs(f);
        s.size_b += 1;
    }
    return s;
}

/* Returns the size of the gradient relative to its terms. */
static double steepness(const struct slope *s)
{
    return (s->size_a > 0 ? fabs(s->a) / s->size_a : 0) + fabs(s->b) / s->size_b;
}

/* Newton's step. */
static void put_direction(const struct slope *s, double *da, double *db)
{
    double det = s->aa * s->bb - s->ab * s->ab;
    *da = -(s->bb * s->a - s->ab * s->b) / det;
    *db = -(-s->ab * s->a + s->aa * s->b) / det;
}

/* Moves along its direction as far as the loss falls. Returns whether it did. */
static bool step(const struct nb_calibration_point *points, size_t count, const struct targets *t,
                 const struct slope *s, double *a, double *b)
{
    double da, db;
    double value = loss(points, count, t, *a, *b);
    put_direction(s, &da, &db);
    double down = s->a * da + s->b * db;
    double size = 1;
    for (int halvings = 0; halvings <= HALVINGS_MOST; halvings++, size /= 2) {
        double next_a = *a + size * da, next_b = *b + size * db;
        if (loss(points, count, t, next_a, next_b) < value + 1e-4 * size * down) {
            *a = next_a;
            *b = next_b;
            return true;
        }
    }
    return false;
}

static void polish(const struct nb_calibration_point *points, size_t count, const struct targets *t,
                   double *a, double *b)
{
    struct slope s = slope_of(points, count, t, *a, *b);
    for (int i = 0; i < STEPS_MOST; i++) {
        double da, db;
        put_direction(&s, &da, &db);
        struct slope next = slope_of(points, count, t, *a + da, *b + db);
        if (!(steepness(&next) < steepness(&s)))
            return;
        *a += da;
        *b += db;
        s = next;
    }
}

void nb_fit_platt(const struct nb_calibration_point *points, size_t count,
                  struct nb_calibrator *calibrator)
{
    struct targets t = targets_of(points, count);
    double without = 1 / t.without - 1; /* documents without the label, and 1 */
    double with = (double)count - without + 2;
    double a = 0, b = log(without / with);
    for (int i = 0; i < STEPS_MOST; i++) {
        struct slope s = slope_of(points, count, &t, a, b);
        if (steepness(&s) <= FLAT || !step(points, count, &t, &s, &a, &b))
            break;
    }
    polish(points, count, &t, &a, &b);
    calibrator->a = a;
    calibrator->b = b;
}

double nb_calibrator_platt(const struct nb_calibrator *c, double f)
{
    double z = c->a * f + c->b;
    return z >= 0 ? exp(-z) / (1 + exp(-z)) : 1 / (1 + exp(z));
}
