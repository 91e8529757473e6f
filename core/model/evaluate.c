/* SPDX-License-Identifier: Apache-2.0 */

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/evaluator.h"

void nb_evaluation_deinit(struct nb_evaluation *evaluation)
{
    free(evaluation->labels);
    free(evaluation->confusion);
    *evaluation = (struct nb_evaluation){0};
}

static double ratio(double part, double whole)
{
    return whole > 0 ? part / whole : (double)NAN;
}

/* ---- verdicts: confusion, precision, recall, F1, accuracy ------------------------------------ */

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Merges equal neighbours into one cell with their number. `pairs` are sorted. */
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

/* The table has one cell for each pair of labels that occurs: ten thousand labels have a hundred
 * million pairs, nearly all of them zero. */
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

static bool is_worse(const struct nb_evaluation_cell *a, const struct nb_evaluation_cell *b)
{
    return a->documents > b->documents;
}

/* Inserts each wrong cell where it belongs: the list is short, and most cells are not worse than
 * its last one. The cells come by truth, then predicted, and of equal ones the first stays in
 * front. */
static void fill_pairs(struct nb_evaluation *evaluation)
{
    struct nb_evaluation_cell *pairs = evaluation->pairs;
    for (size_t i = 0; i < evaluation->confusion_count; i++) {
        const struct nb_evaluation_cell *cell = &evaluation->confusion[i];
        bool is_full = evaluation->pair_count == NB_EVALUATION_PAIRS;
        if (cell->truth == cell->predicted ||
            (is_full && !is_worse(cell, &pairs[NB_EVALUATION_PAIRS - 1])))
            continue;
        size_t at = is_full ? NB_EVALUATION_PAIRS - 1 : evaluation->pair_count++;
        for (; at > 0 && is_worse(cell, &pairs[at - 1]); at--)
            pairs[at] = pairs[at - 1];
        pairs[at] = *cell;
    }
}

static int by_documents(const void *a, const void *b)
{
    uint64_t x = ((const struct nb_evaluation_cell *)a)->documents;
    uint64_t y = ((const struct nb_evaluation_cell *)b)->documents;
    return (x < y) - (x > y);
}

static size_t keep_wrong(struct nb_evaluation_cell *cells, size_t size)
{
    size_t wrong = 0;
    for (size_t i = 0; i < size; i++)
        if (cells[i].truth != cells[i].predicted)
            cells[wrong++] = cells[i];
    return wrong;
}

/* Keeps the NB_EVALUATION_CELLS worst of the wrong cells, in their order: all cells with more
 * documents than the last one kept, and the first of those with equally many. */
static int keep_worst(struct nb_evaluation *evaluation, size_t wrong)
{
    struct nb_evaluation_cell *cells = evaluation->confusion;
    struct nb_evaluation_cell *sorted = calloc(wrong, sizeof *sorted);
    size_t worse = 0, kept = 0;
    if (sorted == NULL)
        return NB_NO_MEMORY;
    memcpy(sorted, cells, wrong * sizeof *sorted);
    qsort(sorted, wrong, sizeof *sorted, by_documents);
    uint64_t last = sorted[NB_EVALUATION_CELLS - 1].documents;
    while (sorted[worse].documents > last)
        worse++;
    free(sorted);
    size_t equal = NB_EVALUATION_CELLS - worse;
    for (size_t i = 0; i < wrong; i++) {
        if (cells[i].documents < last || (cells[i].documents == last && equal == 0))
            continue;
        equal -= cells[i].documents == last;
        cells[kept++] = cells[i];
    }
    assert(kept == NB_EVALUATION_CELLS);
    evaluation->confusion_count = kept;
    return 0;
}

/* A thousand labels have a million pairs. The right verdicts follow from the labels' recall. */
static int bound_confusion(struct nb_evaluation *evaluation)
{
    size_t all = evaluation->confusion_count;
    int rc = 0;
    if (evaluation->label_count <= NB_EVALUATION_WHOLE_TABLE || all <= NB_EVALUATION_CELLS)
        return 0;
    evaluation->confusion_count = keep_wrong(evaluation->confusion, all);
    if (evaluation->confusion_count > NB_EVALUATION_CELLS)
        rc = keep_worst(evaluation, evaluation->confusion_count);
    evaluation->confusion_left_out = all - evaluation->confusion_count;
    return rc;
}

static void fill_macro(struct nb_evaluation *evaluation)
{
    double sum = 0, count = 0;
    for (size_t i = 0; i < evaluation->label_count; i++) {
        if (isnan(evaluation->labels[i].f1))
            continue;
        sum += evaluation->labels[i].f1;
        count++;
    }
    evaluation->macro_f1 = ratio(sum, count);
}

static int fill_labels(const struct nb_evaluator *e, struct nb_evaluation *evaluation)
{
    uint64_t right = 0;
    evaluation->labels = calloc(e->label_count + 1, sizeof *evaluation->labels);
    if (evaluation->labels == NULL)
        return NB_NO_MEMORY;
    struct nb_evaluation_label *labels = evaluation->labels;
    evaluation->label_count = e->label_count;
    for (size_t i = 0; i < e->label_count; i++)
        labels[i].label = e->labels[i];
    for (size_t i = 0; i < evaluation->confusion_count; i++) {
        const struct nb_evaluation_cell *cell = &evaluation->confusion[i];
        assert(cell->truth < e->label_count && cell->predicted < e->label_count);
        labels[cell->truth].documents += cell->documents;
        labels[cell->predicted].predicted += cell->documents;
    }
    /* Labels without a right verdict have no cell of their own: their figures are 0, or NAN without
     * documents. */
    for (size_t i = 0; i < e->label_count; i++) {
        labels[i].precision = ratio(0, (double)labels[i].predicted);
        labels[i].recall = ratio(0, (double)labels[i].documents);
        labels[i].f1 = ratio(0, (double)labels[i].predicted + (double)labels[i].documents);
    }
    for (size_t i = 0; i < evaluation->confusion_count; i++) {
        const struct nb_evaluation_cell *cell = &evaluation->confusion[i];
        if (cell->truth != cell->predicted)
            continue;
        struct nb_evaluation_label *label = &labels[cell->truth];
        label->precision = (double)cell->documents / (double)label->predicted;
        label->recall = (double)cell->documents / (double)label->documents;
        label->f1 = 2 * (double)cell->documents / (double)(label->documents + label->predicted);
        right += cell->documents;
    }
    evaluation->accuracy = ratio((double)right, (double)evaluation->documents);
    fill_macro(evaluation);
    fill_pairs(evaluation);
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

/* Bin i holds i/15 <= p < (i+1)/15; the last one holds 1 too. A test shows for each bound that the
 * product is not rounded to its other side. */
static size_t bin_of(double p)
{
    size_t bin = (size_t)(p * NB_EVALUATION_BINS);
    return bin < NB_EVALUATION_BINS ? bin : NB_EVALUATION_BINS - 1;
}

static void count_in_bin(struct nb_evaluation *evaluation, double confidence, bool is_right)
{
    assert(confidence >= 0 && confidence <= 1);
    struct nb_evaluation_bin *bin = &evaluation->bins[bin_of(confidence)];
    bin->documents++;
    bin->confidence += confidence; /* sums here, turned into means later */
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
    if (rc == 0)
        rc = bound_confusion(evaluation);
    fill_probabilities(e, &w, evaluation);
    fill_errors(e, &w, evaluation);
    if (rc == 0)
        rc = nb_evaluation_fill_curve(e, &w, evaluation);
    if (rc != 0)
        nb_evaluation_deinit(evaluation);
    return rc;
}
