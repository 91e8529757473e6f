/* SPDX-License-Identifier: Apache-2.0
 *
 * The figures of evaluations for people: a table with a column for each evaluation. One thread.
 */
#ifndef NB_CLIENT_REPORT_H
#define NB_CLIENT_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

enum { NB_REPORT_MOST = 16 /* evaluations side by side */ };

struct nb_report {
    const char *names[NB_REPORT_MOST]; /* of the columns; borrowed */
    json_t *figures[NB_REPORT_MOST];   /* as in the daemon's `windows`; borrowed */
    size_t count;
    const char *positive; /* the label that is judged against all others; borrowed */
    bool is_named;        /* somebody wants to know of this label: of many it is told only then */
};

void nb_report_print(const struct nb_report *report, FILE *out);

#endif
