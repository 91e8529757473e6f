/* SPDX-License-Identifier: Apache-2.0 */
#include "server/filter/filter_action.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "config/config.h"
#include "server/filter/filter_labels.h"

/* What no probability reaches. */
static const double LOG_ODDS_OF_CERTAINTY = NB_FILTER_LOG_ODDS_MOST + 0.5;

double nb_filter_log_odds(double probability)
{
    if (probability <= 0)
        return -NB_FILTER_LOG_ODDS_MOST;
    if (probability >= 1)
        return NB_FILTER_LOG_ODDS_MOST;
    return fmax(-NB_FILTER_LOG_ODDS_MOST,
                fmin(NB_FILTER_LOG_ODDS_MOST, log(probability) - log1p(-probability)));
}

double nb_filter_log_odds_at(double threshold)
{
    return threshold < 1 ? nb_filter_log_odds(threshold) : LOG_ODDS_OF_CERTAINTY;
}

double nb_filter_score(double log_odds, double required, double threshold)
{
    return required * (log_odds / nb_filter_log_odds_at(threshold));
}

double nb_filter_shown_score(double log_odds, double required, double threshold, bool is_over,
                             unsigned digits)
{
    double scale = pow(10, digits);
    double score = round(nb_filter_score(log_odds, required, threshold) * scale) / scale;
    if (is_over)
        return fmax(score, required);
    /* The largest number of so few digits that is below, also where `required` is shown with no
     * more of them. */
    return fmin(score, (floor(required * scale + 1e-6) - 1) / scale) + 0.0; /* no -0.0 */
}

/* 1 as a threshold means never. */
static bool reaches(double probability, double threshold)
{
    return threshold < 1 && probability >= threshold;
}

enum nb_filter_action nb_filter_action_at(const struct nb_config *config, double probability)
{
    if (reaches(probability, config->filter_reject))
        return NB_FILTER_REJECT;
    if (reaches(probability, config->filter_rewrite_subject))
        return NB_FILTER_REWRITE_SUBJECT;
    return reaches(probability, config->filter_add_header) ? NB_FILTER_ADD_HEADER
                                                           : NB_FILTER_NO_ACTION;
}

const char *const nb_filter_action_names[NB_FILTER_ACTIONS] = {
    [NB_FILTER_NO_ACTION] = "no action",
    [NB_FILTER_ADD_HEADER] = "add header",
    [NB_FILTER_REWRITE_SUBJECT] = "rewrite subject",
    [NB_FILTER_REJECT] = "reject",
};

const char *nb_filter_action_name(enum nb_filter_action action)
{
    return nb_filter_action_names[action];
}

struct nb_label_action {
    struct nb_string label;
    enum nb_filter_action action;
};

/* Reads "LABEL=ACTION", an item of [filter] label_actions. A label may have an equals sign. */
static bool read_label_action(struct nb_string item, struct nb_label_action *row)
{
    const char *equals = memrchr(item.bytes, '=', item.length);
    if (equals == NULL)
        return false;
    size_t length = (size_t)(equals - item.bytes);
    struct nb_string name = nb_string_trim(nb_string_from(item, length + 1));
    row->label = nb_string_trim((struct nb_string){item.bytes, length});
    row->action = NB_FILTER_NO_ACTION;
    while (row->action < NB_FILTER_ACTIONS &&
           !nb_string_equals(name, nb_filter_action_names[row->action]))
        row->action++;
    return row->action < NB_FILTER_ACTIONS;
}

/* The action that [filter] label_actions gives to this label of spam, else `otherwise`. */
static enum nb_filter_action action_of_label(const struct nb_config *config, const char *label,
                                             enum nb_filter_action otherwise)
{
    const char *list = config->filter_label_actions;
    struct nb_string item;
    while (nb_filter_list_next(&list, &item)) {
        struct nb_label_action row;
        if (read_label_action(item, &row) && nb_string_equals(row.label, label))
            return row.action;
    }
    return otherwise;
}

enum nb_filter_action nb_filter_action_of(const struct nb_config *config,
                                          const struct nb_filter_spam *spam)
{
    enum nb_filter_action action = nb_filter_action_at(config, spam->probability);
    return action == NB_FILTER_NO_ACTION ? action : action_of_label(config, spam->label, action);
}

int nb_filter_check_label_actions(const struct nb_config *config, struct nb_error *error)
{
    const char *list = config->filter_label_actions;
    struct nb_string item;
    while (nb_filter_list_next(&list, &item)) {
        struct nb_label_action row;
        char label[NB_FILTER_LABEL];
        if (!read_label_action(item, &row))
            return nb_error_set(error, NB_INVALID,
                                "[filter] label_actions: '%.*s' is not LABEL=ACTION; the actions "
                                "are no action, add header, rewrite subject and reject",
                                (int)(item.length < 100 ? item.length : 100), item.bytes);
        (void)snprintf(label, sizeof label, "%.*s", (int)row.label.length, row.label.bytes);
        if (row.label.length >= sizeof label || !nb_filter_is_spam(config, label))
            return nb_error_set(
                error, NB_INVALID, "[filter] label_actions: '%.*s' is none of spam_label",
                (int)(row.label.length < 100 ? row.label.length : 100), row.label.bytes);
    }
    return 0;
}
