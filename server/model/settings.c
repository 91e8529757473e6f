/* SPDX-License-Identifier: Apache-2.0
 *
 * Settings as JSON, by the table in core/model/settings.h: a setting added there is read, written
 * and listed here without another line, unless its type is new.
 */
#include "server/model/settings.h"

#include <stdlib.h>
#include <string.h>

#include "core/engine/engine.h"
#include "server/json/load.h"

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

static const void *value_of(const struct nb_settings *settings, const struct nb_setting *setting)
{
    return (const char *)settings + setting->offset;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* The index of a JSON string among the first `count` names, or -1. */
static int index_of(const char *const *names, size_t count, const json_t *value)
{
    struct nb_string text = nb_json_text(value);
    for (size_t i = 0; i < count; i++)
        if (names[i] != NULL && nb_string_equals(text, names[i]))
            return (int)i;
    return -1;
}

static size_t count_names(const char *const *names)
{
    size_t count = 0;
    while (names[count] != NULL)
        count++;
    return count;
}

/* 'member "decision" cannot be "x"; it is one of bayes, stacked'. */
static int no_such_name(const char *member, const json_t *value, const char *const *names,
                        size_t count, struct nb_error *error)
{
    char known[160] = "";
    for (size_t i = 0; i < count; i++) {
        if (names[i] == NULL || strlen(known) + strlen(names[i]) + 3 > sizeof known)
            continue;
        if (known[0] != '\0')
            strncat(known, ", ", sizeof known - strlen(known) - 1);
        strncat(known, names[i], sizeof known - strlen(known) - 1);
    }
    return nb_error_set(error, NB_UNUSABLE, "member \"%s\" cannot be \"%.48s\"; it is one of %s",
                        member, json_string_value(value), known);
}

static int take_enum(const char *member, const json_t *value, const char *const *names,
                     size_t count, int *index, struct nb_error *error)
{
    int found = index_of(names, count, value);
    if (found < 0)
        return no_such_name(member, value, names, count, error);
    *index = found;
    return 0;
}

static int take_count(const char *member, const json_t *value, uint64_t *count,
                      struct nb_error *error)
{
    json_int_t number = json_integer_value(value);
    if (number < 0)
        return nb_error_set(error, NB_UNUSABLE,
                            "member \"%s\" must be at least 0, not %" JSON_INTEGER_FORMAT, member,
                            number);
    *count = (uint64_t)number;
    return 0;
}

static int by_label(const void *a, const void *b)
{
    const struct nb_prior_weight *left = a, *right = b;
    return strcmp(left->label, right->label);
}

/* A number given to a label, or a value, of the member `name`. */
static int take_weight(const char *name, const char *label, const json_t *value,
                       struct nb_prior_weight *weight, struct nb_error *error)
{
    if (!json_is_number(value))
        return nb_error_set(error, NB_INVALID,
                            "member \"%s\": the weight of \"%s\" must be a number, not %s", name,
                            label, nb_json_type_name(value));
    weight->weight = json_number_value(value);
    if (!(weight->weight > 0))
        return nb_error_set(error, NB_UNUSABLE,
                            "member \"%s\": the weight of \"%s\" must be above 0", name, label);
    weight->label = strdup(label);
    return weight->label == NULL ? nb_error_no_memory(error) : 0;
}

/* Whether the names of an object can be those of labels. */
static int check_labels(const json_t *value, struct nb_error *error)
{
    json_t *object = (json_t *)(uintptr_t)value; /* iterators only read it */
    int rc = 0;
    for (void *at = json_object_iter(object); at != NULL && rc == 0;
         at = json_object_iter_next(object, at))
        rc = nb_check_label(nb_string_of(json_object_iter_key(at)), error);
    return rc;
}

/* Fills a list, which is freed with the settings, also when one of the weights turns out wrong. */
static int take_weights(const char *name, const json_t *value, struct nb_prior_weight **list,
                        size_t *count, struct nb_error *error)
{
    json_t *object = (json_t *)(uintptr_t)value; /* iterators only read it */
    size_t size = json_object_size(object);
    *list = calloc(size + 1, sizeof **list);
    if (*list == NULL)
        return nb_error_no_memory(error);
    int rc = 0;
    for (void *at = json_object_iter(object); at != NULL && rc == 0;
         at = json_object_iter_next(object, at)) {
        rc = take_weight(name, json_object_iter_key(at), json_object_iter_value(at),
                         &(*list)[*count], error);
        *count += rc == 0;
    }
    if (rc == 0)
        qsort(*list, size, sizeof **list, by_label);
    return rc;
}

static int take_prior(const struct nb_setting *setting, const json_t *value,
                      struct nb_settings *settings, struct nb_error *error)
{
    if (json_is_string(value)) /* NB_PRIOR_GIVEN has no name: weights stand for it */
        return take_enum(setting->name, value, setting->names, NB_PRIOR_GIVEN, &settings->prior,
                         error);
    settings->prior = NB_PRIOR_GIVEN;
    if (json_object_size(value) == 0)
        return nb_error_set(error, NB_UNUSABLE,
                            "member \"prior\" names no label; it is \"empirical\", \"uniform\" or "
                            "{\"label\": weight, ...}");
    int rc = check_labels(value, error);
    return rc == 0 ? take_weights(setting->name, value, &settings->weights, &settings->weight_count,
                                  error)
                   : rc;
}

static int by_field(const void *a, const void *b)
{
    const struct nb_field_smoothing *left = a, *right = b;
    return strcmp(left->field, right->field);
}

/* {"field": {"value": number, ...}, ...} */
static int take_values(const char *name, const json_t *value, struct nb_smoothing *by,
                       struct nb_error *error)
{
    json_t *object = (json_t *)(uintptr_t)value; /* iterators only read it */
    for (void *at = json_object_iter(object); at != NULL; at = json_object_iter_next(object, at)) {
        const json_t *values = json_object_iter_value(at);
        const char *field = json_object_iter_key(at);
        if (!json_is_object(values))
            return nb_error_set(error, NB_INVALID,
                                "member \"%s\": the values of \"%s\" must be an object, not %s",
                                name, field, nb_json_type_name(values));
        if (nb_smoothing_add_field(by, nb_string_of(field)) != 0)
            return nb_error_no_memory(error);
        struct nb_field_smoothing *added = &by->fields[by->field_count - 1];
        int rc = take_weights(name, values, &added->values, &added->count, error);
        if (rc != 0)
            return rc;
    }
    if (by->field_count > 0)
        qsort(by->fields, by->field_count, sizeof *by->fields, by_field);
    return 0;
}

enum { LABELS, ALPHA, BETA, M, P, VALUES, DEFAULT, SMOOTHINGS }; /* members of an object */

/* What an object says: which members are together. */
static int smoothing_kind_of(const json_t *const *is)
{
    static const struct {
        unsigned members;
        int kind;
    } kinds[] = {{1u << LABELS, NB_SMOOTHING_LABELS},
                 {1u << ALPHA | 1u << BETA, NB_SMOOTHING_BETA},
                 {1u << M | 1u << P, NB_SMOOTHING_M},
                 {1u << VALUES | 1u << DEFAULT, NB_SMOOTHING_VALUES}};
    unsigned members = 0;
    for (unsigned i = 0; i < SMOOTHINGS; i++)
        members |= (unsigned)(is[i] != NULL) << i;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].members == members)
            return kinds[i].kind;
    return NB_SMOOTHING_ONE;
}

static int take_smoothing_labels(const char *name, const json_t *labels, struct nb_smoothing *by,
                                 struct nb_error *error)
{
    int rc = check_labels(labels, error);
    return rc == 0 ? take_weights(name, labels, &by->labels, &by->label_count, error) : rc;
}

static int take_smoothing(const struct nb_setting *setting, const json_t *value,
                          struct nb_settings *settings, struct nb_error *error)
{
    static const struct nb_member members[] = {
        {"labels", NB_TYPE_OBJECT, false}, {"alpha", NB_TYPE_NUMBER, false},
        {"beta", NB_TYPE_NUMBER, false},   {"m", NB_TYPE_NUMBER, false},
        {"p", NB_TYPE_STRING, false},      {"values", NB_TYPE_OBJECT, false},
        {"default", NB_TYPE_NUMBER, false}};
    static const int numbers[] = {
        [NB_SMOOTHING_BETA] = ALPHA, [NB_SMOOTHING_M] = M, [NB_SMOOTHING_VALUES] = DEFAULT};
    const json_t *is[SMOOTHINGS];
    struct nb_smoothing *by = &settings->smoothing_by;
    if (json_is_number(value)) {
        settings->smoothing = json_number_value(value);
        return 0;
    }
    int rc = nb_json_take(value, setting->name, members, SMOOTHINGS, is, error);
    if (rc != 0)
        return rc;
    by->kind = smoothing_kind_of(is);
    if (by->kind == NB_SMOOTHING_ONE)
        return nb_error_set(error, NB_UNUSABLE,
                            "member \"%s\" is a number, {\"labels\": {\"label\": number, ...}}, "
                            "{\"alpha\": number, \"beta\": number}, {\"m\": number, \"p\": ...} "
                            "or {\"values\": {\"field\": {\"value\": number, ...}, ...}, "
                            "\"default\": number}",
                            setting->name);
    if (by->kind == NB_SMOOTHING_LABELS)
        return take_smoothing_labels(setting->name, is[LABELS], by, error);
    settings->smoothing = json_number_value(is[numbers[by->kind]]);
    if (by->kind == NB_SMOOTHING_VALUES)
        return take_values(setting->name, is[VALUES], by, error);
    if (by->kind == NB_SMOOTHING_M)
        return take_enum("p", is[P], nb_smoothing_p_names, count_names(nb_smoothing_p_names),
                         &by->p, error);
    by->beta = json_number_value(is[BETA]);
    return 0;
}

static int take_fields(const struct nb_setting *setting, const json_t *value, uint32_t *mask,
                       struct nb_error *error)
{
    static const struct nb_member members[] = {{"fields", NB_TYPE_ARRAY, false}};
    const json_t *list;
    int rc = nb_json_take(value, setting->name, members, 1, &list, error);
    if (rc != 0 || list == NULL)
        return rc;
    uint32_t bits = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *name = json_array_get(list, i);
        int bit = 0;
        if (!json_is_string(name))
            return nb_error_set(error, NB_INVALID,
                                "member \"fields\" of \"%s\" holds strings, not %s", setting->name,
                                nb_json_type_name(name));
        rc = take_enum("fields", name, setting->names, count_names(setting->names), &bit, error);
        if (rc != 0)
            return rc;
        bits |= (uint32_t)1 << bit;
    }
    if (bits == 0)
        return nb_error_set(error, NB_UNUSABLE, "%s must count at least one field", setting->name);
    *mask = bits;
    return 0;
}

/* null: none. */
static int take_host(const json_t *value, char **name, struct nb_error *error)
{
    if (json_is_null(value))
        return 0;
    struct nb_string text = nb_json_text(value);
    if (text.length > 0 && memchr(text.bytes, '\0', text.length) != NULL)
        return nb_error_set(error, NB_UNUSABLE, "a name of a host has no NUL");
    *name = nb_string_copy(text);
    return *name == NULL ? nb_error_no_memory(error) : 0;
}

/* null: none. */
static int take_model(const struct nb_setting *setting, const json_t *value, char **name,
                      struct nb_error *error)
{
    struct nb_error why;
    if (json_is_null(value))
        return 0;
    if (nb_check_model_name(nb_json_text(value), &why) != 0)
        return nb_error_set(error, NB_UNUSABLE, "member \"%s\": %s", setting->name, why.text);
    *name = nb_string_copy(nb_json_text(value));
    return *name == NULL ? nb_error_no_memory(error) : 0;
}

static int take_weight_setting(const struct nb_setting *setting, const json_t *value,
                               double *weight, struct nb_error *error)
{
    static const char *const names[] = {"auto", NULL};
    int ignored;
    *weight = NB_WEIGHT_AUTO;
    if (json_is_string(value))
        return take_enum(setting->name, value, names, 1, &ignored, error);
    *weight = json_number_value(value);
    if (*weight < 0) /* which would be "auto" */
        return nb_error_set(error, NB_UNUSABLE, "%s must be at least 0, or \"auto\"",
                            setting->name);
    return 0;
}

static int take_attribute(const struct nb_setting *setting, const char *name, const json_t *kind,
                          struct nb_settings *settings, struct nb_error *error)
{
    int number = 0;
    if (!json_is_string(kind))
        return nb_error_set(error, NB_INVALID, "member \"%s\": a field's kind is a string, not %s",
                            setting->name, nb_json_type_name(kind));
    int rc =
        take_enum(setting->name, kind, setting->names, count_names(setting->names), &number, error);
    if (rc != 0)
        return rc;
    return nb_settings_add_attribute(settings, nb_string_of(name), number) == 0
               ? 0
               : nb_error_no_memory(error);
}

/* Fields that the model has keep their numbers; new ones have the next, in their order. */
static int take_attributes(const struct nb_setting *setting, const json_t *value,
                           const struct nb_settings *existing, struct nb_settings *settings,
                           struct nb_error *error)
{
    json_t *object = (json_t *)(uintptr_t)value; /* iterators only read it */
    int rc = 0;
    for (size_t i = 0; existing != NULL && i < existing->attribute_count && rc == 0; i++) {
        const char *name = existing->attributes[i].name;
        const json_t *kind = json_object_get(object, name);
        if (kind != NULL)
            rc = take_attribute(setting, name, kind, settings, error);
    }
    for (void *at = json_object_iter(object); at != NULL && rc == 0;
         at = json_object_iter_next(object, at)) {
        struct nb_string name = nb_string_of(json_object_iter_key(at));
        if (nb_attribute_find(nb_settings_attributes(settings), name) == settings->attribute_count)
            rc = take_attribute(setting, json_object_iter_key(at), json_object_iter_value(at),
                                settings, error);
    }
    return rc;
}

/* Settings that do not say which fields there are leave them as they are. */
static int keep_attributes(const struct nb_settings *existing, struct nb_settings *settings,
                           struct nb_error *error)
{
    int rc = 0;
    for (size_t i = 0; existing != NULL && i < existing->attribute_count && rc == 0; i++)
        rc = nb_settings_add_attribute(settings, nb_string_of(existing->attributes[i].name),
                                       existing->attributes[i].kind);
    return rc == 0 ? 0 : nb_error_no_memory(error);
}

static int take_setting(const struct nb_setting *setting, const json_t *value,
                        struct nb_settings *settings, struct nb_error *error)
{
    void *field = field_of(settings, setting);
    switch (setting->type) {
    case NB_SETTING_ENUM:
        return take_enum(setting->name, value, setting->names, count_names(setting->names), field,
                         error);
    case NB_SETTING_DOUBLE:
        *(double *)field = json_number_value(value);
        return 0;
    case NB_SETTING_WEIGHT:
        return take_weight_setting(setting, value, field, error);
    case NB_SETTING_COUNT:
        return take_count(setting->name, value, field, error);
    case NB_SETTING_BOOL:
        *(bool *)field = json_is_true(value);
        return 0;
    case NB_SETTING_PRIOR:
        return take_prior(setting, value, settings, error);
    case NB_SETTING_SMOOTHING:
        return take_smoothing(setting, value, settings, error);
    case NB_SETTING_MODEL:
        return take_model(setting, value, field, error);
    case NB_SETTING_HOST:
        return take_host(value, field, error);
    case NB_SETTING_ATTRIBUTES: /* take_attributes */
        return 0;
    case NB_SETTING_FIELDS:
        break;
    }
    return take_fields(setting, value, field, error);
}

/* The preset is read first: the defaults of the other settings depend on it. */
static int take_preset(const struct nb_setting *table, size_t count, const json_t *const *values,
                       const struct nb_settings *existing, int *preset, struct nb_error *error)
{
    *preset = existing == NULL ? NB_PRESET_TEXT : existing->preset;
    for (size_t i = 0; i < count; i++)
        if (table[i].offset == offsetof(struct nb_settings, preset) && values[i] != NULL)
            return take_enum(table[i].name, values[i], table[i].names, count_names(table[i].names),
                             preset, error);
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
    struct nb_member members[MOST_SETTINGS];
    const json_t *values[MOST_SETTINGS];
    if (count > MOST_SETTINGS)
        return nb_error_set(error, NB_INVALID, "more settings than the codec has room for");
    for (size_t i = 0; i < count; i++)
        members[i] = (struct nb_member){table[i].name, json_types(&table[i]), false};
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
            rc = values[i] != NULL ? take_attributes(&table[i], values[i], existing, &made, error)
                                   : keep_attributes(existing, &made, error);
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

/* ---- writing --------------------------------------------------------------------------------- */

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
