/* SPDX-License-Identifier: Apache-2.0
 *
 * What is remembered of the models' evaluations. An evaluation reads all scores of a model, so that
 * neither each classification that wants a threshold nor each visit of Prometheus can have one of
 * its own. Any thread.
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

/* As nb_engine_evaluation, from an evaluation that is at most twenty times as old as it took to
 * make it, and 30 s: so at most a twentieth of a processor goes into it, and a small model's
 * threshold is as good as new. */
int nb_evaluations_threshold(struct nb_evaluations *evaluations, struct nb_string model,
                             struct nb_string positive, double rate, struct nb_threshold *found,
                             struct nb_error *error);

/* Appends the figures over the short window as Prometheus metrics, for the first 100 models by name
 * of those in memory (a visit of Prometheus loads none). They are at most 30 s old, unless that
 * would take more than a fifth of a second for one visit; then the next one goes on with the
 * oldest. Figures that are not defined are left out. Returns 0 or NB_NO_MEMORY. */
int nb_evaluations_metrics(struct nb_evaluations *evaluations, struct nb_buffer *out);

#endif
