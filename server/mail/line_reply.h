/* SPDX-License-Identifier: Apache-2.0
 *
 * The replies of the line protocols. Pure functions; any thread.
 */
#ifndef NB_SERVER_MAIL_LINE_REPLY_H
#define NB_SERVER_MAIL_LINE_REPLY_H

#include <stdbool.h>

#include "core/base/buffer.h"
#include "server/mail/filter.h"

struct nb_request;

/* A failure, with its number and name of sysexits.h. */
struct nb_line_failure {
    int code;
    const char *name;
    const char *title; /* as spamd words it */
};

/* Returns the failure that corresponds to an HTTP status. */
const struct nb_line_failure *nb_line_failure_of(unsigned status);

/* Makes the bytes that were appended to reply.body the reply. Returns 0. */
int nb_line_reply(struct nb_request *request);

/* A scanned mail as spamd returns it: its report as text, and the mail with the header fields that
 * SpamAssassin writes. Pure functions; any thread. */
struct nb_line_scan {
    const struct nb_config *config; /* borrowed */
    struct nb_filter_report report;
    double score, required; /* on spamd's scale */
    bool is_spam;
};

/* Appends the names of the symbols with `separator` between them. 0 or NB_NO_MEMORY. */
int nb_line_names(const struct nb_line_scan *scan, const char *separator, struct nb_buffer *out);

/* Appends a report in the form of spamd's, which clients take apart: a line of words, and after a
 * line of dashes one row for each symbol, with its points, name and description. 0 or
 * NB_NO_MEMORY. */
int nb_line_report(const struct nb_line_scan *scan, struct nb_buffer *out);

/* Appends the mail with the header fields X-Spam-... and X-Bayes-Status (existing fields of these
 * names are removed), and with the subject rewritten if that is the action. 0 or NB_NO_MEMORY. */
int nb_line_rewrite(const struct nb_line_scan *scan, struct nb_string mail, struct nb_buffer *out);

/* Returns the mail's header with the empty line behind it. */
struct nb_string nb_line_header(struct nb_string mail);

#endif
