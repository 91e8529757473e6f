/* SPDX-License-Identifier: Apache-2.0
 *
 * Caches evaluations of models for a while. An evaluation reads all scores of a model, which takes
 * too long for each classification with a threshold and for each scrape by Prometheus. Any thread.
 */
#ifndef NB_SERVER_API_EVALUATIONS_H
#define NB_SERVER_API_EVALUATIONS_H

#include "core/engine/engine.h"

struct nb_evaluations;

/* `engine` is borrowed and must live longer. NULL when there is no memory. */
struct nb_evaluations *nb_evaluations_new(struct nb_engine *engine);
void nb_evaluations_free(struct nb_evaluations **evaluations);

/* A threshold that would have kept the false-positive rate at or below a target. */
struct nb_threshold {
    double threshold;
    double achieved;    /* the false-positive rate at this threshold */
    uint64_t documents; /* number of documents that the rate is measured on */
    char positive[65];  /* the positive label, NUL-terminated */
};

/* Finds a threshold, with the parameters and errors of nb_engine_evaluation. May use a cached
 * evaluation that is at most 30 s old, and at most twenty times as old as the time that it took. So
 * evaluations take at most a twentieth of a processor, and cached evaluations of small models are
 * nearly current. */
int nb_evaluations_threshold(struct nb_evaluations *evaluations, struct nb_string model,
                             struct nb_string positive, double rate, enum nb_score_kind scores,
                             struct nb_threshold *found, struct nb_error *error);

/* Appends Prometheus metrics: the evaluation figures over the short window, and how far verdicts
 * have drifted (core/model/drift.h), for the first 100 loaded models by name (a scrape loads no
 * models). The figures are at most 30 s old, unless renewing them would take more than a fifth of a
 * second in one scrape; then the next scrape goes on with the oldest figures. Undefined figures are
 * left out. Returns 0 or NB_NO_MEMORY. */
int nb_evaluations_metrics(struct nb_evaluations *evaluations, struct nb_buffer *out);

#endif
