/* SPDX-License-Identifier: Apache-2.0
 *
 * Which of several evaluations is the best, and the command that gives its settings to a model.
 * Main thread.
 */
#ifndef NB_CLIENT_WINNER_H
#define NB_CLIENT_WINNER_H

#include "server/client/base/client.h"
#include "server/client/base/flags.h"
#include "server/client/evaluate/evaluation_report.h"

/* The index of the best evaluation of a report: the one with the least 1 - area under ROC of the
 * positive label, or with the greatest accuracy where there are more than two labels and none was
 * named; of equals the one with the least log-loss. Returns report->count when the first two of
 * this order are equal in both, or there are not two. */
size_t nb_winner_find(const struct nb_report *report);

/* Appends a word as a shell reads it back: in quotes when it needs them. Returns 0 or NB_NO_MEMORY.
 */
int nb_winner_quote(const char *word, struct nb_buffer *out);

/* Prints on standard output which evaluation is the best, by what, and a `bayesc set` with the
 * settings of all, `common`, and its own, which its name lists; or a `bayesc create`, if the
 * client's model is not there. Prints nothing when there is only one. Returns 0 or
 * NB_NO_MEMORY. */
int nb_winner_print(const struct nb_client *client, const struct nb_report *report,
                    const struct nb_flag_list *common, struct nb_error *error);

#endif
