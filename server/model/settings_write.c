/* SPDX-License-Identifier: Apache-2.0 */
#include "server/model/settings_json.h"

#include "server/json/emit.h"

static const void *value_of(const struct nb_settings *settings, const struct nb_setting *setting)
{
    return (const char *)settings + setting->offset;
}

static void emit_weights(struct nb_emitter *e, const struct nb_prior_weight *list, size_t count)
{
    nb_emit_open(e, '{');
    for (size_t i = 0; i < count; i++) {
        nb_emit_name(e, nb_string_of(list[i].label));
        nb_emit_short_double(e, list[i].weight);
    }
    nb_emit_close(e, '}');
}

static void emit_values(struct nb_emitter *e, const struct nb_smoothing *by)
{
    nb_emit_open(e, '{');
    for (size_t i = 0; i < by->field_count; i++) {
        nb_emit_name(e, nb_string_of(by->fields[i].field));
        emit_weights(e, by->fields[i].values, by->fields[i].count);
    }
    nb_emit_close(e, '}');
}

static void emit_smoothing(struct nb_emitter *e, const struct nb_settings *settings)
{
    const struct nb_smoothing *by = &settings->smoothing_by;
    if (by->kind == NB_SMOOTHING_ONE) {
        nb_emit_short_double(e, settings->smoothing);
        return;
    }
    nb_emit_open(e, '{');
    if (by->kind == NB_SMOOTHING_LABELS) {
        nb_emit_key(e, "labels");
        emit_weights(e, by->labels, by->label_count);
    } else if (by->kind == NB_SMOOTHING_BETA) {
        nb_emit_member_short_double(e, "alpha", settings->smoothing);
        nb_emit_member_short_double(e, "beta", by->beta);
    } else if (by->kind == NB_SMOOTHING_VALUES) {
        nb_emit_key(e, "values");
        emit_values(e, by);
        nb_emit_member_short_double(e, "default", settings->smoothing);
    } else {
        nb_emit_member_short_double(e, "m", settings->smoothing);
        nb_emit_member_text(e, "p", nb_smoothing_p_names[by->p]);
    }
    nb_emit_close(e, '}');
}

static void emit_prior(struct nb_emitter *e, const struct nb_setting *setting,
                       const struct nb_settings *settings)
{
    if (settings->prior != NB_PRIOR_GIVEN) {
        nb_emit_text(e, setting->names[settings->prior]);
        return;
    }
    emit_weights(e, settings->weights, settings->weight_count);
}

static void emit_fields(struct nb_emitter *e, const struct nb_setting *setting, uint32_t mask)
{
    nb_emit_open(e, '{');
    nb_emit_key(e, "fields");
    nb_emit_open(e, '[');
    for (size_t i = 0; setting->names[i] != NULL; i++)
        if ((mask >> i & 1u) != 0)
            nb_emit_text(e, setting->names[i]);
    nb_emit_close(e, ']');
    nb_emit_close(e, '}');
}

static void emit_attributes(struct nb_emitter *e, const struct nb_setting *setting,
                            const struct nb_settings *settings)
{
    nb_emit_open(e, '{');
    for (size_t i = 0; i < settings->attribute_count; i++) {
        nb_emit_name(e, nb_string_of(settings->attributes[i].name));
        nb_emit_text(e, setting->names[settings->attributes[i].kind]);
    }
    nb_emit_close(e, '}');
}

static void emit_setting(struct nb_emitter *e, const struct nb_setting *setting,
                         const struct nb_settings *settings)
{
    const void *value = value_of(settings, setting);
    switch (setting->type) {
    case NB_SETTING_ENUM:
        nb_emit_text(e, setting->names[*(const int *)value]);
        break;
    case NB_SETTING_DOUBLE:
        nb_emit_short_double(e, *(const double *)value);
        break;
    case NB_SETTING_WEIGHT:
        if (nb_weight_is_auto(*(const double *)value))
            nb_emit_text(e, "auto");
        else
            nb_emit_short_double(e, *(const double *)value);
        break;
    case NB_SETTING_COUNT:
        nb_emit_u64(e, *(const uint64_t *)value);
        break;
    case NB_SETTING_BOOL:
        nb_emit_bool(e, *(const bool *)value);
        break;
    case NB_SETTING_PRIOR:
        emit_prior(e, setting, settings);
        break;
    case NB_SETTING_SMOOTHING:
        emit_smoothing(e, settings);
        break;
    case NB_SETTING_MODEL:
    case NB_SETTING_HOST:
        if (*(char *const *)value != NULL)
            nb_emit_text(e, *(char *const *)value);
        else
            nb_emit_raw(e, "null");
        break;
    case NB_SETTING_ATTRIBUTES:
        emit_attributes(e, setting, settings);
        break;
    case NB_SETTING_FIELDS:
        emit_fields(e, setting, *(const uint32_t *)value);
        break;
    }
}

void nb_emit_settings(struct nb_emitter *e, const struct nb_settings *settings)
{
    size_t count;
    const struct nb_setting *table = nb_settings_table(&count);
    nb_emit_open(e, '{');
    for (size_t i = 0; i < count; i++) {
        nb_emit_key(e, table[i].name);
        emit_setting(e, &table[i], settings);
    }
    nb_emit_close(e, '}');
}

int nb_json_settings(struct nb_buffer *out, const struct nb_settings *settings)
{
    struct nb_emitter e = nb_emit_begin(out);
    nb_emit_settings(&e, settings);
    return nb_emit_end(&e);
}
