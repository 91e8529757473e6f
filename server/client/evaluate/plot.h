/* SPDX-License-Identifier: Apache-2.0
 *
 * Plots of evaluations as SVG files. One thread.
 */
#ifndef NB_CLIENT_PLOT_H
#define NB_CLIENT_PLOT_H

#include "core/base/error.h"
#include "server/client/evaluate/evaluation_report.h"

/* Write a plot to a file, ROC curves or reliability diagrams, with one curve for each evaluation of
 * the report. Return 0, NB_NOT_FOUND, NB_IO or NB_DISK_FULL. `error` must not be NULL. */
int nb_plot_roc(const struct nb_report *report, const char *name, struct nb_error *error);
int nb_plot_reliability(const struct nb_report *report, const char *name, struct nb_error *error);

#endif
