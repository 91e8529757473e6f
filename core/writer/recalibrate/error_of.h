/* SPDX-License-Identifier: Apache-2.0
 *
 * How far probabilities are from what they say, before and after a calibration. Pure computation;
 * any thread.
 */
#ifndef NB_CORE_WRITER_RECALIBRATE_ERROR_OF_H
#define NB_CORE_WRITER_RECALIBRATE_ERROR_OF_H

#include "core/bayes/book/scores.h"
#include "core/bayes/calibrate/calibration.h"

/* Of a document with this label: what is said of it; borrowed. Not 0: no more are wanted. */
typedef int nb_calibration_visit(void *user, const struct nb_scores *said, uint32_t label);

/* What a calibrated model would say of documents that its map was not fitted on: of each label
 * every second document is of one half, and each half is judged by the map of the other. With
 * NB_CALIBRATION_NONE the soft-max of the scores. Calls `visit` for each document in turn. Returns
 * 0, what `visit` returned, NB_CONFLICT (with a method: no label has two documents) or
 * NB_NO_MEMORY. */
int nb_calibration_judge(enum nb_calibration_method method,
                         const struct nb_calibration_scores *scores, nb_calibration_visit *visit,
                         void *user);

/* The expected calibration error (core/model/evaluate/evaluation.h) of the soft-max of the scores,
 * and of what a map makes of them that was fitted on others (nb_calibration_judge). Returns 0,
 * NB_CONFLICT (no label has two documents) or NB_NO_MEMORY. */
int nb_calibration_errors(enum nb_calibration_method method,
                          const struct nb_calibration_scores *scores, double *before,
                          double *after);

#endif
