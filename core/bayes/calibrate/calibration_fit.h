/* SPDX-License-Identifier: Apache-2.0
 *
 * One label's map, from log-odds and whether the documents have the label: the two methods of
 * core/bayes/calibrate/calibration.h. Pure computation; any thread.
 */
#ifndef NB_CORE_BAYES_CALIBRATE_CALIBRATION_FIT_H
#define NB_CORE_BAYES_CALIBRATE_CALIBRATION_FIT_H

#include <stddef.h>
#include <stdint.h>

/* The map of one label. */
struct nb_calibrator {
    double a, b;   /* platt */
    uint32_t size; /* isotonic: points, at least 1, in the order of x */
    double *x, *y; /* owned, in one block */
};

/* A document: its log-odds, and 1 if it has the label, else 0. */
struct nb_calibration_point {
    double f, target;
};

/* Sets a and b. */
void nb_fit_platt(const struct nb_calibration_point *points, size_t count,
                  struct nb_calibrator *calibrator);
/* Sets size, x and y; sorts the points and overwrites them. Returns 0 or NB_NO_MEMORY. */
int nb_fit_isotonic(struct nb_calibration_point *points, size_t count,
                    struct nb_calibrator *calibrator);
/* Return the probability that the map gives the log-odds `f`. */
double nb_calibrator_platt(const struct nb_calibrator *calibrator, double f);
double nb_calibrator_isotonic(const struct nb_calibrator *calibrator, double f);
/* Takes memory for so many points. Returns 0 or NB_NO_MEMORY. */
int nb_calibrator_reserve(struct nb_calibrator *calibrator, uint32_t size);

#endif
