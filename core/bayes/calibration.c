/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bayes/calibration.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"

/* Isotonic regression by pool-adjacent-violators. */
/* Neighbouring points with one value: from x = first to x = last, `with` of `all` documents have
 * the label. Counts are whole numbers, so that means are compared exactly. */
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

/* Stores both ends of each block as points. */
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
 * the minimum, steps go on as long as they make the gradient smaller. */
enum { STEPS_MOST = 100 };
/* A step is halved down to 2^-33, about the 1e-10 of Lin, Lin and Weng. */
enum { HALVINGS_MOST = 33 };
static const double RIDGE = 1e-12; /* keeps the Hessian positive definite */
static const double FLAT = 1e-5;   /* below this steepness, rounding makes the loss too coarse */

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

/* Computes Newton's step. */
static void put_direction(const struct slope *s, double *da, double *db)
{
    double det = s->aa * s->bb - s->ab * s->ab;
    *da = -(s->bb * s->a - s->ab * s->b) / det;
    *db = -(-s->ab * s->a + s->aa * s->b) / det;
}

/* Moves a and b along Newton's step as far as the loss falls. Returns whether it fell. */
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
    double without = 1 / t.without - 1; /* 1 + documents without the label */
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

static const double ODDS_MOST = 1e6;

const char *const nb_calibration_names[] = {"none", "platt", "isotonic", NULL};

const char *nb_calibration_name(const struct nb_calibration *c)
{
    return nb_calibration_names[c->method];
}

/* Returns how many maps there are; the function below: the label of the first. */
static uint32_t maps_of(uint32_t labels)
{
    return labels == 2 ? 1 : labels;
}

static uint32_t first_map(uint32_t labels)
{
    return labels == 2 ? 1 : 0;
}

/* ---- log-odds -------------------------------------------------------------------------------- */

/* The log-odds of a document, by label. */
struct odds {
    const double *scores;
    uint32_t count, best;
    double all, others; /* sums of exp(score - best): of all labels; without the best */
};

static struct odds odds_of(const double *scores, uint32_t count)
{
    struct odds o = {.scores = scores, .count = count};
    for (uint32_t v = 1; v < count; v++)
        o.best = scores[v] > scores[o.best] ? v : o.best;
    for (uint32_t v = 0; v < count && isfinite(scores[o.best]); v++)
        o.others += v == o.best ? 0 : exp(scores[v] - scores[o.best]);
    o.all = o.others + 1;
    return o;
}

/* Returns ln of the sum of exp(score) of all labels but the best, relative to their own greatest
 * score: relative to the best they may underflow. */
static double log_others(const struct odds *o)
{
    double most = -(double)INFINITY, sum = 0;
    for (uint32_t v = 0; v < o->count; v++)
        most = v != o->best && o->scores[v] > most ? o->scores[v] : most;
    for (uint32_t v = 0; v < o->count && isfinite(most); v++)
        sum += v == o->best ? 0 : exp(o->scores[v] - most);
    return isfinite(most) ? most + log(sum) : most;
}

static double odds_at(const struct odds *o, uint32_t v)
{
    double best = o->scores[o->best];
    if (!isfinite(best))
        return -log((double)o->count - 1); /* all are impossible: equally probable */
    double f = o->count == 2  ? o->scores[v] - o->scores[1 - v] /* exactly: ties stay ties */
               : v == o->best ? best - log_others(o)
                              : o->scores[v] - best - log(o->all - exp(o->scores[v] - best));
    return f > ODDS_MOST ? ODDS_MOST : f < -ODDS_MOST ? -ODDS_MOST : f;
}

/* ---- fitting --------------------------------------------------------------------------------- */

static void read_points(const struct nb_calibration_scores *s, const struct odds *odds,
                        uint32_t label, struct nb_calibration_point *points)
{
    for (size_t i = 0; i < s->count; i++) {
        assert(s->truths[i] < s->label_count);
        points[i] = (struct nb_calibration_point){odds_at(&odds[i], label), s->truths[i] == label};
    }
}

/* Returns the log-odds of all documents, owned by the caller. They are computed once, not for each
 * label, because each takes a walk over all labels. NULL: out of memory. */
static struct odds *read_odds(const struct nb_calibration_scores *s)
{
    struct odds *odds = calloc(s->count, sizeof *odds);
    for (size_t i = 0; odds != NULL && i < s->count; i++)
        odds[i] = odds_of(s->log_scores + i * s->label_count, s->label_count);
    return odds;
}

static int fit_one(enum nb_calibration_method method, struct nb_calibration_point *points,
                   size_t count, struct nb_calibrator *of)
{
    if (method == NB_CALIBRATION_ISOTONIC)
        return nb_fit_isotonic(points, count, of);
    nb_fit_platt(points, count, of);
    return 0;
}

static struct nb_calibration *make(int method, uint32_t label_count)
{
    struct nb_calibration *c = calloc(1, sizeof *c);
    if (c == NULL)
        return NULL;
    c->method = method;
    c->label_count = label_count;
    c->labels = calloc(label_count, sizeof *c->labels);
    c->of = calloc(maps_of(label_count), sizeof *c->of);
    if (c->labels == NULL || c->of == NULL)
        nb_calibration_free(&c);
    return c;
}

int nb_calibration_fit(enum nb_calibration_method method,
                       const struct nb_calibration_scores *scores,
                       struct nb_calibration **calibration)
{
    assert(method != NB_CALIBRATION_NONE && scores->label_count >= 2 && scores->count > 0);
    struct nb_calibration *c = make((int)method, scores->label_count);
    struct nb_calibration_point *points = malloc(scores->count * sizeof *points);
    struct odds *odds = read_odds(scores);
    int rc = c == NULL || points == NULL || odds == NULL ? NB_NO_MEMORY : 0;
    if (rc == 0)
        memcpy(c->labels, scores->labels, c->label_count * sizeof *c->labels);
    for (uint32_t i = 0; rc == 0 && i < maps_of(scores->label_count); i++) {
        read_points(scores, odds, first_map(scores->label_count) + i, points);
        rc = fit_one(method, points, scores->count, &c->of[i]);
    }
    free(points);
    free(odds);
    if (rc != 0) {
        nb_calibration_free(&c);
        return rc;
    }
    c->scores = scores->count;
    *calibration = c;
    return 0;
}

void nb_calibration_free(struct nb_calibration **calibration)
{
    struct nb_calibration *c = *calibration;
    *calibration = NULL;
    if (c == NULL)
        return;
    for (uint32_t i = 0; c->of != NULL && i < maps_of(c->label_count); i++)
        free(c->of[i].x);
    free(c->of);
    free(c->labels);
    free(c);
}

static int copy_points(struct nb_calibrator *to, const struct nb_calibrator *from)
{
    *to = (struct nb_calibrator){.a = from->a, .b = from->b};
    if (from->size == 0)
        return 0;
    if (nb_calibrator_reserve(to, from->size) != 0)
        return NB_NO_MEMORY;
    memcpy(to->x, from->x, from->size * sizeof *to->x);
    memcpy(to->y, from->y, from->size * sizeof *to->y);
    return 0;
}

int nb_calibration_copy(struct nb_calibration **to, const struct nb_calibration *from)
{
    struct nb_calibration *c = from == NULL ? NULL : make(from->method, from->label_count);
    int rc = from != NULL && c == NULL ? NB_NO_MEMORY : 0;
    for (uint32_t i = 0; c != NULL && rc == 0 && i < maps_of(c->label_count); i++)
        rc = copy_points(&c->of[i], &from->of[i]);
    if (rc != 0) {
        nb_calibration_free(&c);
        return rc;
    }
    if (c != NULL) {
        memcpy(c->labels, from->labels, c->label_count * sizeof *c->labels);
        c->scores = from->scores;
        c->documents = from->documents;
        c->before = from->before;
        c->after = from->after;
    }
    *to = c;
    return 0;
}

/* ---- using ----------------------------------------------------------------------------------- */

static uint32_t place_of(const uint32_t *labels, uint32_t count, uint32_t label)
{
    uint32_t i = 0;
    while (i < count && labels[i] != label)
        i++;
    return i;
}

bool nb_calibration_is_of(const struct nb_calibration *c, const uint32_t *labels, uint32_t count)
{
    if (c->label_count != count)
        return false;
    if (memcmp(c->labels, labels, count * sizeof *labels) == 0)
        return true;
    for (uint32_t i = 0; i < count; i++) /* the order differs after a label was renamed */
        if (place_of(c->labels, count, labels[i]) == count)
            return false;
    return true;
}

static double say(const struct nb_calibration *c, uint32_t map, double f)
{
    return c->method == NB_CALIBRATION_PLATT ? nb_calibrator_platt(&c->of[map], f)
                                             : nb_calibrator_isotonic(&c->of[map], f);
}

void nb_calibration_apply(const struct nb_calibration *c, const uint32_t *labels,
                          const double *log_scores, double *probabilities)
{
    uint32_t count = c->label_count;
    struct odds odds = odds_of(log_scores, count);
    double sum = 0;
    if (count == 2) {
        uint32_t second = place_of(labels, count, c->labels[1]);
        assert(second < count);
        probabilities[second] = say(c, 0, odds_at(&odds, second));
        probabilities[1 - second] = 1 - probabilities[second];
        return;
    }
    for (uint32_t v = 0; v < count; v++) {
        uint32_t map = c->labels[v] == labels[v] ? v : place_of(c->labels, count, labels[v]);
        assert(map < count);
        sum += probabilities[v] = say(c, map, odds_at(&odds, v));
    }
    for (uint32_t v = 0; v < count; v++)
        probabilities[v] = sum > 0 ? probabilities[v] / sum : 1 / (double)count;
}

/* ---- stored ---------------------------------------------------------------------------------- */

void nb_calibration_write(struct nb_packer *w, const struct nb_calibration *c)
{
    nb_pack_u8(w, (uint8_t)c->method);
    nb_pack_varint(w, c->scores);
    nb_pack_varint(w, c->documents);
    nb_pack_double(w, c->before);
    nb_pack_double(w, c->after);
    nb_pack_varint(w, c->label_count);
    for (uint32_t v = 0; v < c->label_count; v++)
        nb_pack_varint(w, c->labels[v]);
    for (uint32_t i = 0; i < maps_of(c->label_count); i++) {
        const struct nb_calibrator *of = &c->of[i];
        nb_pack_double(w, of->a);
        nb_pack_double(w, of->b);
        nb_pack_varint(w, of->size);
        for (uint32_t k = 0; k < of->size; k++) {
            nb_pack_double(w, of->x[k]);
            nb_pack_double(w, of->y[k]);
        }
    }
}

static int read_map(struct nb_unpacker *r, int method, struct nb_calibrator *of)
{
    of->a = nb_unpack_double(r);
    of->b = nb_unpack_double(r);
    uint32_t size = (uint32_t)nb_unpack_bounded(r, (uint64_t)(r->end - r->at) / 16);
    if (r->failed || (size > 0) != (method == NB_CALIBRATION_ISOTONIC))
        return NB_CORRUPT;
    if (size > 0 && nb_calibrator_reserve(of, size) != 0)
        return NB_NO_MEMORY;
    for (uint32_t k = 0; k < size; k++) {
        of->x[k] = nb_unpack_double(r);
        of->y[k] = nb_unpack_double(r);
        bool is_sound = of->y[k] >= 0 && of->y[k] <= 1 && (k == 0 || of->x[k] > of->x[k - 1]);
        if (r->failed || !is_sound)
            return NB_CORRUPT;
    }
    return isfinite(of->a) && isfinite(of->b) ? 0 : NB_CORRUPT;
}

int nb_calibration_read(struct nb_unpacker *r, struct nb_calibration **calibration)
{
    int method = nb_unpack_u8(r);
    uint64_t scores = nb_unpack_varint(r), documents = nb_unpack_varint(r);
    double before = nb_unpack_double(r), after = nb_unpack_double(r);
    uint32_t labels = (uint32_t)nb_unpack_bounded(r, (uint64_t)(r->end - r->at));
    bool is_known = method == NB_CALIBRATION_PLATT || method == NB_CALIBRATION_ISOTONIC;
    if (r->failed || !is_known || labels < 2)
        return NB_CORRUPT;
    struct nb_calibration *c = make(method, labels);
    int rc = c == NULL ? NB_NO_MEMORY : 0;
    for (uint32_t v = 0; rc == 0 && v < labels; v++)
        c->labels[v] = (uint32_t)nb_unpack_bounded(r, UINT32_MAX);
    for (uint32_t i = 0; rc == 0 && i < maps_of(labels); i++)
        rc = read_map(r, method, &c->of[i]);
    if (rc != 0) {
        nb_calibration_free(&c);
        return rc;
    }
    c->scores = scores;
    c->documents = documents;
    c->before = before;
    c->after = after;
    *calibration = c;
    return 0;
}
