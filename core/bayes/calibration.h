/* SPDX-License-Identifier: Apache-2.0
 *
 * Calibration: maps the log scores of naive Bayes, which are overconfident, to probabilities that
 * match observed frequencies. The map is Platt's sigmoid or an isotonic function, fitted on scores
 * of documents whose labels are known (Niculescu-Mizil and Caruana 2005, Predicting Good
 * Probabilities with Supervised Learning). Pure computation; any thread.
 *
 * For each label the map reads f = ln P / (1 - P), its log-odds against all others by the soft-max
 * of the log scores. Estimates of 0 make f infinite, so it is clipped to -10^6 ... 10^6. The map is
 *
 *     platt       1 / (1 + exp(a f + b)), by maximum likelihood with the targets
 *                 (N+ + 1) / (N+ + 2) and 1 / (N- + 2) for N+ documents of the label and N- others
 *                 (Platt 1999; Newton's method of Lin, Lin and Weng 2007, A Note on Platt's
 *                 Probabilistic Outputs)
 *     isotonic    the non-decreasing function with the least squared distance from 1 for documents
 *                 of the label and from 0 for others: pool-adjacent-violators (Ayer et al. 1955),
 *                 linear between its points and constant beyond them (Zadrozny and Elkan 2002)
 *
 * With two labels there is one map, for the second label; the first gets the rest. With more, each
 * label has its own map against all others, and the results are divided by their sum; if all are 0,
 * the labels are equally probable. scikit-learn's CalibratedClassifierCV does the same.
 */
#ifndef NB_CORE_BAYES_CALIBRATION_H
#define NB_CORE_BAYES_CALIBRATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"

/* The map of one label. */
struct nb_calibrator {
    double a, b;   /* platt */
    uint32_t size; /* isotonic: points, at least 1, in the order of x */
    double *x, *y; /* owned, in one block */
};

/* A document: its log-odds, and 1 if it has the label, else 0. */
struct nb_calibration_point {
    double f, target;
};

/* Sets a and b. */
void nb_fit_platt(const struct nb_calibration_point *points, size_t count,
                  struct nb_calibrator *calibrator);
/* Sets size, x and y; sorts the points and overwrites them. Returns 0 or NB_NO_MEMORY. */
int nb_fit_isotonic(struct nb_calibration_point *points, size_t count,
                    struct nb_calibrator *calibrator);
/* Return the probability that the map gives the log-odds `f`. */
double nb_calibrator_platt(const struct nb_calibrator *calibrator, double f);
double nb_calibrator_isotonic(const struct nb_calibrator *calibrator, double f);
/* Allocates memory for `size` points. Returns 0 or NB_NO_MEMORY. */
int nb_calibrator_reserve(struct nb_calibrator *calibrator, uint32_t size);

enum nb_calibration_method {
    NB_CALIBRATION_NONE,
    NB_CALIBRATION_PLATT,
    NB_CALIBRATION_ISOTONIC,
};

struct nb_calibration {
    int method;               /* enum nb_calibration_method, never NONE */
    uint64_t scores;          /* number of documents on whose scores the map was fitted */
    uint64_t documents;       /* of the model at the fit, set by the caller; or 0 */
    double before, after;     /* expected calibration error without and with the map, set by the
                                 caller; or 0 */
    uint32_t label_count;     /* 2 or more */
    uint32_t *labels;         /* owned; numbers of the labels that had documents */
    struct nb_calibrator *of; /* owned; a map for each label; with two labels only for the second */
};

/* The log scores to fit to: one for each document and label. */
struct nb_calibration_scores {
    uint32_t label_count;     /* 2 or more */
    const uint32_t *labels;   /* their numbers */
    size_t count;             /* documents, at least 1 */
    const uint32_t *truths;   /* by document: the place of its label in `labels` */
    const double *log_scores; /* [document][label]; -INFINITY: the label is impossible */
};

/* Fits a calibration. Leaves the members that the caller sets (`documents`, `before`, `after`) 0.
 * Returns 0 or NB_NO_MEMORY. */
int nb_calibration_fit(enum nb_calibration_method method,
                       const struct nb_calibration_scores *scores,
                       struct nb_calibration **calibration);
void nb_calibration_free(struct nb_calibration **calibration); /* NULL is allowed */
/* Sets *to to a copy of `from`, or to NULL if `from` is NULL. Returns 0 or NB_NO_MEMORY. */
int nb_calibration_copy(struct nb_calibration **to, const struct nb_calibration *from);

/* Whether the map has exactly these labels, in any order. */
bool nb_calibration_is_of(const struct nb_calibration *calibration, const uint32_t *labels,
                          uint32_t count);
/* Computes the probabilities of exactly the map's labels from their log scores; they sum to 1. */
void nb_calibration_apply(const struct nb_calibration *calibration, const uint32_t *labels,
                          const double *log_scores, double *probabilities);

/* The method, as settings spell it. */
const char *nb_calibration_name(const struct nb_calibration *calibration);
extern const char
    *const nb_calibration_names[]; /* of enum nb_calibration_method; NULL at the end */

/* The stored form. */
void nb_calibration_write(struct nb_packer *w, const struct nb_calibration *calibration);
/* Returns 0, NB_CORRUPT or NB_NO_MEMORY. */
int nb_calibration_read(struct nb_unpacker *r, struct nb_calibration **calibration);

#endif
