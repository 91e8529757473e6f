/* SPDX-License-Identifier: Apache-2.0
 *
 * The figures of an evaluation, for people: a table with one column for each evaluation, and plots
 * as SVG. All of it from JSON as the daemon gives it, so that its own evaluations and those made
 * here look alike. One thread.
 */
#ifndef NB_CLIENT_REPORT_H
#define NB_CLIENT_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "core/evaluate.h"

enum { NB_REPORT_MOST = 16 }; /* evaluations side by side */

struct nb_report {
    const char *names[NB_REPORT_MOST]; /* of the columns; borrowed */
    json_t *figures[NB_REPORT_MOST];   /* borrowed */
    size_t count;
    const char *positive;
};

/* An evaluation as an object of the daemon's `windows`; NULL without memory. `labels` by number. */
json_t *nb_report_figures(const struct nb_evaluation *evaluation, char *const *labels);

void nb_report_print(const struct nb_report *report, FILE *out);

/* Write a whole SVG file each: the ROC curves; the reliability diagram. NB_IO ... */
int nb_report_roc(const struct nb_report *report, const char *name, struct nb_error *error);
int nb_report_reliability(const struct nb_report *report, const char *name, struct nb_error *error);

#endif
