/* SPDX-License-Identifier: Apache-2.0
 *
 * Score and action of a probability of spam, by the thresholds of [filter]. Pure functions; any
 * thread.
 */
#ifndef NB_SERVER_FILTER_FILTER_ACTION_H
#define NB_SERVER_FILTER_FILTER_ACTION_H

#include <stdbool.h>

#include "core/base/error.h"

struct nb_config;
struct nb_filter_spam;

enum nb_filter_action {
    NB_FILTER_NO_ACTION,
    NB_FILTER_ADD_HEADER,
    NB_FILTER_REWRITE_SUBJECT,
    NB_FILTER_REJECT,
    NB_FILTER_ACTIONS /* how many there are */
};

/* By enum nb_filter_action: "no action", "add header", "rewrite subject", "reject". */
extern const char *const nb_filter_action_names[NB_FILTER_ACTIONS];
const char *nb_filter_action_name(enum nb_filter_action action);

/* The log-odds of a probability, between -NB_FILTER_LOG_ODDS_MOST and NB_FILTER_LOG_ODDS_MOST,
 * beyond which it is as good as certain. */
#define NB_FILTER_LOG_ODDS_MOST 30.0
double nb_filter_log_odds(double probability);

/* The log-odds of a threshold; of 1 what no probability reaches. */
double nb_filter_log_odds_at(double threshold);

/* What log-odds are on a scale that has 0 at even odds and `required` exactly at the probability
 * `threshold` (above 0.5; 1 is never reached). */
double nb_filter_score(double log_odds, double required, double threshold);

/* The score of a report, or of its first symbol, with `digits` digits after the point. It compares
 * with `required` as the action was decided: a score below is never rounded up to it, and that of a
 * test mail is never below it. */
double nb_filter_shown_score(double log_odds, double required, double threshold, bool is_over,
                             unsigned digits);

/* What is to be done with a mail, by the thresholds of [filter]; 1 as a threshold means never. */
enum nb_filter_action nb_filter_action_at(const struct nb_config *config, double probability);

/* nb_filter_action_at, and of spam by its likeliest label where label_actions names that. `spam` is
 * of a model that knows a label of spam. */
enum nb_filter_action nb_filter_action_of(const struct nb_config *config,
                                          const struct nb_filter_spam *spam);

/* Whether [filter] label_actions can be read, and names labels of spam. NB_INVALID says what not.
 */
int nb_filter_check_label_actions(const struct nb_config *config, struct nb_error *error);

#endif
