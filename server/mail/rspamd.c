/* SPDX-License-Identifier: Apache-2.0 */
#include "server/mail/rspamd.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "core/base/system.h"
#include "core/engine/engine.h"
#include "server/base/emit.h"
#include "server/base/json_values.h"
#include "server/base/metrics.h"
#include "server/base/problem.h"
#include "server/base/version.h"
#include "server/http/admission.h"
#include "server/http/http_answer.h"
#include "server/http/request.h"
#include "server/http/server.h"
#include "server/http/wait.h"
#include "server/mail/filter.h"
#include "server/mail/filter_options.h"
#include "server/mail/filter_request.h"
#include "server/mail/rspamd_form.h"

/* The JSON of rspamd's protocol (rspamd 3.4: docs/developers/protocol.md, and observed behaviour of
 * its clients): objects for symbols and messages, plain strings for header fields to be added,
 * numbers for numbers. With any other form, some client stops mail or lets it pass. */
static const char REJECTED[] = "Spam message rejected";
static const char TRY_AGAIN[] = "The filter is not available, try again later";

/* ---- reports --------------------------------------------------------------------------------- */

static double scale(const struct nb_config *config, double log_odds)
{
    return nb_filter_score(log_odds, config->filter_required_score, config->filter_reject);
}

/* Returns the score as clients read it and compare it with required_score. */
static double score_of(const struct nb_config *config, const struct nb_filter_report *report)
{
    return nb_filter_shown_score(report->log_odds, config->filter_required_score,
                                 config->filter_reject, report->action == NB_FILTER_REJECT, 2);
}

/* Writes the options of a symbol: for a part of the mail its share of the score, "+2.35", and its
 * tokens. */
static void emit_options(struct nb_emitter *e, const struct nb_config *config,
                         const struct nb_filter_symbol *symbol)
{
    char own[NB_NUMBER_TEXT];
    if (symbol->evidence == 0 && symbol->option[0] == '\0')
        return;
    nb_emit_member_open(e, "options", '[');
    if (symbol->evidence != 0) {
        char *end = nb_number_text_fixed(own, scale(config, symbol->evidence), 2, true);
        nb_emit_string(e, (struct nb_string){own, (size_t)(end - own)});
    }
    if (symbol->option[0] != '\0')
        nb_emit_text(e, symbol->option);
    nb_emit_close(e, ']');
}

static void emit_symbols(struct nb_emitter *e, const struct nb_config *config,
                         const struct nb_filter_report *report)
{
    assert(report->symbol_count <= NB_FILTER_SYMBOLS);
    for (size_t i = 0; i < report->symbol_count; i++) {
        const struct nb_filter_symbol *symbol = &report->symbols[i];
        double score = i == 0 ? score_of(config, report) : 0;
        nb_emit_key(e, symbol->name);
        nb_emit_open(e, '{');
        nb_emit_member_text(e, "name", symbol->name);
        nb_emit_member_short_double(e, "score", score);
        nb_emit_member_short_double(e, "metric_score", score);
        nb_emit_member_text(e, "description", symbol->description);
        emit_options(e, config, symbol);
        nb_emit_close(e, '}');
    }
}

static void emit_result(struct nb_emitter *e, const struct nb_config *config,
                        const struct nb_filter_report *report)
{
    nb_emit_member_bool(e, "is_skipped", report->is_test);
    nb_emit_member_short_double(e, "score", score_of(config, report));
    nb_emit_member_short_double(e, "required_score", config->filter_required_score);
    nb_emit_member_text(e, "action", nb_filter_action_name(report->action));
}

static void emit_messages(struct nb_emitter *e, const char *message)
{
    nb_emit_member_open(e, "messages", '{');
    if (message != NULL)
        nb_emit_member_text(e, "smtp_message", message);
    nb_emit_close(e, '}');
}

/* Writes the name of the field for a user's model. Every name of a model is valid in the name of a
 * header field. */
static void emit_field_of(struct nb_emitter *e, const char *model)
{
    char name[sizeof NB_FILTER_HEADER + NB_FILTER_MODEL];
    (void)snprintf(name, sizeof name, "%s-%s", NB_FILTER_HEADER, model);
    nb_emit_name(e, nb_string_of(name));
}

static void emit_each(struct nb_emitter *e, const struct nb_buffer *each, bool is_removal)
{
    assert(each->length == 0 || each->bytes[each->length - 1] == '\0');
    const char *text;
    for (size_t at = 0; at < each->length; at = (size_t)(text - each->bytes) + strlen(text) + 1) {
        const char *model = each->bytes + at;
        text = model + strlen(model) + 1;
        emit_field_of(e, model);
        if (is_removal)
            nb_emit_u64(e, 0);
        else
            nb_emit_text(e, text);
    }
}

/* Writes the header field of the verdict and those of single users. They replace all fields of
 * these names in the mail. */
static void emit_milter(struct nb_emitter *e, const char *key,
                        const struct nb_filter_report *report, const struct nb_buffer *each)
{
    struct nb_buffer status = {0};
    if (nb_filter_status(report, &status) != 0) {
        e->code = NB_NO_MEMORY;
        return;
    }
    nb_emit_member_open(e, key, '{');
    nb_emit_member_open(e, "remove_headers", '{');
    nb_emit_member_u64(e, NB_FILTER_HEADER, 0);
    emit_each(e, each, true);
    nb_emit_close(e, '}');
    nb_emit_member_open(e, "add_headers", '{');
    nb_emit_key(e, NB_FILTER_HEADER);
    nb_emit_string(e, (struct nb_string){status.bytes, status.length});
    emit_each(e, each, false);
    nb_emit_close(e, '}');
    nb_emit_close(e, '}');
    nb_buffer_deinit(&status);
}

int nb_json_rspamd_report(struct nb_buffer *out, const struct nb_config *config,
                          const struct nb_filter_report *report, const struct nb_buffer *each,
                          enum nb_json_rspamd_shape shape, double seconds)
{
    struct nb_emitter e = nb_emit_begin(out);
    bool is_old = shape == NB_JSON_RSPAMD_OLD;
    nb_emit_open(&e, '{');
    nb_emit_key(&e, is_old ? "default" : "symbols");
    nb_emit_open(&e, '{');
    if (is_old) {
        nb_emit_member_bool(&e, "is_spam", report->action != NB_FILTER_NO_ACTION);
        emit_result(&e, config, report);
    }
    emit_symbols(&e, config, report);
    nb_emit_close(&e, '}');
    if (!is_old)
        emit_result(&e, config, report);
    if (report->action == NB_FILTER_REWRITE_SUBJECT)
        nb_emit_member_text(&e, "subject", report->subject);
    emit_messages(&e, report->action == NB_FILTER_REJECT ? REJECTED : NULL);
    if (report->message_id[0] != '\0')
        nb_emit_member_text(&e, "message-id", report->message_id);
    nb_emit_member_short_double(&e, "time_real", seconds);
    if (report->symbol_count > 0)
        emit_milter(&e, is_old ? "rmilter" : "milter", report, each);
    nb_emit_close(&e, '}');
    return nb_emit_end(&e);
}

/* ---- errors and learning --------------------------------------------------------------------- */

int nb_json_rspamd_error(struct nb_buffer *out, int status, const char *detail)
{
    struct nb_emitter e = nb_emit_begin(out);
    nb_emit_open(&e, '{');
    nb_emit_member_text(&e, "error",
                        detail == NULL || *detail == '\0' ? nb_json_title(status) : detail);
    if (status >= 500 || status == 401 || status == 403) {
        nb_emit_member_text(&e, "action", "soft reject");
        emit_messages(&e, TRY_AGAIN);
    }
    nb_emit_close(&e, '}');
    return nb_emit_end(&e);
}

int nb_json_rspamd_learned(struct nb_buffer *out)
{
    return nb_buffer_puts(out, "{\"success\": true}");
}

int nb_json_rspamd_unchanged(struct nb_buffer *out, const char *message_id, const char *class_name)
{
    char text[NB_FILTER_FIELD + 64];
    (void)snprintf(text, sizeof text, "<%s> has been already learned as %s, ignore it",
                   message_id[0] != '\0' ? message_id : "undef", class_name); /* it fits */
    struct nb_emitter e = nb_emit_begin(out);
    nb_emit_open(&e, '{');
    nb_emit_member_text(&e, "error", text);
    nb_emit_close(&e, '}');
    return nb_emit_end(&e);
}

/* ---- numbers --------------------------------------------------------------------------------- */

static void emit_statfile(struct nb_emitter *e, const char *symbol, uint64_t documents,
                          uint64_t tokens)
{
    nb_emit_open(e, '{');
    nb_emit_member_text(e, "symbol", symbol);
    nb_emit_member_text(e, "type", "bayesd");
    nb_emit_member_u64(e, "revision", documents);
    nb_emit_member_u64(e, "used", tokens);
    nb_emit_member_u64(e, "total", tokens);
    nb_emit_member_u64(e, "size", 0);
    nb_emit_member_u64(e, "languages", 0);
    nb_emit_member_u64(e, "users", 1);
    nb_emit_close(e, '}');
}

static void emit_actions(struct nb_emitter *e, const uint64_t *actions)
{
    nb_emit_member_open(e, "actions", '{');
    for (int i = 0; i < NB_FILTER_ACTIONS; i++)
        nb_emit_member_u64(e, nb_filter_action_name((enum nb_filter_action)i), actions[i]);
    nb_emit_close(e, '}');
}

int nb_json_rspamd_stat(struct nb_buffer *out, const struct nb_json_rspamd_stat *stat)
{
    struct nb_emitter e = nb_emit_begin(out);
    uint64_t scanned = 0, spam = 0;
    for (int i = 0; i < NB_FILTER_ACTIONS; i++) {
        scanned += stat->actions[i];
        spam += i == NB_FILTER_NO_ACTION ? 0 : stat->actions[i];
    }
    nb_emit_open(&e, '{');
    nb_emit_member_text(&e, "version", stat->version);
    nb_emit_member_u64(&e, "uptime", stat->uptime);
    nb_emit_member_bool(&e, "read_only", false);
    nb_emit_member_u64(&e, "scanned", scanned);
    nb_emit_member_u64(&e, "learned", stat->learned);
    nb_emit_member_u64(&e, "spam_count", spam);
    nb_emit_member_u64(&e, "ham_count", scanned - spam);
    emit_actions(&e, stat->actions);
    nb_emit_member_u64(&e, "bytes_allocated", stat->memory);
    nb_emit_member_open(&e, "statfiles", '[');
    emit_statfile(&e, "BAYES_SPAM", stat->spam, stat->spam_tokens);
    emit_statfile(&e, "BAYES_HAM", stat->ham, stat->ham_tokens);
    nb_emit_close(&e, ']');
    nb_emit_member_u64(&e, "total_learns", stat->spam + stat->ham);
    nb_emit_close(&e, '}');
    return nb_emit_end(&e);
}

int nb_json_rspamd_auth(struct nb_buffer *out, const char *version, uint64_t uptime)
{
    struct nb_emitter e = nb_emit_begin(out);
    nb_emit_open(&e, '{');
    nb_emit_member_text(&e, "version", version);
    nb_emit_member_text(&e, "auth", "ok");
    nb_emit_member_u64(&e, "uptime", uptime);
    nb_emit_close(&e, '}');
    return nb_emit_end(&e);
}

/* ---- failures -------------------------------------------------------------------------------- */

static const char *write_problem(struct nb_request *request, unsigned status, const char *detail)
{
    /* Without memory for the text, only the status is sent. */
    if (nb_json_rspamd_error(&request->reply.body, (int)status, detail) != 0)
        nb_buffer_deinit(&request->reply.body);
    return "application/json";
}

/* A mail that could not be judged must be tried again: the status is 503, with which the reply has
 * an action. OpenSMTPD's filter and Haraka let a mail pass when an error has no action. A mail that
 * is too large is refused, because it would be tried again without end. */
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

/* ---- scanning -------------------------------------------------------------------------------- */

/* Refuses a request that names a file or shared memory of this machine as its message. bayesd reads
 * no files for requests, and without a body every mail would be judged as an empty one. */
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

/* Judges the mail that is the request's body, and appends the report to the reply's body. */
static int judge(struct nb_request *request, struct nb_error *error)
{
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
                              request->route->verb == NB_RSPAMD_CHECK_OLD ? NB_JSON_RSPAMD_OLD
                                                                          : NB_JSON_RSPAMD_V2,
                              seconds) != 0)
        rc = nb_error_no_memory(error);
    nb_buffer_deinit(&each);
    free(report);
    return rc;
}

int nb_route_rspamd_check(struct nb_request *request, struct nb_error *error)
{
    if (refuses(request))
        return 0;
    int rc = judge(request, error);
    return rc != 0 ? rc : nb_reply_json(request, 200);
}

/* ---- scanning a form ------------------------------------------------------------------------- */

/* A form of /checkv3. Its metadata takes the place of header fields: the request gets a carrier
 * that looks there first. */
struct form {
    struct nb_carrier carrier;
    const struct nb_carrier *below;
    struct nb_buffer body; /* owned: a copy, which lasts as long as the request */
    struct nb_rspamd_form parts;
};

static void form_free(void *user)
{
    struct form *form = user;
    nb_rspamd_form_deinit(&form->parts);
    nb_buffer_deinit(&form->body);
    free(form);
}

static struct nb_string form_field(const struct nb_request *request, const char *name)
{
    const struct form *form = request->state;
    assert(form->below != NULL && form->below != &form->carrier); /* else it would call itself */
    size_t at = 0;
    struct nb_string value = nb_rspamd_form_field(&form->parts, name, &at);
    return value.bytes != NULL ? value : form->below->field(request, name);
}

static struct nb_string form_next_field(const struct nb_request *request, const char *name,
                                        size_t *at)
{
    const struct form *form = request->state;
    size_t first = 0;
    if (nb_rspamd_form_field(&form->parts, name, &first).bytes != NULL)
        return nb_rspamd_form_field(&form->parts, name, at);
    return form->below->next_field(request, name, at);
}

/* Judges the mail of the form on the pool that loads models: whose they are stands in the form. */
static int judge_form(struct nb_request *request, struct nb_error *error)
{
    const struct form *form = request->state;
    assert(form != NULL && request->carrier == &form->carrier);
    struct nb_buffer *out = &request->reply.body;
    bool is_flat = nb_rspamd_form_is_flat(form->below->field(request, "Accept"));
    request->body = form->parts.message;
    int rc = nb_filter_check_follows(request, error);
    if (rc == 0 && !is_flat && nb_rspamd_form_begin(out) != 0)
        rc = nb_error_no_memory(error);
    if (rc == 0)
        rc = judge(request, error);
    if (rc == 0 && !is_flat && nb_rspamd_form_end(out) != 0)
        rc = nb_error_no_memory(error);
    request->body = (struct nb_string){NULL, 0};
    if (rc != 0)
        return rc;
    return is_flat ? nb_reply_json(request, 200) : nb_reply_with(request, 200, NB_RSPAMD_FORM_TYPE);
}

int nb_route_rspamd_check_form(struct nb_request *request, struct nb_error *error)
{
    assert(request->state == NULL);
    struct form *form = calloc(1, sizeof *form);
    if (form == NULL)
        return nb_error_no_memory(error);
    request->state = form;
    request->state_free = form_free;
    if (nb_buffer_append(&form->body, request->body.bytes, request->body.length) != 0)
        return nb_error_no_memory(error);
    int rc = nb_rspamd_form_read(request->carrier->field(request, "Content-Type"),
                                 nb_buffer_string(&form->body), &form->parts, error);
    if (rc == NB_INVALID)
        nb_reply_problem(request, 400, error->text);
    if (rc != 0)
        return rc == NB_INVALID ? 0 : rc;
    form->carrier = *request->carrier;
    form->carrier.field = form_field;
    form->carrier.next_field = form_next_field;
    form->below = request->carrier;
    request->carrier = &form->carrier;
    return refuses(request) ? 0 : nb_work_run(request, request->server->loads, judge_form, error);
}

/* ---- learning -------------------------------------------------------------------------------- */

/* Sets the class of a mail that is learned, as rspamd calls it: spam, ham or, from the header field
 * Class, a label. Returns 0, or a code if the field is missing or is no label. */
static int class_of(const struct nb_request *request, char name[NB_FILTER_LABEL],
                    struct nb_error *error)
{
    struct nb_string given = nb_request_field(request, "Class");
    struct nb_buffer room = {0};
    if (request->route->verb != NB_RSPAMD_LEARN_CLASS) {
        snprintf(name, NB_FILTER_LABEL, "%s",
                 request->route->verb == NB_RSPAMD_LEARN_SPAM ? "spam" : "ham");
        return 0;
    }
    if (given.bytes == NULL)
        return nb_error_set(error, NB_INVALID,
                            "the header field Class, which names the label, is missing");
    int rc = nb_label_take(&given, &room, error);
    if (rc == 0)
        snprintf(name, NB_FILTER_LABEL, "%.*s", (int)given.length, given.bytes);
    nb_buffer_deinit(&room);
    return rc;
}

/* Sets the label of a class: for spam and ham those of the configuration. */
static void label_of(const struct nb_config *config, const char *name, char label[NB_FILTER_LABEL])
{
    if (strcmp(name, "spam") == 0)
        nb_filter_learned_label(config, label);
    else
        snprintf(label, NB_FILTER_LABEL, "%s",
                 strcmp(name, "ham") == 0 ? config->filter_ham_label : name);
}

static int after_commit(struct nb_request *request, struct nb_error *error)
{
    enum { ALREADY_REPORTED = 208 }; /* the status that rspamd sends */
    const struct nb_receipt *receipt = nb_filter_receipt(request);
    struct nb_buffer *body = &request->reply.body;
    if (receipt->code != 0) {
        *error = receipt->error;
        return receipt->code;
    }
    bool is_unchanged = receipt->status == NB_UNCHANGED;
    char name[NB_FILTER_LABEL];
    int rc = class_of(request, name, error);
    if (rc != 0)
        return rc;
    rc = is_unchanged ? nb_json_rspamd_unchanged(body, nb_filter_learned_message(request), name)
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
    char name[NB_FILTER_LABEL], label[NB_FILTER_LABEL];
    int rc = class_of(request, name, error);
    if (rc != 0)
        return rc;
    label_of(config, name, label);
    return nb_filter_learn(request, mail, label, after_commit, error);
}

/* ---- the controller -------------------------------------------------------------------------- */

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
    } else if (rc != NB_NOT_FOUND) { /* a model that is not yet trained: all zeros */
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

/* rspamd lists its classifiers by name; here it is the model of the filter. */
int nb_route_rspamd_classifiers(struct nb_request *request, struct nb_error *error)
{
    struct nb_emitter e = nb_emit_begin(&request->reply.body);
    nb_emit_open(&e, '[');
    nb_emit_string(&e, nb_string_of(request->config->filter_model));
    nb_emit_close(&e, ']');
    return e.code != 0 ? nb_error_no_memory(error) : nb_reply_json(request, 200);
}
