/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bayes/smoothing.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/error.h"

void nb_label_weights_free(struct nb_prior_weight *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(list[i].label);
    free(list);
}

int nb_label_weights_copy(const struct nb_prior_weight *list, size_t count,
                          struct nb_prior_weight **to)
{
    struct nb_prior_weight *copy = NULL;
    assert(count == 0 || list != NULL);
    if (count != 0) {
        copy = calloc(count, sizeof *copy);
        if (copy == NULL)
            return NB_NO_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        copy[i].weight = list[i].weight;
        copy[i].label = strdup(list[i].label);
        if (copy[i].label == NULL) {
            nb_label_weights_free(copy, i);
            return NB_NO_MEMORY;
        }
    }
    *to = copy;
    return 0;
}

static bool is_before(const void *list, size_t at, const void *label)
{
    return strcmp(((const struct nb_prior_weight *)list)[at].label, label) < 0;
}

double nb_label_weights_find(const struct nb_prior_weight *list, size_t count, const char *label)
{
    size_t at = nb_search(list, count, label, is_before);
    double sum = 0;
    if (at < count && strcmp(list[at].label, label) == 0)
        return list[at].weight;
    for (size_t i = 0; i < count; i++)
        sum += list[i].weight;
    return sum / (double)count; /* never below the least; a sum of quotients might be */
}

void nb_label_weights_write(struct nb_packer *w, const struct nb_prior_weight *list, size_t count)
{
    nb_pack_varint(w, count);
    for (size_t i = 0; i < count; i++) {
        nb_pack_string(w, nb_string_of(list[i].label));
        nb_pack_double(w, list[i].weight);
    }
}

int nb_label_weights_read(struct nb_unpacker *r, struct nb_prior_weight **list, size_t *count)
{
    /* Each takes at least a length byte and eight bytes of weight, which bounds the allocation. */
    size_t wanted = (size_t)nb_unpack_bounded(r, (uint64_t)(r->end - r->at) / 9);
    if (wanted == 0)
        return 0;
    *list = calloc(wanted, sizeof **list);
    if (*list == NULL)
        return NB_NO_MEMORY;
    for (; *count < wanted; ++*count) {
        struct nb_prior_weight *w = &(*list)[*count];
        struct nb_string label = nb_unpack_string(r);
        w->weight = nb_unpack_double(r);
        if (r->failed || memchr(label.bytes, '\0', label.length) != NULL)
            return NB_CORRUPT;
        w->label = nb_string_copy(label);
        if (w->label == NULL)
            return NB_NO_MEMORY;
    }
    return 0;
}

const char *const nb_smoothing_p_names[] = {"uniform", "vocabulary", "parent", NULL};

/* Names of kinds in the store; ONE is not stored. The last one is VALUES with numbers by label. */
static const char *const kinds[] = {"one",    "labels",          "beta", "m",
                                    "values", "values by label", NULL};

enum { STORED_BY_LABEL = NB_SMOOTHING_VALUES + 1 };

static void value_labels_free(struct nb_field_smoothing *field)
{
    for (size_t i = 0; field->labels != NULL && i < field->count; i++)
        nb_label_weights_free(field->labels[i].list, field->labels[i].count);
    free(field->labels);
}

static void fields_free(struct nb_field_smoothing *fields, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(fields[i].field);
        value_labels_free(&fields[i]);
        nb_label_weights_free(fields[i].values, fields[i].count);
    }
    free(fields);
}

void nb_smoothing_deinit(struct nb_smoothing *smoothing)
{
    nb_label_weights_free(smoothing->labels, smoothing->label_count);
    fields_free(smoothing->fields, smoothing->field_count);
    free(smoothing->values);
    *smoothing = (struct nb_smoothing){.kind = NB_SMOOTHING_ONE};
}

int nb_smoothing_add_field(struct nb_smoothing *smoothing, struct nb_string field)
{
    char *copy = nb_string_copy(field);
    if (copy == NULL || nb_array_resize(&smoothing->fields, smoothing->field_count + 1,
                                        sizeof *smoothing->fields) != 0) {
        free(copy);
        return NB_NO_MEMORY;
    }
    smoothing->fields[smoothing->field_count++] = (struct nb_field_smoothing){.field = copy};
    return 0;
}

static int copy_value_labels(struct nb_field_smoothing *to, const struct nb_field_smoothing *from)
{
    if (from->labels == NULL)
        return 0;
    to->labels = calloc(from->count + 1, sizeof *to->labels);
    if (to->labels == NULL)
        return NB_NO_MEMORY;
    for (size_t i = 0; i < from->count; i++) {
        const struct nb_value_labels *f = &from->labels[i];
        if (nb_label_weights_copy(f->list, f->count, &to->labels[i].list) != 0)
            return NB_NO_MEMORY;
        to->labels[i].count = f->count;
    }
    return 0;
}

static int copy_fields(struct nb_smoothing *to, const struct nb_smoothing *from)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < from->field_count; i++) {
        const struct nb_field_smoothing *f = &from->fields[i];
        rc = nb_smoothing_add_field(to, nb_string_of(f->field));
        if (rc == 0)
            rc = nb_label_weights_copy(f->values, f->count, &to->fields[i].values);
        if (rc == 0)
            to->fields[i].count = f->count;
        if (rc == 0)
            rc = copy_value_labels(&to->fields[i], f);
    }
    return rc;
}

static int copy_values(struct nb_smoothing *to, const struct nb_smoothing *from)
{
    if (from->value_count == 0)
        return 0;
    to->values = malloc(from->value_count * sizeof *to->values);
    if (to->values == NULL)
        return NB_NO_MEMORY;
    memcpy(to->values, from->values, from->value_count * sizeof *to->values);
    to->value_count = from->value_count;
    return 0;
}

int nb_smoothing_copy(struct nb_smoothing *to, const struct nb_smoothing *from)
{
    struct nb_smoothing copy = {.kind = from->kind, .beta = from->beta, .p = from->p};
    int rc = nb_label_weights_copy(from->labels, from->label_count, &copy.labels);
    if (rc == 0)
        copy.label_count = from->label_count;
    if (rc == 0)
        rc = copy_fields(&copy, from);
    if (rc == 0)
        rc = copy_values(&copy, from);
    if (rc == 0)
        *to = copy;
    else
        nb_smoothing_deinit(&copy);
    return rc;
}

/* ---- features of values ---------------------------------------------------------------------- */

static int by_id(const void *a, const void *b)
{
    const struct nb_value_smoothing *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

int nb_smoothing_hash(struct nb_smoothing *smoothing, struct nb_attributes attributes,
                      const struct nb_key *key)
{
    size_t count = 0;
    for (size_t i = 0; i < smoothing->field_count; i++)
        count += smoothing->fields[i].count;
    smoothing->value_count = 0;
    if (count == 0)
        return 0;
    if (nb_array_resize(&smoothing->values, count, sizeof *smoothing->values) != 0)
        return NB_NO_MEMORY;
    for (size_t i = 0; i < smoothing->field_count; i++) {
        const struct nb_field_smoothing *f = &smoothing->fields[i];
        struct nb_string name = nb_string_of(f->field);
        size_t number = nb_attribute_find(attributes, name);
        assert(number < attributes.count); /* nb_settings_check */
        for (size_t v = 0; v < f->count; v++) {
            char text[NB_CATEGORY_TEXT_MOST];
            size_t length = nb_category_text(name, nb_string_of(f->values[v].label), text);
            smoothing->values[smoothing->value_count++] =
                (struct nb_value_smoothing){nb_category_id(key, number, text, length),
                                            f->values[v].weight, (uint32_t)i, (uint32_t)v};
        }
    }
    qsort(smoothing->values, count, sizeof *smoothing->values, by_id);
    return 0;
}

static bool is_below(const void *values, size_t at, const void *id)
{
    return ((const struct nb_value_smoothing *)values)[at].id < *(const uint64_t *)id;
}

size_t nb_smoothing_place(const struct nb_smoothing *smoothing, uint64_t id)
{
    assert(smoothing->value_count == 0 || smoothing->values != NULL);
    return nb_search(smoothing->values, smoothing->value_count, &id, is_below);
}

double nb_smoothing_of_label(const struct nb_smoothing *smoothing, size_t place, const char *label)
{
    const struct nb_value_smoothing *v = &smoothing->values[place];
    const struct nb_value_labels *by = smoothing->fields[v->field].labels;
    for (size_t i = 0; by != NULL && i < by[v->value].count; i++)
        if (strcmp(by[v->value].list[i].label, label) == 0)
            return by[v->value].list[i].weight;
    return v->smoothing;
}

/* ---- in the store ---------------------------------------------------------------------------- */

static bool has_labels(const struct nb_smoothing *smoothing)
{
    bool has = false;
    for (size_t i = 0; i < smoothing->field_count; i++)
        has = has || smoothing->fields[i].labels != NULL;
    return has;
}

/* By label: behind the values of each field follow the numbers of each of them by label. */
static void write_fields(struct nb_packer *w, const struct nb_smoothing *smoothing, bool by_label)
{
    nb_pack_varint(w, smoothing->field_count);
    for (size_t i = 0; i < smoothing->field_count; i++) {
        const struct nb_field_smoothing *f = &smoothing->fields[i];
        nb_pack_string(w, nb_string_of(f->field));
        nb_label_weights_write(w, f->values, f->count);
        for (size_t v = 0; by_label && v < f->count; v++)
            nb_label_weights_write(w, f->labels != NULL ? f->labels[v].list : NULL,
                                   f->labels != NULL ? f->labels[v].count : 0);
    }
}

void nb_smoothing_write(struct nb_packer *w, const struct nb_smoothing *smoothing)
{
    assert(smoothing->kind > NB_SMOOTHING_ONE && smoothing->kind <= NB_SMOOTHING_VALUES);
    bool by_label = has_labels(smoothing);
    nb_pack_string(w, nb_string_of(kinds[by_label ? STORED_BY_LABEL : smoothing->kind]));
    if (smoothing->kind == NB_SMOOTHING_LABELS)
        nb_label_weights_write(w, smoothing->labels, smoothing->label_count);
    else if (smoothing->kind == NB_SMOOTHING_BETA)
        nb_pack_double(w, smoothing->beta);
    else if (smoothing->kind == NB_SMOOTHING_VALUES)
        write_fields(w, smoothing, by_label);
    else
        nb_pack_string(w, nb_string_of(nb_smoothing_p_names[smoothing->p]));
}

/* Returns whether the name is one of the list; sets *index. */
static bool find_name(const char *const *names, struct nb_string name, int *index)
{
    for (*index = 0; names[*index] != NULL; ++*index)
        if (nb_string_equals(name, names[*index]))
            return true;
    return false;
}

static int read_value_labels(struct nb_unpacker *r, struct nb_field_smoothing *field)
{
    int rc = 0;
    bool has = false;
    field->labels = calloc(field->count + 1, sizeof *field->labels);
    if (field->labels == NULL)
        return NB_NO_MEMORY;
    for (size_t v = 0; rc == 0 && v < field->count; v++) {
        rc = nb_label_weights_read(r, &field->labels[v].list, &field->labels[v].count);
        has = has || field->labels[v].count > 0;
    }
    if (rc == 0 && !has) {
        free(field->labels);
        field->labels = NULL;
    }
    return rc;
}

static int read_fields(struct nb_unpacker *r, struct nb_smoothing *smoothing, bool by_label)
{
    uint64_t count = nb_unpack_bounded(r, NB_ATTRIBUTES_MOST);
    int rc = 0;
    for (uint64_t i = 0; rc == 0 && i < count; i++) {
        struct nb_string name = nb_unpack_string(r);
        if (r->failed || !nb_attribute_name_is_good(name))
            return NB_CORRUPT;
        rc = nb_smoothing_add_field(smoothing, name);
        if (rc == 0)
            rc =
                nb_label_weights_read(r, &smoothing->fields[i].values, &smoothing->fields[i].count);
        if (rc == 0 && by_label)
            rc = read_value_labels(r, &smoothing->fields[i]);
    }
    return rc == 0 && r->failed ? NB_CORRUPT : rc;
}

int nb_smoothing_read(struct nb_unpacker *r, struct nb_smoothing *smoothing)
{
    int kind;
    if (!find_name(kinds, nb_unpack_string(r), &kind))
        return r->failed ? NB_CORRUPT : NB_VERSION;
    bool by_label = kind == STORED_BY_LABEL;
    smoothing->kind = by_label ? NB_SMOOTHING_VALUES : kind;
    if (kind == NB_SMOOTHING_LABELS)
        return nb_label_weights_read(r, &smoothing->labels, &smoothing->label_count);
    if (smoothing->kind == NB_SMOOTHING_VALUES)
        return read_fields(r, smoothing, by_label);
    if (kind == NB_SMOOTHING_BETA)
        smoothing->beta = nb_unpack_double(r);
    else if (kind == NB_SMOOTHING_M && !find_name(nb_smoothing_p_names, nb_unpack_string(r), &kind))
        return r->failed ? NB_CORRUPT : NB_VERSION;
    if (smoothing->kind == NB_SMOOTHING_M)
        smoothing->p = kind;
    return smoothing->kind == NB_SMOOTHING_ONE ? NB_CORRUPT : 0;
}
