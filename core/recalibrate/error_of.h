/* SPDX-License-Identifier: Apache-2.0
 *
 * How far probabilities are from what they say, before and after a calibration. Pure computation;
 * any thread.
 */
#ifndef NB_CORE_RECALIBRATE_ERROR_OF_H
#define NB_CORE_RECALIBRATE_ERROR_OF_H

#include "core/calibrate/calibration.h"

/* The expected calibration error (core/evaluate/evaluation.h) of the soft-max of the scores, and of
 * what a map makes of them that was fitted on others: of each label every second document is of one
 * half, and each half judges the map of the other. Returns 0, NB_CONFLICT (no label has two
 * documents) or NB_NO_MEMORY. */
int nb_calibration_errors(enum nb_calibration_method method,
                          const struct nb_calibration_scores *scores, double *before,
                          double *after);

#endif
