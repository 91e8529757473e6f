/* SPDX-License-Identifier: Apache-2.0 */
#include "server/model/settings_smoothing.h"

#include <stdlib.h>
#include <string.h>

#include "server/json/load.h"
#include "server/model/settings_values.h"

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
        int rc = nb_json_take_weights(name, values, &added->values, &added->count, error);
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
    int rc = nb_json_check_labels(labels, error);
    return rc == 0 ? nb_json_take_weights(name, labels, &by->labels, &by->label_count, error) : rc;
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
