/* SPDX-License-Identifier: Apache-2.0
 *
 * Evaluation: how good the verdicts are, from the scores that documents got before they were
 * learned (test-then-train). Pure computation; any thread, one evaluation belongs to one thread.
 *
 * Sources: 1-ROCA % and LAM % as in the TREC spam track (Cormack and Lynam, TREC 2005 Spam Track
 * Overview); log-loss and Brier score (Brier 1950); ECE with equal-width bins (Guo et al. 2017).
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
    double accuracy;   /* share of documents for which it was right */
};

struct nb_evaluation_point {
    double threshold; /* probability of the positive label from which it is positive */
    double false_positive_rate, true_positive_rate;
};

struct nb_evaluation_label {
    uint32_t label;
    uint64_t documents;       /* whose true label this is */
    uint64_t predicted;       /* that were given it */
    double precision, recall; /* NAN when undefined */
};

struct nb_evaluation {
    uint64_t documents;
    size_t label_count;
    struct nb_evaluation_label *labels; /* owned; in the order given to nb_evaluator_new */
    uint64_t *confusion;                /* owned; [true * label_count + predicted] */
    double accuracy;
    /* Two labels only, else NAN: the positive one against the other. */
    bool binary;
    double one_minus_roca;                           /* percent; ties count half */
    double lam;                                      /* percent; no error counts as half an error */
    double false_positive_rate, false_negative_rate; /* at probability 0.5 */
    double log_loss; /* natural, probabilities clipped to 1e-6 .. 1 - 1e-6 */
    double brier;
    double ece;
    struct nb_evaluation_bin bins[NB_EVALUATION_BINS];
    struct nb_evaluation_point points[NB_EVALUATION_POINTS];
    size_t point_count;
};
void nb_evaluation_deinit(struct nb_evaluation *evaluation);

/* Collects the documents of one window. `labels` are the model's label numbers in the order of
 * their names, copied; `positive` is the index among them whose probability is judged when there
 * are two. */
struct nb_evaluator;
int nb_evaluator_new(const uint32_t *labels, size_t label_count, size_t positive,
                     struct nb_evaluator **evaluator);
void nb_evaluator_free(struct nb_evaluator **evaluator);
/* Adds a document, oldest first; nothing of it is kept by reference. */
int nb_evaluator_add(struct nb_evaluator *evaluator, const struct nb_scored *scored);
/* The figures over the last `window` documents that were added (0: over all). */
int nb_evaluator_finish(struct nb_evaluator *evaluator, uint64_t window,
                        struct nb_evaluation *evaluation);
/* The lowest threshold on the positive label's probability at which its false-positive rate over
 * the last `window` documents would have been at most `rate`; sets *achieved to that rate.
 * NB_CONFLICT: not two labels, or no document of the negative one. */
int nb_evaluator_threshold(struct nb_evaluator *evaluator, uint64_t window, double rate,
                           double *threshold, double *achieved, struct nb_error *error);

#endif
