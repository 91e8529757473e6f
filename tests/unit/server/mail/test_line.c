/* SPDX-License-Identifier: Apache-2.0
 *
 * The line protocols without a connection: how they are told from HTTP, the head, scores, the mail.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "server/mail/filter.h"
#include "server/mail/line_head.h"
#include "server/mail/line_reply.h"
#include "server/mail/line_routes.h"
#include "tests/unit/run.h"

/* ---- recognizing the protocol ---------------------------------------------------------------- */

static const struct {
    const char *bytes;
    enum nb_line_sniff whose;
} first_bytes[] = {
    {"", NB_SNIFF_MORE},
    {"C", NB_SNIFF_MORE},
    {"CH", NB_SNIFF_MORE},
    {"CHECK", NB_SNIFF_MORE},
    {"CHECK ", NB_SNIFF_MORE},
    {"CHECK R", NB_SNIFF_MORE},
    {"CHECK RSPAMC", NB_SNIFF_MORE},
    {"CHECK RSPAMC/", NB_SNIFF_LINE},
    {"CHECK SPAMC/1.5\r\n", NB_SNIFF_LINE},
    {"REPORT SPAMC/1.2", NB_SNIFF_LINE},
    {"REPORT_IFSPAM SPAMC/1.2", NB_SNIFF_LINE},
    {"PING SPAMC/", NB_SNIFF_LINE},
    {"SKIP SPAMC/1.2", NB_SNIFF_LINE},
    {"TELL SPAMC/1.5", NB_SNIFF_LINE},
    /* methods of HTTP are recognized at the first byte that differs */
    {"G", NB_SNIFF_HTTP},
    {"P", NB_SNIFF_MORE},
    {"PO", NB_SNIFF_HTTP},
    {"PUT", NB_SNIFF_HTTP},
    {"PROP", NB_SNIFF_HTTP},
    {"HEAD", NB_SNIFF_MORE},
    {"HEAD ", NB_SNIFF_HTTP},
    {"TRACE", NB_SNIFF_HTTP},
    {"CO", NB_SNIFF_HTTP},
    {"PING /", NB_SNIFF_HTTP},
    {"CHECK /checkv2 HTTP/1.1", NB_SNIFF_HTTP},
    /* nearly a line protocol */
    {"check SPAMC/1.2", NB_SNIFF_HTTP},
    {"CHECK  SPAMC/1.2", NB_SNIFF_HTTP},
    {"CHECK\tSPAMC/1.2", NB_SNIFF_HTTP},
    {"CHECK SPAMD/1.2", NB_SNIFF_HTTP},
    {"CHECKS SPAMC/1.2", NB_SNIFF_HTTP},
    {"TELL RSPAMC/1.3", NB_SNIFF_HTTP},
    {"\r\nCHECK SPAMC/1.2", NB_SNIFF_HTTP},
    {" ", NB_SNIFF_HTTP},
    {"\x16\x03\x01", NB_SNIFF_HTTP},
};

/* Returns a copy in its own memory, so that reads beyond the end are detected. */
static char *copy_of(const char *bytes, size_t length)
{
    char *copy = malloc(length > 0 ? length : 1);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, bytes, length);
    return copy;
}

START_TEST(tells_line_protocols_from_http)
{
    size_t length = strlen(first_bytes[_i].bytes);
    char *bytes = copy_of(first_bytes[_i].bytes, length);
    ck_assert_msg(nb_line_sniff(bytes, length) == first_bytes[_i].whose, "case %d: \"%s\"", _i,
                  first_bytes[_i].bytes);
    free(bytes);
}
END_TEST

START_TEST(needs_no_more_than_it_says)
{
    size_t count;
    const struct nb_line_route *routes = nb_line_route_table(&count);
    for (size_t i = 0; i < count; i++)
        ck_assert_uint_le(strlen(routes[i].route.method) + strlen(routes[i].protocol->greeting),
                          NB_LINE_SNIFF_BYTES);
}
END_TEST

/* ---- heads ----------------------------------------------------------------------------------- */

/* Reads a head that arrives in pieces of `piece` bytes. */
static int read_head(const char *text, size_t length, size_t piece, struct nb_line_head *head)
{
    int rc = NB_LINE_MORE;
    nb_line_head_begin(head, (struct nb_string){text, length});
    ck_assert_ptr_nonnull(head->route);
    for (size_t known = piece; rc == NB_LINE_MORE; known += piece) {
        size_t now = known < length ? known : length;
        char *copy = copy_of(text, now);
        rc = nb_line_head_read(head, (struct nb_string){copy, now}, NULL);
        free(copy);
        if (known >= length)
            break;
    }
    return rc;
}

static const struct {
    const char *text;
    int rc;
    size_t size; /* bytes of the complete head */
    unsigned version;
    int length; /* -1: no Content-length */
} heads[] = {
    {"CHECK SPAMC/1.2\r\n\r\nmail", 0, 19, 102, -1},
    {"CHECK SPAMC/1.2\n\nmail", 0, 17, 102, -1},
    {"CHECK SPAMC/1.5\r\nContent-length: 4\r\n\r\nmail", 0, 38, 105, 4},
    {"CHECK SPAMC/1.5\nCONTENT-LENGTH:4\n\nmail", 0, 34, 105, 4},
    {"CHECK SPAMC/1.5\r\nContent-length:\t 0 \r\nUser: x\r\n\r\n", 0, 49, 105, 0},
    {"CHECK RSPAMC/1.3\r\nRcpt: <a@b>\r\nRcpt: <c@d>\r\nEmpty:\r\n\r\n", 0, 54, 103, -1},
    {"PING SPAMC/1.2\r\n\r\n", 0, 16, 102, -1},
    {"SKIP SPAMC/1.2\n", 0, 15, 102, -1},
    /* before 1.1 there were no fields: the mail follows at once (spamd.raw: `$version > 1.0`) */
    {"CHECK SPAMC/1.0\r\nFrom: a\r\n\r\n", 0, 17, 100, -1},
    {"CHECK SPAMC/1.1\r\nFrom: a\r\n\r\n", 0, 28, 101, -1},
    {"CHECK RSPAMC/1.0\r\nFrom: a\r\n\r\n", 0, 29, 100, -1},
    {"CHECK SPAMC/1\r\n\r\n", 0, 15, 100, -1},
    {"CHECK SPAMC/1.2", NB_LINE_MORE, 0, 0, -1},
    {"CHECK SPAMC/1.2\r\n", NB_LINE_MORE, 0, 102, -1},
    {"CHECK SPAMC/1.2\r\nUser: a\r\n", NB_LINE_MORE, 0, 102, -1},
    {"CHECK SPAMC/1.2\r\nContent-length: 4\r\nContent-length: 4\r\n\r\n", 0, 57, 102, 4},
    {"CHECK SPAMC/1.2\r\nContent-length: 4\r\nContent-length: 5\r\n\r\n", NB_INVALID, 0, 0, -1},
    {"CHECK SPAMC/1.2\r\nContent-length: x\r\n\r\n", NB_INVALID, 0, 0, -1},
    {"CHECK SPAMC/1.2\r\nContent-length: -1\r\n\r\n", NB_INVALID, 0, 0, -1},
    {"CHECK SPAMC/1.2\r\nContent-length: \r\n\r\n", NB_INVALID, 0, 0, -1},
    {"CHECK SPAMC/1.2\r\nContent-length: 18446744073709551616\r\n\r\n", NB_INVALID, 0, 0, -1},
    {"CHECK SPAMC/1.2\r\nContent-length: 1 2\r\n\r\n", NB_INVALID, 0, 0, -1},
    {"CHECK SPAMC/\r\n\r\n", NB_INVALID, 0, 0, -1},
    {"CHECK SPAMC/one\r\n\r\n", NB_INVALID, 0, 0, -1},
    {"CHECK SPAMC/1.2 x\r\n\r\n", NB_INVALID, 0, 0, -1},
    {"CHECK SPAMC/1.222\r\n\r\n", NB_INVALID, 0, 0, -1},
    {"CHECK SPAMC/1.2\r\nnonsense\r\n\r\n", NB_INVALID, 0, 0, -1},
    {"CHECK SPAMC/1.2\r\nUser: a\rb\r\n\r\n", NB_INVALID, 0, 0, -1},
    {"CHECK SPAMC/1.2\r\nUser: \x01\r\n\r\n", NB_INVALID, 0, 0, -1},
    {"CHECK SPAMC/1.2\r\nCompress: gzip\r\n\r\n", NB_INVALID, 0, 0, -1},
    {"CHECK RSPAMC/1.3\r\nCompress: gzip\r\n\r\n", 0, 36, 103, -1},
};

START_TEST(reads_each_head_whatever_the_pieces)
{
    size_t length = strlen(heads[_i].text);
    static const size_t pieces[] = {1, 2, 7, 1000};
    for (size_t p = 0; p < sizeof pieces / sizeof pieces[0]; p++) {
        struct nb_line_head head;
        int rc = read_head(heads[_i].text, length, pieces[p], &head);
        ck_assert_msg(rc == heads[_i].rc, "case %d: got %d", _i, rc);
        if (rc == 0)
            ck_assert_uint_eq(head.scanned, heads[_i].size);
        if (rc < 0)
            continue;
        ck_assert_uint_eq(head.version, heads[_i].version);
        ck_assert_int_eq(head.has_length ? (int)head.length : -1, heads[_i].length);
    }
}
END_TEST

START_TEST(refuses_a_nul)
{
    static const char text[] = "CHECK SPAMC/1.2\r\nUser: a\0b\r\n\r\n";
    struct nb_line_head head;
    ck_assert_int_eq(read_head(text, sizeof text - 1, 1000, &head), NB_INVALID);
}
END_TEST

static void expect_field(const struct nb_line_head *head, const char *text, const char *name,
                         const char *wanted)
{
    struct nb_string got = nb_line_head_field(head, (struct nb_string){text, strlen(text)}, name);
    if (wanted == NULL) {
        ck_assert_ptr_null(got.bytes);
        return;
    }
    ck_assert_uint_eq(got.length, strlen(wanted));
    ck_assert_mem_eq(got.bytes, wanted, got.length);
}

START_TEST(finds_fields)
{
    const char *text = "CHECK RSPAMC/1.3\r\nUser:  alice \r\nRcpt: <a@b>\r\nrcpt: <c@d>\nHelo:\r\n"
                       "\r\nFrom: the mail\r\n";
    struct nb_line_head head;
    ck_assert_int_eq(read_head(text, strlen(text), 1000, &head), 0);
    expect_field(&head, text, "user", "alice");
    expect_field(&head, text, "Rcpt", "<a@b>");
    expect_field(&head, text, "Helo", "");
    expect_field(&head, text, "Use", NULL);
    expect_field(&head, text, "From", NULL);
    expect_field(&head, text, "CHECK RSPAMC/1.3", NULL);
    size_t at = 0;
    static const char *const wanted[] = {"<a@b>", "<c@d>", NULL, NULL};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        struct nb_string got = nb_line_head_next(&head, nb_string_of(text), "RCPT", &at);
        ck_assert(wanted[i] == NULL ? got.bytes == NULL : nb_string_equals(got, wanted[i]));
    }
}
END_TEST

START_TEST(bounds_the_head)
{
    struct nb_buffer text = {NULL, 0, 0};
    struct nb_line_head head;
    nb_buffer_puts(&text, "CHECK RSPAMC/1.3\r\n");
    while (text.length < NB_LINE_HEAD_BYTES - 100)
        nb_buffer_puts(&text, "Rcpt: <somebody@example.org>\r\n");
    size_t before = text.length;
    nb_buffer_puts(&text, "\r\n");
    ck_assert_int_eq(read_head(text.bytes, text.length, 4096, &head), 0);
    text.length = before;
    while (text.length < NB_LINE_HEAD_BYTES)
        nb_buffer_puts(&text, "x");
    ck_assert_int_eq(read_head(text.bytes, text.length, 4096, &head), NB_TOO_LARGE);
    ck_assert_int_eq(read_head(text.bytes, NB_LINE_HEAD_BYTES - 1, 4096, &head), NB_LINE_MORE);
    nb_buffer_deinit(&text);
}
END_TEST

/* ---- replies --------------------------------------------------------------------------------- */

START_TEST(scores_agree_with_what_was_decided)
{
    /* log-odds at 0.9999: 9.2102 */
    ck_assert_double_eq_tol(nb_filter_shown_score(9.2102403669758, 15, 0.9999, true, 2), 15, 1e-9);
    ck_assert_double_eq_tol(nb_filter_shown_score(9.2102, 15, 0.9999, false, 2), 14.99, 1e-9);
    ck_assert_double_eq_tol(nb_filter_shown_score(9.2102, 15, 0.9999, true, 2), 15, 1e-9);
    ck_assert_double_eq_tol(nb_filter_shown_score(2, 5, 0.9, false, 1), 4.6, 1e-9);
    ck_assert_double_eq_tol(nb_filter_shown_score(2.19, 5, 0.9, false, 1), 4.9, 1e-9);
    ck_assert_double_eq_tol(nb_filter_shown_score(0, 5, 0.9, true, 1), 5, 1e-9);
    /* Score and threshold are shown with one decimal: 2.2 / 2.2 would look like spam, and so would
     * 5.0 / 5.0. */
    ck_assert_double_eq_tol(nb_filter_shown_score(30, 2.25, 0.9, false, 1), 2.1, 1e-9);
    ck_assert_double_eq_tol(nb_filter_shown_score(30, 5.04, 0.9, false, 1), 4.9, 1e-9);
    ck_assert_double_eq_tol(nb_filter_shown_score(30, 15.004, 0.9, false, 2), 14.99, 1e-9);
    ck_assert_double_eq_tol(nb_filter_shown_score(30, 5.06, 0.9, false, 1), 4.9, 1e-9);
    ck_assert_double_eq_tol(nb_filter_shown_score(30, 4.35, 0.9, false, 2), 4.34, 1e-9);
    ck_assert_double_eq_tol(nb_filter_shown_score(-2.1972245773362196, 5, 0.9, false, 1), -5, 1e-9);
}
END_TEST

static void add_symbol(struct nb_line_scan *scan, const char *name, const char *description,
                       double evidence)
{
    struct nb_filter_symbol *symbol = &scan->report.symbols[scan->report.symbol_count++];
    (void)snprintf(symbol->name, sizeof symbol->name, "%s", name);
    (void)snprintf(symbol->description, sizeof symbol->description, "%s", description);
    symbol->evidence = evidence;
}

static void make_scan(const struct nb_config *config, enum nb_filter_action action,
                      struct nb_line_scan *scan)
{
    *scan = (struct nb_line_scan){.config = config, .required = 5, .score = 7.5};
    scan->is_spam = action != NB_FILTER_NO_ACTION;
    scan->report.action = action;
    scan->report.status = scan->is_spam ? "spam" : "ham";
    scan->report.note = "";
    scan->report.probability = scan->is_spam ? 0.99 : 0.01;
    (void)snprintf(scan->report.model, sizeof scan->report.model, "mail");
    (void)snprintf(scan->report.subject, sizeof scan->report.subject, "***SPAM*** hello");
}

/* The names of the tests, folded as SpamAssassin folds them. */
#define STATUS_TESTS "tests=BAYES_SPAM,\n\tBAYES_PART_BODY,BAYES_PART_HEADER autolearn=no "

static void expect_rewritten(const struct nb_line_scan *scan, const char *mail, const char *wanted)
{
    struct nb_buffer out = {NULL, 0, 0};
    ck_assert_int_eq(nb_line_rewrite(scan, (struct nb_string){mail, strlen(mail)}, &out), 0);
    nb_buffer_append(&out, "", 1);
    /* Only a part is compared: the version changes with the program. */
    char *found = strstr(out.bytes, wanted);
    ck_assert_msg(found != NULL, "got:\n%s\nwithout:\n%s", out.bytes, wanted);
    nb_buffer_deinit(&out);
}

START_TEST(rewrites_mails)
{
    const struct nb_config config = {.filter_add_header = 0.9};
    struct nb_line_scan scan;
    const char *mail = "From: a\nX-Spam-Flag: NO\nX-Bayes-Status: ham\n\tfolded\nSubject: hello\n\n"
                       "X-Spam-Flag: body\n";
    make_scan(&config, NB_FILTER_ADD_HEADER, &scan);
    add_symbol(&scan, "BAYES_SPAM", "Probability", 0);
    add_symbol(&scan, "BAYES_PART_BODY", "1 times 'a'", 1);
    add_symbol(&scan, "BAYES_PART_HEADER", "1 times 'b'", -1);
    expect_rewritten(&scan, mail, "X-Spam-Flag: YES\nX-Spam-Checker-Version: bayesd ");
    expect_rewritten(&scan, mail, "\nX-Spam-Level: *******\n");
    expect_rewritten(&scan, mail, "\nX-Spam-Status: Yes, score=7.5 required=5.0 " STATUS_TESTS);
    expect_rewritten(&scan, mail,
                     "\nX-Bayes-Status: spam, probability=0.9900, model=mail\nFrom: a\n"
                     "Subject: hello\n\nX-Spam-Flag: body\n");
    make_scan(&config, NB_FILTER_REWRITE_SUBJECT, &scan);
    expect_rewritten(&scan, "Subject: hello\r\nFrom: a\r\n\r\nbody",
                     "\r\nSubject: ***SPAM*** hello\r\nFrom: a\r\n\r\nbody");
    expect_rewritten(&scan, "Subject: hello\r\n", "tests=none autolearn=no");
    make_scan(&config, NB_FILTER_NO_ACTION, &scan);
    expect_rewritten(&scan, "\n", "X-Spam-Status: No, ");
    expect_rewritten(&scan, "", "X-Spam-Status: No, ");
}
END_TEST

START_TEST(writes_reports)
{
    const struct nb_config config = {.filter_add_header = 0.9};
    struct nb_line_scan scan;
    struct nb_buffer out = {NULL, 0, 0};
    make_scan(&config, NB_FILTER_REJECT, &scan);
    add_symbol(&scan, "BAYES_SPAM", "Probability of spam 0.9900", 0);
    add_symbol(&scan, "BAYES_PART_BODY", "2 times 'a', 'b'", -0.5);
    ck_assert_int_eq(nb_line_report(&scan, &out), 0);
    nb_buffer_append(&out, "", 1);
    ck_assert_str_eq(out.bytes, "bayesd: spam; probability=0.9900; model=mail\n\n"
                                "Content analysis details:   (7.5 points, 5.0 required)\n\n"
                                " pts rule name              description\n"
                                "---- ---------------------- "
                                "--------------------------------------------------\n"
                                " 7.5 BAYES_SPAM             BAYES: Probability of spam 0.9900\n"
                                " 0.0 BAYES_PART_BODY        BAYES: 2 times 'a'; 'b' (-1.1)\n");
    nb_buffer_deinit(&out);
}
END_TEST

static const struct {
    const char *mail;
    size_t length;
} headers[] = {
    {"", 0},         {"A: b\n", 5},     {"A: b\n\nbody\n\n", 6}, {"A: b\r\n\r\nbody\r\n\r\n", 8},
    {"\nbody\n", 1}, {"A: b\nC: d", 9},
};

START_TEST(finds_the_header)
{
    const char *mail = headers[_i].mail;
    ck_assert_uint_eq(nb_line_header((struct nb_string){mail, strlen(mail)}).length,
                      headers[_i].length);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("line");
    TCase *tcase = tcase_create("line");
    tcase_add_loop_test(tcase, tells_line_protocols_from_http, 0,
                        (int)(sizeof first_bytes / sizeof first_bytes[0]));
    tcase_add_test(tcase, needs_no_more_than_it_says);
    tcase_add_loop_test(tcase, reads_each_head_whatever_the_pieces, 0,
                        (int)(sizeof heads / sizeof heads[0]));
    tcase_add_test(tcase, refuses_a_nul);
    tcase_add_test(tcase, finds_fields);
    tcase_add_test(tcase, bounds_the_head);
    tcase_add_test(tcase, scores_agree_with_what_was_decided);
    tcase_add_test(tcase, rewrites_mails);
    tcase_add_test(tcase, writes_reports);
    tcase_add_loop_test(tcase, finds_the_header, 0, (int)(sizeof headers / sizeof headers[0]));
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
