/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads and writes settings as JSON, by the table in core/bayes/settings.h. A setting
 * added there needs no change here, unless its type is new: then FORMS gets a row.
 */
#include "server/base/settings_json.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/engine/engine.h"
#include "server/base/json_values.h"

enum { MOST_SETTINGS = 64, MOST_VALUES = 200000 /* room for a prior over all labels */ };

/* A setting that is being read. The functions that take a value return 0, NB_INVALID (a wrong type
 * inside of an object), NB_UNUSABLE (a value that cannot be used) or NB_NO_MEMORY. What was read
 * before a failure is freed with the settings. */
struct reading {
    const struct nb_setting *setting;
    struct nb_settings *settings;
    const struct nb_settings *existing; /* settings of the existing model; NULL: there are none */
    struct nb_error *error;
};

static void *field_of(const struct reading *r)
{
    return (char *)r->settings + r->setting->offset;
}

/* ---- names and numbers ----------------------------------------------------------------------- */

/* Finds a string among the first `most` names of a list that ends in NULL. */
static int take_name(const char *member, const json_t *value, const char *const *names, size_t most,
                     int *index, struct nb_error *error)
{
    struct nb_string text = nb_json_text(value);
    char known[160] = "";
    size_t length = 0;
    for (size_t i = 0; i < most && names[i] != NULL; i++) {
        if (nb_string_equals(text, names[i])) {
            *index = (int)i;
            return 0;
        }
        if (length + strlen(names[i]) + 3 <= sizeof known)
            length += (size_t)snprintf(known + length, sizeof known - length, "%s%s",
                                       length > 0 ? ", " : "", names[i]);
    }
    return nb_error_set(error, NB_UNUSABLE, "member \"%s\" cannot be \"%.48s\"; it is one of %s",
                        member, json_string_value(value), known);
}

static int take_enum(const struct reading *r, const json_t *value)
{
    return take_name(r->setting->name, value, r->setting->names, SIZE_MAX, field_of(r), r->error);
}

static int take_double(const struct reading *r, const json_t *value)
{
    *(double *)field_of(r) = json_number_value(value);
    return 0;
}

/* Reads a number of at least 0, or "auto" (NB_WEIGHT_AUTO). */
static int take_weight_or_auto(const struct reading *r, const json_t *value)
{
    static const char *const names[] = {"auto", NULL};
    double *weight = field_of(r);
    int ignored;
    *weight = NB_WEIGHT_AUTO;
    if (json_is_string(value))
        return take_name(r->setting->name, value, names, 1, &ignored, r->error);
    *weight = json_number_value(value);
    if (*weight < 0) /* it would mean "auto" */
        return nb_error_set(r->error, NB_UNUSABLE, "%s must be at least 0, or \"auto\"",
                            r->setting->name);
    return 0;
}

static int take_count(const struct reading *r, const json_t *value)
{
    json_int_t number = json_integer_value(value);
    if (number < 0)
        return nb_error_set(r->error, NB_UNUSABLE,
                            "member \"%s\" must be at least 0, not %" JSON_INTEGER_FORMAT,
                            r->setting->name, number);
    *(uint64_t *)field_of(r) = (uint64_t)number;
    return 0;
}

static int take_bool(const struct reading *r, const json_t *value)
{
    *(bool *)field_of(r) = json_is_true(value);
    return 0;
}

/* Reads the name of a model or of a host; null: none. */
static int take_text(const struct reading *r, const json_t *value)
{
    struct nb_string text = nb_json_text(value);
    char **name = field_of(r);
    struct nb_error why;
    if (json_is_null(value))
        return 0;
    if (r->setting->type == NB_SETTING_MODEL && nb_check_model_name(text, &why) != 0)
        return nb_error_set(r->error, NB_UNUSABLE, "member \"%s\": %s", r->setting->name, why.text);
    if (text.length > 0 && memchr(text.bytes, '\0', text.length) != NULL)
        return nb_error_set(r->error, NB_UNUSABLE, "a name of a host has no NUL");
    *name = nb_string_copy(text);
    return *name == NULL ? nb_error_no_memory(r->error) : 0;
}

/* ---- numbers by label ------------------------------------------------------------------------ */

static int by_label(const void *a, const void *b)
{
    const struct nb_prior_weight *left = a, *right = b;
    return strcmp(left->label, right->label);
}

/* Reads the weight of a label or of a value. */
static int take_weight(const struct reading *r, const char *label, const json_t *value,
                       struct nb_prior_weight *weight)
{
    const char *name = r->setting->name;
    if (!json_is_number(value))
        return nb_error_set(r->error, NB_INVALID,
                            "member \"%s\": the weight of \"%s\" must be a number, not %s", name,
                            label, nb_json_type_name(value));
    weight->weight = json_number_value(value);
    if (!(weight->weight > 0))
        return nb_error_set(r->error, NB_UNUSABLE,
                            "member \"%s\": the weight of \"%s\" must be above 0", name, label);
    weight->label = strdup(label);
    return weight->label == NULL ? nb_error_no_memory(r->error) : 0;
}

/* Reads {"name": number above 0, ...} into a list sorted by name. */
static int take_weights(const struct reading *r, const json_t *value, struct nb_prior_weight **list,
                        size_t *count)
{
    json_t *object = (json_t *)(uintptr_t)value; /* iterators only read it */
    size_t size = json_object_size(object);
    *list = calloc(size + 1, sizeof **list);
    if (*list == NULL)
        return nb_error_no_memory(r->error);
    for (void *at = json_object_iter(object); at != NULL; at = json_object_iter_next(object, at)) {
        int rc =
            take_weight(r, json_object_iter_key(at), json_object_iter_value(at), &(*list)[*count]);
        if (rc != 0)
            return rc;
        ++*count;
    }
    qsort(*list, size, sizeof **list, by_label);
    return 0;
}

/* Normalizes the labels that are the keys of an object. */
static int normalize_labels(const struct reading *r, json_t *object)
{
    json_t *given = json_copy(object);
    struct nb_buffer room = {0};
    int rc = given == NULL ? nb_error_no_memory(r->error) : 0;
    (void)json_object_clear(object);
    for (void *at = json_object_iter(given); at != NULL && rc == 0;
         at = json_object_iter_next(given, at)) {
        struct nb_string label = nb_string_of(json_object_iter_key(at));
        rc = nb_label_take(&label, &room, r->error);
        if (rc == 0 && json_object_getn(object, label.bytes, label.length) != NULL)
            rc = nb_error_set(r->error, NB_UNUSABLE, "the label '%.*s' is named twice",
                              (int)label.length, label.bytes);
        if (rc == 0 &&
            json_object_setn(object, label.bytes, label.length, json_object_iter_value(at)) != 0)
            rc = nb_error_no_memory(r->error);
    }
    nb_buffer_deinit(&room);
    json_decref(given);
    return rc;
}

/* Reads {"label": number above 0, ...}, after normalizing the labels. */
static int take_labels(const struct reading *r, const json_t *value, struct nb_prior_weight **list,
                       size_t *count)
{
    json_t *object = (json_t *)(uintptr_t)value; /* belongs to the request; nothing else uses it */
    int rc = normalize_labels(r, object);
    return rc == 0 ? take_weights(r, object, list, count) : rc;
}

/* Reads {"default": number, "labels": {"label": number, ...}}; the labels may be missing. */
static int take_dirichlet(const struct reading *r, const json_t *value)
{
    static const struct nb_json_member members[] = {{"default", NB_TYPE_NUMBER, true},
                                                    {"labels", NB_TYPE_OBJECT, false}};
    const json_t *is[2];
    struct nb_settings *settings = r->settings;
    int rc = nb_json_take(value, "prior: \"dirichlet\"", members, 2, is, r->error);
    if (rc != 0)
        return rc;
    settings->prior = NB_PRIOR_DIRICHLET;
    settings->prior_default = json_number_value(is[0]);
    return is[1] == NULL ? 0 : take_labels(r, is[1], &settings->weights, &settings->weight_count);
}

/* Reads the prior: a name, weights by label, or {"dirichlet": {...}}. */
static int take_prior(const struct reading *r, const json_t *value)
{
    struct nb_settings *settings = r->settings;
    if (json_is_string(value)) /* NB_PRIOR_GIVEN has no name: it is given as weights */
        return take_name(r->setting->name, value, r->setting->names, NB_PRIOR_GIVEN,
                         &settings->prior, r->error);
    const json_t *dirichlet = json_object_get(value, "dirichlet");
    if (json_is_object(dirichlet) && json_object_size(value) == 1)
        return take_dirichlet(r, dirichlet);
    settings->prior = NB_PRIOR_GIVEN;
    if (json_object_size(value) == 0)
        return nb_error_set(r->error, NB_UNUSABLE,
                            "member \"prior\" names no label; it is \"empirical\", \"uniform\", "
                            "{\"label\": weight, ...} or {\"dirichlet\": {\"default\": number}}");
    return take_labels(r, value, &settings->weights, &settings->weight_count);
}

/* ---- thresholds ------------------------------------------------------------------------------ */

/* Reads {"precision": number} or {"cost_fp": number, "cost_fn": number}. */
static int take_wish(const struct reading *r, const char *label, const json_t *value,
                     struct nb_label_threshold *to)
{
    static const struct nb_json_member members[] = {{"precision", NB_TYPE_NUMBER, false},
                                                    {"cost_fp", NB_TYPE_NUMBER, false},
                                                    {"cost_fn", NB_TYPE_NUMBER, false}};
    const json_t *is[3];
    int rc =
        nb_json_take(value, "a threshold of the setting \"thresholds\"", members, 3, is, r->error);
    if (rc != 0)
        return rc;
    bool has_costs = is[1] != NULL && is[2] != NULL;
    if ((is[0] != NULL) + has_costs != 1 || (is[1] != NULL) != has_costs ||
        (is[2] != NULL) != has_costs)
        return nb_error_set(r->error, NB_UNUSABLE,
                            "member \"thresholds\": the threshold of \"%.64s\" must be a number, "
                            "{\"precision\": number} or {\"cost_fp\": number, \"cost_fn\": "
                            "number}",
                            label);
    to->kind = has_costs ? NB_THRESHOLD_COSTS : NB_THRESHOLD_PRECISION;
    to->number = json_number_value(is[0]);
    to->cost_fp = json_number_value(is[1]);
    to->cost_fn = json_number_value(is[2]);
    return 0;
}

static int take_threshold(const struct reading *r, const char *label, const json_t *value,
                          struct nb_label_threshold *to)
{
    int rc = 0;
    if (json_is_object(value))
        rc = take_wish(r, label, value, to);
    else if (json_is_number(value))
        to->number = json_number_value(value);
    else
        rc = nb_error_set(r->error, NB_INVALID,
                          "member \"thresholds\": the threshold of \"%.64s\" must be a number or "
                          "an object, not %s",
                          label, nb_json_type_name(value));
    if (rc != 0)
        return rc;
    to->label = strdup(label);
    return to->label == NULL ? nb_error_no_memory(r->error) : 0;
}

static int by_label_of_threshold(const void *a, const void *b)
{
    const struct nb_label_threshold *left = a, *right = b;
    return strcmp(left->label, right->label);
}

/* Reads {"label": number or wish, ...}, after normalizing the labels. */
static int take_thresholds(const struct reading *r, const json_t *value)
{
    struct nb_settings *settings = r->settings;
    json_t *object = (json_t *)(uintptr_t)value; /* belongs to the request; nothing else uses it */
    int rc = normalize_labels(r, object);
    if (rc != 0)
        return rc;
    settings->thresholds = calloc(json_object_size(object) + 1, sizeof *settings->thresholds);
    if (settings->thresholds == NULL)
        return nb_error_no_memory(r->error);
    for (void *at = json_object_iter(object); at != NULL && rc == 0;
         at = json_object_iter_next(object, at)) {
        rc = take_threshold(r, json_object_iter_key(at), json_object_iter_value(at),
                            &settings->thresholds[settings->threshold_count]);
        settings->threshold_count += rc == 0;
    }
    qsort(settings->thresholds, settings->threshold_count, sizeof *settings->thresholds,
          by_label_of_threshold);
    return rc;
}

/* ---- smoothing ------------------------------------------------------------------------------- */

static int by_field(const void *a, const void *b)
{
    const struct nb_field_smoothing *left = a, *right = b;
    return strcmp(left->field, right->field);
}

/* Reads {"value": number or {"label": number, ...}, ...}. */
static int take_field_values(const struct reading *r, const json_t *value,
                             struct nb_field_smoothing *field)
{
    json_t *object = (json_t *)(uintptr_t)value; /* iterators only read it */
    json_t *numbers = json_copy(object), *by_default = json_real(r->settings->smoothing);
    bool has_labels = false;
    int rc = numbers == NULL || by_default == NULL ? nb_error_no_memory(r->error) : 0;
    for (void *at = json_object_iter(object); at != NULL && rc == 0;
         at = json_object_iter_next(object, at)) {
        if (!json_is_object(json_object_iter_value(at)))
            continue;
        has_labels = true;
        if (json_object_set(numbers, json_object_iter_key(at), by_default) != 0)
            rc = nb_error_no_memory(r->error);
    }
    if (rc == 0)
        rc = take_weights(r, numbers, &field->values, &field->count);
    if (rc == 0 && has_labels &&
        (field->labels = calloc(field->count + 1, sizeof *field->labels)) == NULL)
        rc = nb_error_no_memory(r->error);
    for (size_t i = 0; rc == 0 && has_labels && i < field->count; i++) {
        const json_t *labels = json_object_get(object, field->values[i].label);
        if (json_is_object(labels) && json_object_size(labels) == 0)
            rc = nb_error_set(r->error, NB_UNUSABLE,
                              "member \"%s\": \"%s\" must name at least one label",
                              r->setting->name, field->values[i].label);
        else if (json_is_object(labels))
            rc = take_labels(r, labels, &field->labels[i].list, &field->labels[i].count);
    }
    json_decref(numbers);
    json_decref(by_default);
    return rc;
}

/* Reads {"field": {"value": number or {"label": number, ...}, ...}, ...}. */
static int take_values(const struct reading *r, const json_t *value, struct nb_smoothing *by)
{
    json_t *object = (json_t *)(uintptr_t)value; /* iterators only read it */
    for (void *at = json_object_iter(object); at != NULL; at = json_object_iter_next(object, at)) {
        const json_t *values = json_object_iter_value(at);
        const char *field = json_object_iter_key(at);
        if (!json_is_object(values))
            return nb_error_set(r->error, NB_INVALID,
                                "member \"%s\": the values of \"%s\" must be an object, not %s",
                                r->setting->name, field, nb_json_type_name(values));
        if (nb_smoothing_add_field(by, nb_string_of(field)) != 0)
            return nb_error_no_memory(r->error);
        struct nb_field_smoothing *added = &by->fields[by->field_count - 1];
        int rc = take_field_values(r, values, added);
        if (rc != 0)
            return rc;
    }
    if (by->field_count > 0)
        qsort(by->fields, by->field_count, sizeof *by->fields, by_field);
    return 0;
}

enum { LABELS, ALPHA, BETA, M, P, VALUES, DEFAULT, SMOOTHINGS }; /* members of an object */

/* Returns the kind of smoothing that an object describes by its members. */
static int smoothing_kind_of(const json_t *const *is)
{
    static const struct {
        unsigned members;
        int kind;
    } kinds[] = {{1u << LABELS, NB_SMOOTHING_LABELS},
                 {1u << ALPHA | 1u << BETA, NB_SMOOTHING_BETA},
                 {1u << M | 1u << P, NB_SMOOTHING_M},
                 {1u << VALUES, NB_SMOOTHING_VALUES},
                 {1u << VALUES | 1u << DEFAULT, NB_SMOOTHING_VALUES}};
    unsigned members = 0;
    for (unsigned i = 0; i < SMOOTHINGS; i++)
        members |= (unsigned)(is[i] != NULL) << i;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].members == members)
            return kinds[i].kind;
    return NB_SMOOTHING_ONE;
}

/* Reads smoothing: a number, or an object whose members determine the kind. */
static int take_smoothing(const struct reading *r, const json_t *value)
{
    static const struct nb_json_member members[] = {
        {"labels", NB_TYPE_OBJECT, false}, {"alpha", NB_TYPE_NUMBER, false},
        {"beta", NB_TYPE_NUMBER, false},   {"m", NB_TYPE_NUMBER, false},
        {"p", NB_TYPE_STRING, false},      {"values", NB_TYPE_OBJECT, false},
        {"default", NB_TYPE_NUMBER, false}};
    static const int numbers[] = {
        [NB_SMOOTHING_BETA] = ALPHA, [NB_SMOOTHING_M] = M, [NB_SMOOTHING_VALUES] = DEFAULT};
    const json_t *is[SMOOTHINGS];
    struct nb_smoothing *by = &r->settings->smoothing_by;
    if (json_is_number(value)) {
        r->settings->smoothing = json_number_value(value);
        return 0;
    }
    int rc = nb_json_take(value, r->setting->name, members, SMOOTHINGS, is, r->error);
    if (rc != 0)
        return rc;
    by->kind = smoothing_kind_of(is);
    if (by->kind == NB_SMOOTHING_ONE)
        return nb_error_set(r->error, NB_UNUSABLE,
                            "member \"%s\" is a number, {\"labels\": {\"label\": number, ...}}, "
                            "{\"alpha\": number, \"beta\": number}, {\"m\": number, \"p\": ...} "
                            "or {\"values\": {\"field\": {\"value\": number, ...}, ...}, "
                            "\"default\": number}",
                            r->setting->name);
    if (by->kind == NB_SMOOTHING_LABELS)
        return take_labels(r, is[LABELS], &by->labels, &by->label_count);
    if (is[numbers[by->kind]] !=
        NULL) /* the default need not be given: it is that of the setting */
        r->settings->smoothing = json_number_value(is[numbers[by->kind]]);
    if (by->kind == NB_SMOOTHING_VALUES)
        return take_values(r, is[VALUES], by);
    if (by->kind == NB_SMOOTHING_M)
        return take_name("p", is[P], nb_smoothing_p_names, SIZE_MAX, &by->p, r->error);
    by->beta = json_number_value(is[BETA]);
    return 0;
}

/* ---- fields ---------------------------------------------------------------------------------- */

/* Reads {"fields": [names]}. Without "fields" the mask is unchanged. */
static int take_fields(const struct reading *r, const json_t *value)
{
    static const struct nb_json_member members[] = {{"fields", NB_TYPE_ARRAY, false}};
    const char *name = r->setting->name;
    const json_t *list;
    int rc = nb_json_take(value, name, members, 1, &list, r->error);
    if (rc != 0 || list == NULL)
        return rc;
    uint32_t bits = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *field = json_array_get(list, i);
        int bit = 0;
        if (!json_is_string(field))
            return nb_error_set(r->error, NB_INVALID,
                                "member \"fields\" of \"%s\" holds strings, not %s", name,
                                nb_json_type_name(field));
        rc = take_name("fields", field, r->setting->names, SIZE_MAX, &bit, r->error);
        if (rc != 0)
            return rc;
        bits |= (uint32_t)1 << bit;
    }
    if (bits == 0)
        return nb_error_set(r->error, NB_UNUSABLE, "%s must count at least one field", name);
    *(uint32_t *)field_of(r) = bits;
    return 0;
}

static int add_attribute(const struct reading *r, const char *name, int kind)
{
    return nb_settings_add_attribute(r->settings, nb_string_of(name), kind) == 0
               ? 0
               : nb_error_no_memory(r->error);
}

static int take_attribute(const struct reading *r, const char *name, const json_t *kind)
{
    int number = 0;
    if (!json_is_string(kind))
        return nb_error_set(r->error, NB_INVALID,
                            "member \"%s\": a field's kind is a string, not %s", r->setting->name,
                            nb_json_type_name(kind));
    int rc = take_name(r->setting->name, kind, r->setting->names, SIZE_MAX, &number, r->error);
    return rc == 0 ? add_attribute(r, name, number) : rc;
}

/* Reads {"field": kind, ...}. Fields of the existing model keep their numbers; new ones get the
 * next numbers, in their order. Without a value (NULL) the fields stay as they are. */
static int take_attributes(const struct reading *r, const json_t *value)
{
    json_t *object = (json_t *)(uintptr_t)value; /* iterators only read it */
    size_t known = r->existing != NULL ? r->existing->attribute_count : 0;
    int rc = 0;
    for (size_t i = 0; i < known && rc == 0; i++) {
        const struct nb_attribute *old = &r->existing->attributes[i];
        const json_t *kind = json_object_get(object, old->name);
        if (object == NULL)
            rc = add_attribute(r, old->name, old->kind);
        else if (kind != NULL)
            rc = take_attribute(r, old->name, kind);
    }
    for (void *at = json_object_iter(object); at != NULL && rc == 0;
         at = json_object_iter_next(object, at)) {
        const char *name = json_object_iter_key(at);
        if (nb_attribute_find(nb_settings_attributes(r->settings), nb_string_of(name)) ==
            r->settings->attribute_count)
            rc = take_attribute(r, name, json_object_iter_value(at));
    }
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

static void emit_thresholds(struct nb_emitter *e, const struct nb_settings *settings)
{
    nb_emit_open(e, '{');
    for (size_t i = 0; i < settings->threshold_count; i++) {
        const struct nb_label_threshold *t = &settings->thresholds[i];
        nb_emit_name(e, nb_string_of(t->label));
        if (t->kind == NB_THRESHOLD_NUMBER) {
            nb_emit_short_double(e, t->number);
            continue;
        }
        nb_emit_open(e, '{');
        if (t->kind == NB_THRESHOLD_PRECISION) {
            nb_emit_member_short_double(e, "precision", t->number);
        } else {
            nb_emit_member_short_double(e, "cost_fp", t->cost_fp);
            nb_emit_member_short_double(e, "cost_fn", t->cost_fn);
        }
        nb_emit_close(e, '}');
    }
    nb_emit_close(e, '}');
}

static void emit_field_values(struct nb_emitter *e, const struct nb_field_smoothing *field)
{
    nb_emit_open(e, '{');
    for (size_t i = 0; i < field->count; i++) {
        const struct nb_value_labels *by = field->labels != NULL ? &field->labels[i] : NULL;
        nb_emit_name(e, nb_string_of(field->values[i].label));
        if (by != NULL && by->count > 0)
            emit_weights(e, by->list, by->count);
        else
            nb_emit_short_double(e, field->values[i].weight);
    }
    nb_emit_close(e, '}');
}

static void emit_dirichlet(struct nb_emitter *e, const struct nb_settings *settings)
{
    nb_emit_open(e, '{');
    nb_emit_member_open(e, "dirichlet", '{');
    nb_emit_member_short_double(e, "default", settings->prior_default);
    if (settings->weight_count > 0) {
        nb_emit_key(e, "labels");
        emit_weights(e, settings->weights, settings->weight_count);
    }
    nb_emit_close(e, '}');
    nb_emit_close(e, '}');
}

static void emit_values(struct nb_emitter *e, const struct nb_smoothing *by)
{
    nb_emit_member_open(e, "values", '{');
    for (size_t i = 0; i < by->field_count; i++) {
        nb_emit_name(e, nb_string_of(by->fields[i].field));
        emit_field_values(e, &by->fields[i]);
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
        emit_values(e, by);
        nb_emit_member_short_double(e, "default", settings->smoothing);
    } else {
        nb_emit_member_short_double(e, "m", settings->smoothing);
        nb_emit_member_text(e, "p", nb_smoothing_p_names[by->p]);
    }
    nb_emit_close(e, '}');
}

static void emit_fields(struct nb_emitter *e, const struct nb_setting *setting, uint32_t mask)
{
    nb_emit_open(e, '{');
    nb_emit_member_open(e, "fields", '[');
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
    const void *value = (const char *)settings + setting->offset;
    switch (setting->type) {
    case NB_SETTING_ENUM:
        nb_emit_text(e, setting->names[*(const int *)value]);
        break;
    case NB_SETTING_DOUBLE:
    case NB_SETTING_WEIGHT:
        if (setting->type == NB_SETTING_WEIGHT && nb_weight_is_auto(*(const double *)value))
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
        if (settings->prior == NB_PRIOR_GIVEN)
            emit_weights(e, settings->weights, settings->weight_count);
        else if (settings->prior == NB_PRIOR_DIRICHLET)
            emit_dirichlet(e, settings);
        else
            nb_emit_text(e, setting->names[settings->prior]);
        break;
    case NB_SETTING_THRESHOLDS:
        emit_thresholds(e, settings);
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

/* ---- all settings ---------------------------------------------------------------------------- */

/* For each type of setting, the JSON types that it may have, and its reader. */
static const struct {
    unsigned types;
    int (*take)(const struct reading *r, const json_t *value);
} FORMS[] = {
    [NB_SETTING_ENUM] = {NB_TYPE_STRING, take_enum},
    [NB_SETTING_DOUBLE] = {NB_TYPE_NUMBER, take_double},
    [NB_SETTING_COUNT] = {NB_TYPE_COUNT, take_count},
    [NB_SETTING_BOOL] = {NB_TYPE_BOOLEAN, take_bool},
    [NB_SETTING_PRIOR] = {NB_TYPE_STRING | NB_TYPE_OBJECT, take_prior},
    [NB_SETTING_SMOOTHING] = {NB_TYPE_NUMBER | NB_TYPE_OBJECT, take_smoothing},
    [NB_SETTING_THRESHOLDS] = {NB_TYPE_OBJECT, take_thresholds},
    [NB_SETTING_WEIGHT] = {NB_TYPE_NUMBER | NB_TYPE_STRING, take_weight_or_auto},
    [NB_SETTING_MODEL] = {NB_TYPE_STRING | NB_TYPE_NULL, take_text},
    [NB_SETTING_HOST] = {NB_TYPE_STRING | NB_TYPE_NULL, take_text},
    [NB_SETTING_ATTRIBUTES] = {NB_TYPE_OBJECT, take_attributes},
    [NB_SETTING_FIELDS] = {NB_TYPE_OBJECT, take_fields},
};

/* Returns the fields of settings that name none: those of the preset, or those that the documents
 * of `existing` (NULL: there are none) were counted with, if the preset is the same or needs no
 * others. */
static uint32_t choose_fields(const struct nb_settings *made, const struct nb_settings *existing)
{
    uint32_t wanted =
        nb_settings_default_fields((enum nb_preset)made->preset, (enum nb_decision)made->decision,
                                   (enum nb_label_set_kind)made->label_set);
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
    struct nb_settings made;
    int preset = existing == NULL ? NB_PRESET_TEXT : existing->preset;
    assert(count <= MOST_SETTINGS);
    for (size_t i = 0; i < count; i++)
        members[i] = (struct nb_json_member){table[i].name, FORMS[table[i].type].types, false};
    int rc = nb_json_take(value, "a model's settings", members, count, values, error);
    /* The preset is read first: the defaults of the other settings depend on it. */
    for (size_t i = 0; i < count && rc == 0; i++)
        if (table[i].offset == offsetof(struct nb_settings, preset) && values[i] != NULL)
            rc = take_name(table[i].name, values[i], table[i].names, SIZE_MAX, &preset, error);
    if (rc != 0)
        return rc == NB_UNUSABLE ? nb_error_about(error, rc, NULL, "preset") : rc;
    nb_settings_init(&made, (enum nb_preset)preset);
    made.tokenizer_fields = 0; /* 0: not given */
    if (keep_tokenizer && existing != NULL)
        made.label_set = existing->label_set; /* unless it is given; its documents have it */
    for (size_t i = 0; i < count && rc == 0; i++) {
        struct reading r = {&table[i], &made, existing, error};
        if (values[i] != NULL || table[i].type == NB_SETTING_ATTRIBUTES)
            rc = FORMS[table[i].type].take(&r, values[i]);
        if (rc == NB_INVALID || rc == NB_UNUSABLE)
            rc = nb_error_about(error, rc, NULL, table[i].name);
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

/* Adds to `given` the members of `existing` that it lacks: all, or with a preset two. */
static int add_existing(json_t *given, const struct nb_settings *existing, struct nb_error *error)
{
    static const char *const kept[] = {"tokenizer", "fields"};
    struct nb_buffer text = {0};
    json_t *all = NULL;
    int rc = nb_json_settings(&text, existing);
    if (rc == 0)
        rc = nb_json_load(nb_buffer_string(&text), MOST_VALUES, &all, error);
    nb_buffer_deinit(&text);
    if (rc != 0)
        return rc == NB_NO_MEMORY ? nb_error_no_memory(error) : rc;
    if (json_object_get(given, "preset") == NULL)
        rc = json_object_update_missing(given, all);
    for (size_t i = 0; rc == 0 && i < sizeof kept / sizeof *kept; i++)
        if (json_object_get(given, kept[i]) == NULL && json_object_get(all, kept[i]) != NULL)
            rc = json_object_set(given, kept[i], json_object_get(all, kept[i]));
    json_decref(all);
    return rc == 0 ? 0 : nb_error_no_memory(error);
}

int nb_json_settings_change(struct nb_string text, const struct nb_settings *existing,
                            struct nb_settings *settings, struct nb_error *error)
{
    static const struct nb_json_member member = {"settings", NB_TYPE_OBJECT, true};
    json_t *value;
    const json_t *given;
    int rc = nb_json_load(text, MOST_VALUES, &value, error);
    if (rc != 0)
        return rc;
    rc = nb_json_take(value, "a challenger", &member, 1, &given, error);
    if (rc == 0)
        rc = add_existing(json_object_get(value, member.name), existing, error);
    if (rc == 0)
        rc = nb_json_settings_take(given, existing, true, settings, error);
    json_decref(value);
    return rc;
}
