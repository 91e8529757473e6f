/* SPDX-License-Identifier: Apache-2.0
 *
 * A fit in four steps: the columns (rows of the linear part) with their idf; the linear machine of
 * each label, one after the other, by dual coordinate descent; slope and biases by a logistic
 * regression on leave-one-out scores; thresholds and figures on the scores of these.
 */
#include "core/stack/multilabel_fit.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/string.h"
#include "core/counts/counts.h"
#include "core/stack/multilabel_private.h"

enum {
    EPOCHS = 8, /* of the dual coordinate descent */
    ROUNDS = 2, /* of the regression, or more, ... */
    ROUNDS_MOST = 50,
    STEPS_LEAST = 2000,    /* ... until it has made so many steps */
    MOST = 500,            /* log-odds are bounded by it */
    SLICE_DOCUMENTS = 100, /* scored under one hold of the model's lock */
    SLICE_ROWS = 4096,
};
static const double cost = 0.5;        /* C, times the square root of the balance of the label */
static const double least_step = 1e-3; /* smaller steps are left out */
static const double own_share = 0.7;   /* of alpha that a document's own part of s_l is */
static const double rate_slope = 0.12; /* steps of the regression, by AdaGrad (Duchi et al. 2011) */
static const double rate_bias = 0.5;
static const double start_slope = 2, start_bias = -2;
static const double few_documents = 5; /* a threshold from so many documents counts half ... */

struct fitting {
    struct nb_multilabel *m;
    const struct nb_model *model;
    const struct nb_multilabel_corpus *corpus;
    struct nb_multilabel_fit *fit;
    uint32_t labels, columns;
    /* All owned. The labels of the sets, as nb_multilabel_labels has them. */
    uint32_t *begin, *members, sets;
    uint64_t *documents;
    uint32_t *column_of; /* by row; UINT32_MAX: not in the linear part */
    uint32_t *row_of;
    /* The documents' x: column and value, at length 1. */
    size_t *x_begin;
    struct nb_multilabel_cell *x;
    float *left_out; /* s_l without the document's own part, then z_l: [document * labels + l] */
    double *theta;   /* of one label, by column */
    float *alpha;    /* of one label, by document */
    struct nb_multilabel_cell *cells; /* all theta, by label: the column and theta ... */
    uint32_t *cell_label;             /* ... and the label */
    size_t cell_count, cell_room, cell_label_room;
    struct nb_multilabel_scores scores;
    struct nb_row_count *rows; /* of one document, by the book */
    struct place {
        float score;
        uint32_t has;
    } * places; /* the documents by the score of a label */
};

static bool is_stopped(const struct fitting *f)
{
    return f->corpus->stop != NULL && f->corpus->stop(f->corpus->user);
}

/* ---- labels and columns ---------------------------------------------------------------------- */

static int copy_names(struct nb_multilabel_fit *fit, const struct nb_multilabel_labels *labels)
{
    for (uint32_t l = 0; l < labels->count; l++) {
        fit->names[l] = nb_string_copy(nb_string_of(labels->names[l]));
        if (fit->names[l] == NULL)
            return NB_NO_MEMORY;
        fit->labels = l + 1;
    }
    return 0;
}

/* Copies the labels: they may change while the fit is made. */
static int take_labels(struct fitting *f, const struct nb_multilabel_labels *labels)
{
    size_t members = labels->begin[labels->sets];
    f->labels = labels->count;
    f->sets = labels->sets;
    f->begin = calloc((size_t)f->sets + 1, sizeof *f->begin);
    f->members = calloc(members + 1, sizeof *f->members);
    f->documents = calloc((size_t)f->labels + 1, sizeof *f->documents);
    f->fit->names = calloc((size_t)f->labels + 1, sizeof *f->fit->names);
    f->fit->biases = calloc((size_t)f->labels + 1, sizeof *f->fit->biases);
    f->fit->intercepts = calloc((size_t)f->labels + 1, sizeof *f->fit->intercepts);
    f->fit->figures = calloc((size_t)f->labels + 1, sizeof *f->fit->figures);
    if (f->begin == NULL || f->members == NULL || f->documents == NULL || f->fit->names == NULL ||
        f->fit->biases == NULL || f->fit->intercepts == NULL || f->fit->figures == NULL)
        return NB_NO_MEMORY;
    memcpy(f->begin, labels->begin, ((size_t)f->sets + 1) * sizeof *f->begin);
    memcpy(f->members, labels->members, members * sizeof *f->members);
    return copy_names(f->fit, labels);
}

/* Counts the documents of each label that the fit has read. */
static void count_documents(struct fitting *f)
{
    for (size_t d = 0; d < f->corpus->count; d++)
        for (uint32_t i = f->begin[f->corpus->sets[d]]; i < f->begin[f->corpus->sets[d] + 1]; i++)
            f->documents[f->members[i]]++;
}

/* Notes which rows the linear part reads, with their idf. */
static void take_row(struct fitting *f, uint32_t row)
{
    struct nb_multilabel_fit *fit = f->fit;
    uint64_t id = nb_model_row_id(f->model, row);
    fit->ids[row] = id;
    f->column_of[row] = UINT32_MAX;
    if (!nb_feature_has_field(id) || !nb_multilabel_is_word(nb_feature_field(id)) ||
        nb_model_row_is_unused(f->model, row))
        return;
    uint64_t documents = nb_counts_documents(f->model, nb_model_row(f->model, row));
    fit->idf[row] = (float)nb_multilabel_idf(fit->documents, documents);
    f->row_of[f->columns] = row;
    f->column_of[row] = f->columns++;
}

static int take_rows(struct fitting *f)
{
    struct nb_multilabel_fit *fit = f->fit;
    size_t rows = fit->rows;
    fit->ids = calloc(rows + 1, sizeof *fit->ids);
    fit->idf = calloc(rows + 1, sizeof *fit->idf);
    f->column_of = malloc((rows + 1) * sizeof *f->column_of);
    f->row_of = malloc((rows + 1) * sizeof *f->row_of);
    if (fit->ids == NULL || fit->idf == NULL || f->column_of == NULL || f->row_of == NULL)
        return NB_NO_MEMORY;
    fit->idf_unknown = nb_multilabel_idf(fit->documents, 0);
    for (uint32_t row = 0; row < rows;) {
        nb_model_read_lock(f->model);
        for (unsigned i = 0; i < SLICE_ROWS && row < rows && row < nb_model_rows(f->model);
             i++, row++)
            take_row(f, row);
        bool is_shorter = row >= nb_model_rows(f->model);
        nb_model_unlock(f->model);
        if (is_shorter)
            break;
    }
    return 0;
}

/* Makes x of each document. */
static int make_x(struct fitting *f)
{
    const struct nb_multilabel_corpus *c = f->corpus;
    size_t count = c->count, all = 0, at = 0;
    for (size_t d = 0; d < count; d++)
        all += c->end[d] - c->begin[d];
    f->x_begin = calloc(count + 1, sizeof *f->x_begin);
    f->x = malloc((all + 1) * sizeof *f->x);
    if (f->x_begin == NULL || f->x == NULL)
        return NB_NO_MEMORY;
    for (size_t d = 0; d < count; d++) {
        size_t begin = at;
        double sum = 0;
        for (size_t i = c->begin[d]; i < c->end[d]; i++) {
            uint32_t row = c->rows[i];
            if (row >= f->fit->rows || f->column_of[row] == UINT32_MAX)
                continue;
            double x = nb_multilabel_tf(c->counts[i]) * (double)f->fit->idf[row];
            sum += x * x;
            f->x[at++] = (struct nb_multilabel_cell){f->column_of[row], (float)x};
        }
        for (size_t i = begin; i < at && sum > 0; i++)
            f->x[i].weight = (float)((double)f->x[i].weight / sqrt(sum));
        f->x_begin[d + 1] = at;
    }
    return 0;
}

/* ---- the linear machines --------------------------------------------------------------------- */

static bool has_label(const struct fitting *f, size_t document, uint32_t label)
{
    uint32_t set = f->corpus->sets[document];
    for (uint32_t i = f->begin[set]; i < f->begin[set + 1]; i++)
        if (f->members[i] == label)
            return true;
    return false;
}

static double linear_score(const struct fitting *f, size_t document, double intercept)
{
    double s = intercept;
    for (size_t i = f->x_begin[document]; i < f->x_begin[document + 1]; i++)
        s += (double)f->x[i].weight * f->theta[f->x[i].label];
    return s;
}

static void step(struct fitting *f, size_t document, double by, double *intercept)
{
    *intercept += by;
    for (size_t i = f->x_begin[document]; i < f->x_begin[document + 1]; i++)
        f->theta[f->x[i].label] += by * (double)f->x[i].weight;
}

/* One visit of a document: alpha goes to where the dual objective is least along it, within 0 and
 * the cost (Hsieh et al. 2008, algorithm 1, with the intercept as one more column of x). */
static void visit(struct fitting *f, size_t document, double y, double most, double *intercept)
{
    double s = linear_score(f, document, *intercept);
    double old = (double)f->alpha[document];
    double alpha = fmin(most, fmax(0, old - (y * s - 1) / 2));
    if (fabs(alpha - old) < least_step)
        return;
    f->alpha[document] = (float)alpha;
    step(f, document, ((double)f->alpha[document] - old) * y, intercept);
}

static int keep_theta(struct fitting *f, uint32_t label)
{
    for (uint32_t column = 0; column < f->columns; column++) {
        if (f->theta[column] == 0)
            continue;
        if (nb_array_reserve(&f->cells, &f->cell_room, f->cell_count + 1, sizeof *f->cells) != 0 ||
            nb_array_reserve(&f->cell_label, &f->cell_label_room, f->cell_count + 1,
                             sizeof *f->cell_label) != 0)
            return NB_NO_MEMORY;
        f->cells[f->cell_count] = (struct nb_multilabel_cell){column, (float)f->theta[column]};
        f->cell_label[f->cell_count++] = label;
    }
    return 0;
}

static int fit_label(struct fitting *f, uint32_t label)
{
    size_t count = f->corpus->count;
    double positive = (double)f->documents[label], negative = (double)count - positive;
    double intercept = -1;
    double most[2] = {cost * sqrt((double)count / 2 / fmax(1, negative)),
                      cost * sqrt((double)count / 2 / fmax(1, positive))};
    memset(f->theta, 0, f->columns * sizeof *f->theta);
    memset(f->alpha, 0, count * sizeof *f->alpha);
    for (unsigned epoch = 0; epoch < EPOCHS; epoch++)
        for (size_t d = 0; d < count; d++) {
            bool has = has_label(f, d, label);
            visit(f, d, has ? 1 : -1, most[has], &intercept);
        }
    for (size_t d = 0; d < count; d++)
        f->left_out[d * f->labels + label] =
            (float)(linear_score(f, d, intercept) -
                    own_share * (double)f->alpha[d] * (has_label(f, d, label) ? 1 : -1));
    f->fit->intercepts[label] = intercept;
    return keep_theta(f, label);
}

/* Sorts the cells by row: they are listed by label. */
static int sort_cells(struct fitting *f)
{
    struct nb_multilabel_fit *fit = f->fit;
    fit->begin = calloc((size_t)fit->rows + 2, sizeof *fit->begin);
    fit->cells = malloc((f->cell_count + 1) * sizeof *fit->cells);
    if (fit->begin == NULL || fit->cells == NULL)
        return NB_NO_MEMORY;
    for (size_t i = 0; i < f->cell_count; i++)
        fit->begin[f->row_of[f->cells[i].label] + 2]++;
    for (uint32_t row = 0; row < fit->rows; row++)
        fit->begin[row + 2] += fit->begin[row + 1];
    for (size_t i = 0; i < f->cell_count; i++) {
        size_t place = fit->begin[f->row_of[f->cells[i].label] + 1]++;
        fit->cells[place] = (struct nb_multilabel_cell){f->cell_label[i], f->cells[i].weight};
    }
    return 0;
}

static int fit_linear(struct fitting *f)
{
    int rc = make_x(f);
    f->theta = calloc((size_t)f->columns + 1, sizeof *f->theta);
    f->alpha = calloc(f->corpus->count + 1, sizeof *f->alpha);
    if (rc != 0 || f->theta == NULL || f->alpha == NULL)
        return NB_NO_MEMORY;
    for (uint32_t l = 0; rc == 0 && l < f->labels; l++)
        rc = is_stopped(f) ? NB_STOPPING : fit_label(f, l);
    return rc != 0 ? rc : sort_cells(f);
}

/* ---- probabilities --------------------------------------------------------------------------- */

static void move(double *weight, double *squares, double gradient, double rate)
{
    *squares += gradient * gradient;
    *weight -= rate * gradient / (1 + sqrt(*squares));
}

/* A step of the logistic regression on all labels of a document. */
static void learn(struct fitting *f, size_t document, double *slope_squares, double *bias_squares)
{
    struct nb_multilabel_fit *fit = f->fit;
    double gradient = 0;
    for (uint32_t l = 0; l < f->labels; l++) {
        double s = (double)f->left_out[document * f->labels + l];
        double error =
            1 / (1 + exp(-(fit->biases[l] + fit->slope * s))) - has_label(f, document, l);
        gradient += error * s;
        move(&fit->biases[l], &bias_squares[l], error, rate_bias);
    }
    move(&fit->slope, slope_squares, gradient, rate_slope);
}

static int fit_probabilities(struct fitting *f)
{
    double slope_squares = 0;
    double *bias_squares = calloc((size_t)f->labels + 1, sizeof *bias_squares);
    if (bias_squares == NULL)
        return NB_NO_MEMORY;
    f->fit->slope = start_slope;
    for (uint32_t l = 0; l < f->labels; l++)
        f->fit->biases[l] = start_bias;
    size_t rounds = STEPS_LEAST / (f->corpus->count + 1);
    rounds = rounds < ROUNDS ? ROUNDS : rounds > ROUNDS_MOST ? ROUNDS_MOST : rounds;
    for (size_t round = 0; round < rounds; round++)
        for (size_t d = 0; d < f->corpus->count; d++)
            learn(f, d, &slope_squares, bias_squares);
    free(bias_squares);
    for (size_t i = 0; i < f->corpus->count * f->labels; i++)
        f->left_out[i] =
            (float)(f->fit->biases[i % f->labels] + f->fit->slope * (double)f->left_out[i]);
    return 0;
}

/* Lists the features of a document in f->rows, which has room for those of any. Returns their
 * number.
 */
static size_t list_rows(struct fitting *f, size_t document)
{
    const struct nb_multilabel_corpus *c = f->corpus;
    size_t begin = c->begin[document], size = c->end[document] - begin;
    for (size_t i = 0; i < size; i++)
        f->rows[i] = (struct nb_row_count){c->rows[begin + i], c->counts[begin + i]};
    return size;
}

static int make_rows(struct fitting *f)
{
    size_t most = 0;
    for (size_t d = 0; d < f->corpus->count; d++) {
        size_t size = f->corpus->end[d] - f->corpus->begin[d];
        most = size > most ? size : most;
    }
    f->rows = malloc((most + 1) * sizeof *f->rows);
    return f->rows != NULL ? 0 : NB_NO_MEMORY;
}

/* By the book: the leave-one-out scores are those of the counts, read a few documents at a time. */
static int score_by_the_book(struct fitting *f)
{
    if (make_rows(f) != 0)
        return NB_NO_MEMORY;
    for (size_t d = 0; d < f->corpus->count;) {
        struct nb_multilabel_labels labels;
        if (is_stopped(f))
            return NB_STOPPING;
        nb_model_read_lock(f->model);
        int rc = nb_multilabel_labels(f->m, f->model, &labels);
        if (rc == 0 && labels.count != f->labels)
            rc = NB_CONFLICT; /* labels came or went meanwhile */
        if (rc == 0)
            rc = nb_multilabel_scores_room(&f->scores, f->labels);
        for (unsigned i = 0; rc == 0 && i < SLICE_DOCUMENTS && d < f->corpus->count; i++, d++) {
            struct nb_multilabel_document document = {
                .rows = f->rows, .size = list_rows(f, d), .without = f->corpus->sets[d]};
            nb_multilabel_book(f->m, f->model, &document, &f->scores);
            for (uint32_t l = 0; l < f->labels; l++)
                f->left_out[d * f->labels + l] =
                    (float)fmax(-MOST, fmin(MOST, f->scores.log_odds[l]));
        }
        nb_model_unlock(f->model);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static void sum_loss(struct fitting *f)
{
    double loss = 0;
    for (size_t d = 0; d < f->corpus->count; d++)
        for (uint32_t l = 0; l < f->labels; l++) {
            double z = (double)f->left_out[d * f->labels + l];
            loss += log1p(exp(has_label(f, d, l) ? -z : z));
        }
    f->fit->log_loss = f->corpus->count == 0 ? 0 : loss / (double)f->corpus->count;
}

/* ---- thresholds and figures ------------------------------------------------------------------ */

static int compare_places(const void *a, const void *b)
{
    const struct place *one = a, *other = b;
    if (one->score != other->score)
        return one->score > other->score ? -1 : 1;
    return one->has < other->has ? -1 : one->has > other->has;
}

/* The threshold that was found among the documents, and the one by theory, which counts more where
 * few documents have the label: there the first is chance. */
static double with_theory(double found, double theory, uint64_t positive)
{
    double share = (double)positive / ((double)positive + few_documents);
    return share * found + (1 - share) * theory;
}

/* The threshold for the greatest F1: that with the greatest F1 among the documents, moved half-way
 * to half of that F1, where it is if the probabilities are right (Lipton, Elkan and Naryanaswamy
 * 2014, Optimal Thresholding of Classifiers to Maximize F1 Measure). The first alone is chance
 * where many thresholds are about as good; with few documents the second counts more. */
static double best_f1(const struct fitting *f, uint64_t positive)
{
    double best = 0, found = 0;
    uint64_t right = 0;
    for (size_t i = 0; i + 1 < f->corpus->count; i++) {
        right += f->places[i].has;
        double f1 = 2 * (double)right / (double)(i + 1 + positive);
        if (f1 > best && f->places[i].score > f->places[i + 1].score) {
            best = f1;
            found = ((double)f->places[i].score + (double)f->places[i + 1].score) / 2;
        }
    }
    best = fmin(0.98, fmax(0.02, best));
    return with_theory(found, log(best / (2 - best)), positive);
}

/* The least threshold at which the precision of all above it is at least the bound. */
static double least_precise(const struct fitting *f)
{
    double threshold = f->corpus->count == 0 ? 0 : (double)f->places[0].score + 1;
    uint64_t right = 0;
    for (size_t i = 0; i < f->corpus->count; i++) {
        bool is_last = i + 1 == f->corpus->count || f->places[i].score > f->places[i + 1].score;
        right += f->places[i].has;
        if (is_last && (double)right >= f->corpus->precision * (double)(i + 1))
            threshold = (double)f->places[i].score;
    }
    return threshold;
}

/* The threshold of the least cost: that with the least among the documents, and ln(cost_fp /
 * cost_fn), where it is if the probabilities are right (Elkan 2001, The Foundations of
 * Cost-Sensitive Learning). */
static double least_cost(const struct fitting *f, uint64_t positive)
{
    const struct nb_multilabel_corpus *c = f->corpus;
    double theory = log(c->cost_fp / c->cost_fn);
    double least = c->cost_fn * (double)positive; /* no document is given the label */
    double found = fmax(theory, (double)f->places[0].score + 1);
    uint64_t right = 0;
    for (size_t i = 0; i + 1 < c->count; i++) {
        right += f->places[i].has;
        double errors =
            c->cost_fp * (double)(i + 1 - right) + c->cost_fn * (double)(positive - right);
        if (errors < least && f->places[i].score > f->places[i + 1].score) {
            least = errors;
            found = ((double)f->places[i].score + (double)f->places[i + 1].score) / 2;
        }
    }
    return with_theory(found, theory, positive);
}

static double choose_threshold(const struct fitting *f, uint64_t positive)
{
    if (f->corpus->is_by_the_book || positive == 0)
        return 0;
    switch ((enum nb_optimize)f->corpus->optimize) {
    case NB_OPTIMIZE_PRECISION:
        return least_precise(f);
    case NB_OPTIMIZE_COSTS:
        return least_cost(f, positive);
    case NB_OPTIMIZE_F1:
        break;
    }
    return best_f1(f, positive);
}

static double average_precision(const struct fitting *f, uint64_t positive)
{
    double sum = 0;
    uint64_t right = 0;
    for (size_t i = 0; i < f->corpus->count; i++) {
        right += f->places[i].has;
        sum += f->places[i].has ? (double)right / (double)(i + 1) : 0;
    }
    return positive == 0 ? (double)NAN : sum / (double)positive;
}

static void judge_label(struct fitting *f, uint32_t label)
{
    struct nb_multilabel_figures *figures = &f->fit->figures[label];
    for (size_t d = 0; d < f->corpus->count; d++)
        f->places[d] = (struct place){f->left_out[d * f->labels + label], has_label(f, d, label)};
    qsort(f->places, f->corpus->count, sizeof *f->places, compare_places);
    figures->documents = f->documents[label];
    figures->threshold = choose_threshold(f, figures->documents);
    figures->average_precision = average_precision(f, figures->documents);
    for (size_t i = 0; i < f->corpus->count && (double)f->places[i].score >= figures->threshold;
         i++) {
        figures->given++;
        figures->right += f->places[i].has;
    }
}

static void count_exact(struct fitting *f)
{
    uint64_t exact = 0;
    for (size_t d = 0; d < f->corpus->count; d++) {
        bool is_exact = true;
        for (uint32_t l = 0; l < f->labels && is_exact; l++)
            is_exact = ((double)f->left_out[d * f->labels + l] >= f->fit->figures[l].threshold) ==
                       has_label(f, d, l);
        exact += is_exact;
    }
    f->fit->exact = f->corpus->count == 0 ? 0 : (double)exact / (double)f->corpus->count;
}

/* ---- suspects -------------------------------------------------------------------------------- */

/* The label of the document about which its score and its labels differ most. Returns whether there
 * is one that is decided otherwise. */
static bool doubt(const struct fitting *f, size_t document, struct nb_multilabel_suspect *worst)
{
    bool is_found = false;
    for (uint32_t l = 0; l < f->labels; l++) {
        double z = (double)f->left_out[document * f->labels + l];
        bool has = has_label(f, document, l);
        double right = has ? z : -z;
        if ((z >= f->fit->figures[l].threshold) == has || (is_found && right >= worst->log_odds))
            continue;
        *worst = (struct nb_multilabel_suspect){f->corpus->numbers[document], right, l, has};
        is_found = true;
    }
    return is_found;
}

static int list_suspects(struct fitting *f)
{
    struct nb_multilabel_suspect worst;
    size_t room = 0;
    for (size_t d = 0; f->corpus->numbers != NULL && d < f->corpus->count; d++) {
        if (!doubt(f, d, &worst))
            continue;
        if (nb_array_reserve(&f->fit->suspects, &room, f->fit->suspect_count + 1,
                             sizeof *f->fit->suspects) != 0)
            return NB_NO_MEMORY;
        f->fit->suspects[f->fit->suspect_count++] = worst;
    }
    return 0;
}

/* ---- a fit ----------------------------------------------------------------------------------- */

static void fitting_deinit(struct fitting *f)
{
    free(f->begin);
    free(f->members);
    free(f->documents);
    free(f->column_of);
    free(f->row_of);
    free(f->x_begin);
    free(f->x);
    free(f->left_out);
    free(f->theta);
    free(f->alpha);
    free(f->cells);
    free(f->cell_label);
    free(f->places);
    free(f->rows);
    nb_multilabel_scores_deinit(&f->scores);
}

/* A document whose set came after the labels were listed is not of the fit. */
static bool are_known(const struct fitting *f)
{
    for (size_t d = 0; d < f->corpus->count; d++)
        if (f->corpus->sets[d] >= f->sets)
            return false;
    return true;
}

static int begin(struct fitting *f)
{
    struct nb_multilabel_labels labels;
    nb_model_read_lock(f->model);
    int rc = nb_multilabel_labels(f->m, f->model, &labels);
    if (rc == 0 && labels.count == 0)
        rc = NB_CONFLICT;
    if (rc == 0)
        rc = take_labels(f, &labels);
    f->fit->rows = nb_model_rows(f->model);
    nb_model_unlock(f->model);
    if (rc == 0 && !are_known(f))
        rc = NB_CONFLICT;
    if (rc != 0)
        return rc;
    if (f->corpus->count * f->labels > NB_MULTILABEL_SCORES_MOST)
        return NB_TOO_LARGE;
    f->fit->documents = f->corpus->count;
    f->left_out = malloc((f->corpus->count * f->labels + 1) * sizeof *f->left_out);
    f->places = malloc((f->corpus->count + 1) * sizeof *f->places);
    if (f->left_out == NULL || f->places == NULL)
        return NB_NO_MEMORY;
    count_documents(f);
    return take_rows(f);
}

static void note_bytes(const struct fitting *f)
{
    struct nb_multilabel_fit *fit = f->fit;
    fit->bytes = sizeof *fit +
                 fit->rows * (sizeof *fit->ids + sizeof *fit->idf + sizeof *fit->begin) +
                 f->cell_count * sizeof *fit->cells + fit->suspect_count * sizeof *fit->suspects +
                 fit->labels * (sizeof *fit->figures + 2 * sizeof(double) + 64);
}

int nb_multilabel_fit_new(struct nb_multilabel *multilabel, const struct nb_model *model,
                          const struct nb_multilabel_corpus *corpus, struct nb_multilabel_fit **fit)
{
    struct fitting f = {.m = multilabel, .model = model, .corpus = corpus};
    f.fit = calloc(1, sizeof *f.fit);
    if (f.fit == NULL)
        return NB_NO_MEMORY;
    atomic_init(&f.fit->references, 1);
    int rc = begin(&f);
    if (rc == 0)
        rc = corpus->is_by_the_book ? score_by_the_book(&f) : fit_linear(&f);
    if (rc == 0 && !corpus->is_by_the_book)
        rc = fit_probabilities(&f);
    if (rc == 0)
        sum_loss(&f);
    for (uint32_t l = 0; rc == 0 && l < f.labels; l++)
        judge_label(&f, l);
    if (rc == 0)
        rc = list_suspects(&f);
    if (rc == 0) {
        count_exact(&f);
        note_bytes(&f);
        *fit = f.fit;
    } else {
        nb_multilabel_fit_release(&f.fit);
    }
    fitting_deinit(&f);
    return rc;
}
