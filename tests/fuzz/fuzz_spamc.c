/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a mail that SPAMC returns with its verdict: no field that the mail brings passes for
 * ours, nothing of it begins a line of a reply, and the body stays as it is. The first byte chooses
 * the action.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "core/base/string.h"
#include "server/mail/line_reply.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        __builtin_trap();
}

/* How many lines of the header begin with `name` and a colon, blanks between them allowed. */
static size_t count_fields(struct nb_string mail, const char *name)
{
    struct nb_string header = nb_line_header(mail);
    const char *end = header.bytes + header.length;
    size_t count = 0;
    for (const char *line = header.bytes; line < end; line = nb_lines_next(line, end)) {
        struct nb_string rest = {line, (size_t)(end - line)};
        if (!nb_string_starts_nocase(rest, name))
            continue;
        rest = nb_string_trim_start(nb_string_from(rest, strlen(name)), " \t");
        count += rest.length > 0 && rest.bytes[0] == ':';
    }
    return count;
}

static void make_scan(struct nb_line_scan *scan, const struct nb_config *config, uint8_t choice,
                      struct nb_string mail)
{
    struct nb_filter_report *report = &scan->report;
    memset(scan, 0, sizeof *scan);
    scan->config = config;
    scan->required = 5;
    scan->is_spam = choice % 2 == 1;
    scan->score = scan->is_spam ? 7.5 : -1;
    report->action = (enum nb_filter_action)(choice % NB_FILTER_ACTIONS);
    report->status = "spam";
    report->note = "";
    report->probability = 0.5;
    (void)snprintf(report->model, sizeof report->model, "mail");
    nb_filter_message_id(config, mail, report->message_id);
    /* The one text of the mail that goes into the head of the reply. */
    (void)snprintf(report->subject, sizeof report->subject, "%s", report->message_id);
    report->symbol_count = 1;
    (void)snprintf(report->symbols[0].name, sizeof report->symbols[0].name, "BAYES_SPAM");
}

static bool ends_with(struct nb_string text, struct nb_string end)
{
    return end.length == 0 ||
           (text.length >= end.length &&
            memcmp(text.bytes + text.length - end.length, end.bytes, end.length) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct nb_config config;
    static bool is_ready;
    struct nb_line_scan scan;
    struct nb_buffer out = {0};
    struct nb_buffer report = {0};
    if (!is_ready && nb_config_init(&config, NULL) != 0)
        abort();
    is_ready = true;
    if (size == 0)
        return 0;
    struct nb_string mail = {(const char *)data + 1, size - 1};
    make_scan(&scan, &config, data[0], mail);
    check(strpbrk(scan.report.message_id, "\r\n") == NULL);
    check(nb_line_rewrite(&scan, mail, &out) == 0 && nb_line_report(&scan, &report) == 0);
    struct nb_string made = {out.bytes, out.length};
    check(count_fields(made, "X-Bayes-Status") == 1 && count_fields(made, "X-Spam-Status") == 1);
    check(count_fields(made, "X-Spam-Flag") == (scan.is_spam ? 1 : 0));
    if (scan.report.action == NB_FILTER_REWRITE_SUBJECT)
        check(count_fields(made, "Subject") == 1);
    struct nb_string header = nb_line_header(mail);
    check(ends_with(made, nb_string_from(mail, header.length)));
    nb_buffer_deinit(&out);
    nb_buffer_deinit(&report);
    return 0;
}
