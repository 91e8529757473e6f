/* SPDX-License-Identifier: Apache-2.0
 *
 * Evaluation: how good the verdicts are, from the scores that documents got before they were
 * learned (test-then-train). Pure computation; any thread, one evaluation belongs to one thread.
 *
 * Sources: 1-ROCA % and LAM % as in the TREC spam track (Cormack and Lynam, TREC 2005 Spam Track
 * Overview); the area by the ranks of the positive documents (Hanley and McNeil 1982; Fawcett 2006
 * for the curve); log-loss and Brier score (Brier 1950); ECE with equal-width bins (Guo et al.
 * 2017).
 */
#ifndef NB_CORE_MODEL_EVALUATION_H
#define NB_CORE_MODEL_EVALUATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"

struct nb_evaluator;

/* Errors over time: the documents of an evaluator in stretches, oldest first. Because documents
 * were scored before they were learned, this is also the learning curve (prequential error: Dawid
 * 1984; Gama, Sebastiao and Rodrigues 2013). */
enum { NB_PROGRESS_STRETCHES = 50 }; /* at most */

struct nb_progress_stretch {
    uint64_t documents; /* at least one */
    uint64_t errors;    /* wrong verdicts among them */
};

/* Divides all documents into stretches whose sizes differ by at most one; if there are fewer
 * documents than stretches, each stretch has one. Returns the number of stretches. */
size_t nb_evaluator_progress(const struct nb_evaluator *evaluator,
                             struct nb_progress_stretch stretches[NB_PROGRESS_STRETCHES]);

enum {
    NB_EVALUATION_BINS = 15,    /* bins of the reliability table */
    NB_EVALUATION_POINTS = 101, /* most points of the ROC curve */
    NB_EVALUATION_PAIRS = 20,   /* most pairs of confused labels */
    /* With more labels than this, the table of confusions omits zeros ... */
    NB_EVALUATION_WHOLE_TABLE = 32,
    NB_EVALUATION_CELLS = 1000 /* ... and above this many cells keeps only the worst wrong ones */
};

struct nb_evaluation_bin {
    uint64_t documents;
    double confidence; /* mean probability of the positive label (two labels) or of the winner */
    double accuracy; /* share of documents for which that label was right; both are NAN in an empty
                        bin */
};

struct nb_evaluation_point {
    double threshold; /* a document counts as positive if its P(positive label) is at least this */
    double false_positive_rate, true_positive_rate;
};

struct nb_evaluation_label {
    uint32_t label;
    uint64_t documents; /* documents with this true label */
    uint64_t predicted; /* documents that were given this label */
    /* Precision: share of the documents given the label that have it. Recall: share of the
     * documents with the label that were given it (Kent et al. 1955). */
    double precision, recall;
    /* 2 / (1 / precision + 1 / recall), their harmonic mean (van Rijsbergen 1979, E at alpha 1/2),
     * computed as 2 right / (documents + predicted): 0 if no verdict is right, NAN if the label has
     * no documents and was never given. */
    double f1;
};

/* The number of documents of label `truth` that were given label `predicted`. */
struct nb_evaluation_cell {
    uint32_t truth, predicted; /* indices of the evaluation's labels */
    uint64_t documents;
};

/* The figures. Those that are undefined (a rate among no documents) are NAN; none is infinite. */
struct nb_evaluation {
    uint64_t documents;
    size_t label_count;
    struct nb_evaluation_label *labels; /* owned; in the order given to nb_evaluator_new */
    /* The cells that are not zero, by truth, then predicted; owned. With more than
     * NB_EVALUATION_WHOLE_TABLE labels and NB_EVALUATION_CELLS cells, only NB_EVALUATION_CELLS
     * wrong cells are listed: those with the most documents, ties by order. `confusion_left_out` is
     * the number of cells left out. */
    struct nb_evaluation_cell *confusion;
    size_t confusion_count, confusion_left_out;
    /* The wrong cells with the most documents, most first; ties by truth, then predicted. */
    struct nb_evaluation_cell pairs[NB_EVALUATION_PAIRS];
    size_t pair_count;
    double accuracy; /* share of documents that were given their label */
    /* Mean of the labels' f1, each label with the same weight however few its documents (Yang and
     * Liu 1999; Sebastiani 2002); labels whose f1 is NAN are left out. */
    double macro_f1;
    bool binary; /* there are two labels */

    /* The positive label against all others together. */
    /* Percent: 100 (1 - area under the ROC curve), ties count half. Documents are ordered by
     * log-odds with two labels, by probability with more. */
    double one_minus_roca;
    /* Percent: 1 / (1 + exp(-(logit(fp) + logit(fn)) / 2)), with the rates fp and fn (below), which
     * are kept at least half a document away from 0 and 1. */
    double lam;
    /* False positives: the share of the other labels' documents in which the positive label had a
     * probability above 0.5. False negatives: the share of its own documents with at most 0.5. */
    double false_positive_rate, false_negative_rate;
    struct nb_evaluation_point points[NB_EVALUATION_POINTS]; /* from (0, 0) to (1, 1) */
    size_t point_count;                                      /* 0 when a rate is undefined */

    /* Mean of -ln P(true label), probabilities clipped to 1e-6 .. 1 - 1e-6 so that no
     * document makes it infinite (Good 1952, Rational Decisions). */
    double log_loss;
    /* Mean of (P(positive) - [it is positive])^2 with two labels; with more, Brier's sum of such
     * squares over all labels (which with two would be twice as much). Labels that a score does not
     * list share the remaining probability equally. */
    double brier;
    /* Mean over the documents of |confidence - accuracy| of their bin (Guo et al. 2017, equation
     * 3). With two labels these are P(positive) and the share of positive documents; with more, the
     * winner's P and the share of right verdicts. */
    double ece;
    struct nb_evaluation_bin
        bins[NB_EVALUATION_BINS]; /* bin i covers [i/15, (i+1)/15), the last one also 1 */
};
/* Frees the lists; the struct may also be all zero. */
void nb_evaluation_deinit(struct nb_evaluation *evaluation);

/* One document: its true label, and the probabilities that it got before it was learned. A true
 * label that is not listed had probability 0. Other labels that are not listed (in models with many
 * labels) share the remaining probability. A document that could not be scored yet counts as if
 * every label had had the same probability. */
struct nb_stored_score {
    uint32_t label;
    uint32_t size;               /* labels listed; 0: the model could not score it yet */
    const uint32_t *labels;      /* label numbers, in the order of their names */
    const double *probabilities; /* in the same order */
    double log_odds;             /* with two labels: ln P(labels[1]) / P(labels[0]), else 0 */
};

/* Makes an evaluator. `labels` are the model's label numbers in the order of their names (copied);
 * `positive` is the index in `labels` of the label that is judged against the others. A document
 * takes 24 bytes with two labels, else 48. Returns 0, NB_NO_MEMORY or NB_TOO_LARGE (a label number
 * above NB_LABELS_MOST). */
int nb_evaluator_new(const uint32_t *labels, size_t label_count, size_t positive,
                     struct nb_evaluator **evaluator);
void nb_evaluator_free(struct nb_evaluator **evaluator);
/* Adds a document, oldest first, and copies what it needs. Listed labels that were not given to
 * nb_evaluator_new cannot be predicted. Returns 0, NB_NO_MEMORY, or NB_INVALID if its true label
 * was not given to nb_evaluator_new or a number is invalid (not finite, a probability outside 0 ..
 * 1); then the document is not added. */
int nb_evaluator_add(struct nb_evaluator *evaluator, const struct nb_stored_score *scored);

/* Computes the figures over the last `window` documents that were added (0: over all), in O(n log
 * n). Returns 0 or NB_NO_MEMORY. */
int nb_evaluator_finish(struct nb_evaluator *evaluator, uint64_t window,
                        struct nb_evaluation *evaluation);

/* Sets *threshold to the lowest threshold on the positive label's probability at which its
 * false-positive rate over the last `window` documents would have been at most `rate`, and
 * *achieved to that rate. The threshold is 0 if every threshold would do, and just above 1 if even
 * documents of probability 1 must be rejected. NB_CONFLICT: no document of another label. */
int nb_evaluator_threshold(struct nb_evaluator *evaluator, uint64_t window, double rate,
                           double *threshold, double *achieved, struct nb_error *error);

#endif
