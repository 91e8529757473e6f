/* SPDX-License-Identifier: Apache-2.0 */
#include "server/mail/line_reply.h"

#include <string.h>

#include "config/config.h"
#include "core/base/string.h"
#include "server/base/version.h"
#include "server/http/http_answer.h"
#include "server/mail/mail_fields.h"

const struct nb_line_failure *nb_line_failure_of(unsigned status)
{
    static const struct nb_line_failure protocol = {76, "EX_PROTOCOL", "Bad header line"},
                                        data = {65, "EX_DATAERR", "Data Error"},
                                        temporary = {69, "EX_UNAVAILABLE", "Service Unavailable"},
                                        denied = {77, "EX_NOPERM", "Permission Denied"};
    switch (status) {
    case 400:
        return &protocol;
    case 401:
    case 403:
        return &denied;
    case 413:
    case 415:
    case 422:
        return &data;
    default:
        return &temporary;
    }
}

int nb_line_reply(struct nb_request *request)
{
    return nb_reply_with(request, 200, "text/plain");
}

/* The length at which SpamAssassin folds a line, and the most stars that it writes. */
enum { LINE_BYTES = 74, STARS_MOST = 50 };

int nb_line_names(const struct nb_line_scan *scan, const char *separator, struct nb_buffer *out)
{
    int rc = 0;
    for (size_t i = 0; i < scan->report.symbol_count && rc == 0; i++) {
        rc = i > 0 ? nb_buffer_puts(out, separator) : 0;
        if (rc == 0)
            rc = nb_buffer_puts(out, scan->report.symbols[i].name);
    }
    return rc;
}

/* Replaces commas: if a comma follows a digit or a capital, npm's spamc mistakes the report for a
 * list of names. */
static void hide_commas(struct nb_buffer *out, size_t from)
{
    for (size_t i = from; i < out->length; i++)
        if (out->bytes[i] == ',')
            out->bytes[i] = ';';
}

/* Appends a row: points, name and "WORD: text", in the form that clients parse. The row of a part
 * of the mail also says how many of the points come from this part. */
static int add_row(const struct nb_line_scan *scan, const struct nb_filter_symbol *symbol,
                   double points, struct nb_buffer *out)
{
    double own = nb_filter_score(symbol->evidence, scan->required, scan->config->filter_add_header);
    size_t before = out->length;
    int rc = nb_buffer_printf(out, "%4.1f %-22s %s: %s", points, symbol->name,
                              scan->report.is_test ? "BODY" : "BAYES", symbol->description);
    if (rc == 0 && symbol->evidence != 0)
        rc = nb_buffer_printf(out, " (%+.1f)", own);
    hide_commas(out, before);
    return rc == 0 ? nb_buffer_puts(out, "\n") : rc;
}

int nb_line_report(const struct nb_line_scan *scan, struct nb_buffer *out)
{
    size_t before = out->length;
    int rc = nb_buffer_puts(out, "bayesd: ");
    if (rc == 0)
        rc = nb_filter_status(&scan->report, out);
    hide_commas(out, before);
    if (rc == 0)
        rc = nb_buffer_printf(out,
                              "\n\nContent analysis details:   (%.1f points, %.1f required)\n\n"
                              " pts rule name              description\n"
                              "---- ---------------------- "
                              "--------------------------------------------------\n",
                              scan->score, scan->required);
    for (size_t i = 0; i < scan->report.symbol_count && rc == 0; i++)
        rc = add_row(scan, &scan->report.symbols[i], i == 0 ? scan->score : 0, out);
    return rc;
}

/* ---- the mail -------------------------------------------------------------------------------- */

/* Appends "tests=A,B", on lines of at most LINE_BYTES if possible. The first line has `used` bytes
 * already. */
static int add_tests(const struct nb_line_scan *scan, size_t used, struct nb_buffer *out)
{
    const struct nb_filter_report *report = &scan->report;
    int rc = nb_buffer_puts(out, report->symbol_count > 0 ? "tests=" : "tests=none");
    used += 6;
    for (size_t i = 0; i < report->symbol_count && rc == 0; i++) {
        size_t length = strlen(report->symbols[i].name) + 1;
        bool is_folded = i > 0 && used + length > LINE_BYTES;
        used = is_folded ? 8 + length : used + length; /* 8 is the width of the tab */
        rc = nb_buffer_printf(out, "%s%s%s", i > 0 ? "," : "", is_folded ? "\n\t" : "",
                              report->symbols[i].name);
    }
    return rc;
}

static int add_status(const struct nb_line_scan *scan, struct nb_buffer *out)
{
    size_t before = out->length;
    int rc = nb_buffer_printf(out, "X-Spam-Status: %s, score=%.1f required=%.1f ",
                              scan->is_spam ? "Yes" : "No", scan->score, scan->required);
    if (rc == 0)
        rc = add_tests(scan, out->length - before, out);
    if (rc == 0)
        rc = nb_buffer_puts(out, " autolearn=no version=" NB_PROGRAM_VERSION "\nX-Bayes-Status: ");
    if (rc == 0)
        rc = nb_filter_status(&scan->report, out);
    return rc == 0 ? nb_buffer_puts(out, "\n") : rc;
}

static int add_fields(const struct nb_line_scan *scan, struct nb_buffer *out)
{
    static const char STARS[STARS_MOST + 1] = "**************************************************";
    int stars = scan->score >= STARS_MOST ? STARS_MOST : scan->score > 0 ? (int)scan->score : 0;
    int rc = scan->is_spam ? nb_buffer_puts(out, "X-Spam-Flag: YES\n") : 0;
    if (rc == 0)
        rc = nb_buffer_printf(
            out, "X-Spam-Checker-Version: bayesd " NB_PROGRAM_VERSION "\nX-Spam-Level: %.*s\n",
            stars, STARS);
    if (rc == 0)
        rc = add_status(scan, out);
    if (rc == 0 && scan->report.action == NB_FILTER_REWRITE_SUBJECT)
        rc = nb_buffer_printf(out, "Subject: %s\n", scan->report.subject);
    return rc;
}

int nb_line_rewrite(const struct nb_line_scan *scan, struct nb_string mail, struct nb_buffer *out)
{
    /* Fields to remove. The last one, Subject, is removed only when it is replaced. */
    static const char *const names[] = {
        "X-Spam-Flag",  "X-Spam-Checker-Version", "X-Spam-Level",   "X-Spam-Status",
        "X-Spam-Score", "X-Spam-Report",          "X-Bayes-Status", "Subject"};
    bool keeps_subject = scan->report.action != NB_FILTER_REWRITE_SUBJECT;
    struct nb_fields fields = {.name_count = sizeof names / sizeof names[0] - keeps_subject};
    for (size_t i = 0; i < fields.name_count; i++)
        fields.names[i] = (struct nb_string){names[i], strlen(names[i])};
    int rc = add_fields(scan, &fields.text);
    if (rc == 0)
        rc = nb_fields_apply(&fields, mail, out);
    nb_buffer_deinit(&fields.text);
    return rc;
}

struct nb_string nb_line_header(struct nb_string mail)
{
    const char *line = mail.bytes, *end = mail.bytes + mail.length;
    while (line < end) {
        bool is_last = nb_lines_is_empty(line, end);
        line = nb_lines_next(line, end);
        if (is_last)
            return (struct nb_string){mail.bytes, (size_t)(line - mail.bytes)};
    }
    return mail;
}
