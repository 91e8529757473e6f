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
#ifndef NB_CORE_MODEL_EVALUATE_EVALUATE_H
#define NB_CORE_MODEL_EVALUATE_EVALUATE_H

#include "core/model/evaluate/curve.h"
#include "core/model/evaluate/evaluation.h"
#include "core/model/evaluate/evaluator.h"

/* Computes the figures over the last `window` documents that were added (0: over all), in O(n log
 * n). Returns 0 or NB_NO_MEMORY. */
int nb_evaluator_finish(struct nb_evaluator *evaluator, uint64_t window,
                        struct nb_evaluation *evaluation);

#endif
