/* SPDX-License-Identifier: Apache-2.0 */
#include "server/mail/rspamd.h"

#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "core/base/clock.h"
#include "core/engine/engine.h"
#include "server/base/metrics.h"
#include "server/base/version.h"
#include "server/filter/filter.h"
#include "server/filter/filter_judge.h"
#include "server/filter/filter_labels.h"
#include "server/filter/filter_learn.h"
#include "server/json/problem.h"
#include "server/mail/rspamd_json.h"
#include "server/request/admission.h"
#include "server/request/http_answer.h"
#include "server/request/query.h"
#include "server/request/request.h"
#include "server/request/server.h"

/* ---- failures ----------------------------------------------------------------------------------
 */

static const char *write_problem(struct nb_request *request, unsigned status, const char *detail)
{
    /* Without memory for the text, the status alone is sent. */
    if (nb_json_rspamd_error(&request->reply.body, (int)status, detail) != 0)
        nb_buffer_deinit(&request->reply.body);
    return "application/json";
}

/* OpenSMTPD's filter and Haraka let a mail pass when they are told of an error without an action:
 * a mail that could not be judged must be tried again. One that is too large is refused, since it
 * would be tried again without end. */
static unsigned status_of(const struct nb_route *route, int code)
{
    bool is_scan = route->role == NB_ROLE_CLASSIFY;
    bool is_told = code == NB_TOO_LARGE || code == NB_UNKNOWN || code == NB_FORBIDDEN;
    return is_scan && !is_told ? 503 : (unsigned)nb_json_status(code);
}

const struct nb_protocol nb_protocol_rspamd = {.door = "rspamd",
                                               .is_for_mail = true,
                                               .user_field = "Deliver-To",
                                               .recipient_field = "Rcpt",
                                               .problem = write_problem,
                                               .status_of = status_of};

/* ---- scanning ----------------------------------------------------------------------------------
 */

/* Refuses a message that is named as a file or shared memory of this machine. Requests never
 * name files here, and without its body every mail would be judged as an empty one. */
static bool refuses(struct nb_request *request)
{
    static const char *const fields[] = {"Shm", "File", "Path"};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (nb_request_field(request, fields[i]).bytes == NULL)
            continue;
        nb_reply_problem(request, 400,
                         "the message must be the body: Shm, File and Path are not taken");
        return true;
    }
    return false;
}

int nb_route_rspamd_check(struct nb_request *request, struct nb_error *error)
{
    if (refuses(request))
        return 0;
    uint64_t start = nb_clock_monotonic();
    struct nb_filter_report *report = malloc(sizeof *report);
    if (report == NULL)
        return nb_error_no_memory(error);
    const struct nb_config *config = request->config;
    struct nb_buffer each = {0};
    int rc = nb_filter_judge(request, config->filter_required_score, config->filter_reject, report,
                             &each, error);
    double seconds = (double)(nb_clock_monotonic() - start) / 1e9;
    if (rc == 0 &&
        nb_json_rspamd_report(&request->reply.body, config, report, &each,
                              request->route->verb == NB_RSPAMD_CHECK ? NB_JSON_RSPAMD_V2
                                                                      : NB_JSON_RSPAMD_OLD,
                              seconds) != 0)
        rc = nb_error_no_memory(error);
    nb_buffer_deinit(&each);
    free(report);
    return rc != 0 ? rc : nb_reply_json(request, 200);
}

/* ---- learning ----------------------------------------------------------------------------------
 */

static bool is_spam(const struct nb_request *request)
{
    return request->route->verb == NB_RSPAMD_LEARN_SPAM;
}

static int after_commit(struct nb_request *request, struct nb_error *error)
{
    enum { ALREADY_REPORTED = 208 }; /* as rspamd has it */
    const struct nb_receipt *receipt = nb_filter_receipt(request);
    struct nb_buffer *body = &request->reply.body;
    if (receipt->code != 0) {
        *error = receipt->error;
        return receipt->code;
    }
    bool is_unchanged = receipt->status == NB_UNCHANGED;
    int rc = is_unchanged ? nb_json_rspamd_unchanged(body, nb_filter_learned_message(request),
                                                     is_spam(request) ? "spam" : "ham")
                          : nb_json_rspamd_learned(body);
    if (rc != 0)
        return nb_error_no_memory(error);
    return nb_reply_json(request, is_unchanged ? ALREADY_REPORTED : 200);
}

int nb_route_rspamd_learn(struct nb_request *request, struct nb_error *error)
{
    const struct nb_config *config = request->config;
    struct nb_string mail = nb_filter_mail(request->body);
    if (refuses(request))
        return 0;
    if (mail.length == 0) {
        nb_reply_problem(request, 400, "Empty body is not permitted");
        return 0;
    }
    char label[NB_FILTER_LABEL];
    nb_filter_learned_label(config, label);
    return nb_filter_learn(request, mail, is_spam(request) ? label : config->filter_ham_label,
                           after_commit, error);
}

/* ---- the controller ----------------------------------------------------------------------------
 */

static uint64_t uptime_of(const struct nb_server *server)
{
    return (nb_clock_monotonic() - server->started) / 1000000000u;
}

int nb_route_rspamd_ping(struct nb_request *request, struct nb_error *error)
{
    if (nb_buffer_puts(&request->reply.body, "pong\r\n") != 0)
        return nb_error_no_memory(error);
    return nb_reply_with(request, 200, "text/plain");
}

static void count_model(const struct nb_model_info *info, const struct nb_config *config,
                        struct nb_json_rspamd_stat *stat)
{
    for (size_t i = 0; i < info->label_count; i++) {
        const struct nb_label_info *label = &info->labels[i];
        if (nb_filter_is_spam(config, label->label)) {
            stat->spam += label->documents;
            stat->spam_tokens += label->tokens;
        } else if (strcmp(label->label, config->filter_ham_label) == 0) {
            stat->ham = label->documents;
            stat->ham_tokens = label->tokens;
        }
    }
}

int nb_route_rspamd_stat(struct nb_request *request, struct nb_error *error)
{
    struct nb_server *server = request->server;
    const struct nb_config *config = request->config;
    uint64_t actions[NB_FILTER_ACTIONS];
    struct nb_engine_statistics statistics;
    struct nb_model_info info;
    for (size_t i = 0; i < NB_FILTER_ACTIONS; i++)
        actions[i] = nb_metrics_mails(server->metrics, i);
    nb_engine_statistics(server->engine, &statistics);
    struct nb_json_rspamd_stat stat = {
        .actions = actions,
        .learned = statistics.learned + statistics.relabelled + statistics.updated,
        .uptime = uptime_of(server),
        .memory = statistics.memory,
        .version = NB_PROGRAM_VERSION,
    };
    int rc = nb_request_check_model(request, nb_string_of(config->filter_model), error);
    if (rc == 0)
        rc = nb_engine_model(server->engine, nb_string_of(config->filter_model), &info, error);
    if (rc == 0) {
        count_model(&info, config, &stat);
        nb_model_info_deinit(&info);
    } else if (rc != NB_NOT_FOUND) { /* not yet trained: all zeros */
        return rc;
    }
    if (nb_json_rspamd_stat(&request->reply.body, &stat) != 0)
        return nb_error_no_memory(error);
    return nb_reply_json(request, 200);
}

int nb_route_rspamd_auth(struct nb_request *request, struct nb_error *error)
{
    if (nb_json_rspamd_auth(&request->reply.body, NB_PROGRAM_VERSION, uptime_of(request->server)) !=
        0)
        return nb_error_no_memory(error);
    return nb_reply_json(request, 200);
}
