/* SPDX-License-Identifier: Apache-2.0
 *
 * Decisions: what to do about a document, from the probability of one label and a threshold. The
 * label is either the one that wins, which then has to be likely enough (Chow 1970, On Optimum
 * Recognition Error and Reject Tradeoff: what is less likely than the threshold is rejected), or
 * one that is chosen beforehand (the positive one: spam), and then the threshold says how much one
 * kind of mistake is dreaded more than the other. Pure functions; any thread.
 */
#ifndef NB_CORE_MODEL_VERDICT_DECIDE_H
#define NB_CORE_MODEL_VERDICT_DECIDE_H

#include <stddef.h>

enum nb_decided { NB_DECIDED_OTHER, NB_DECIDED_POSITIVE, NB_DECIDED_UNSURE };

/* Positive at a probability at or above the threshold; unsure nearer to it than `band`; else other.
 * Of the label that wins, other means that it is not likely enough. */
enum nb_decided nb_decide(double probability, double threshold, double band);

/* The threshold that costs least when deciding positive wrongly costs `false_positive` and deciding
 * otherwise wrongly `false_negative` (both at least 0, not both 0): positive is worth it when
 * (1 - p) false_positive <= p false_negative, that is from p = false_positive / (false_positive +
 * false_negative) on (Elkan 2001, The Foundations of Cost-Sensitive Learning, equation 2). */
double nb_decide_threshold(double false_positive, double false_negative);

/* The most probable label but `positive`, ties to the first; `size` when there is no other. */
size_t nb_decide_other(const double *probabilities, size_t size, size_t positive);

#endif
