/* SPDX-License-Identifier: Apache-2.0
 *
 * Calibration: a map from the log scores of naive Bayes, which are too sure, to probabilities that
 * hold what they say. Platt's sigmoid or an isotonic function, fitted on scores of documents whose
 * labels are known (Niculescu-Mizil and Caruana 2005, Predicting Good Probabilities with Supervised
 * Learning). Pure computation; any thread.
 *
 * Of each label the map reads f = ln P / (1 - P), its log-odds against all others by the soft-max
 * of the log scores, between -10^6 and 10^6: estimates of 0 make them infinite. It is
 *
 *     platt       1 / (1 + exp(a f + b)), by maximum likelihood with the targets (N+ + 1) / (N+ +
 * 2) and 1 / (N- + 2) of N+ documents of the label and N- others (Platt 1999; Newton's method of
 * Lin, Lin and Weng 2007, A Note on Platt's Probabilistic Outputs) isotonic    the non-decreasing
 * function nearest to 1 for documents of the label and 0 for others, by squares:
 * pool-adjacent-violators (Ayer et al. 1955), linear between its points and constant beyond them
 * (Zadrozny and Elkan 2002)
 *
 * With two labels there is one map, of the second, and the first has the rest. With more, each
 * label has its own against all others, and what they say is divided by its sum; where all say 0,
 * the labels are equally probable. So does CalibratedClassifierCV of scikit-learn.
 */
#ifndef NB_CORE_BAYES_CALIBRATE_CALIBRATION_H
#define NB_CORE_BAYES_CALIBRATE_CALIBRATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/pack.h"
#include "core/bayes/calibrate/calibration_fit.h"

enum nb_calibration_method {
    NB_CALIBRATION_NONE,
    NB_CALIBRATION_PLATT,
    NB_CALIBRATION_ISOTONIC,
};

struct nb_calibration {
    int method;               /* enum nb_calibration_method, but for NONE */
    uint64_t scores;          /* that it was fitted on */
    uint64_t documents;       /* that the model had then, as the caller says; or 0 */
    double before, after;     /* expected calibration error, as the caller measured it; or 0 */
    uint32_t label_count;     /* 2 or more */
    uint32_t *labels;         /* owned; numbers of the labels that had documents */
    struct nb_calibrator *of; /* owned; by label, or with two labels one, of the second */
};

/* Log scores to be fitted to: of each document one for each label. */
struct nb_calibration_scores {
    uint32_t label_count;     /* 2 or more */
    const uint32_t *labels;   /* their numbers */
    size_t count;             /* documents, at least 1 */
    const uint32_t *truths;   /* of each the place of its label in `labels` */
    const double *log_scores; /* [document][label]; -INFINITY: the label is impossible */
};

/* Makes a map with zeros in what the caller says. Returns 0 or NB_NO_MEMORY. */
int nb_calibration_fit(enum nb_calibration_method method,
                       const struct nb_calibration_scores *scores,
                       struct nb_calibration **calibration);
void nb_calibration_free(struct nb_calibration **calibration); /* also of NULL */
/* Sets *to to a copy, of NULL to NULL. Returns 0 or NB_NO_MEMORY. */
int nb_calibration_copy(struct nb_calibration **to, const struct nb_calibration *from);

/* Whether the map is of exactly these labels, in whatever order. */
bool nb_calibration_is_of(const struct nb_calibration *calibration, const uint32_t *labels,
                          uint32_t count);
/* The probabilities of the labels of a map that is of them, by their log scores; they sum to 1. */
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
