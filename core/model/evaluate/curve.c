/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/evaluate/curve.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "core/model/evaluate/evaluator_private.h"

struct ranked {
    double rank, probability;
    bool is_positive;
};

static int by_rank(const void *a, const void *b)
{
    double x = ((const struct ranked *)a)->rank, y = ((const struct ranked *)b)->rank;
    return (x > y) - (x < y);
}

static int by_probability(const void *a, const void *b)
{
    double x = ((const struct ranked *)a)->probability, y = ((const struct ranked *)b)->probability;
    return (x > y) - (x < y);
}

static struct ranked *rank(const struct nb_evaluator *e, const struct nb_evaluator_window *w)
{
    struct ranked *list = calloc(w->size, sizeof *list);
    for (size_t i = 0; list != NULL && i < w->size; i++)
        list[i] = (struct ranked){.rank = w->rows[i].rank,
                                  .probability = w->rows[i].probability,
                                  .is_positive = w->rows[i].label == e->positive};
    if (list != NULL)
        qsort(list, w->size, sizeof *list, by_rank);
    return list;
}

/* The area is (R - P (P + 1) / 2) / (P N), where R is the sum of the ranks of the P positive
 * documents among all, and equal scores share the mean of their ranks (Mann and Whitney). `list` is
 * sorted by rank. */
static double area_of(const struct ranked *list, const struct nb_evaluator_window *w)
{
    double positives = (double)w->positives, negatives = (double)w->negatives;
    double sum = 0;
    for (size_t i = 0, end; i < w->size; i = end) {
        size_t group = 0;
        for (end = i; end < w->size && list[end].rank == list[i].rank; end++)
            group += list[end].is_positive;
        sum += ((double)(i + end - 1) / 2 + 1) * (double)group;
    }
    return (sum - positives * (positives + 1) / 2) / (positives * negatives);
}

/* A corner of the curve: the documents that are positive from this probability on. */
struct corner {
    double threshold;
    size_t false_positives, true_positives;
};

static bool is_straight(const struct corner *a, const struct corner *b, const struct corner *c)
{
    return (b->false_positives - a->false_positives) * (c->true_positives - b->true_positives) ==
           (b->true_positives - a->true_positives) * (c->false_positives - b->false_positives);
}

/* `list` is sorted by probability. Returns how many corners there are: those on a straight line
 * between their neighbours are left out. `corners` has room for w->size + 1. */
static size_t find_corners(const struct ranked *list, const struct nb_evaluator_window *w,
                           struct corner *corners)
{
    size_t count = 1;
    struct corner c = {nextafter(list[w->size - 1].probability, INFINITY), 0, 0};
    corners[0] = c;
    for (size_t i = w->size; i > 0;) {
        c.threshold = list[i - 1].probability;
        for (; i > 0 && list[i - 1].probability == c.threshold; i--)
            (*(list[i - 1].is_positive ? &c.true_positives : &c.false_positives))++;
        if (count >= 2 && is_straight(&corners[count - 2], &corners[count - 1], &c))
            count--;
        corners[count++] = c;
    }
    return count;
}

/* Keeps evenly spaced corners if there are too many, always both ends. */
static void thin_corners(const struct corner *corners, size_t count,
                         const struct nb_evaluator_window *w, struct nb_evaluation *evaluation)
{
    assert(count >= 2); /* there are positive and negative documents */
    size_t kept = count < NB_EVALUATION_POINTS ? count : NB_EVALUATION_POINTS;
    for (size_t i = 0; i < kept; i++) {
        const struct corner *c = &corners[i * (count - 1) / (kept - 1)];
        evaluation->points[i] = (struct nb_evaluation_point){
            .threshold = c->threshold,
            .false_positive_rate = (double)c->false_positives / (double)w->negatives,
            .true_positive_rate = (double)c->true_positives / (double)w->positives,
        };
    }
    evaluation->point_count = kept;
}

static int fill_curve(struct ranked *list, const struct nb_evaluator_window *w,
                      struct nb_evaluation *evaluation)
{
    struct corner *corners = calloc(w->size + 1, sizeof *corners);
    if (corners == NULL)
        return NB_NO_MEMORY;
    /* Sorting by log-odds also sorts the probabilities, except for rounding. */
    for (size_t i = 1; i < w->size; i++) {
        if (list[i].probability < list[i - 1].probability) {
            qsort(list, w->size, sizeof *list, by_probability);
            break;
        }
    }
    thin_corners(corners, find_corners(list, w, corners), w, evaluation);
    free(corners);
    return 0;
}

int nb_evaluation_fill_curve(const struct nb_evaluator *e, const struct nb_evaluator_window *w,
                             struct nb_evaluation *evaluation)
{
    evaluation->one_minus_roca = (double)NAN;
    if (w->positives == 0 || w->negatives == 0)
        return 0;
    struct ranked *list = rank(e, w);
    if (list == NULL)
        return NB_NO_MEMORY;
    evaluation->one_minus_roca = 100 * (1 - area_of(list, w));
    int rc = fill_curve(list, w, evaluation);
    free(list);
    return rc;
}

/* ---- the threshold for a false-positive rate ------------------------------------------------- */

static int falling(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* The largest number of documents that is at most the share `rate` of `count`. */
static size_t most_within(double rate, size_t count)
{
    double wanted = floor(rate * (double)count);
    size_t most = wanted <= 0 ? 0 : wanted >= (double)count ? count : (size_t)wanted;
    while (most < count && (double)(most + 1) / (double)count <= rate)
        most++;
    while (most > 0 && (double)most / (double)count > rate)
        most--;
    return most;
}

int nb_evaluator_threshold(struct nb_evaluator *e, uint64_t most, double rate, double *threshold,
                           double *achieved, struct nb_error *error)
{
    struct nb_evaluator_window w = nb_evaluator_window(e, most);
    size_t count = 0, above = 0;
    if (w.negatives == 0)
        return nb_error_set(error, NB_CONFLICT,
                            "no threshold can be told for a false-positive rate: of the labels "
                            "other than the positive one no document was evaluated yet");
    double *negatives = calloc(w.negatives, sizeof *negatives);
    if (negatives == NULL)
        return nb_error_no_memory(error);
    for (size_t i = 0; i < w.size; i++)
        if (w.rows[i].label != e->positive)
            negatives[count++] = w.rows[i].probability;
    qsort(negatives, count, sizeof *negatives, falling);
    /* negatives[allowed] is the first document that must stay below the threshold. The lowest
     * threshold that excludes it, and all equal ones, is the next number above it. */
    size_t allowed = most_within(rate, count);
    assert(count == w.negatives && allowed <= count);
    while (above < allowed && (allowed == count || negatives[above] > negatives[allowed]))
        above++;
    *threshold = allowed == count ? 0 : nextafter(negatives[allowed], INFINITY);
    *achieved = (double)above / (double)count;
    free(negatives);
    return 0;
}
