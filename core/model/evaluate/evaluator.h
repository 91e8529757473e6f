/* SPDX-License-Identifier: Apache-2.0
 *
 * Collects the documents of an evaluation, one by one. Pure computation; any thread, one evaluator
 * belongs to one thread.
 *
 * A document that could not be scored yet counts as if every label had had the same probability.
 */
#ifndef NB_CORE_MODEL_EVALUATE_EVALUATOR_H
#define NB_CORE_MODEL_EVALUATE_EVALUATOR_H

#include <stddef.h>
#include <stdint.h>

/* One document: its true label, and the probabilities that it got before it was learned. A true
 * label that is not listed had probability 0. Other labels that are not listed (in models with many
 * labels) share the remaining probability. */
struct nb_stored_score {
    uint32_t label;
    uint32_t size;               /* labels listed; 0: the model could not score it yet */
    const uint32_t *labels;      /* label numbers, in the order of their names */
    const double *probabilities; /* in the same order */
    double log_odds;             /* with two labels: ln P(labels[1]) / P(labels[0]), else 0 */
};

/* Makes an evaluator. `labels` are the model's label numbers in the order of their names (copied);
 * `positive` is the index in `labels` of the label that is judged against the others. A document
 * takes 24 bytes, 48 unless there are two labels. Returns 0, NB_NO_MEMORY or NB_TOO_LARGE (a label
 * number above NB_LABELS_MOST). */
struct nb_evaluator;
int nb_evaluator_new(const uint32_t *labels, size_t label_count, size_t positive,
                     struct nb_evaluator **evaluator);
void nb_evaluator_free(struct nb_evaluator **evaluator);
/* Adds a document, oldest first, and copies what it needs. Listed labels that were not given to
 * nb_evaluator_new cannot be predicted. Returns 0, NB_NO_MEMORY, or NB_INVALID if its true label
 * was not given to nb_evaluator_new or a number is invalid (not finite, a probability outside 0 ..
 * 1); then the document is not added. */
int nb_evaluator_add(struct nb_evaluator *evaluator, const struct nb_stored_score *scored);

#endif
