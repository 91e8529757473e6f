/* SPDX-License-Identifier: Apache-2.0 */
#include "server/mail/line_routes.h"

#include <string.h>
#include <strings.h>

#include "config/config.h"
#include "server/http/admission.h"
#include "server/http/request.h"
#include "server/http/server.h"
#include "server/mail/filter.h"
#include "server/mail/filter_options.h"
#include "server/mail/filter_request.h"
#include "server/mail/line_reply.h"

/* SPAMC/1.x: the handlers of its verbs. For the thread that works on the request. */
/* The verbs that share a handler. */
enum nb_spamc_verb {
    NB_SPAMC_REPORT = 1,
    NB_SPAMC_REPORT_IF_SPAM,
    NB_SPAMC_PROCESS,
    NB_SPAMC_HEADERS
};

/* SPAMC/1.x, SpamAssassin's protocol between spamc and spamd (spamd/PROTOCOL), as spamd 4.0.1
 * answers it: replies to older clients leave out what these do not expect. */
/* Clients since 1.1 send header fields; since 1.2 they expect Content-length before a mail; since
 * 1.3 they take several fields. */
enum { SENDS_FIELDS = 101, TAKES_LENGTH = 102, TAKES_FIELDS = 103 };

#define STATUS_LINE "SPAMD/1.1 0 EX_OK\r\n"

static const char *write_problem(struct nb_request *request, unsigned status, const char *detail)
{
    const struct nb_line_failure *failure = nb_line_failure_of(status);
    /* Without memory the reply is empty: the client takes the close for a failure. */
    (void)nb_buffer_printf(&request->reply.body, "SPAMD/1.0 %d %s: %s\r\n", failure->code,
                           failure->title, detail);
    return "text/plain";
}

const struct nb_line_protocol nb_spamc = {.protocol = {.door = "spamc",
                                                       .is_for_mail = true,
                                                       .user_field = "User",
                                                       .set_field = "Set",
                                                       .problem = write_problem},
                                          .greeting = " SPAMC/",
                                          .first_with_fields = SENDS_FIELDS,
                                          .takes_zlib = true};

/* ---- scanning -------------------------------------------------------------------------------- */

static int scan_mail(struct nb_request *request, struct nb_line_scan *scan, struct nb_error *error)
{
    const struct nb_config *config = request->config;
    int rc = nb_filter_judge(request, config->filter_spamd_required_score,
                             config->filter_add_header, &scan->report, NULL, error);
    if (rc != 0)
        return rc;
    scan->config = config;
    scan->required = config->filter_spamd_required_score;
    scan->is_spam = scan->report.action != NB_FILTER_NO_ACTION;
    scan->score = nb_filter_shown_score(scan->report.log_odds, scan->required,
                                        config->filter_add_header, scan->is_spam, 1);
    return 0;
}

static int add_verdict(const struct nb_line_scan *scan, const char *yes, const char *no,
                       struct nb_buffer *out)
{
    return nb_buffer_printf(out, "Spam: %s ; %.1f / %.1f\r\n\r\n", scan->is_spam ? yes : no,
                            scan->score, scan->required);
}

int nb_spamc_check(struct nb_request *request, struct nb_error *error)
{
    struct nb_line_scan scan;
    struct nb_buffer *out = &request->reply.body;
    int rc = scan_mail(request, &scan, error);
    if (rc != 0)
        return rc;
    if (nb_buffer_puts(out, STATUS_LINE) != 0 || add_verdict(&scan, "True", "False", out) != 0)
        return nb_error_no_memory(error);
    return nb_line_reply(request);
}

/* Makes the reply of a verb that answers with a text. Returns 0 or NB_NO_MEMORY. */
static int answer(struct nb_request *request, const struct nb_line_scan *scan,
                  const struct nb_buffer *text)
{
    struct nb_buffer *out = &request->reply.body;
    bool is_if_spam = request->route->verb == NB_SPAMC_REPORT_IF_SPAM;
    int rc = nb_buffer_puts(out, STATUS_LINE);
    if (rc == 0 && request->version >= TAKES_FIELDS)
        rc = nb_buffer_printf(out, "Content-length: %zu\r\n", text->length);
    if (rc == 0)
        rc = add_verdict(scan, is_if_spam ? "Yes" : "True", is_if_spam ? "No" : "False", out);
    return rc == 0 ? nb_buffer_append(out, text->bytes, text->length) : rc;
}

int nb_spamc_symbols(struct nb_request *request, struct nb_error *error)
{
    struct nb_line_scan scan;
    struct nb_buffer text = {NULL, 0, 0};
    int rc = scan_mail(request, &scan, error);
    if (rc != 0)
        return rc;
    rc = nb_line_names(&scan, ",", &text);
    if (rc == 0 && request->version < TAKES_FIELDS)
        rc = nb_buffer_puts(&text, "\r\n");
    if (rc == 0)
        rc = answer(request, &scan, &text);
    nb_buffer_deinit(&text);
    return rc == 0 ? nb_line_reply(request) : nb_error_no_memory(error);
}

int nb_spamc_report(struct nb_request *request, struct nb_error *error)
{
    struct nb_line_scan scan;
    struct nb_buffer text = {NULL, 0, 0};
    int rc = scan_mail(request, &scan, error);
    if (rc != 0)
        return rc;
    if (scan.is_spam || request->route->verb == NB_SPAMC_REPORT)
        rc = nb_line_report(&scan, &text);
    if (rc == 0)
        rc = answer(request, &scan, &text);
    nb_buffer_deinit(&text);
    return rc == 0 ? nb_line_reply(request) : nb_error_no_memory(error);
}

/* ---- PROCESS and HEADERS --------------------------------------------------------------------- */

/* Puts the head in front of the mail, which is the reply so far. */
static int add_head(struct nb_request *request, const struct nb_line_scan *scan)
{
    struct nb_buffer *mail = &request->reply.body, head = {NULL, 0, 0};
    unsigned version = request->version;
    int rc = nb_buffer_puts(&head, version >= TAKES_LENGTH ? STATUS_LINE : "SPAMD/1.0 0 EX_OK\r\n");
    if (rc == 0 && version >= TAKES_LENGTH)
        rc = nb_buffer_printf(&head, "Content-length: %zu\r\n", mail->length);
    if (rc == 0 && version >= TAKES_FIELDS)
        rc = add_verdict(scan, "True", "False", &head);
    else if (rc == 0 && version >= TAKES_LENGTH)
        rc = nb_buffer_puts(&head, "\r\n");
    if (rc == 0)
        rc = nb_buffer_prepend(mail, head.bytes, head.length);
    nb_buffer_deinit(&head);
    return rc;
}

int nb_spamc_process(struct nb_request *request, struct nb_error *error)
{
    struct nb_line_scan scan;
    bool is_header_only = request->route->verb == NB_SPAMC_HEADERS;
    int rc = scan_mail(request, &scan, error);
    if (rc != 0)
        return rc;
    rc = nb_line_rewrite(&scan, is_header_only ? nb_line_header(request->body) : request->body,
                         &request->reply.body);
    if (rc == 0)
        rc = add_head(request, &scan);
    return rc == 0 ? nb_line_reply(request) : nb_error_no_memory(error);
}

/* ---- TELL ------------------------------------------------------------------------------------ */

/* Whether a field names a place for learning, "local" or "remote"; a field may name both. Local is
 * the user's model. Remote is the common model; for spamd it is a network to which spam is
 * reported. */
static bool names(const struct nb_request *request, const char *field, const char *place)
{
    struct nb_string text = nb_request_field(request, field);
    size_t length = strlen(place);
    for (size_t i = 0; text.bytes != NULL && i + length <= text.length; i++) {
        if (strncasecmp(text.bytes + i, place, length) == 0)
            return true;
    }
    return false;
}

/* Makes the reply to TELL. `field` is the line that says what was done, or "" if nothing was
 * done. */
static int answer_tell(struct nb_request *request, const char *field, struct nb_error *error)
{
    if (nb_buffer_printf(&request->reply.body, STATUS_LINE "%s\r\n\r\n", field) != 0)
        return nb_error_no_memory(error);
    return nb_line_reply(request);
}

static bool is_of_spam(const struct nb_request *request)
{
    return nb_string_equals_nocase(nb_request_field(request, "Message-class"), "spam");
}

/* Whether the common model has the mail under the label in the request, or will have it. */
static bool has_for_all(const struct nb_request *request, const struct nb_receipt *receipt)
{
    bool is_learned = receipt->status == NB_LEARNED || receipt->status == NB_RELABELLED ||
                      receipt->status == NB_UPDATED || receipt->status == NB_UNCHANGED ||
                      receipt->status == NB_QUEUED;
    return is_learned && nb_filter_learned_for_all(request);
}

/* Answers what was set or removed. A mail that was learned before is not set anew, only
 * reported. */
static int answer_set(struct nb_request *request, const struct nb_receipt *receipt,
                      struct nb_error *error)
{
    bool is_new = receipt->status != NB_UNCHANGED, is_for_all = has_for_all(request, receipt);
    if (is_for_all && is_of_spam(request) && names(request, "Set", "remote"))
        return answer_tell(request, is_new ? "DidSet: local,remote\r\n" : "DidSet: remote\r\n",
                           error);
    if (is_for_all && is_new && names(request, "Remove", "remote"))
        return answer_tell(request, "DidSet: local\r\nDidRemove: remote\r\n", error);
    return answer_tell(request, is_new ? "DidSet: local\r\n" : "", error);
}

static int after_learning(struct nb_request *request, struct nb_error *error)
{
    const struct nb_receipt *receipt = nb_filter_receipt(request);
    bool is_set = names(request, "Set", "local");
    if (receipt->code == NB_NOT_FOUND && !is_set)
        return answer_tell(request, "", error); /* the mail was never learned */
    if (receipt->code != 0)
        return nb_error_set(error, receipt->code, "%s", receipt->error.text);
    if (is_set)
        return answer_set(request, receipt, error);
    bool is_new = receipt->status != NB_UNCHANGED;
    return answer_tell(request, is_new ? "DidRemove: local\r\n" : "", error);
}

int nb_spamc_tell(struct nb_request *request, struct nb_error *error)
{
    const struct nb_config *config = request->config;
    struct nb_string class = nb_request_field(request, "Message-class");
    bool is_set = names(request, "Set", "local"), is_removed = names(request, "Remove", "local");
    bool is_spam = is_of_spam(request);
    if (is_set && is_removed)
        return nb_error_set(error, NB_INVALID,
                            "Unable to set local and remove local in the same operation.");
    if (is_set && !is_spam && !nb_string_equals_nocase(class, "ham"))
        return nb_error_set(error, NB_INVALID, "(Message-class header contains invalid class)");
    if (!is_set && !is_removed)
        return answer_tell(request, "", error);
    char spam[NB_FILTER_LABEL];
    nb_filter_learned_label(config, spam);
    const char *label = is_spam ? spam : config->filter_ham_label;
    int rc = nb_filter_learn(request, nb_filter_mail(request->body), is_set ? label : NULL,
                             after_learning, error);
    /* Without a model the mail was never learned: to forget it succeeds. */
    return rc == NB_NOT_FOUND && !is_set ? answer_tell(request, "", error) : rc;
}

/* ---- without a mail -------------------------------------------------------------------------- */

int nb_spamc_ping(struct nb_request *request, struct nb_error *error)
{
    if (nb_buffer_puts(&request->reply.body, "SPAMD/1.5 0 PONG\r\n") != 0)
        return nb_error_no_memory(error);
    return nb_line_reply(request);
}

/* The client only waits for the close. */
int nb_spamc_skip(struct nb_request *request, struct nb_error *error)
{
    (void)error;
    return nb_line_reply(request);
}

#define RSPAMC(name, needed, takes, function)                                                      \
    {                                                                                              \
        .route = {.method = (name),                                                                \
                  .pattern = "rspamc",                                                             \
                  .role = (needed),                                                                \
                  .body = (takes),                                                                 \
                  .prepare = (takes) == NB_BODY_DOCUMENTS ? nb_filter_prepare : NULL,              \
                  .handler = (function),                                                           \
                  .protocol = &nb_rspamc.protocol},                                                \
        .protocol = &nb_rspamc                                                                     \
    }
#define SPAMC(name, needed, takes, function, which)                                                \
    {                                                                                              \
        .route = {.method = (name),                                                                \
                  .pattern = "spamc",                                                              \
                  .role = (needed),                                                                \
                  .body = (takes),                                                                 \
                  .prepare = (takes) == NB_BODY_DOCUMENTS ? nb_filter_prepare : NULL,              \
                  .handler = (function),                                                           \
                  .protocol = &nb_spamc.protocol,                                                  \
                  .verb = (which)},                                                                \
        .protocol = &nb_spamc                                                                      \
    }

static const struct nb_line_route ROUTES[] = {
    RSPAMC("CHECK", NB_ROLE_CLASSIFY, NB_BODY_DOCUMENTS, nb_rspamc_check),
    RSPAMC("SYMBOLS", NB_ROLE_CLASSIFY, NB_BODY_DOCUMENTS, nb_rspamc_check),
    RSPAMC("PING", NB_ROLE_NONE, NB_BODY_NONE, nb_rspamc_ping),
    SPAMC("CHECK", NB_ROLE_CLASSIFY, NB_BODY_DOCUMENTS, nb_spamc_check, 0),
    SPAMC("SYMBOLS", NB_ROLE_CLASSIFY, NB_BODY_DOCUMENTS, nb_spamc_symbols, 0),
    SPAMC("REPORT", NB_ROLE_CLASSIFY, NB_BODY_DOCUMENTS, nb_spamc_report, NB_SPAMC_REPORT),
    SPAMC("REPORT_IFSPAM", NB_ROLE_CLASSIFY, NB_BODY_DOCUMENTS, nb_spamc_report,
          NB_SPAMC_REPORT_IF_SPAM),
    SPAMC("PROCESS", NB_ROLE_CLASSIFY, NB_BODY_DOCUMENTS, nb_spamc_process, NB_SPAMC_PROCESS),
    SPAMC("HEADERS", NB_ROLE_CLASSIFY, NB_BODY_DOCUMENTS, nb_spamc_process, NB_SPAMC_HEADERS),
    SPAMC("TELL", NB_ROLE_TRAIN, NB_BODY_DOCUMENTS, nb_spamc_tell, 0),
    SPAMC("PING", NB_ROLE_NONE, NB_BODY_NONE, nb_spamc_ping, 0),
    SPAMC("SKIP", NB_ROLE_NONE, NB_BODY_NONE, nb_spamc_skip, 0),
};

const struct nb_line_route *nb_line_route_table(size_t *count)
{
    *count = sizeof ROUTES / sizeof ROUTES[0];
    return ROUTES;
}

/* RSPAMC/1.x, the protocol of rspamd before HTTP; Exim's `variant=rspamd` still uses it. Exim reads
 * the reply (src/spam.c of 4.96) with sscanf: "RSPAMD/1.3 0 EX_OK", "Metric: default; True; SCORE /
 * REQUIRED / REJECT", perhaps "Action: ..."; the rest up to the close is $spam_report. Exim takes
 * the mail for spam when SCORE reaches REQUIRED, and defers it when the reply has another form. */
static const char *line_routes_write_problem(struct nb_request *request, unsigned status,
                                             const char *detail)
{
    const struct nb_line_failure *failure = nb_line_failure_of(status);
    /* Without memory the reply is empty: the client takes the close for a failure. */
    (void)nb_buffer_printf(&request->reply.body, "RSPAMD/1.3 %d %s\r\nError: %s\r\n", failure->code,
                           failure->name, detail);
    return "text/plain";
}

/* In this protocol all known clients send header fields. */
const struct nb_line_protocol nb_rspamc = {.protocol = {.door = "rspamd",
                                                        .is_for_mail = true,
                                                        .user_field = "Deliver-To",
                                                        .recipient_field = "Rcpt",
                                                        .problem = line_routes_write_problem},
                                           .greeting = " RSPAMC/",
                                           .first_with_fields = 0};

static int write_report(const struct nb_config *config, const struct nb_filter_report *report,
                        struct nb_buffer *out)
{
    double required = config->filter_required_score, threshold = config->filter_reject;
    bool is_rejected = report->action == NB_FILTER_REJECT;
    double score = nb_filter_shown_score(report->log_odds, required, threshold, is_rejected, 2);
    int rc = nb_buffer_printf(out,
                              "RSPAMD/1.3 0 EX_OK\r\n"
                              "Metric: default; %s; %.2f / %.2f / 0.0\r\nAction: %s\r\n",
                              is_rejected ? "True" : "False", score, required,
                              nb_filter_action_name(report->action));
    if (rc == 0 && report->action == NB_FILTER_REWRITE_SUBJECT)
        rc = nb_buffer_printf(out, "Subject: %s\r\n", report->subject);
    for (size_t i = 0; i < report->symbol_count && rc == 0; i++)
        rc = nb_buffer_printf(out, "Symbol: %s(%.2f)\r\n", report->symbols[i].name,
                              i == 0 ? score : 0);
    return rc == 0 ? nb_buffer_printf(out, "Message-ID: %s\r\n", report->message_id) : rc;
}

int nb_rspamc_check(struct nb_request *request, struct nb_error *error)
{
    struct nb_filter_report report;
    const struct nb_config *config = request->config;
    int rc = nb_filter_judge(request, config->filter_required_score, config->filter_reject, &report,
                             NULL, error);
    if (rc != 0)
        return rc;
    if (write_report(config, &report, &request->reply.body) != 0)
        return nb_error_no_memory(error);
    return nb_line_reply(request);
}

int nb_rspamc_ping(struct nb_request *request, struct nb_error *error)
{
    if (nb_buffer_puts(&request->reply.body, "RSPAMD/1.3 0 PONG\r\n") != 0)
        return nb_error_no_memory(error);
    return nb_line_reply(request);
}
