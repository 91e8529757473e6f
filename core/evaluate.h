/* SPDX-License-Identifier: Apache-2.0
 *
 * Evaluation: how good the verdicts are, from the scores that documents got before they were
 * learned (test-then-train). Pure computation; any thread, one evaluation belongs to one thread.
 *
 * Sources: 1-ROCA % and LAM % as in the TREC spam track (Cormack and Lynam, TREC 2005 Spam Track
 * Overview); the area by the ranks of the positive documents (Hanley and McNeil 1982; Fawcett 2006
 * for the curve); log-loss and Brier score (Brier 1950); ECE with equal-width bins (Guo et al.
 * 2017).
 *
 * A document that could not be scored yet counts as if every label had had the same probability.
 * Figures that are undefined (a rate among no documents) are NAN; no figure is infinite.
 */
#ifndef NB_CORE_EVALUATE_H
#define NB_CORE_EVALUATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"

enum {
    NB_EVALUATION_BINS = 15,   /* of the reliability table */
    NB_EVALUATION_POINTS = 101 /* of the ROC curve, at most */
};

/* One document: its true label, and the probabilities that it got before it was learned. Labels
 * that are not listed had probability 0. */
struct nb_scored {
    uint32_t label;
    uint32_t size;               /* labels listed; 0: the model could not score it yet */
    const uint32_t *labels;      /* label numbers, in the order of their names */
    const double *probabilities; /* in the same order */
    double log_odds;             /* with two labels: ln P(labels[1]) / P(labels[0]), else 0 */
};

struct nb_evaluation_bin {
    uint64_t documents;
    double confidence; /* mean probability of the positive label (two labels) or of the winner */
    double accuracy;   /* share of documents for which it was right; NAN both in an empty bin */
};

struct nb_evaluation_point {
    double threshold; /* probability of the positive label from which it is positive */
    double false_positive_rate, true_positive_rate;
};

struct nb_evaluation_label {
    uint32_t label;
    uint64_t documents; /* whose true label this is */
    uint64_t predicted; /* that were given it */
    double precision, recall;
};

/* So many documents of label `truth` were given label `predicted`. */
struct nb_evaluation_cell {
    uint32_t truth, predicted; /* indices of the evaluation's labels */
    uint64_t documents;
};

struct nb_evaluation {
    uint64_t documents;
    size_t label_count;
    struct nb_evaluation_label *labels;   /* owned; in the order given to nb_evaluator_new */
    struct nb_evaluation_cell *confusion; /* owned; what is not zero, by truth, then predicted */
    size_t confusion_count;
    double accuracy;
    bool binary; /* there are two labels */

    /* The positive label against all others together. */
    /* Percent: 100 (1 - area under the ROC curve), ties count half. Documents are ordered by
     * log-odds with two labels, by probability with more. */
    double one_minus_roca;
    /* Percent: 1 / (1 + exp(-(logit(fp) + logit(fn)) / 2)), the rates fp and fn below kept at least
     * half a document away from 0 and 1. */
    double lam;
    /* Of the documents of the others: given the positive label more than probability 0.5. Of the
     * positive ones: at most 0.5. */
    double false_positive_rate, false_negative_rate;
    struct nb_evaluation_point points[NB_EVALUATION_POINTS]; /* from (0, 0) to (1, 1) */
    size_t point_count;                                      /* 0 when a rate is undefined */

    /* Mean of -ln P(true label), probabilities clipped to 1e-6 .. 1 - 1e-6. */
    double log_loss;
    /* Mean of (P(positive) - [it is positive])^2 with two labels; with more, Brier's sum of such
     * squares over all labels (which with two would be twice as much). */
    double brier;
    /* Mean over the documents of |confidence - accuracy| of their bin: of P(positive) against the
     * share of positive ones with two labels, else of the winner's P against the share of right
     * verdicts. */
    double ece;
    struct nb_evaluation_bin
        bins[NB_EVALUATION_BINS]; /* bin i: [i/15, (i+1)/15), the last with 1 */
};
/* Also of one that is all zero. */
void nb_evaluation_deinit(struct nb_evaluation *evaluation);

/* Collects documents. `labels` are the model's label numbers in the order of their names, copied;
 * `positive` is the index among them of the label that is judged against the others. 24 bytes a
 * document are kept, 48 with other than two labels. Returns 0, NB_NO_MEMORY or NB_TOO_LARGE (a
 * label number above NB_LABELS_MOST). */
struct nb_evaluator;
int nb_evaluator_new(const uint32_t *labels, size_t label_count, size_t positive,
                     struct nb_evaluator **evaluator);
void nb_evaluator_free(struct nb_evaluator **evaluator);
/* Adds a document, oldest first; nothing of it is kept by reference. Labels that it lists and that
 * were not given to nb_evaluator_new cannot be predicted. Returns 0, NB_NO_MEMORY, or NB_INVALID:
 * its true label was not given to nb_evaluator_new, or a number is none (not finite, a probability
 * outside 0 .. 1); then it was not added. */
int nb_evaluator_add(struct nb_evaluator *evaluator, const struct nb_scored *scored);
/* The figures over the last `window` documents that were added (0: over all), in time n log n.
 * Returns 0 or NB_NO_MEMORY. */
int nb_evaluator_finish(struct nb_evaluator *evaluator, uint64_t window,
                        struct nb_evaluation *evaluation);
/* The lowest threshold on the positive label's probability at which its false-positive rate over
 * the last `window` documents would have been at most `rate`; sets *achieved to that rate. It is 0
 * when every threshold would do, and just above 1 when even documents of probability 1 must not be
 * taken. NB_CONFLICT: no document of another label. */
int nb_evaluator_threshold(struct nb_evaluator *evaluator, uint64_t window, double rate,
                           double *threshold, double *achieved, struct nb_error *error);

#endif
