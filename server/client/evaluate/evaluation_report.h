/* SPDX-License-Identifier: Apache-2.0
 *
 * Evaluations as JSON, in the form of the daemon's own, and as tables for people; the best one of
 * several, and the command that gives its settings to a model. Any thread may make JSON; one thread
 * prints.
 */
#ifndef NB_SERVER_CLIENT_EVALUATE_EVALUATION_REPORT_H
#define NB_SERVER_CLIENT_EVALUATE_EVALUATION_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "core/base/error.h"
#include "core/model/evaluation.h"
#include "server/client/base/client.h"
#include "server/client/base/flags.h"

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

/* Finds the best of several evaluations, and the command that gives its settings to a model. Main
 * thread. */
/* Returns the index of the best evaluation of a report: the one with the least 1 - area under ROC
 * of the positive label, or with the greatest accuracy if there are more than two labels and the
 * user named none. Ties are broken by the least log-loss. Returns report->count when the two best
 * are equal in both, or there are fewer than two. */
size_t nb_winner_find(const struct nb_report *report);

/* Appends a word as a shell reads it back: in quotes when it needs them. Returns 0 or NB_NO_MEMORY.
 */
int nb_winner_quote(const char *word, struct nb_buffer *out);

/* Prints on standard output the best evaluation, the figure that decided, and a `bayesc set`
 * command with its settings: those in `common` and those listed in its name. The command is `bayesc
 * create` if the client's model does not exist. Prints nothing for a single evaluation. Returns 0
 * or NB_NO_MEMORY. */
int nb_winner_print(const struct nb_client *client, const struct nb_report *report,
                    const struct nb_flag_list *common, struct nb_error *error);

/* Plots of evaluations as SVG files. One thread. */
/* Write a plot to a file, ROC curves or reliability diagrams, with one curve for each evaluation of
 * the report. Return 0, NB_NOT_FOUND, NB_IO or NB_DISK_FULL. `error` must not be NULL. */
int nb_plot_roc(const struct nb_report *report, const char *name, struct nb_error *error);
int nb_plot_reliability(const struct nb_report *report, const char *name, struct nb_error *error);

#endif
