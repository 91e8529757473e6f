/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the best of several evaluations, and the command that gives its settings to a model. Main
 * thread.
 */
#ifndef NB_CLIENT_WINNER_H
#define NB_CLIENT_WINNER_H

#include "server/client/base/client.h"
#include "server/client/base/flags.h"
#include "server/client/evaluate/evaluation_report.h"

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

#endif
