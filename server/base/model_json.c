/* SPDX-License-Identifier: Apache-2.0 */
#include "server/base/model_json.h"

#include <assert.h>

#include "server/base/emit.h"
#include "server/base/json_values.h"
#include "server/base/settings_json.h"
#include "server/base/time.h"

/* ---- models ---------------------------------------------------------------------------------- */

static void emit_drift(struct nb_emitter *e, const struct nb_drift_figures *drift)
{
    nb_emit_member_open(e, "drift", '{');
    nb_emit_member_short_double(e, "distance", drift->distance);
    nb_emit_member_short_double(e, "p", drift->p);
    nb_emit_member_u64(e, "recent", drift->recent);
    nb_emit_member_u64(e, "before", drift->before);
    nb_emit_close(e, '}');
}

static void emit_model(struct nb_emitter *e, const struct nb_model_info *info, bool settings)
{
    nb_emit_open(e, '{');
    nb_emit_member_text(e, "name", info->name);
    if (info->is_damaged) {
        nb_emit_member_text(e, "state", info->is_upgrading ? "upgrading" : "damaged");
        nb_emit_member_text(e, "reason", info->damage != NULL ? info->damage : "");
        nb_emit_close(e, '}');
        return;
    }
    if (info->settings.is_challenger)
        nb_emit_member_bool(e, "is_challenger", true);
    nb_emit_member_u64(e, "documents", info->documents);
    if (info->unlabelled > 0)
        nb_emit_member_u64(e, "unlabelled", info->unlabelled);
    nb_emit_member_u64(e, "vocabulary", info->vocabulary);
    nb_emit_member_open(e, "labels", '{');
    for (size_t i = 0; i < info->label_count; i++) {
        nb_emit_name(e, nb_string_of(info->labels[i].label));
        nb_emit_open(e, '{');
        nb_emit_member_u64(e, "documents", info->labels[i].documents);
        nb_emit_member_u64(e, "tokens", info->labels[i].tokens);
        nb_emit_close(e, '}');
    }
    nb_emit_close(e, '}');
    if (settings) {
        nb_emit_key(e, "settings");
        nb_emit_settings(e, &info->settings);
    }
    if (info->has_drift)
        emit_drift(e, &info->drift);
    if (info->quarantine_dropped > 0)
        nb_emit_member_u64(e, "quarantine_dropped", info->quarantine_dropped);
    nb_emit_warning(e, info->warning);
    nb_emit_close(e, '}');
}

int nb_json_model(struct nb_buffer *out, const struct nb_model_info *info, bool settings)
{
    struct nb_emitter e = nb_emit_begin(out);
    emit_model(&e, info, settings);
    return nb_emit_end(&e);
}

int nb_json_models(struct nb_buffer *out, const struct nb_model_info *infos, size_t count,
                   bool more)
{
    assert(!more || count > 0);
    struct nb_emitter e = nb_emit_begin(out);
    nb_emit_open(&e, '{');
    nb_emit_member_open(&e, "models", '[');
    for (size_t i = 0; i < count; i++)
        emit_model(&e, &infos[i], false);
    nb_emit_close(&e, ']');
    if (more)
        nb_emit_member_text(&e, "next", infos[count - 1].name);
    nb_emit_close(&e, '}');
    return nb_emit_end(&e);
}

int nb_json_ready(struct nb_buffer *out, char *const *damaged, size_t count,
                  const struct nb_engine_statistics *statistics, const char *warning)
{
    const struct nb_engine_statistics *s = statistics;
    struct nb_emitter e = nb_emit_begin(out);
    nb_emit_open(&e, '{');
    nb_emit_member_text(&e, "status", "ready");
    if (s->upgrades_left > 0) {
        nb_emit_member_open(&e, "upgrade", '{');
        nb_emit_member_u64(&e, "models", s->upgraded_models);
        nb_emit_member_u64(&e, "models_left", s->upgrades_left);
        nb_emit_member_u64(&e, "entries", s->upgrade_entries);
        nb_emit_member_u64(&e, "entries_done", s->upgrade_done);
        nb_emit_close(&e, '}');
    }
    if (count > 0) {
        nb_emit_member_open(&e, "damaged", '[');
        for (size_t i = 0; i < count; i++)
            nb_emit_text(&e, damaged[i]);
        nb_emit_close(&e, ']');
    }
    nb_emit_warning(&e, warning);
    nb_emit_close(&e, '}');
    return nb_emit_end(&e);
}

int nb_json_rename_read(struct nb_string text, struct nb_buffer *name, bool *merges,
                        struct nb_error *error)
{
    enum { VALUES_MOST = 16 };
    enum { NAME, MERGE, MEMBERS };
    static const struct nb_json_member members[MEMBERS] = {
        [NAME] = {"name", NB_TYPE_STRING, true},
        [MERGE] = {"merge", NB_TYPE_BOOLEAN, false},
    };
    const json_t *values[MEMBERS];
    json_t *object;
    *merges = false;
    int rc = nb_json_load(text, VALUES_MOST, &object, error);
    if (rc != 0)
        return rc;
    rc = nb_json_take(object, "a label", members, MEMBERS, values, error);
    struct nb_string given = rc == 0 ? nb_json_text(values[NAME]) : (struct nb_string){"", 0};
    struct nb_buffer room = {0};
    if (rc == 0)
        rc = nb_label_take(&given, &room, error);
    if (rc == 0 && nb_buffer_append(name, given.bytes, given.length) != 0)
        rc = nb_error_no_memory(error);
    nb_buffer_deinit(&room);
    *merges = rc == 0 && json_is_true(values[MERGE]);
    json_decref(object);
    return rc;
}

/* ---- documents and vocabulary ---------------------------------------------------------------- */

int nb_json_document_info(struct nb_buffer *out, struct nb_string id,
                          const struct nb_document_info *info)
{
    char learned[NB_JSON_TIME_BYTES];
    nb_json_format_time(info->learned, learned);
    struct nb_emitter e = nb_emit_begin(out);
    nb_emit_open(&e, '{');
    nb_emit_member_string(&e, "id", id);
    if (info->label != NULL)
        nb_emit_member_labels(&e, "label", "labels", nb_string_of(info->label));
    else
        nb_emit_member_null(&e, "label");
    nb_emit_member_text(&e, "learned", learned);
    if (info->source[0] != '\0')
        nb_emit_member_text(&e, "source", info->source);
    nb_emit_member_u64(&e, "tokens", info->tokens);
    nb_emit_close(&e, '}');
    return nb_emit_end(&e);
}

int nb_json_vocabulary_begin(struct nb_json_vocabulary *v, uint64_t size, const char *const *labels,
                             size_t label_count)
{
    struct nb_emitter e = nb_emit_begin(v->out);
    v->labels = labels;
    v->label_count = label_count;
    nb_emit_open(&e, '{');
    nb_emit_member_u64(&e, "vocabulary", size);
    nb_emit_key(&e, "tokens");
    nb_emit_raw(&e, "[");
    return nb_emit_end(&e);
}

int nb_json_vocabulary_token(struct nb_json_vocabulary *v, const struct nb_telling_token *token)
{
    struct nb_emitter e = nb_emit_begin(v->out);
    if (v->listed++ > 0)
        nb_emit_raw(&e, ",");
    nb_emit_raw(&e, "{");
    nb_emit_member_string(&e, "token", token->token);
    nb_emit_member_open(&e, "counts", '{');
    for (size_t i = 0; i < v->label_count; i++) {
        nb_emit_name(&e, nb_string_of(v->labels[i]));
        nb_emit_u64(&e, token->counts[i]);
    }
    nb_emit_close(&e, '}');
    nb_emit_member_double(&e, "evidence", token->evidence);
    nb_emit_close(&e, '}');
    return nb_emit_end(&e);
}

int nb_json_vocabulary_end(struct nb_json_vocabulary *v)
{
    struct nb_emitter e = nb_emit_begin(v->out);
    nb_emit_raw(&e, "]}");
    return nb_emit_end(&e);
}
