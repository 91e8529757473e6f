/* SPDX-License-Identifier: Apache-2.0
 *
 * Evaluations as JSON, in the form of the daemon's own, and as tables for people. Any thread may
 * make JSON; one thread prints.
 */
#ifndef NB_SERVER_CLIENT_EVALUATE_EVALUATION_REPORT_H
#define NB_SERVER_CLIENT_EVALUATE_EVALUATION_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "core/model/evaluate/evaluate.h"

enum { NB_REPORT_MOST = 16 /* evaluations side by side */ };

struct nb_report {
    const char *names[NB_REPORT_MOST]; /* of the columns; borrowed */
    json_t *figures[NB_REPORT_MOST];   /* as in the daemon's `windows`; borrowed */
    size_t count;
    const char *positive; /* the label that is judged against all others; borrowed */
    bool is_named;        /* the user named `positive`; among many labels it is shown only then */
};

void nb_report_print(const struct nb_report *report, FILE *out);

/* Prints an empty line and the members "now" and `other` of an object. */
void nb_compare_print(const json_t *evaluation, const char *other);

/* Makes an object like those in the daemon's `windows`. `labels` has the names, indexed by label
 * number. The caller owns the object; NULL without memory. */
json_t *nb_evaluation_json(const struct nb_evaluation *evaluation, char *const *labels);

#endif
