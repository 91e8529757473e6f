/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/evaluator.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/counts/model.h"

#define NONE UINT32_MAX

static int number_labels(struct nb_evaluator *e)
{
    for (size_t i = 0; i < e->label_count; i++)
        if (e->labels[i] >= e->index_count)
            e->index_count = (size_t)e->labels[i] + 1;
    if (e->index_count > NB_LABELS_MOST + (size_t)1)
        return NB_TOO_LARGE;
    e->indices = malloc((e->index_count + 1) * sizeof *e->indices);
    if (e->indices == NULL)
        return NB_NO_MEMORY;
    memset(e->indices, 0xff, e->index_count * sizeof *e->indices); /* NONE */
    for (size_t i = 0; i < e->label_count; i++)
        e->indices[e->labels[i]] = (uint32_t)i;
    return 0;
}

int nb_evaluator_new(const uint32_t *labels, size_t label_count, size_t positive,
                     struct nb_evaluator **evaluator)
{
    assert(label_count == 0 || labels != NULL);
    struct nb_evaluator *e = calloc(1, sizeof *e);
    if (e == NULL)
        return NB_NO_MEMORY;
    e->positive = positive;
    e->label_count = label_count;
    e->labels = calloc(label_count + 1, sizeof *e->labels);
    int rc = e->labels == NULL ? NB_NO_MEMORY : 0;
    if (rc == 0 && label_count > 0)
        memcpy(e->labels, labels, label_count * sizeof *labels);
    if (rc == 0)
        rc = number_labels(e);
    if (rc != 0)
        nb_evaluator_free(&e);
    *evaluator = e;
    return rc;
}

void nb_evaluator_free(struct nb_evaluator **evaluator)
{
    struct nb_evaluator *e = *evaluator;
    if (e == NULL)
        return;
    free(e->labels);
    free(e->indices);
    free(e->rows);
    free(e->extras);
    free(e);
    *evaluator = NULL;
}

static uint32_t index_of(const struct nb_evaluator *e, uint32_t label)
{
    return label < e->index_count ? e->indices[label] : NONE;
}

static int make_room(struct nb_evaluator *e)
{
    assert(e->size <= e->room && (e->room == 0 || e->rows != NULL));
    if (e->size < e->room)
        return 0;
    size_t room = e->room < 64 ? 64 : e->room + e->room / 2;
    struct nb_evaluator_row *rows = reallocarray(e->rows, room, sizeof *rows);
    if (rows == NULL)
        return NB_NO_MEMORY;
    e->rows = rows;
    if (e->label_count != 2) {
        struct nb_evaluator_extra *extras = reallocarray(e->extras, room, sizeof *extras);
        if (extras == NULL)
            return NB_NO_MEMORY;
        e->extras = extras;
    }
    e->room = room;
    return 0;
}

static bool is_sound(const struct nb_stored_score *s)
{
    for (uint32_t i = 0; i < s->size; i++)
        if (!(s->probabilities[i] >= 0 && s->probabilities[i] <= 1))
            return false;
    return isfinite(s->log_odds);
}

/* Every label has the same probability, and the first by name wins the tie. */
static void take_unscored(const struct nb_evaluator *e, struct nb_evaluator_row *row,
                          struct nb_evaluator_extra *extra)
{
    double p = 1 / (double)e->label_count;
    row->probability = p;
    row->predicted = 0;
    row->rank = e->label_count == 2 ? 0 : p;
    *extra = (struct nb_evaluator_extra){.truth = p, .winner = p, .brier = 1 - p};
}

/* ln of a probability; 0 is taken as the smallest number above it. */
static double log_of(double probability)
{
    return log(fmax(probability, DBL_TRUE_MIN));
}

/* The part of Brier's sum from labels that a score does not list. Of many labels only the likeliest
 * are listed, and the true one if it was scored; the others share the rest equally. */
static double brier_of_unlisted(const struct nb_evaluator *e, const struct nb_stored_score *s)
{
    double left = 1, others = (double)e->label_count;
    bool has_truth = false;
    for (uint32_t i = 0; i < s->size; i++) {
        left -= s->probabilities[i];
        others -= index_of(e, s->labels[i]) != NONE;
        has_truth = has_truth || s->labels[i] == s->label;
    }
    others -= !has_truth; /* the label's first document: it had probability 0 */
    return left > 0 && others > 0 ? left * left / others : 0;
}

static void take_scored(const struct nb_evaluator *e, const struct nb_stored_score *s,
                        struct nb_evaluator_row *row, struct nb_evaluator_extra *extra)
{
    double best = -1, of_others = 0;
    uint32_t place = NONE; /* place of the positive label in the list */
    *extra = (struct nb_evaluator_extra){.brier = 1 + brier_of_unlisted(e, s)};
    for (uint32_t i = 0; i < s->size; i++) {
        double p = s->probabilities[i];
        uint32_t index = index_of(e, s->labels[i]);
        if (index != NONE && p > best) {
            best = p;
            row->predicted = index;
        }
        if (index == e->positive)
            place = i;
        else
            of_others += p;
        if (s->labels[i] == s->label) {
            extra->truth = p;
            extra->brier += (1 - p) * (1 - p) - 1;
        } else {
            extra->brier += p * p;
        }
    }
    extra->winner = fmax(best, 0);
    row->probability = place != NONE ? s->probabilities[place] : 0;
    /* The model knew only one of the two labels then: the other one's probability is the rest. */
    if (place == NONE && s->size == 1 && e->label_count == 2)
        row->probability = 1 - of_others;
    if (e->label_count != 2)
        row->rank = row->probability;
    else if (s->size == 1)
        row->rank = log_of(row->probability) - log_of(1 - row->probability);
    else if (s->size == 2 && place != NONE)
        row->rank = place == 1 ? s->log_odds : -s->log_odds;
    else
        row->rank = log_of(row->probability) - log_of(of_others);
}

int nb_evaluator_add(struct nb_evaluator *e, const struct nb_stored_score *scored)
{
    struct nb_evaluator_row row = {.label = index_of(e, scored->label)};
    struct nb_evaluator_extra extra;
    if (row.label == NONE || !is_sound(scored))
        return NB_INVALID;
    int rc = make_room(e);
    if (rc != 0)
        return rc;
    if (scored->size == 0)
        take_unscored(e, &row, &extra);
    else
        take_scored(e, scored, &row, &extra);
    assert(row.predicted < e->label_count || e->label_count == 0);
    e->rows[e->size] = row;
    if (e->extras != NULL)
        e->extras[e->size] = extra;
    e->size++;
    return 0;
}

struct nb_evaluator_window nb_evaluator_window(const struct nb_evaluator *e, uint64_t most)
{
    size_t size = most == 0 || most > e->size ? e->size : (size_t)most;
    struct nb_evaluator_window w = {.size = size};
    if (size == 0)
        return w;
    w.rows = e->rows + (e->size - size);
    w.extras = e->extras == NULL ? NULL : e->extras + (e->size - size);
    for (size_t i = 0; i < size; i++)
        w.positives += w.rows[i].label == e->positive;
    w.negatives = size - w.positives;
    return w;
}

size_t nb_evaluator_progress(const struct nb_evaluator *evaluator,
                             struct nb_progress_stretch stretches[NB_PROGRESS_STRETCHES])
{
    size_t size = evaluator->size;
    size_t count = size < NB_PROGRESS_STRETCHES ? size : NB_PROGRESS_STRETCHES;
    size_t from = 0;
    for (size_t i = 0; i < count; i++) {
        /* floor((i + 1) size / count), without a product that could overflow */
        size_t to = (size / count) * (i + 1) + (size % count) * (i + 1) / count;
        stretches[i] = (struct nb_progress_stretch){.documents = to - from};
        for (; from < to; from++)
            stretches[i].errors += evaluator->rows[from].label != evaluator->rows[from].predicted;
    }
    return count;
}

/* ---- the order by the positive label's probability ------------------------------------------- */

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
