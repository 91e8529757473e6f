/* SPDX-License-Identifier: Apache-2.0
 *
 * The sigmoid, by the algorithm of Lin, Lin and Weng 2007 (their appendix C): Newton's method with
 * backtracking on the negative log-likelihood, written so that nothing overflows or cancels. Near
 * its end the steps go on as long as they make the gradient smaller.
 */
#include <math.h>
#include <stdbool.h>

#include "core/bayes/calibrate/fit.h"

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

/* Gradient and Hessian, and how large the numbers are that the gradient is a sum of. */
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

/* How large the gradient is, relative to what it is a sum of. */
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
