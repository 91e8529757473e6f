/* SPDX-License-Identifier: Apache-2.0
 *
 * Every figure is compared with its definition, computed slowly: areas by comparing all pairs,
 * rates by counting at each threshold, bins one by one.
 */
#include <check.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/evaluation.h"
#include "tests/unit/run.h"

static uint64_t random_state;
static double random_number(void) /* 0 to below 1 */
{
    random_state ^= random_state >> 12; /* xorshift64* (Vigna 2016) */
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (double)(random_state * UINT64_C(2685821657736338717) >> 11) * 0x1p-53;
}

static size_t random_below(size_t n)
{
    return (size_t)(random_number() * (double)n);
}

static void random_seed(uint64_t seed)
{
    printf("seed %llu\n", (unsigned long long)seed);
    random_state = seed * 2 + 1;
}

static bool close_to(double got, double want)
{
    if (isnan(got) || isnan(want))
        return isnan(got) && isnan(want);
    return fabs(got - want) <= 1e-10 * fmax(1.0, fabs(want));
}

#define ck_assert_close(got, want)                                                                 \
    do {                                                                                           \
        double got_ = (got), want_ = (want);                                                       \
        ck_assert_msg(close_to(got_, want_), "%s is %.17g, must be %.17g", #got, got_, want_);     \
    } while (0)

/* ---- documents that are kept in a table ------------------------------------------------------ */

enum { LABELS_MOST = 4, DOCUMENTS_MOST = 700 };

/* The numbers of the labels are not in the order of their names. */
static const uint32_t NUMBERS[LABELS_MOST] = {7, 2, 11, 3};

struct document {
    size_t truth; /* index */
    bool is_scored;
    double p[LABELS_MOST];
    double log_odds;
};

struct table {
    size_t labels, positive, size;
    struct document documents[DOCUMENTS_MOST];
};

static void add(struct nb_evaluator *evaluator, const struct table *t, const struct document *d)
{
    struct nb_stored_score scored = {.label = NUMBERS[d->truth],
                                     .size = d->is_scored ? (uint32_t)t->labels : 0,
                                     .labels = NUMBERS,
                                     .probabilities = d->p,
                                     .log_odds = d->log_odds};
    ck_assert_int_eq(nb_evaluator_add(evaluator, &scored), 0);
}

static struct nb_evaluator *evaluator_of(const struct table *t, size_t first)
{
    struct nb_evaluator *evaluator;
    ck_assert_int_eq(nb_evaluator_new(NUMBERS, t->labels, t->positive, &evaluator), 0);
    for (size_t i = first; i < t->size; i++)
        add(evaluator, t, &t->documents[i]);
    return evaluator;
}

static void evaluate(const struct table *t, struct nb_evaluation *evaluation)
{
    struct nb_evaluator *evaluator = evaluator_of(t, 0);
    ck_assert_int_eq(nb_evaluator_finish(evaluator, 0, evaluation), 0);
    nb_evaluator_free(&evaluator);
    ck_assert_ptr_null(evaluator);
}

/* Adds a document of two labels with the probability `p` of label 1, and its log-odds. */
static void push(struct table *t, size_t truth, double p)
{
    struct document *d = &t->documents[t->size++];
    *d = (struct document){truth, true, {1 - p, p}, log(fmax(p, DBL_TRUE_MIN))};
    d->log_odds -= log(fmax(1 - p, DBL_TRUE_MIN));
}

static struct table two_labels(size_t positive)
{
    struct table t = {.labels = 2, .positive = positive};
    return t;
}

/* Random documents; `grid` rounds probabilities, so that many are equal; some are 0, 1 or none. */
static void fill_randomly(struct table *t, size_t size, double grid, double skill)
{
    t->size = size;
    for (size_t i = 0; i < size; i++) {
        struct document *d = &t->documents[i];
        double sum = 0;
        *d = (struct document){.truth = random_below(t->labels), .is_scored = random_below(9) > 0};
        for (size_t v = 0; v < t->labels; v++) {
            double x = random_number() + skill * (v == d->truth);
            d->p[v] = grid > 0 ? floor(x * grid) / grid : x * x * x;
            sum += d->p[v];
        }
        for (size_t v = 0; v < t->labels; v++)
            d->p[v] = sum > 0 ? d->p[v] / sum : v == 0;
        if (t->labels == 2) {
            d->p[0] = 1 - d->p[1];
            d->log_odds = log(fmax(d->p[1], DBL_TRUE_MIN)) - log(fmax(d->p[0], DBL_TRUE_MIN));
        }
    }
}

/* ---- the definitions ------------------------------------------------------------------------- */

static double p_of(const struct table *t, size_t i, size_t label)
{
    const struct document *d = &t->documents[i];
    return d->is_scored ? d->p[label] : 1 / (double)t->labels;
}

static bool is_positive(const struct table *t, size_t i)
{
    return t->documents[i].truth == t->positive;
}

static double score_of(const struct table *t, size_t i)
{
    const struct document *d = &t->documents[i];
    if (t->labels != 2)
        return p_of(t, i, t->positive);
    return !d->is_scored ? 0 : t->positive == 1 ? d->log_odds : -d->log_odds;
}

/* Returns the share of pairs of a positive and another document that are in the wrong order. */
static double slow_one_minus_area(const struct table *t)
{
    double wrong = 0, pairs = 0;
    for (size_t i = 0; i < t->size; i++) {
        for (size_t j = 0; is_positive(t, i) && j < t->size; j++) {
            if (is_positive(t, j))
                continue;
            double a = score_of(t, i), b = score_of(t, j);
            wrong += a == b ? 0.5 : a < b;
            pairs++;
        }
    }
    return pairs > 0 ? 100 * wrong / pairs : (double)NAN;
}

/* Returns the share of (positive or other) documents at or above a threshold, or NAN. */
static double rate_at(const struct table *t, bool positive, double threshold, bool is_strict)
{
    double taken = 0, all = 0;
    for (size_t i = 0; i < t->size; i++) {
        if (is_positive(t, i) != positive)
            continue;
        double p = p_of(t, i, t->positive);
        taken += is_strict ? p > threshold : p >= threshold;
        all++;
    }
    return all > 0 ? taken / all : (double)NAN;
}

static double documents_of(const struct table *t, bool positive)
{
    double count = 0;
    for (size_t i = 0; i < t->size; i++)
        count += is_positive(t, i) == positive;
    return count;
}

static double slow_logit(double rate, double n)
{
    if (rate < 0.5 / n)
        rate = 0.5 / n;
    return log(rate / (1 - (rate < 1 - 0.5 / n ? rate : 1 - 0.5 / n)));
}

static double slow_lam(const struct table *t)
{
    double fp = rate_at(t, false, 0.5, true), fn = 1 - rate_at(t, true, 0.5, true);
    double x = slow_logit(fp, documents_of(t, false)) + slow_logit(fn, documents_of(t, true));
    return 100 / (1 + exp(-x / 2));
}

static size_t winner(const struct table *t, size_t i)
{
    size_t best = 0;
    for (size_t v = 1; v < t->labels; v++)
        if (p_of(t, i, v) > p_of(t, i, best))
            best = v;
    return best;
}

static double slow_log_loss(const struct table *t)
{
    double sum = 0;
    for (size_t i = 0; i < t->size; i++) {
        double p = p_of(t, i, t->documents[i].truth);
        sum -= log(p < 1e-6 ? 1e-6 : p > 1 - 1e-6 ? 1 - 1e-6 : p);
    }
    return sum / (double)t->size;
}

static double slow_brier(const struct table *t)
{
    double sum = 0;
    for (size_t i = 0; i < t->size; i++) {
        for (size_t v = 0; v < t->labels; v++) {
            double d = p_of(t, i, v) - (v == t->documents[i].truth);
            sum += d * d;
        }
    }
    return sum / (double)t->size / (t->labels == 2 ? 2 : 1);
}

static double slow_ece(const struct table *t, uint64_t *documents)
{
    double ece = 0;
    for (int k = 0; k < 15; k++) {
        double count = 0, confidence = 0, right = 0;
        for (size_t i = 0; i < t->size; i++) {
            size_t judged = t->labels == 2 ? t->positive : winner(t, i);
            double p = p_of(t, i, judged);
            if (!(k / 15.0 <= p && p < (k + 1) / 15.0) && !(k == 14 && p == 1))
                continue;
            count++;
            confidence += p;
            right += t->documents[i].truth == judged;
        }
        documents[k] = (uint64_t)count;
        ece += count > 0 ? count / (double)t->size * fabs(confidence / count - right / count) : 0;
    }
    return ece;
}

static uint64_t cell_of(const struct nb_evaluation *e, size_t truth, size_t predicted)
{
    for (size_t i = 0; i < e->confusion_count; i++)
        if (e->confusion[i].truth == truth && e->confusion[i].predicted == predicted)
            return e->confusion[i].documents;
    return 0;
}

/* Checks that all wrong cells are listed, the largest first: with so few labels there is room for
 * all. */
static void check_pairs(const struct nb_evaluation *e)
{
    size_t wrong = 0;
    for (size_t i = 0; i < e->confusion_count; i++)
        wrong += e->confusion[i].truth != e->confusion[i].predicted;
    ck_assert_uint_eq(e->pair_count, wrong);
    for (size_t i = 0; i < e->pair_count; i++) {
        const struct nb_evaluation_cell *pair = &e->pairs[i];
        ck_assert_uint_ne(pair->truth, pair->predicted);
        ck_assert_uint_eq(pair->documents, cell_of(e, pair->truth, pair->predicted));
        ck_assert(i == 0 || pair[-1].documents > pair->documents ||
                  (pair[-1].documents == pair->documents &&
                   (pair[-1].truth < pair->truth ||
                    (pair[-1].truth == pair->truth && pair[-1].predicted < pair->predicted))));
    }
}

static void check_verdicts(const struct table *t, const struct nb_evaluation *e)
{
    double right = 0, scores = 0, sum = 0;
    for (size_t v = 0; v < t->labels; v++) {
        double with = 0, given = 0, both = 0;
        for (size_t u = 0; u < t->labels; u++) {
            uint64_t count = 0;
            for (size_t i = 0; i < t->size; i++)
                count += t->documents[i].truth == v && winner(t, i) == u;
            ck_assert_uint_eq(cell_of(e, v, u), count);
        }
        for (size_t i = 0; i < t->size; i++) {
            with += t->documents[i].truth == v;
            given += winner(t, i) == v;
            both += t->documents[i].truth == v && winner(t, i) == v;
        }
        ck_assert_uint_eq(e->labels[v].label, NUMBERS[v]);
        ck_assert_uint_eq(e->labels[v].documents, (uint64_t)with);
        ck_assert_uint_eq(e->labels[v].predicted, (uint64_t)given);
        ck_assert_close(e->labels[v].precision, given > 0 ? both / given : (double)NAN);
        ck_assert_close(e->labels[v].recall, with > 0 ? both / with : (double)NAN);
        right += both;
        ck_assert_close(e->labels[v].f1,
                        with + given > 0 ? 2 * both / (with + given) : (double)NAN);
        scores += with + given > 0;
        sum += with + given > 0 ? e->labels[v].f1 : 0;
    }
    ck_assert_close(e->accuracy, right / (double)t->size);
    ck_assert_close(e->macro_f1, sum / scores);
    check_pairs(e);
}

static void check_curve(const struct table *t, const struct nb_evaluation *e)
{
    double area = 0;
    ck_assert_uint_ge(e->point_count, 2);
    ck_assert_uint_le(e->point_count, NB_EVALUATION_POINTS);
    for (size_t i = 0; i < e->point_count; i++) {
        const struct nb_evaluation_point *p = &e->points[i];
        ck_assert(isfinite(p->threshold));
        ck_assert_close(p->false_positive_rate, rate_at(t, false, p->threshold, false));
        ck_assert_close(p->true_positive_rate, rate_at(t, true, p->threshold, false));
        if (i == 0)
            continue;
        ck_assert_double_lt(p->threshold, p[-1].threshold);
        double step = p->false_positive_rate - p[-1].false_positive_rate;
        area += step * (p->true_positive_rate + p[-1].true_positive_rate) / 2;
    }
    ck_assert_double_eq(e->points[0].false_positive_rate, 0);
    ck_assert_double_eq(e->points[0].true_positive_rate, 0);
    ck_assert_double_eq(e->points[e->point_count - 1].false_positive_rate, 1);
    ck_assert_double_eq(e->points[e->point_count - 1].true_positive_rate, 1);
    /* A curve that was not thinned encloses the area that was told. */
    if (e->point_count < NB_EVALUATION_POINTS)
        ck_assert_close(100 * (1 - area), e->one_minus_roca);
}

static void check_all(const struct table *t, const struct nb_evaluation *e)
{
    uint64_t documents[NB_EVALUATION_BINS];
    ck_assert_uint_eq(e->documents, t->size);
    ck_assert_uint_eq(e->label_count, t->labels);
    ck_assert_int_eq(e->binary, t->labels == 2);
    check_verdicts(t, e);
    ck_assert_close(e->log_loss, slow_log_loss(t));
    ck_assert_close(e->brier, slow_brier(t));
    ck_assert_close(e->ece, slow_ece(t, documents));
    for (size_t i = 0; i < NB_EVALUATION_BINS; i++)
        ck_assert_uint_eq(e->bins[i].documents, documents[i]);
    ck_assert_close(e->one_minus_roca, slow_one_minus_area(t));
    ck_assert_close(e->false_positive_rate, rate_at(t, false, 0.5, true));
    ck_assert_close(e->false_negative_rate, 1 - rate_at(t, true, 0.5, true));
    if (documents_of(t, true) > 0 && documents_of(t, false) > 0) {
        ck_assert_close(e->lam, slow_lam(t));
        check_curve(t, e);
    } else {
        ck_assert_double_nan(e->lam);
        ck_assert_uint_eq(e->point_count, 0);
    }
}

/* ---- figures --------------------------------------------------------------------------------- */

START_TEST(figures_are_their_definitions)
{
    static const double grids[] = {0, 0, 2, 5, 15, 30};
    random_seed((uint64_t)_i);
    for (int round = 0; round < 12; round++) {
        static struct table t;
        struct nb_evaluation e;
        t.labels = 2 + (size_t)_i % (LABELS_MOST - 1);
        t.positive = random_below(t.labels);
        fill_randomly(&t, 1 + random_below(round < 9 ? 60 : DOCUMENTS_MOST), grids[round % 6],
                      random_number() * 2);
        evaluate(&t, &e);
        check_all(&t, &e);
        nb_evaluation_deinit(&e);
    }
}
END_TEST

START_TEST(a_window_is_the_last_documents_alone)
{
    random_seed((uint64_t)_i);
    static struct table t, tail;
    t = two_labels((size_t)_i % 2);
    t.labels = 2 + (size_t)_i % 2;
    fill_randomly(&t, 300, _i % 2 == 0 ? 20 : 0, 0.7);
    static const uint64_t windows[] = {1, 2, 50, 299, 300, 301, UINT64_MAX};
    struct nb_evaluator *evaluator = evaluator_of(&t, 0);
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
        struct nb_evaluation e;
        size_t size = windows[i] < t.size ? (size_t)windows[i] : t.size;
        tail = t;
        tail.size = size;
        memcpy(tail.documents, t.documents + (t.size - size), size * sizeof *t.documents);
        ck_assert_int_eq(nb_evaluator_finish(evaluator, windows[i], &e), 0);
        check_all(&tail, &e);
        nb_evaluation_deinit(&e);
    }
    nb_evaluator_free(&evaluator);
}
END_TEST

/* ---- by hand --------------------------------------------------------------------------------- */

static void evaluate_list(size_t positive, const double (*list)[2], size_t size,
                          struct nb_evaluation *e)
{
    static struct table t;
    t = two_labels(positive);
    for (size_t i = 0; i < size; i++)
        push(&t, (size_t)list[i][0], list[i][1]);
    evaluate(&t, e);
}

START_TEST(perfect_verdicts)
{
    static const double list[][2] = {{1, 0.9}, {0, 0.1}, {1, 0.8}, {0, 0.2}};
    struct nb_evaluation e;
    evaluate_list(1, list, 4, &e);
    ck_assert_double_eq(e.one_minus_roca, 0);
    ck_assert_double_eq(e.accuracy, 1);
    ck_assert_double_eq(e.false_positive_rate, 0);
    ck_assert_double_eq(e.false_negative_rate, 0);
    ck_assert_close(e.lam, 25); /* half an error of two on both sides */
    ck_assert_close(e.brier, (0.01 + 0.01 + 0.04 + 0.04) / 4);
    ck_assert_close(e.log_loss, -(2 * log(0.9) + 2 * log(0.8)) / 4);
    ck_assert_uint_eq(e.point_count, 3); /* straight up, straight across */
    ck_assert_double_eq(e.points[1].threshold, 0.8);
    ck_assert_double_eq(e.points[1].true_positive_rate, 1);
    ck_assert_double_eq(e.points[1].false_positive_rate, 0);
    ck_assert_uint_eq(e.confusion_count, 2);
    ck_assert_uint_eq(cell_of(&e, 0, 0), 2);
    ck_assert_uint_eq(cell_of(&e, 1, 1), 2);
    nb_evaluation_deinit(&e);
}
END_TEST

START_TEST(inverted_verdicts)
{
    static const double list[][2] = {{1, 0.1}, {0, 0.9}, {1, 0.2}, {0, 0.8}, {0, 0.7}};
    struct nb_evaluation e;
    evaluate_list(1, list, 5, &e);
    ck_assert_double_eq(e.one_minus_roca, 100);
    ck_assert_double_eq(e.accuracy, 0);
    ck_assert_double_eq(e.false_positive_rate, 1);
    ck_assert_double_eq(e.false_negative_rate, 1);
    ck_assert_double_eq(e.labels[0].precision, 0);
    ck_assert_double_eq(e.labels[1].recall, 0);
    /* ln(1 / (0.5 / 3)) and ln(1 / (0.5 / 2)): the numerator is the rate as it is. */
    ck_assert_close(e.lam, 100 / (1 + exp(-(log(6) + log(4)) / 2)));
    nb_evaluation_deinit(&e);
}
END_TEST

START_TEST(nothing_but_ties)
{
    static const double list[][2] = {{1, 0.5}, {0, 0.5}, {1, 0.5}, {0, 0.5}, {1, 0.5}};
    struct nb_evaluation e;
    for (size_t positive = 0; positive < 2; positive++) {
        evaluate_list(positive, list, 5, &e);
        ck_assert_double_eq(e.one_minus_roca, 50);
        ck_assert_close(e.accuracy, 0.4); /* ties go to the first label */
        ck_assert_double_eq(e.false_positive_rate, 0);
        ck_assert_double_eq(e.false_negative_rate, 1);
        ck_assert_close(e.log_loss, log(2));
        ck_assert_double_eq(e.brier, 0.25);
        ck_assert_close(e.ece, 0.1);
        ck_assert_uint_eq(e.point_count, 2);
        nb_evaluation_deinit(&e);
    }
}
END_TEST

START_TEST(one_class_only)
{
    static const double list[][2] = {{1, 0.7}, {1, 0.4}};
    struct nb_evaluation e;
    evaluate_list(1, list, 2, &e);
    ck_assert_double_nan(e.one_minus_roca);
    ck_assert_double_nan(e.lam);
    ck_assert_double_nan(e.false_positive_rate);
    ck_assert_double_eq(e.false_negative_rate, 0.5);
    ck_assert_double_nan(e.labels[0].recall);
    ck_assert_double_eq(e.labels[0].precision, 0);
    ck_assert_double_eq(e.labels[1].recall, 0.5);
    ck_assert_double_eq(e.labels[1].precision, 1);
    ck_assert_close(e.log_loss, -(log(0.7) + log(0.4)) / 2);
    ck_assert_uint_eq(e.point_count, 0);
    nb_evaluation_deinit(&e);
    evaluate_list(0, list, 2, &e);
    ck_assert_double_nan(e.false_negative_rate);
    ck_assert_double_eq(e.false_positive_rate, 0.5);
    nb_evaluation_deinit(&e);
}
END_TEST

START_TEST(no_document_at_all)
{
    struct nb_evaluation e;
    for (size_t labels = 0; labels < 4; labels++) {
        struct nb_evaluator *evaluator;
        double threshold, achieved;
        struct nb_error error;
        ck_assert_int_eq(nb_evaluator_new(NUMBERS, labels, 0, &evaluator), 0);
        ck_assert_int_eq(nb_evaluator_finish(evaluator, 10, &e), 0);
        ck_assert_uint_eq(e.documents, 0);
        ck_assert_uint_eq(e.label_count, labels);
        ck_assert_double_nan(e.accuracy);
        ck_assert_double_nan(e.log_loss);
        ck_assert_double_nan(e.brier);
        ck_assert_double_nan(e.ece);
        ck_assert_double_nan(e.lam);
        ck_assert_double_nan(e.bins[3].confidence);
        for (size_t i = 0; i < labels; i++)
            ck_assert_double_nan(e.labels[i].precision);
        ck_assert_int_eq(nb_evaluator_threshold(evaluator, 0, 0.1, &threshold, &achieved, &error),
                         NB_CONFLICT);
        nb_evaluation_deinit(&e);
        nb_evaluator_free(&evaluator);
    }
    nb_evaluation_deinit(&e); /* twice */
}
END_TEST

START_TEST(a_single_label_is_always_right)
{
    struct table *t = calloc(1, sizeof *t);
    struct nb_evaluation e;
    t->labels = 1;
    t->size = 3;
    for (size_t i = 0; i < 3; i++)
        t->documents[i] = (struct document){.is_scored = i > 0, .p = {1}};
    evaluate(t, &e);
    ck_assert_double_eq(e.accuracy, 1);
    ck_assert_double_eq(e.brier, 0);
    ck_assert_double_eq(e.ece, 0);
    ck_assert_double_nan(e.one_minus_roca);
    ck_assert_close(e.log_loss, -log(1 - 1e-6));
    nb_evaluation_deinit(&e);
    free(t);
}
END_TEST

/* ---- what a score may be --------------------------------------------------------------------- */

START_TEST(log_odds_tell_saturated_probabilities_apart)
{
    static struct table t;
    struct nb_evaluation e;
    t = two_labels(1);
    push(&t, 1, 1);
    push(&t, 0, 1);
    t.documents[0].log_odds = 90;
    t.documents[1].log_odds = 60;
    evaluate(&t, &e);
    ck_assert_double_eq(e.one_minus_roca, 0);
    ck_assert_uint_eq(e.point_count, 2); /* no threshold can tell them apart */
    nb_evaluation_deinit(&e);
    t.positive = 0;
    evaluate(&t, &e);
    ck_assert_double_eq(e.one_minus_roca, 0);
    nb_evaluation_deinit(&e);
}
END_TEST

/* Thresholds are probabilities: the curve goes by them, even where log-odds say otherwise. */
START_TEST(the_curve_goes_by_probability)
{
    static struct table t;
    struct nb_evaluation e;
    t = two_labels(1);
    for (size_t i = 0; i < 6; i++) {
        push(&t, i % 2, 0.1 + 0.1 * (double)i);
        t.documents[i].log_odds = 5 - (double)i;
    }
    evaluate(&t, &e);
    ck_assert_uint_eq(e.point_count, 7);
    for (size_t i = 0; i < e.point_count; i++) {
        double threshold = e.points[i].threshold;
        ck_assert_close(e.points[i].false_positive_rate, rate_at(&t, false, threshold, false));
        ck_assert_close(e.points[i].true_positive_rate, rate_at(&t, true, threshold, false));
    }
    nb_evaluation_deinit(&e);
}
END_TEST

/* With one label learned, the other one is as far away as can be. */
START_TEST(labels_that_are_not_listed_had_nothing)
{
    struct nb_evaluator *evaluator;
    struct nb_evaluation e;
    double one = 1;
    struct nb_stored_score only_first = {NUMBERS[0], 1, NUMBERS, &one, 0};
    struct nb_stored_score truth_unlisted = {NUMBERS[1], 1, NUMBERS, &one, 0};
    struct nb_stored_score unscored = {NUMBERS[1], 0, NULL, NULL, 0};
    nb_evaluator_new(NUMBERS, 2, 1, &evaluator);
    ck_assert_int_eq(nb_evaluator_add(evaluator, &unscored), 0);
    ck_assert_int_eq(nb_evaluator_add(evaluator, &only_first), 0);
    ck_assert_int_eq(nb_evaluator_finish(evaluator, 0, &e), 0);
    ck_assert_double_eq(e.one_minus_roca, 0); /* 0.5 before 0 */
    ck_assert_double_eq(e.brier, 0.125);
    nb_evaluation_deinit(&e);
    ck_assert_int_eq(nb_evaluator_add(evaluator, &truth_unlisted), 0);
    ck_assert_int_eq(nb_evaluator_finish(evaluator, 1, &e), 0);
    ck_assert_close(e.log_loss, -log(1e-6));
    ck_assert_double_eq(e.brier, 1);
    ck_assert_double_eq(e.labels[1].recall, 0);
    nb_evaluation_deinit(&e);
    nb_evaluator_free(&evaluator);
}
END_TEST

START_TEST(labels_that_went_away_cannot_be_predicted)
{
    static const uint32_t listed[] = {7, 2, 99};
    static const double p[] = {0.2, 0.3, 0.5};
    struct nb_stored_score scored = {2, 3, listed, p, 0};
    struct nb_evaluator *evaluator;
    struct nb_evaluation e;
    nb_evaluator_new(NUMBERS, 2, 1, &evaluator);
    ck_assert_int_eq(nb_evaluator_add(evaluator, &scored), 0);
    ck_assert_int_eq(nb_evaluator_finish(evaluator, 0, &e), 0);
    ck_assert_uint_eq(cell_of(&e, 1, 1), 1);
    ck_assert_close(e.brier, 0.49);
    nb_evaluation_deinit(&e);
    nb_evaluator_free(&evaluator);
}
END_TEST

START_TEST(unsound_scores_are_refused)
{
    static const struct {
        uint32_t label;
        double p, log_odds;
    } table[] = {{5, 0.5, 0},           {12, 0.5, 0},       {UINT32_MAX, 0.5, 0},
                 {7, -0.1, 0},          {7, 1.0000001, 0},  {7, (double)NAN, 0},
                 {7, 0.5, (double)NAN}, {7, 0.5, -INFINITY}};
    struct nb_evaluator *evaluator;
    struct nb_evaluation e;
    nb_evaluator_new(NUMBERS, 3, 1, &evaluator);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        double p[] = {table[i].p, 0.5};
        struct nb_stored_score scored = {table[i].label, 2, NUMBERS, p, table[i].log_odds};
        ck_assert_msg(nb_evaluator_add(evaluator, &scored) == NB_INVALID, "row %zu", i);
    }
    ck_assert_int_eq(nb_evaluator_finish(evaluator, 0, &e), 0);
    ck_assert_uint_eq(e.documents, 0);
    nb_evaluation_deinit(&e);
    nb_evaluator_free(&evaluator);
    static const uint32_t absurd[] = {1, 70000};
    ck_assert_int_eq(nb_evaluator_new(absurd, 2, 0, &evaluator), NB_TOO_LARGE);
    ck_assert_ptr_null(evaluator);
}
END_TEST

START_TEST(bounds_of_the_bins)
{
    for (int k = 0; k <= 15; k++) {
        double bound = k / 15.0;
        double list[][2] = {{1, bound}, {1, nextafter(bound, 0)}};
        struct nb_evaluation e;
        evaluate_list(1, (const double(*)[2])list, 2, &e);
        int above = k < 15 ? k : 14, below = k > 0 ? k - 1 : 0;
        ck_assert_msg(e.bins[above].documents == (above == below ? 2 : 1), "bound %d", k);
        ck_assert_msg(e.bins[below].documents >= 1, "bound %d", k);
        nb_evaluation_deinit(&e);
    }
}
END_TEST

START_TEST(thousands_of_labels)
{
    enum { MANY = 10000 };
    uint32_t *labels = calloc(MANY, sizeof *labels);
    for (uint32_t i = 0; i < MANY; i++)
        labels[i] = MANY - 1 - i;
    struct nb_evaluator *evaluator;
    struct nb_evaluation e;
    nb_evaluator_new(labels, MANY, 3, &evaluator);
    for (uint32_t i = 0; i < MANY; i++) {
        double p[] = {0.25, 0.75};
        uint32_t listed[] = {labels[(i + 1) % MANY], labels[i % 2 == 0 ? i : (i + 2) % MANY]};
        struct nb_stored_score scored = {labels[i], 2, listed, p, 0};
        ck_assert_int_eq(nb_evaluator_add(evaluator, &scored), 0);
    }
    ck_assert_int_eq(nb_evaluator_finish(evaluator, 0, &e), 0);
    ck_assert_double_eq(e.accuracy, 0.5);
    ck_assert_uint_eq(e.confusion_count, NB_EVALUATION_CELLS);
    ck_assert_uint_eq(e.confusion_left_out, MANY - NB_EVALUATION_CELLS);
    for (size_t i = 0; i < e.confusion_count; i++) { /* equally bad: the first of them */
        ck_assert_uint_eq(e.confusion[i].truth, 2 * i + 1);
        ck_assert_uint_eq(e.confusion[i].documents, 1);
    }
    ck_assert_uint_eq(e.labels[1].documents, 1);
    ck_assert_uint_eq(e.labels[1].predicted, 1); /* as the second after MANY - 1 */
    ck_assert_double_eq(e.labels[2].recall, 1);
    nb_evaluation_deinit(&e);
    nb_evaluator_free(&evaluator);
    free(labels);
}
END_TEST

/* Adds documents of labels 0 to 39; each score lists only the label that it gives. */
static void add_given(struct nb_evaluator *evaluator, uint32_t truth, uint32_t given, int times)
{
    double one = 1;
    struct nb_stored_score scored = {truth, 1, &given, &one, 0};
    for (int i = 0; i < times; i++)
        ck_assert_int_eq(nb_evaluator_add(evaluator, &scored), 0);
}

/* 40 labels: 1,560 wrong pairs. `few`: as many cells as may be listed, the right ones too. */
START_TEST(many_cells_of_many_labels_are_bounded)
{
    enum { LABELS = 40 };
    const bool few = _i == 1;
    uint32_t labels[LABELS];
    struct nb_evaluator *evaluator;
    struct nb_evaluation e;
    for (uint32_t v = 0; v < LABELS; v++)
        labels[v] = v;
    nb_evaluator_new(labels, LABELS, 0, &evaluator);
    /* 40 right cells of 9, 780 of 3, and of 1 another 780, or so many that there are 1,000. */
    uint64_t once = 0;
    for (uint32_t truth = 0; truth < LABELS; truth++)
        for (uint32_t given = 0; given < LABELS; given++) {
            int times = truth == given ? 9 : (truth + given) % 2 == 0 ? 3 : 1;
            bool is_last = times == 1 && ++once > NB_EVALUATION_CELLS - 800;
            if (!few || !is_last)
                add_given(evaluator, truth, given, times);
        }
    ck_assert_int_eq(nb_evaluator_finish(evaluator, 0, &e), 0);
    uint64_t documents = 0, right = 0, ones = 0;
    for (size_t i = 0; i < e.confusion_count; i++) {
        const struct nb_evaluation_cell *c = &e.confusion[i], *before = c - (i > 0);
        ck_assert(i == 0 || before->truth < c->truth || before->predicted < c->predicted);
        documents += c->documents;
        right += c->truth == c->predicted;
        ones += c->documents == 1;
    }
    ck_assert_uint_eq(e.confusion_count, NB_EVALUATION_CELLS);
    ck_assert_uint_eq(e.confusion_left_out, few ? 0 : 600);
    ck_assert_uint_eq(right, few ? 40 : 0);
    ck_assert_uint_eq(ones, few ? 200 : 240);
    ck_assert_uint_eq(documents, few ? 40 * 9 + 760 * 3 + 200 : 760 * 3 + 240);
    ck_assert_uint_eq(e.labels[7].documents, few ? e.labels[7].documents : 9 + 19 * 3 + 20);
    ck_assert_uint_eq(e.pairs[0].documents, 3);
    nb_evaluation_deinit(&e);
    nb_evaluator_free(&evaluator);
}
END_TEST

/* Labels that a score does not list have equal parts of the rest; but not the true one, which would
 * be listed if it had been scored. */
START_TEST(unlisted_labels_share_the_rest)
{
    static const uint32_t listed[] = {7, 2};
    static const double p[] = {0.5, 0.3};
    static const struct {
        uint32_t truth;
        double brier, loss;
    } table[] = {
        {7, 0.25 + 0.09 + 3 * (0.2 / 3) * (0.2 / 3), 0.5},
        {2, 0.25 + 0.49 + 3 * (0.2 / 3) * (0.2 / 3), 0.3},
        {4, 0.25 + 0.09 + 1 + 2 * 0.1 * 0.1, 1e-6},
    };
    static const uint32_t labels[] = {7, 2, 4, 5, 9};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct nb_stored_score scored = {table[i].truth, 2, listed, p, 0};
        struct nb_evaluator *evaluator;
        struct nb_evaluation e;
        nb_evaluator_new(labels, 5, 0, &evaluator);
        ck_assert_int_eq(nb_evaluator_add(evaluator, &scored), 0);
        ck_assert_int_eq(nb_evaluator_finish(evaluator, 0, &e), 0);
        ck_assert_close(e.brier, table[i].brier);
        ck_assert_close(e.log_loss, -log(table[i].loss));
        nb_evaluation_deinit(&e);
        nb_evaluator_free(&evaluator);
    }
}
END_TEST

/* ---- thresholds ------------------------------------------------------------------------------ */

START_TEST(thresholds_are_the_lowest_that_hold_the_rate)
{
    static const double rates[] = {0, 0.001, 0.01, 0.1, 0.25, 1.0 / 3, 0.5, 0.75, 0.999, 1};
    random_seed((uint64_t)_i);
    for (int round = 0; round < 10; round++) {
        static struct table t;
        t = two_labels(random_below(2));
        t.labels = 2 + (size_t)_i % 2;
        fill_randomly(&t, 2 + random_below(200), round % 2 == 0 ? 8 : 0, 0.4);
        t.documents[0].truth = 1 - t.positive;
        struct nb_evaluator *evaluator = evaluator_of(&t, 0);
        for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
            double threshold, achieved;
            int rc = nb_evaluator_threshold(evaluator, 0, rates[i], &threshold, &achieved, NULL);
            ck_assert_int_eq(rc, 0);
            ck_assert_double_eq(achieved, rate_at(&t, false, threshold, false));
            ck_assert_double_le(achieved, rates[i]);
            ck_assert(threshold >= 0 && threshold <= nextafter(1, 2));
            if (threshold > 0)
                ck_assert_double_gt(rate_at(&t, false, nextafter(threshold, 0), false), rates[i]);
        }
        nb_evaluator_free(&evaluator);
    }
}
END_TEST

START_TEST(thresholds_by_hand)
{
    static const double list[][2] = {{0, 0.1}, {0, 0.9}, {0, 0.4}, {0, 0.9}, {0, 1},
                                     {1, 0.3}, {1, 1},   {0, 0.2}, {0, 0},   {0, 0.2}};
    static const struct {
        double rate, threshold, achieved; /* the threshold is just above this */
    } table[] = {{0, 1, 0},           {0.1249, 1, 0},  {0.125, 0.9, 0.125}, {0.374, 0.9, 0.125},
                 {0.375, 0.4, 0.375}, {0.5, 0.2, 0.5}, {0.75, 0.1, 0.75},   {0.999, 0.0, 0.875}};
    static struct table t;
    t = two_labels(1);
    for (size_t i = 0; i < 10; i++)
        push(&t, (size_t)list[i][0], list[i][1]);
    struct nb_evaluator *evaluator = evaluator_of(&t, 0);
    double threshold, achieved;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        nb_evaluator_threshold(evaluator, 0, table[i].rate, &threshold, &achieved, NULL);
        ck_assert_msg(threshold == nextafter(table[i].threshold, INFINITY), "row %zu: %.17g", i,
                      threshold);
        ck_assert_msg(achieved == table[i].achieved, "row %zu: %.17g", i, achieved);
    }
    nb_evaluator_threshold(evaluator, 0, 1, &threshold, &achieved, NULL);
    ck_assert_double_eq(threshold, 0);
    ck_assert_double_eq(achieved, 1);
    /* Of the last four documents three are negative: 0.2, 0 and 0.2. */
    nb_evaluator_threshold(evaluator, 4, 0.1, &threshold, &achieved, NULL);
    ck_assert_double_eq(threshold, nextafter(0.2, 1));
    nb_evaluator_free(&evaluator);
}
END_TEST

/* ---- over time ------------------------------------------------------------------------------- */

START_TEST(stretches_are_of_one_length)
{
    static const size_t sizes[] = {0, 1, 7, 49, 50, 51, 99, 100, 613};
    size_t size = sizes[_i], from = 0;
    static struct table t;
    struct nb_progress_stretch stretches[NB_PROGRESS_STRETCHES];
    random_seed((uint64_t)_i);
    t = two_labels(1);
    for (size_t i = 0; i < size; i++)
        push(&t, random_below(2), random_number());
    struct nb_evaluator *evaluator = evaluator_of(&t, 0);
    size_t count = nb_evaluator_progress(evaluator, stretches);
    ck_assert_uint_eq(count, size < NB_PROGRESS_STRETCHES ? size : NB_PROGRESS_STRETCHES);
    for (size_t i = 0; i < count; i++) {
        uint64_t errors = 0;
        ck_assert_uint_eq(from + stretches[i].documents, (i + 1) * size / count);
        for (uint64_t end = from + stretches[i].documents; from < end; from++) {
            const struct document *d = &t.documents[from];
            errors += (d->p[1] > d->p[0]) != (d->truth == 1);
        }
        ck_assert_uint_eq(stretches[i].errors, errors);
    }
    ck_assert_uint_eq(from, size);
    nb_evaluator_free(&evaluator);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("evaluate");
    TCase *figures = tcase_create("figures");
    tcase_set_timeout(figures, 60);
    tcase_add_loop_test(figures, figures_are_their_definitions, 0, 9);
    tcase_add_loop_test(figures, a_window_is_the_last_documents_alone, 0, 4);
    suite_add_tcase(suite, figures);
    TCase *hand = tcase_create("by hand");
    tcase_add_test(hand, perfect_verdicts);
    tcase_add_test(hand, inverted_verdicts);
    tcase_add_test(hand, nothing_but_ties);
    tcase_add_test(hand, one_class_only);
    tcase_add_test(hand, no_document_at_all);
    tcase_add_test(hand, a_single_label_is_always_right);
    suite_add_tcase(suite, hand);
    TCase *scores = tcase_create("scores");
    tcase_add_test(scores, log_odds_tell_saturated_probabilities_apart);
    tcase_add_test(scores, the_curve_goes_by_probability);
    tcase_add_test(scores, labels_that_are_not_listed_had_nothing);
    tcase_add_test(scores, labels_that_went_away_cannot_be_predicted);
    tcase_add_test(scores, unsound_scores_are_refused);
    tcase_add_test(scores, bounds_of_the_bins);
    tcase_add_test(scores, thousands_of_labels);
    tcase_add_loop_test(scores, many_cells_of_many_labels_are_bounded, 0, 2);
    tcase_add_test(scores, unlisted_labels_share_the_rest);
    suite_add_tcase(suite, scores);
    TCase *thresholds = tcase_create("thresholds");
    tcase_add_loop_test(thresholds, thresholds_are_the_lowest_that_hold_the_rate, 0, 6);
    tcase_add_test(thresholds, thresholds_by_hand);
    suite_add_tcase(suite, thresholds);
    TCase *progress = tcase_create("progress");
    tcase_add_loop_test(progress, stretches_are_of_one_length, 0, 9);
    suite_add_tcase(suite, progress);
    return test_run(suite);
}
