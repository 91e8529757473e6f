/* SPDX-License-Identifier: Apache-2.0
 *
 * Settings as JSON, by the table in core/bayes/settings/settings.h: a setting added there is read,
 * written and listed here without another line, unless its type is new.
 */
#include "server/model/settings_json.h"

#include "server/json/json_load.h"
#include "server/model/settings_values.h"

enum { MOST_SETTINGS = 48, MOST_VALUES = 200000 /* of a prior over all labels, and then some */ };

static unsigned json_types(const struct nb_setting *setting)
{
    switch (setting->type) {
    case NB_SETTING_ENUM:
        return NB_TYPE_STRING;
    case NB_SETTING_DOUBLE:
        return NB_TYPE_NUMBER;
    case NB_SETTING_WEIGHT:
        return NB_TYPE_NUMBER | NB_TYPE_STRING;
    case NB_SETTING_COUNT:
        return NB_TYPE_COUNT;
    case NB_SETTING_BOOL:
        return NB_TYPE_BOOLEAN;
    case NB_SETTING_PRIOR:
        return NB_TYPE_STRING | NB_TYPE_OBJECT;
    case NB_SETTING_SMOOTHING:
        return NB_TYPE_NUMBER | NB_TYPE_OBJECT;
    case NB_SETTING_MODEL:
    case NB_SETTING_HOST:
        return NB_TYPE_STRING | NB_TYPE_NULL;
    case NB_SETTING_ATTRIBUTES:
    case NB_SETTING_FIELDS:
        break;
    }
    return NB_TYPE_OBJECT;
}

static void *field_of(struct nb_settings *settings, const struct nb_setting *setting)
{
    return (char *)settings + setting->offset;
}

static int take_setting(const struct nb_setting *setting, const json_t *value,
                        struct nb_settings *settings, struct nb_error *error)
{
    void *field = field_of(settings, setting);
    switch (setting->type) {
    case NB_SETTING_ENUM:
        return nb_json_take_enum(setting->name, value, setting->names,
                                 nb_json_count_names(setting->names), field, error);
    case NB_SETTING_DOUBLE:
        *(double *)field = json_number_value(value);
        return 0;
    case NB_SETTING_WEIGHT:
        return nb_json_take_weight_or_auto(setting, value, field, error);
    case NB_SETTING_COUNT:
        return nb_json_take_count(setting->name, value, field, error);
    case NB_SETTING_BOOL:
        *(bool *)field = json_is_true(value);
        return 0;
    case NB_SETTING_PRIOR:
        return nb_json_take_prior(setting, value, settings, error);
    case NB_SETTING_SMOOTHING:
        return nb_json_take_smoothing(setting, value, settings, error);
    case NB_SETTING_MODEL:
        return nb_json_take_model(setting, value, field, error);
    case NB_SETTING_HOST:
        return nb_json_take_host(value, field, error);
    case NB_SETTING_ATTRIBUTES: /* take_attributes */
        return 0;
    case NB_SETTING_FIELDS:
        break;
    }
    return nb_json_take_fields(setting, value, field, error);
}

/* The preset is read first: the defaults of the other settings depend on it. */
static int take_preset(const struct nb_setting *table, size_t count, const json_t *const *values,
                       const struct nb_settings *existing, int *preset, struct nb_error *error)
{
    *preset = existing == NULL ? NB_PRESET_TEXT : existing->preset;
    for (size_t i = 0; i < count; i++)
        if (table[i].offset == offsetof(struct nb_settings, preset) && values[i] != NULL)
            return nb_json_take_enum(table[i].name, values[i], table[i].names,
                                     nb_json_count_names(table[i].names), preset, error);
    return 0;
}

/* The fields of settings that do not say which: those of the preset; or those that documents of
 * `existing` (NULL: there are none) were counted with, where these have what the preset reads. */
static uint32_t choose_fields(const struct nb_settings *made, const struct nb_settings *existing)
{
    uint32_t wanted =
        nb_settings_default_fields((enum nb_preset)made->preset, (enum nb_decision)made->decision);
    if (existing == NULL)
        return wanted;
    bool has_all = (wanted & ~existing->tokenizer_fields) == 0;
    return existing->preset == made->preset || has_all ? existing->tokenizer_fields : wanted;
}

int nb_json_settings_take(const json_t *value, const struct nb_settings *existing,
                          bool keep_tokenizer, struct nb_settings *settings, struct nb_error *error)
{
    size_t count;
    const struct nb_setting *table = nb_settings_table(&count);
    struct nb_json_member members[MOST_SETTINGS];
    const json_t *values[MOST_SETTINGS];
    if (count > MOST_SETTINGS)
        return nb_error_set(error, NB_INVALID, "more settings than the codec has room for");
    for (size_t i = 0; i < count; i++)
        members[i] = (struct nb_json_member){table[i].name, json_types(&table[i]), false};
    int preset;
    int rc = nb_json_take(value, "a model's settings", members, count, values, error);
    if (rc == 0)
        rc = take_preset(table, count, values, existing, &preset, error);
    if (rc != 0)
        return rc;
    struct nb_settings made;
    nb_settings_init(&made, (enum nb_preset)preset);
    made.tokenizer_fields = 0; /* not given */
    for (size_t i = 0; i < count && rc == 0; i++) {
        if (table[i].type == NB_SETTING_ATTRIBUTES)
            rc = values[i] != NULL
                     ? nb_json_take_attributes(&table[i], values[i], existing, &made, error)
                     : nb_json_keep_attributes(existing, &made, error);
        else if (values[i] != NULL)
            rc = take_setting(&table[i], values[i], &made, error);
    }
    if (made.tokenizer_fields == 0)
        made.tokenizer_fields = choose_fields(&made, keep_tokenizer ? existing : NULL);
    if (rc == 0)
        rc = nb_settings_check(&made, error);
    if (rc != 0)
        nb_settings_deinit(&made);
    else
        *settings = made;
    return rc;
}

int nb_json_settings_read(struct nb_string text, const struct nb_settings *existing,
                          bool keep_tokenizer, struct nb_settings *settings, struct nb_error *error)
{
    json_t *value;
    int rc = nb_json_load(text, MOST_VALUES, &value, error);
    if (rc != 0)
        return rc;
    rc = nb_json_settings_take(value, existing, keep_tokenizer, settings, error);
    json_decref(value);
    return rc;
}
