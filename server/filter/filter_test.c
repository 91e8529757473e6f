/* SPDX-License-Identifier: Apache-2.0 */
#include "server/filter/filter_test.h"

#include <stdio.h>
#include <string.h>

#include "config/config.h"

/* By the letter before the pattern. */
static const struct {
    char first;
    bool is_variant;
    enum nb_filter_action action;
} TESTS[] = {
    {'X', false, NB_FILTER_REJECT},
    {'Y', true, NB_FILTER_ADD_HEADER},
    {'Z', true, NB_FILTER_REWRITE_SUBJECT},
    {'A', true, NB_FILTER_NO_ACTION},
};

static bool take_test(char first, bool with_variants, enum nb_filter_action *action)
{
    for (size_t i = 0; i < sizeof TESTS / sizeof TESTS[0]; i++) {
        if (TESTS[i].first == first && (with_variants || !TESTS[i].is_variant)) {
            *action = TESTS[i].action;
            return true;
        }
    }
    return false;
}

bool nb_filter_find_test(const struct nb_config *config, struct nb_string mail,
                         enum nb_filter_action *action)
{
    static const char PATTERN[] =
        "JS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X";
    size_t most = (size_t)config->mail_bytes;
    const char *end = mail.bytes + (mail.length < most ? mail.length : most);
    const char *at = mail.bytes + 1; /* behind the letter that makes it one of them */
    while (at < end && (at = memmem(at, (size_t)(end - at), PATTERN, sizeof PATTERN - 1)) != NULL) {
        if (take_test(at[-1], config->filter_test_patterns, action))
            return true;
        at += sizeof PATTERN - 1;
    }
    return false;
}

void nb_filter_report_test(const struct nb_config *config, enum nb_filter_action action,
                           struct nb_filter_report *report)
{
    report->is_test = true;
    report->action = action;
    report->note = ", test mail";
    report->status = action == NB_FILTER_NO_ACTION ? "ham" : "spam";
    report->probability = action == NB_FILTER_NO_ACTION ? 0 : 1;
    /* For clients that look at the score and not at the action. */
    report->log_odds = action == NB_FILTER_REJECT ? nb_filter_log_odds_at(config->filter_reject)
                       : action == NB_FILTER_NO_ACTION
                           ? 0
                           : nb_filter_log_odds_at(config->filter_add_header);
    (void)snprintf(report->model, sizeof report->model, "%s", config->filter_model);
    struct nb_filter_symbol *symbol = nb_filter_add_symbol(report, "GTUBE", 0);
    (void)snprintf(symbol->description, sizeof symbol->description,
                   "Generic Test for Unsolicited Bulk Email");
}
