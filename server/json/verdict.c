/* SPDX-License-Identifier: Apache-2.0 */
#include "server/json/verdict.h"

#include <string.h>

#include "server/json/emit.h"

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
        nb_emit_member_u64(e, "count", row->count);
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
                         const struct nb_verdict *verdict, const struct nb_json_decision *decision)
{
    nb_emit_open(e, '{');
    nb_emit_member_string(e, "model", model);
    nb_emit_member_text(e, "label", verdict->labels[verdict->best]);
    nb_emit_key(e, "probability");
    nb_emit_double(e, verdict->probabilities[verdict->best]);
    emit_probabilities(e, verdict);
    nb_emit_flag(e, "calibrated", verdict->calibrated);
    emit_log_scores(e, verdict);
    nb_emit_key(e, "tokens");
    nb_emit_open(e, '{');
    nb_emit_member_u64(e, "total", verdict->total);
    nb_emit_member_u64(e, "known", verdict->known);
    nb_emit_member_u64(e, "unknown", verdict->total - verdict->known);
    nb_emit_close(e, '}');
    nb_emit_flag(e, "truncated", verdict->truncated);
    nb_emit_key(e, "ready");
    nb_emit_bool(e, verdict->ready);
    if (!verdict->ready)
        nb_emit_member_text(e, "missing", verdict->missing);
    if (decision != NULL) {
        nb_emit_member_text(e, "decision", decision->label);
        nb_emit_member_text(e, "decision_reason", decision->reason);
    }
    if (verdict->explanation_count > 0)
        emit_explanation(e, verdict);
    nb_emit_close(e, '}');
}

int nb_json_verdict(struct nb_buffer *out, struct nb_string model, const struct nb_verdict *verdict,
                    const struct nb_json_decision *decision)
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
        nb_emit_member_string(e, "token", bag->texts[i]);
        nb_emit_member_u64(e, "count", bag->features[i].count);
        nb_emit_close(e, '}');
    }
    nb_emit_close(e, ']');
    nb_emit_flag(e, "truncated", bag->truncated);
    nb_emit_close(e, '}');
}

int nb_json_tokens(struct nb_buffer *out, const struct nb_bag *bag)
{
    struct nb_emitter e = nb_emit_begin(out);
    emit_tokens(&e, bag);
    return nb_emit_end(&e);
}
