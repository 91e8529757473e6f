/* SPDX-License-Identifier: Apache-2.0
 *
 * The replies of the API.
 */
#include <stdio.h>
#include <time.h>

#include "server/codec_private.h"

static const char *const status_names[] = {
    [NB_LEARNED] = "learned", [NB_UNCHANGED] = "unchanged", [NB_RELABELLED] = "relabelled",
    [NB_UPDATED] = "updated", [NB_FORGOTTEN] = "forgotten",
};

static void emit_member_text(struct nb_emitter *e, const char *key, struct nb_string value)
{
    nb_emit_key(e, key);
    nb_emit_string(e, value);
}

static void emit_member_u64(struct nb_emitter *e, const char *key, uint64_t value)
{
    nb_emit_key(e, key);
    nb_emit_u64(e, value);
}

/* Said only when it is so. */
static void emit_flag(struct nb_emitter *e, const char *key, bool value)
{
    if (!value)
        return;
    nb_emit_key(e, key);
    nb_emit_bool(e, true);
}

/* ---- receipts -------------------------------------------------------------------------------- */

static void emit_receipt_labels(struct nb_emitter *e, const struct nb_receipt *receipt)
{
    nb_emit_key(e, "labels");
    nb_emit_open(e, '{');
    for (size_t i = 0; i < receipt->label_count; i++) {
        nb_emit_name(e, nb_string_of(receipt->labels[i].label));
        nb_emit_open(e, '{');
        emit_member_u64(e, "documents", receipt->labels[i].documents);
        nb_emit_close(e, '}');
    }
    nb_emit_close(e, '}');
}

static void emit_receipt(struct nb_emitter *e, struct nb_string model,
                         const struct nb_receipt *receipt)
{
    if (receipt->code != 0) {
        nb_emit_error(e, &receipt->error);
        return;
    }
    nb_emit_open(e, '{');
    emit_member_text(e, "model", model);
    emit_member_text(e, "id", receipt->id);
    emit_member_text(e, "label", receipt->label);
    emit_member_text(e, "status", nb_string_of(status_names[receipt->status]));
    if (receipt->status == NB_RELABELLED)
        emit_member_text(e, "previous_label", receipt->previous_label);
    emit_member_u64(e, "tokens", receipt->tokens);
    if (receipt->status != NB_FORGOTTEN)
        emit_member_u64(e, "new_tokens", receipt->new_tokens);
    emit_flag(e, "truncated", receipt->truncated);
    emit_receipt_labels(e, receipt);
    nb_emit_close(e, '}');
}

int nb_codec_receipt(struct nb_buffer *out, struct nb_string model,
                     const struct nb_receipt *receipt)
{
    struct nb_emitter e = nb_emit_begin(out);
    emit_receipt(&e, model, receipt);
    return nb_emit_end(&e);
}

/* ---- verdicts -------------------------------------------------------------------------------- */

static void emit_label(struct nb_emitter *e, const char *label, double value)
{
    nb_emit_name(e, nb_string_of(label));
    nb_emit_double(e, value);
}

static void emit_log_scores(struct nb_emitter *e, const struct nb_verdict *verdict)
{
    nb_emit_key(e, "log_scores");
    nb_emit_open(e, '{');
    for (size_t i = 0; i < verdict->size; i++)
        emit_label(e, verdict->labels[i], verdict->log_scores[i]);
    nb_emit_close(e, '}');
}

/* By name, with the label that has no document yet where it belongs. */
static void emit_probabilities(struct nb_emitter *e, const struct nb_verdict *verdict)
{
    const char *unseen = verdict->unseen_label;
    nb_emit_key(e, "probabilities");
    nb_emit_open(e, '{');
    for (size_t i = 0; i < verdict->size; i++) {
        if (unseen != NULL && strcmp(unseen, verdict->labels[i]) < 0) {
            emit_label(e, unseen, verdict->unseen_probability);
            unseen = NULL;
        }
        emit_label(e, verdict->labels[i], verdict->probabilities[i]);
    }
    if (unseen != NULL)
        emit_label(e, unseen, verdict->unseen_probability);
    nb_emit_close(e, '}');
}

/* The prior's row has no token: null, and no count. */
static void emit_explained(struct nb_emitter *e, const struct nb_explained *row)
{
    nb_emit_open(e, '{');
    nb_emit_key(e, "token");
    if (row->token.bytes == NULL) {
        nb_emit_raw(e, "null");
    } else {
        nb_emit_string(e, row->token);
        emit_member_u64(e, "count", row->count);
    }
    nb_emit_key(e, "evidence");
    nb_emit_double(e, row->evidence);
    nb_emit_close(e, '}');
}

static void emit_explanation(struct nb_emitter *e, const struct nb_verdict *verdict)
{
    nb_emit_key(e, "explanation");
    nb_emit_open(e, '[');
    for (size_t i = 0; i < verdict->explanation_count; i++)
        emit_explained(e, &verdict->explanation[i]);
    nb_emit_close(e, ']');
}

static void emit_verdict(struct nb_emitter *e, struct nb_string model,
                         const struct nb_verdict *verdict, const struct nb_codec_decision *decision)
{
    nb_emit_open(e, '{');
    emit_member_text(e, "model", model);
    emit_member_text(e, "label", nb_string_of(verdict->labels[verdict->best]));
    nb_emit_key(e, "probability");
    nb_emit_double(e, verdict->probabilities[verdict->best]);
    emit_probabilities(e, verdict);
    emit_flag(e, "calibrated", verdict->calibrated);
    emit_log_scores(e, verdict);
    nb_emit_key(e, "tokens");
    nb_emit_open(e, '{');
    emit_member_u64(e, "total", verdict->total);
    emit_member_u64(e, "known", verdict->known);
    emit_member_u64(e, "unknown", verdict->total - verdict->known);
    nb_emit_close(e, '}');
    emit_flag(e, "truncated", verdict->truncated);
    nb_emit_key(e, "ready");
    nb_emit_bool(e, verdict->ready);
    if (!verdict->ready)
        emit_member_text(e, "missing", nb_string_of(verdict->missing));
    if (decision != NULL) {
        emit_member_text(e, "decision", nb_string_of(decision->label));
        emit_member_text(e, "decision_reason", nb_string_of(decision->reason));
    }
    if (verdict->explanation_count > 0)
        emit_explanation(e, verdict);
    nb_emit_close(e, '}');
}

int nb_codec_verdict(struct nb_buffer *out, struct nb_string model,
                     const struct nb_verdict *verdict, const struct nb_codec_decision *decision)
{
    struct nb_emitter e = nb_emit_begin(out);
    emit_verdict(&e, model, verdict, decision);
    return nb_emit_end(&e);
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static void emit_tokens(struct nb_emitter *e, const struct nb_bag *bag)
{
    nb_emit_open(e, '{');
    nb_emit_key(e, "tokens");
    nb_emit_open(e, '[');
    for (size_t i = 0; i < bag->size; i++) {
        if (!nb_field_is_token(nb_feature_field(bag->features[i].id)))
            continue;
        nb_emit_open(e, '{');
        emit_member_text(e, "token", bag->texts[i]);
        emit_member_u64(e, "count", bag->features[i].count);
        nb_emit_close(e, '}');
    }
    nb_emit_close(e, ']');
    emit_flag(e, "truncated", bag->truncated);
    nb_emit_close(e, '}');
}

int nb_codec_tokens(struct nb_buffer *out, const struct nb_bag *bag)
{
    struct nb_emitter e = nb_emit_begin(out);
    emit_tokens(&e, bag);
    return nb_emit_end(&e);
}

/* ---- batches --------------------------------------------------------------------------------- */

int nb_codec_results_begin(struct nb_codec_results *results, enum nb_codec_results_kind kind,
                           struct nb_buffer *out)
{
    *results = (struct nb_codec_results){.out = out, .kind = kind};
    return nb_buffer_puts(out, "{\"results\":[");
}

/* The buffer may have been emptied since the last result: the comma is not left to the emitter,
 * which looks at what is before. */
static struct nb_emitter result_begin(const struct nb_codec_results *results, size_t *start)
{
    struct nb_emitter e = nb_emit_begin(results->out);
    *start = e.start;
    if (results->size > 0)
        nb_emit_raw(&e, ",");
    e.start = results->out->length;
    return e;
}

static int result_end(struct nb_codec_results *results, struct nb_emitter *e, size_t start)
{
    e->start = start;
    int rc = nb_emit_end(e);
    results->size += rc == 0;
    return rc;
}

int nb_codec_results_receipt(struct nb_codec_results *results, struct nb_string model,
                             const struct nb_receipt *receipt)
{
    size_t start;
    struct nb_emitter e = result_begin(results, &start);
    emit_receipt(&e, model, receipt);
    int rc = result_end(results, &e, start);
    if (rc == 0)
        (*(receipt->code != 0 ? &results->failed : &results->totals[receipt->status]))++;
    return rc;
}

int nb_codec_results_verdict(struct nb_codec_results *results, struct nb_string model,
                             const struct nb_verdict *verdict,
                             const struct nb_codec_decision *decision)
{
    size_t start;
    struct nb_emitter e = result_begin(results, &start);
    emit_verdict(&e, model, verdict, decision);
    return result_end(results, &e, start);
}

int nb_codec_results_tokens(struct nb_codec_results *results, const struct nb_bag *bag)
{
    size_t start;
    struct nb_emitter e = result_begin(results, &start);
    emit_tokens(&e, bag);
    return result_end(results, &e, start);
}

int nb_codec_results_error(struct nb_codec_results *results, const struct nb_error *error)
{
    size_t start;
    struct nb_emitter e = result_begin(results, &start);
    nb_emit_error(&e, error);
    int rc = result_end(results, &e, start);
    results->failed += rc == 0;
    return rc;
}

int nb_codec_results_end(struct nb_codec_results *results)
{
    struct nb_emitter e = nb_emit_begin(results->out);
    nb_emit_raw(&e, "]");
    bool untrained = results->kind == NB_CODEC_UNTRAINED;
    enum nb_status first = untrained ? NB_FORGOTTEN : NB_LEARNED;
    enum nb_status last = untrained ? NB_FORGOTTEN : NB_UPDATED;
    if (results->kind != NB_CODEC_READINGS)
        for (enum nb_status s = first; s <= last; s++)
            emit_member_u64(&e, status_names[s], results->totals[s]);
    emit_member_u64(&e, "failed", results->failed);
    nb_emit_close(&e, '}');
    return nb_emit_end(&e);
}

/* ---- models ---------------------------------------------------------------------------------- */

static void emit_model(struct nb_emitter *e, const struct nb_model_info *info, bool settings)
{
    nb_emit_open(e, '{');
    emit_member_text(e, "name", nb_string_of(info->name));
    emit_member_u64(e, "documents", info->documents);
    emit_member_u64(e, "vocabulary", info->vocabulary);
    nb_emit_key(e, "labels");
    nb_emit_open(e, '{');
    for (size_t i = 0; i < info->label_count; i++) {
        nb_emit_name(e, nb_string_of(info->labels[i].label));
        nb_emit_open(e, '{');
        emit_member_u64(e, "documents", info->labels[i].documents);
        emit_member_u64(e, "tokens", info->labels[i].tokens);
        nb_emit_close(e, '}');
    }
    nb_emit_close(e, '}');
    if (settings) {
        nb_emit_key(e, "settings");
        nb_emit_settings(e, &info->settings);
    }
    nb_emit_close(e, '}');
}

int nb_codec_model(struct nb_buffer *out, const struct nb_model_info *info, bool settings)
{
    struct nb_emitter e = nb_emit_begin(out);
    emit_model(&e, info, settings);
    return nb_emit_end(&e);
}

int nb_codec_models(struct nb_buffer *out, const struct nb_model_info *infos, size_t count)
{
    struct nb_emitter e = nb_emit_begin(out);
    nb_emit_open(&e, '{');
    nb_emit_key(&e, "models");
    nb_emit_open(&e, '[');
    for (size_t i = 0; i < count; i++)
        emit_model(&e, &infos[i], false);
    nb_emit_close(&e, ']');
    nb_emit_close(&e, '}');
    return nb_emit_end(&e);
}

/* ---- documents and vocabulary ---------------------------------------------------------------- */

/* RFC 3339 in UTC, with milliseconds. A moment that gmtime cannot tell (the year would not fit an
 * int) is the empty text. */
static void format_time(int64_t milliseconds, char *text, size_t size)
{
    int64_t rest = milliseconds % 1000;
    if (rest < 0)
        rest += 1000; /* before 1970: the second began earlier */
    time_t seconds = (time_t)((milliseconds - rest) / 1000);
    struct tm t;
    text[0] = '\0';
    if (gmtime_r(&seconds, &t) != NULL)
        snprintf(text, size, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", t.tm_year + 1900, t.tm_mon + 1,
                 t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec, (int)rest);
}

int nb_codec_document_info(struct nb_buffer *out, struct nb_string id,
                           const struct nb_document_info *info)
{
    char learned[96]; /* seven ints at their longest */
    format_time(info->learned, learned, sizeof learned);
    struct nb_emitter e = nb_emit_begin(out);
    nb_emit_open(&e, '{');
    emit_member_text(&e, "id", id);
    emit_member_text(&e, "label", nb_string_of(info->label));
    emit_member_text(&e, "learned", nb_string_of(learned));
    emit_member_u64(&e, "tokens", info->tokens);
    nb_emit_close(&e, '}');
    return nb_emit_end(&e);
}

static void emit_telling_token(struct nb_emitter *e, const struct nb_vocabulary *vocabulary,
                               const struct nb_telling_token *token)
{
    nb_emit_open(e, '{');
    emit_member_text(e, "token", (struct nb_string){token->token, token->length});
    nb_emit_key(e, "counts");
    nb_emit_open(e, '{');
    for (size_t i = 0; i < vocabulary->label_count; i++) {
        nb_emit_name(e, nb_string_of(vocabulary->labels[i]));
        nb_emit_u64(e, token->counts[i]);
    }
    nb_emit_close(e, '}');
    nb_emit_key(e, "evidence");
    nb_emit_double(e, token->evidence);
    nb_emit_close(e, '}');
}

int nb_codec_vocabulary(struct nb_buffer *out, const struct nb_vocabulary *vocabulary)
{
    struct nb_emitter e = nb_emit_begin(out);
    nb_emit_open(&e, '{');
    emit_member_u64(&e, "vocabulary", vocabulary->size);
    nb_emit_key(&e, "tokens");
    nb_emit_open(&e, '[');
    for (size_t i = 0; i < vocabulary->count; i++)
        emit_telling_token(&e, vocabulary, &vocabulary->tokens[i]);
    nb_emit_close(&e, ']');
    nb_emit_close(&e, '}');
    return nb_emit_end(&e);
}
