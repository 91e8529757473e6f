/* SPDX-License-Identifier: Apache-2.0 */
#include "server/filter/filter_report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "config/config.h"
#include "server/filter/filter_labels.h"
#include "server/filter/filter_mail.h"

/* Evidence below it is not worth a symbol: it changes the odds by less than 1.6 to 1. */
static const double LOG_ODDS_STRONG = 0.5;

struct nb_filter_symbol *nb_filter_add_symbol(struct nb_filter_report *report, const char *name,
                                              double evidence)
{
    struct nb_filter_symbol *symbol = &report->symbols[report->symbol_count++];
    symbol->evidence = evidence;
    (void)snprintf(symbol->name, sizeof symbol->name, "%s", name); /* fits */
    symbol->option[0] = '\0';
    return symbol;
}

/* The fields of a mail as an administrator reads of them. */
static const struct {
    const char *symbol, *what;
} FIELDS[NB_FIELDS] = {
    [NB_FIELD_BODY] = {"BAYES_PART_BODY", "Words of the text"},
    [NB_FIELD_SUBJECT] = {"BAYES_PART_SUBJECT", "Words of the Subject"},
    [NB_FIELD_ADDRESS] = {"BAYES_PART_ADDRESS", "Addresses and names"},
    [NB_FIELD_RECEIVED] = {"BAYES_PART_RECEIVED", "Hosts of the Received fields"},
    [NB_FIELD_HEADER] = {"BAYES_PART_HEADER", "Other header fields"},
    [NB_FIELD_STRUCTURE] = {"BAYES_PART_STRUCTURE", "MIME and HTML structure"},
    [NB_FIELD_URL] = {"BAYES_PART_URL", "Links"},
    [NB_FIELD_HIDDEN] = {"BAYES_PART_HIDDEN", "Hidden text"},
    [NB_FIELD_CASE] = {"BAYES_PART_CASE", "Words with capitals"},
    [NB_FIELD_PAIR] = {"BAYES_PART_PAIR", "Pairs of words"},
    [NB_FIELD_NGRAM] = {"BAYES_PART_NGRAM", "Character 5-grams"},
};

/* The strongest tokens of a field that speak the way the field does. */
static void name_tokens(const struct nb_verdict *verdict, enum nb_field field, uint64_t most,
                        char option[NB_FILTER_TEXT])
{
    size_t length = 0;
    uint64_t named = 0;
    bool is_positive = verdict->field_evidence[field] > 0;
    option[0] = '\0';
    for (size_t i = 0; i < verdict->explanation_count && named < most; i++) {
        const struct nb_explained *row = &verdict->explanation[i];
        if (row->token.bytes == NULL || row->field != field || (row->evidence > 0) != is_positive)
            continue;
        /* Whole tokens, with room for the comma before the next one. */
        if (length + row->token.length + sizeof ", " > NB_FILTER_TEXT / 2)
            continue;
        if (named++ > 0)
            length += (size_t)sprintf(option + length, ", ");
        nb_filter_copy_clean(row->token, option + length, NB_FILTER_TEXT - length);
        length += strlen(option + length);
    }
}

/* By estimates that may be 0, tokens can make a label impossible, or both: then they tell nothing.
 */
static double finite_log_odds(double evidence)
{
    if (isnan(evidence))
        return 0;
    return isinf(evidence) ? copysign(NB_FILTER_LOG_ODDS_MOST, evidence) : evidence;
}

/* What the fields of the mail add, where it is much. */
static void add_evidence(const struct nb_verdict *verdict, double sign, uint64_t most,
                         struct nb_filter_report *report)
{
    for (unsigned field = 0; field < NB_FIELDS && most > 0; field++) {
        double log_odds = sign * finite_log_odds(verdict->field_evidence[field]);
        char tokens[NB_FILTER_TEXT];
        if (fabs(log_odds) < LOG_ODDS_STRONG)
            continue;
        struct nb_filter_symbol *symbol =
            nb_filter_add_symbol(report, FIELDS[field].symbol, log_odds);
        name_tokens(verdict, (enum nb_field)field, most, tokens);
        memcpy(symbol->option, tokens, sizeof tokens);
        (void)snprintf(symbol->description, sizeof symbol->description, "%s speak for %s%s%.128s",
                       FIELDS[field].what, log_odds > 0 ? "spam" : "ham",
                       tokens[0] != '\0' ? ": " : "", tokens); /* fits */
    }
}

/* Evidence speaks for the winner against the runner-up: 1 when it speaks for spam, -1 when against
 * it, 0 when both are spam, or neither: then it does not speak of spam. */
static int sign_of_evidence(const struct nb_config *config, const struct nb_verdict *verdict)
{
    size_t best = verdict->best, second = verdict->size;
    for (size_t i = 0; i < verdict->size; i++) {
        bool is_more =
            second == verdict->size || verdict->probabilities[i] > verdict->probabilities[second];
        if (i != best && is_more)
            second = i;
    }
    bool is_spam = nb_filter_is_spam(config, verdict->labels[best]);
    if (second < verdict->size && is_spam == nb_filter_is_spam(config, verdict->labels[second]))
        return 0;
    return is_spam ? 1 : -1;
}

void nb_filter_report_verdict(const struct nb_config *config, const struct nb_verdict *verdict,
                              const struct nb_filter_spam *spam, struct nb_filter_report *report)
{
    double p = spam->probability;
    report->is_ready = true;
    report->probability = p;
    report->log_odds = nb_filter_log_odds(p);
    report->action = nb_filter_action_of(config, spam);
    bool is_spam = nb_filter_action_at(config, p) != NB_FILTER_NO_ACTION;
    report->status = is_spam ? "spam" : p >= config->filter_unsure ? "unsure" : "ham";
    struct nb_filter_symbol *symbol =
        nb_filter_add_symbol(report,
                             is_spam                      ? "BAYES_SPAM"
                             : p >= config->filter_unsure ? "BAYES_UNSURE"
                                                          : "BAYES_HAM",
                             0);
    (void)snprintf(symbol->description, sizeof symbol->description, "Probability of spam %.4f",
                   p); /* fits */
    if (is_spam && spam->count > 1)
        nb_filter_copy_clean(nb_string_of(spam->label), symbol->option, sizeof symbol->option);
    int sign = sign_of_evidence(config, verdict);
    if (sign != 0)
        add_evidence(verdict, sign, config->filter_evidence, report);
}

void nb_filter_report_not_ready(const char *missing, const char *note,
                                struct nb_filter_report *report)
{
    report->status = "unsure";
    report->note = note;
    report->probability = 0.5;
    struct nb_filter_symbol *symbol = nb_filter_add_symbol(report, "BAYES_NOT_READY", 0);
    (void)snprintf(symbol->description, sizeof symbol->description, "Too little training: %s",
                   missing);
}

int nb_filter_status(const struct nb_filter_report *report, struct nb_buffer *out)
{
    bool is_ham = strcmp(report->status, "ham") == 0;
    return nb_buffer_printf(out, "%s, probability=%.4f, model=%s%s", report->status,
                            is_ham ? 1 - report->probability : report->probability, report->model,
                            report->note);
}
