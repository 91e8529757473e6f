/* SPDX-License-Identifier: Apache-2.0
 *
 * The JSON of rspamd's protocol (rspamd 3.4: docs/developers/protocol.md, and what its clients were
 * seen to take): objects for symbols and messages, plain strings for header fields to be added,
 * numbers for numbers; anything else makes one client or another stop mail or let it pass.
 */
#include "server/mail/rspamd_json.h"

#include <stdio.h>
#include <string.h>

#include "config/config.h"
#include "server/filter/filter.h"
#include "server/json/emit.h"
#include "server/json/number_text.h"
#include "server/json/problem.h"

static const char REJECTED[] = "Spam message rejected";
static const char TRY_AGAIN[] = "The filter is not available, try again later";

/* ---- reports ----------------------------------------------------------------------------------
 */

static double scale(const struct nb_config *config, double log_odds)
{
    return nb_filter_score(log_odds, config->filter_required_score, config->filter_reject);
}

/* As clients compare it with required_score, and read it. */
static double score_of(const struct nb_config *config, const struct nb_filter_report *report)
{
    return nb_filter_shown_score(report->log_odds, config->filter_required_score,
                                 config->filter_reject, report->action == NB_FILTER_REJECT, 2);
}

/* Of a part of the mail how much of the score is its own, "+2.35"; and the tokens. */
static void emit_options(struct nb_emitter *e, const struct nb_config *config,
                         const struct nb_filter_symbol *symbol)
{
    char own[NB_NUMBER_TEXT];
    if (symbol->evidence == 0 && symbol->option[0] == '\0')
        return;
    nb_emit_key(e, "options");
    nb_emit_open(e, '[');
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
    nb_emit_key(e, "is_skipped");
    nb_emit_bool(e, report->is_test);
    nb_emit_member_short_double(e, "score", score_of(config, report));
    nb_emit_member_short_double(e, "required_score", config->filter_required_score);
    nb_emit_member_text(e, "action", nb_filter_action_name(report->action));
}

static void emit_messages(struct nb_emitter *e, const char *message)
{
    nb_emit_key(e, "messages");
    nb_emit_open(e, '{');
    if (message != NULL)
        nb_emit_member_text(e, "smtp_message", message);
    nb_emit_close(e, '}');
}

/* The name of the field for a user's model: names of models are names of header fields, too. */
static void emit_field_of(struct nb_emitter *e, const char *model)
{
    char name[sizeof NB_FILTER_HEADER + NB_FILTER_MODEL];
    (void)snprintf(name, sizeof name, "%s-%s", NB_FILTER_HEADER, model);
    nb_emit_name(e, nb_string_of(name));
}

static void emit_each(struct nb_emitter *e, const struct nb_buffer *each, bool is_removal)
{
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

/* The header field of the verdict, and those of single users, in the place of all that the mail
 * brings of these names. */
static void emit_milter(struct nb_emitter *e, const char *key,
                        const struct nb_filter_report *report, const struct nb_buffer *each)
{
    struct nb_buffer status = {0};
    if (nb_filter_status(report, &status) != 0) {
        e->code = NB_NO_MEMORY;
        return;
    }
    nb_emit_key(e, key);
    nb_emit_open(e, '{');
    nb_emit_key(e, "remove_headers");
    nb_emit_open(e, '{');
    nb_emit_member_u64(e, NB_FILTER_HEADER, 0);
    emit_each(e, each, true);
    nb_emit_close(e, '}');
    nb_emit_key(e, "add_headers");
    nb_emit_open(e, '{');
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
        nb_emit_key(&e, "is_spam");
        nb_emit_bool(&e, report->action != NB_FILTER_NO_ACTION);
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

/* ---- errors and learning -----------------------------------------------------------------------
 */

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
                   message_id[0] != '\0' ? message_id : "undef", class_name); /* fits */
    struct nb_emitter e = nb_emit_begin(out);
    nb_emit_open(&e, '{');
    nb_emit_member_text(&e, "error", text);
    nb_emit_close(&e, '}');
    return nb_emit_end(&e);
}

/* ---- numbers -----------------------------------------------------------------------------------
 */

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
    nb_emit_key(e, "actions");
    nb_emit_open(e, '{');
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
    nb_emit_key(&e, "read_only");
    nb_emit_bool(&e, false);
    nb_emit_member_u64(&e, "scanned", scanned);
    nb_emit_member_u64(&e, "learned", stat->learned);
    nb_emit_member_u64(&e, "spam_count", spam);
    nb_emit_member_u64(&e, "ham_count", scanned - spam);
    emit_actions(&e, stat->actions);
    nb_emit_member_u64(&e, "bytes_allocated", stat->memory);
    nb_emit_key(&e, "statfiles");
    nb_emit_open(&e, '[');
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
