/* SPDX-License-Identifier: Apache-2.0 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/evaluate_private.h"
#include "core/model.h"

#define NONE UINT32_MAX

void nb_evaluation_deinit(struct nb_evaluation *evaluation)
{
    free(evaluation->labels);
    free(evaluation->confusion);
    *evaluation = (struct nb_evaluation){0};
}

/* ---- collecting ------------------------------------------------------------------------------ */

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

static bool is_sound(const struct nb_scored *s)
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

/* ln of a probability, of which 0 is the smallest number that there is. */
static double log_of(double probability)
{
    return log(fmax(probability, DBL_TRUE_MIN));
}

static void take_scored(const struct nb_evaluator *e, const struct nb_scored *s,
                        struct nb_evaluator_row *row, struct nb_evaluator_extra *extra)
{
    double best = -1, of_others = 0;
    uint32_t place = NONE; /* of the positive label in the list */
    *extra = (struct nb_evaluator_extra){.brier = 1};
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
    /* A model that has seen one label of two leaves the rest to the other. */
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

int nb_evaluator_add(struct nb_evaluator *e, const struct nb_scored *scored)
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

static double ratio(double part, double whole)
{
    return whole > 0 ? part / whole : (double)NAN;
}

/* ---- verdicts: confusion, precision, recall, accuracy ---------------------------------------- */

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Equal neighbours become one cell with their number. `pairs` are sorted. */
static void count_cells(const uint64_t *pairs, size_t size, struct nb_evaluation *evaluation)
{
    for (size_t i = 0; i < size; i++) {
        struct nb_evaluation_cell *cell = &evaluation->confusion[evaluation->confusion_count];
        if (i == 0 || pairs[i] != pairs[i - 1]) {
            cell->truth = (uint32_t)(pairs[i] >> 32);
            cell->predicted = (uint32_t)pairs[i];
            evaluation->confusion_count++;
        } else {
            cell--;
        }
        cell->documents++;
    }
}

static size_t count_distinct(const uint64_t *sorted, size_t size)
{
    size_t count = size > 0;
    for (size_t i = 1; i < size; i++)
        count += sorted[i] != sorted[i - 1];
    return count;
}

/* The table has one cell for each pair of labels that came up: ten thousand labels would have a
 * hundred million, nearly all of them zero. */
static int fill_confusion(const struct nb_evaluator_window *w, struct nb_evaluation *evaluation)
{
    uint64_t *pairs = calloc(w->size + 1, sizeof *pairs);
    if (pairs == NULL)
        return NB_NO_MEMORY;
    for (size_t i = 0; i < w->size; i++)
        pairs[i] = (uint64_t)w->rows[i].label << 32 | w->rows[i].predicted;
    qsort(pairs, w->size, sizeof *pairs, by_number);
    evaluation->confusion =
        calloc(count_distinct(pairs, w->size) + 1, sizeof *evaluation->confusion);
    if (evaluation->confusion != NULL)
        count_cells(pairs, w->size, evaluation);
    free(pairs);
    return evaluation->confusion != NULL ? 0 : NB_NO_MEMORY;
}

/* Precision: of those given the label, the share that have it. Recall: of those that have it, the
 * share that were given it. */
static int fill_labels(const struct nb_evaluator *e, struct nb_evaluation *evaluation)
{
    uint64_t right = 0;
    evaluation->labels = calloc(e->label_count + 1, sizeof *evaluation->labels);
    if (evaluation->labels == NULL)
        return NB_NO_MEMORY;
    struct nb_evaluation_label *labels = evaluation->labels;
    evaluation->label_count = e->label_count;
    for (size_t i = 0; i < e->label_count; i++)
        labels[i] = (struct nb_evaluation_label){e->labels[i], 0, 0, (double)NAN, (double)NAN};
    for (size_t i = 0; i < evaluation->confusion_count; i++) {
        const struct nb_evaluation_cell *cell = &evaluation->confusion[i];
        labels[cell->truth].documents += cell->documents;
        labels[cell->predicted].predicted += cell->documents;
    }
    /* A label that was right at least once has a cell of its own; the others have 0 if anything. */
    for (size_t i = 0; i < e->label_count; i++) {
        labels[i].precision = ratio(0, (double)labels[i].predicted);
        labels[i].recall = ratio(0, (double)labels[i].documents);
    }
    for (size_t i = 0; i < evaluation->confusion_count; i++) {
        const struct nb_evaluation_cell *cell = &evaluation->confusion[i];
        if (cell->truth != cell->predicted)
            continue;
        struct nb_evaluation_label *label = &labels[cell->truth];
        label->precision = (double)cell->documents / (double)label->predicted;
        label->recall = (double)cell->documents / (double)label->documents;
        right += cell->documents;
    }
    evaluation->accuracy = ratio((double)right, (double)evaluation->documents);
    return 0;
}

/* ---- probabilities: log-loss, Brier, calibration --------------------------------------------- */

static double loss_of(double probability_of_truth)
{
    return -log(probability_of_truth);
}

static double clipped(double probability)
{
    return fmin(fmax(probability, 1e-6), 1 - 1e-6);
}

/* Bin i holds i/15 <= p < (i+1)/15, and the last one 1 as well. The product is never rounded to the
 * other side of a bound: tested at each. */
static size_t bin_of(double p)
{
    size_t bin = (size_t)(p * NB_EVALUATION_BINS);
    return bin < NB_EVALUATION_BINS ? bin : NB_EVALUATION_BINS - 1;
}

static void count_in_bin(struct nb_evaluation *evaluation, double confidence, bool is_right)
{
    struct nb_evaluation_bin *bin = &evaluation->bins[bin_of(confidence)];
    bin->documents++;
    bin->confidence += confidence; /* sums for now */
    bin->accuracy += is_right;
}

static void finish_bins(struct nb_evaluation *evaluation)
{
    double documents = (double)evaluation->documents;
    double ece = 0;
    for (size_t i = 0; i < NB_EVALUATION_BINS; i++) {
        struct nb_evaluation_bin *bin = &evaluation->bins[i];
        bin->confidence = ratio(bin->confidence, (double)bin->documents);
        bin->accuracy = ratio(bin->accuracy, (double)bin->documents);
        if (bin->documents > 0)
            ece += (double)bin->documents / documents * fabs(bin->confidence - bin->accuracy);
    }
    evaluation->ece = documents > 0 ? ece : (double)NAN;
}

static void fill_probabilities(const struct nb_evaluator *e, const struct nb_evaluator_window *w,
                               struct nb_evaluation *evaluation)
{
    double loss = 0, brier = 0;
    for (size_t i = 0; i < w->size; i++) {
        const struct nb_evaluator_row *row = &w->rows[i];
        if (w->extras == NULL) {
            double p = row->probability;
            bool is_positive = row->label == e->positive;
            loss += loss_of(is_positive ? clipped(p) : 1 - clipped(p));
            brier += (p - is_positive) * (p - is_positive);
            count_in_bin(evaluation, p, is_positive);
        } else {
            loss += loss_of(clipped(w->extras[i].truth));
            brier += w->extras[i].brier;
            count_in_bin(evaluation, w->extras[i].winner, row->label == row->predicted);
        }
    }
    evaluation->log_loss = ratio(loss, (double)w->size);
    evaluation->brier = ratio(brier, (double)w->size);
    finish_bins(evaluation);
}

/* ---- the positive label against all others: LAM, area, ROC curve ----------------------------- */

/* ln(rate / (1 - rate)), where no error in n documents counts as half an error. */
static double logit(double rate, double n)
{
    double kept = fmax(rate, 0.5 / n);
    return log(kept / (1 - fmin(kept, 1 - 0.5 / n)));
}

static void fill_errors(const struct nb_evaluator *e, const struct nb_evaluator_window *w,
                        struct nb_evaluation *evaluation)
{
    size_t taken = 0, missed = 0;
    double positives = (double)w->positives, negatives = (double)w->negatives;
    for (size_t i = 0; i < w->size; i++) {
        bool is_positive = w->rows[i].label == e->positive;
        bool is_taken = w->rows[i].probability > 0.5;
        taken += !is_positive && is_taken;
        missed += is_positive && !is_taken;
    }
    double fp = ratio((double)taken, negatives), fn = ratio((double)missed, positives);
    evaluation->false_positive_rate = fp;
    evaluation->false_negative_rate = fn;
    evaluation->lam = (double)NAN;
    if (w->positives > 0 && w->negatives > 0)
        evaluation->lam = 100 / (1 + exp(-(logit(fp, negatives) + logit(fn, positives)) / 2));
}

int nb_evaluator_finish(struct nb_evaluator *e, uint64_t most, struct nb_evaluation *evaluation)
{
    struct nb_evaluator_window w = nb_evaluator_window(e, most);
    *evaluation = (struct nb_evaluation){.documents = w.size, .binary = e->label_count == 2};
    int rc = fill_confusion(&w, evaluation);
    if (rc == 0)
        rc = fill_labels(e, evaluation);
    fill_probabilities(e, &w, evaluation);
    fill_errors(e, &w, evaluation);
    if (rc == 0)
        rc = nb_evaluation_fill_curve(e, &w, evaluation);
    if (rc != 0)
        nb_evaluation_deinit(evaluation);
    return rc;
}
