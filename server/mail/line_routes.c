/* SPDX-License-Identifier: Apache-2.0 */
#include "server/mail/line_routes.h"

#include "config/config.h"
#include "server/filter/filter.h"
#include "server/filter/filter_judge.h"
#include "server/filter/filter_load.h"
#include "server/mail/line_reply.h"
#include "server/mail/line_spamc.h"
#include "server/request/query.h"
#include "server/request/request.h"
#include "server/request/server.h"

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

/* RSPAMC/1.x, what rspamd spoke before HTTP; Exim's `variant=rspamd` still does. The reply is read
 * by Exim (src/spam.c of 4.96) with sscanf: "RSPAMD/1.3 0 EX_OK", "Metric: default; True; SCORE /
 * REQUIRED / REJECT", perhaps "Action: ..."; the rest up to the close is $spam_report. It takes the
 * mail for spam when SCORE reaches REQUIRED, and defers it when the reply is none of this. */
static const char *write_problem(struct nb_request *request, unsigned status, const char *detail)
{
    const struct nb_line_failure *failure = nb_line_failure_of(status);
    /* Without memory the reply is empty: the client takes the close for a failure. */
    (void)nb_buffer_printf(&request->reply.body, "RSPAMD/1.3 %d %s\r\nError: %s\r\n", failure->code,
                           failure->name, detail);
    return "text/plain";
}

/* Requests without header fields were never seen in this protocol. */
const struct nb_line_protocol nb_rspamc = {.protocol = {.door = "rspamd",
                                                        .is_for_mail = true,
                                                        .user_field = "Deliver-To",
                                                        .recipient_field = "Rcpt",
                                                        .problem = write_problem},
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
