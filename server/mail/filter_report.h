/* SPDX-License-Identifier: Apache-2.0
 *
 * The report that mail software gets about a mail, and the parts of the mail that the report shows.
 * Pure functions; any thread; a report belongs to one thread.
 */
#ifndef NB_SERVER_MAIL_FILTER_REPORT_H
#define NB_SERVER_MAIL_FILTER_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/base/string.h"
#include "core/engine/engine.h"
#include "server/mail/filter_options.h"

struct nb_config;
struct nb_filter_spam;

/* The mail in a request of mail software, and its fields in the form that reports show. */
enum {
    NB_FILTER_FIELD = 998 + 1 /* bytes of a header field; RFC 5322, 2.1.1: a line has 998 bytes */
};

/* Returns the mail in a body that mail software has sent: without an mbox "From " line in front,
 * and without the pseudo header fields X-Envelope-From and X-Envelope-To that Exim puts before the
 * mail's own (src/spam.c of Exim 4.96). */
struct nb_string nb_filter_mail(struct nb_string body);

/* Sets `message_id` to the mail's Message-ID without angle brackets, on one line; "" when it has
 * none. */
void nb_filter_message_id(const struct nb_config *config, struct nb_string mail,
                          char message_id[NB_FILTER_FIELD]);

/* Sets `subject` to the subject of the mail, rewritten by [filter] subject. The mail's own words
 * keep their encoding. */
void nb_filter_rewrite_subject(const struct nb_config *config, struct nb_string mail,
                               char subject[NB_FILTER_FIELD]);

enum {
    NB_FILTER_SYMBOLS = 1 + NB_FIELDS, /* one for the verdict, and one for each field of the mail */
    NB_FILTER_NAME = 32,
    NB_FILTER_TEXT = 256
};

/* The header field with the verdict; it is removed from a mail that already has it. */
#define NB_FILTER_HEADER "X-Bayes-Status"

/* The first symbol of a report is its verdict and has the whole score. The others stand for parts
 * of the mail: they have no score and say how much of the verdict comes from each part. */
struct nb_filter_symbol {
    char name[NB_FILTER_NAME];        /* "BAYES_SPAM", "BAYES_PART_SUBJECT" */
    char description[NB_FILTER_TEXT]; /* a sentence, never empty; its words need not be UTF-8 */
    char option[NB_FILTER_TEXT];      /* the strongest tokens, or "" */
    double evidence; /* log-odds that this part adds, above 0 for spam; 0 if it is not a part */
};

struct nb_filter_report {
    enum nb_filter_action action;
    const char *status; /* "spam", "ham" or "unsure"; static */
    const char *note;   /* follows the status: "", or ", too little learned" and the like; static */
    bool is_test;       /* a GTUBE test pattern decided, not the model */
    bool is_ready;      /* the model decided; else a symbol says what is missing */
    double probability; /* of spam */
    double log_odds;    /* ln p / (1 - p), bounded; 0 when the model does not decide */
    char model[NB_FILTER_MODEL];
    char message_id[NB_FILTER_FIELD]; /* of the mail, without angle brackets; "" if it has none */
    char subject[NB_FILTER_FIELD];    /* the rewritten one, with NB_FILTER_REWRITE_SUBJECT */
    struct nb_filter_symbol symbols[NB_FILTER_SYMBOLS];
    size_t symbol_count;
};

/* Makes the report of a verdict. `spam` is the result of nb_filter_find_spam for `verdict`. The
 * members `model`, `message_id` and `subject` do not change. */
void nb_filter_report_verdict(const struct nb_config *config, const struct nb_verdict *verdict,
                              const struct nb_filter_spam *spam, struct nb_filter_report *report);

/* Makes the report of a model that does not know enough. `missing` says what is missing; `note` is
 * static and becomes the report's. */
void nb_filter_report_not_ready(const char *missing, const char *note,
                                struct nb_filter_report *report);

/* Appends the text of an X-Bayes-Status header: "spam, probability=0.9987, model=mail". */
int nb_filter_status(const struct nb_filter_report *report, struct nb_buffer *out);

/* Test mails: the Generic Test for Unsolicited Bulk Email, which every filter rejects, and its
 * variants of rspamd (src/libmime/message.c), with which an administrator tries each action. The
 * variants need [filter] test_patterns: anybody could write one into a mail to make it ham. */

/* Returns whether the mail is a test, and sets its action if it is. */
bool nb_filter_find_test(const struct nb_config *config, struct nb_string mail,
                         enum nb_filter_action *action);

/* Makes the report of a test; the members `message_id` and `subject` stay as they are. */
void nb_filter_report_test(const struct nb_config *config, enum nb_filter_action action,
                           struct nb_filter_report *report);

#endif
