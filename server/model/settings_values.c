/* SPDX-License-Identifier: Apache-2.0 */
#include "server/model/settings_values.h"

#include <stdlib.h>
#include <string.h>

#include "core/engine/engine.h"
#include "server/json/json_load.h"
#include "server/json/json_values.h"

/* The index of a JSON string among the first `count` names, or -1. */
static int index_of(const char *const *names, size_t count, const json_t *value)
{
    struct nb_string text = nb_json_text(value);
    for (size_t i = 0; i < count; i++)
        if (names[i] != NULL && nb_string_equals(text, names[i]))
            return (int)i;
    return -1;
}

size_t nb_json_count_names(const char *const *names)
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

int nb_json_take_enum(const char *member, const json_t *value, const char *const *names,
                      size_t count, int *index, struct nb_error *error)
{
    int found = index_of(names, count, value);
    if (found < 0)
        return no_such_name(member, value, names, count, error);
    *index = found;
    return 0;
}

int nb_json_take_count(const char *member, const json_t *value, uint64_t *count,
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
static int json_check_labels(const json_t *value, struct nb_error *error)
{
    json_t *object = (json_t *)(uintptr_t)value; /* of the request, which nothing else holds */
    json_t *given = json_copy(object);
    struct nb_buffer room = {0};
    int rc = given == NULL ? nb_error_no_memory(error) : 0;
    (void)json_object_clear(object);
    for (void *at = json_object_iter(given); at != NULL && rc == 0;
         at = json_object_iter_next(given, at)) {
        struct nb_string label = nb_string_of(json_object_iter_key(at));
        rc = nb_label_take(&label, &room, error);
        if (rc == 0 && json_object_getn(object, label.bytes, label.length) != NULL)
            rc = nb_error_set(error, NB_UNUSABLE, "the label '%.*s' is named twice",
                              (int)label.length, label.bytes);
        if (rc == 0 &&
            json_object_setn(object, label.bytes, label.length, json_object_iter_value(at)) != 0)
            rc = nb_error_no_memory(error);
    }
    nb_buffer_deinit(&room);
    json_decref(given);
    return rc;
}

/* {"label": number above 0, ...}, by label. The list belongs to the settings that it is part of,
 * also after a failure. */
/* Fills a list, which is freed with the settings, also when one of the weights turns out wrong. */
static int json_take_weights(const char *name, const json_t *value, struct nb_prior_weight **list,
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

int nb_json_take_prior(const struct nb_setting *setting, const json_t *value,
                       struct nb_settings *settings, struct nb_error *error)
{
    if (json_is_string(value)) /* NB_PRIOR_GIVEN has no name: weights stand for it */
        return nb_json_take_enum(setting->name, value, setting->names, NB_PRIOR_GIVEN,
                                 &settings->prior, error);
    settings->prior = NB_PRIOR_GIVEN;
    if (json_object_size(value) == 0)
        return nb_error_set(error, NB_UNUSABLE,
                            "member \"prior\" names no label; it is \"empirical\", \"uniform\" or "
                            "{\"label\": weight, ...}");
    int rc = json_check_labels(value, error);
    return rc == 0 ? json_take_weights(setting->name, value, &settings->weights,
                                       &settings->weight_count, error)
                   : rc;
}

int nb_json_take_fields(const struct nb_setting *setting, const json_t *value, uint32_t *mask,
                        struct nb_error *error)
{
    static const struct nb_json_member members[] = {{"fields", NB_TYPE_ARRAY, false}};
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
        rc = nb_json_take_enum("fields", name, setting->names, nb_json_count_names(setting->names),
                               &bit, error);
        if (rc != 0)
            return rc;
        bits |= (uint32_t)1 << bit;
    }
    if (bits == 0)
        return nb_error_set(error, NB_UNUSABLE, "%s must count at least one field", setting->name);
    *mask = bits;
    return 0;
}

int nb_json_take_host(const json_t *value, char **name, struct nb_error *error)
{
    if (json_is_null(value))
        return 0;
    struct nb_string text = nb_json_text(value);
    if (text.length > 0 && memchr(text.bytes, '\0', text.length) != NULL)
        return nb_error_set(error, NB_UNUSABLE, "a name of a host has no NUL");
    *name = nb_string_copy(text);
    return *name == NULL ? nb_error_no_memory(error) : 0;
}

int nb_json_take_model(const struct nb_setting *setting, const json_t *value, char **name,
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

int nb_json_take_weight_or_auto(const struct nb_setting *setting, const json_t *value,
                                double *weight, struct nb_error *error)
{
    static const char *const names[] = {"auto", NULL};
    int ignored;
    *weight = NB_WEIGHT_AUTO;
    if (json_is_string(value))
        return nb_json_take_enum(setting->name, value, names, 1, &ignored, error);
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
    int rc = nb_json_take_enum(setting->name, kind, setting->names,
                               nb_json_count_names(setting->names), &number, error);
    if (rc != 0)
        return rc;
    return nb_settings_add_attribute(settings, nb_string_of(name), number) == 0
               ? 0
               : nb_error_no_memory(error);
}

int nb_json_take_attributes(const struct nb_setting *setting, const json_t *value,
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

int nb_json_keep_attributes(const struct nb_settings *existing, struct nb_settings *settings,
                            struct nb_error *error)
{
    int rc = 0;
    for (size_t i = 0; existing != NULL && i < existing->attribute_count && rc == 0; i++)
        rc = nb_settings_add_attribute(settings, nb_string_of(existing->attributes[i].name),
                                       existing->attributes[i].kind);
    return rc == 0 ? 0 : nb_error_no_memory(error);
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
        int rc = json_take_weights(name, values, &added->values, &added->count, error);
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
    int rc = json_check_labels(labels, error);
    return rc == 0 ? json_take_weights(name, labels, &by->labels, &by->label_count, error) : rc;
}

int nb_json_take_smoothing(const struct nb_setting *setting, const json_t *value,
                           struct nb_settings *settings, struct nb_error *error)
{
    static const struct nb_json_member members[] = {
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
        return nb_json_take_enum("p", is[P], nb_smoothing_p_names,
                                 nb_json_count_names(nb_smoothing_p_names), &by->p, error);
    by->beta = json_number_value(is[BETA]);
    return 0;
}
