/* SPDX-License-Identifier: Apache-2.0
 *
 * Evaluations of models, remembered for a while. An evaluation reads all scores of a model. That is
 * too much for each classification that wants a threshold, and for each visit of Prometheus. Any
 * thread.
 */
#ifndef NB_SERVER_API_EVALUATIONS_H
#define NB_SERVER_API_EVALUATIONS_H

#include "core/engine/engine.h"

struct nb_evaluations;

/* `engine` is borrowed and must live longer. NULL when there is no memory. */
struct nb_evaluations *nb_evaluations_new(struct nb_engine *engine);
void nb_evaluations_free(struct nb_evaluations **evaluations);

/* A threshold that would have held a false-positive rate. */
struct nb_threshold {
    double threshold;
    double achieved;    /* the rate that it had */
    uint64_t documents; /* over which */
    char positive[65];  /* the label that was judged, NUL-terminated */
};

/* Finds a threshold, with the parameters and errors of nb_engine_evaluation. A remembered
 * evaluation may be used; it is at most 30 s old, and at most twenty times as old as the time that
 * it took. So evaluations take at most a twentieth of a processor, and those of small models are
 * nearly new. */
int nb_evaluations_threshold(struct nb_evaluations *evaluations, struct nb_string model,
                             struct nb_string positive, double rate, enum nb_score_kind scores,
                             struct nb_threshold *found, struct nb_error *error);

/* Appends the figures over the short window, and how far verdicts have drifted
 * (core/model/drift.h), as Prometheus metrics, for the first 100 models by name of those
 * in memory (a visit of Prometheus loads none). The figures are at most 30 s old, unless renewing
 * them would take more than a fifth of a second in one visit; then the next visit goes on with the
 * oldest. Figures that are not defined are left out. Returns 0 or NB_NO_MEMORY. */
int nb_evaluations_metrics(struct nb_evaluations *evaluations, struct nb_buffer *out);

#endif
