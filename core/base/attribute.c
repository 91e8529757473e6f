/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/attribute.h"

#include <assert.h>
#include <string.h>

#include "core/base/feature.h"
#include "core/base/string.h"

size_t nb_attribute_find(struct nb_attributes attributes, struct nb_string name)
{
    size_t i = 0;
    while (i < attributes.count && !nb_string_equals(name, attributes.list[i].name))
        i++;
    return i;
}

enum nb_field_kind nb_attribute_kind_of(const struct nb_value *value)
{
    if (value->is_list)
        return NB_FIELD_KIND_SET;
    return value->type == NB_VALUE_TEXT ? NB_FIELD_KIND_CATEGORY : NB_FIELD_KIND_NUMBER;
}

bool nb_attribute_name_is_good(struct nb_string name)
{
    return name.length >= 1 && name.length <= NB_ATTRIBUTE_NAME_MOST && nb_utf8_is_valid(name) &&
           !nb_utf8_has_control(name) && memchr(name.bytes, '=', name.length) == NULL &&
           memchr(name.bytes, ':', name.length) == NULL;
}

size_t nb_category_text(struct nb_string name, struct nb_string value,
                        char text[NB_CATEGORY_TEXT_MOST])
{
    assert(name.length <= NB_ATTRIBUTE_NAME_MOST && value.length <= NB_CATEGORY_MOST);
    memcpy(text, name.bytes, name.length);
    text[name.length] = '=';
    if (value.length > 0)
        memcpy(text + name.length + 1, value.bytes, value.length);
    return name.length + 1 + value.length;
}

uint64_t nb_category_id(const struct nb_key *key, size_t number, const char *text, size_t length)
{
    assert(number < NB_ATTRIBUTES_MOST);
    return nb_feature_value_id((unsigned)number * 2, nb_feature_hash(key, text, length));
}

static int unknown(struct nb_string name, struct nb_error *error)
{
    struct nb_string shown = nb_utf8_cut(name, NB_ATTRIBUTE_NAME_MOST);
    return nb_error_set(error, NB_UNUSABLE,
                        "`values`: the model has no field '%.*s'; the setting `fields` names them",
                        (int)shown.length, shown.bytes);
}

static int check_number(struct nb_string text, const struct nb_attribute *attribute,
                        struct nb_error *error)
{
    uint64_t number;
    struct nb_string shown = nb_utf8_cut(text, NB_ATTRIBUTE_NAME_MOST);
    if (nb_decimal_read(text, &number))
        return 0;
    return nb_error_set(error, NB_UNUSABLE,
                        "`values`: '%s' takes a number between -10^15 and 10^15, and '%.*s' is "
                        "none",
                        attribute->name, (int)shown.length, shown.bytes);
}

static int check_value(const struct nb_value *value, const struct nb_attribute *attribute,
                       struct nb_error *error)
{
    bool takes_list = attribute->kind == NB_FIELD_KIND_SET;
    if (value->is_list != takes_list)
        return nb_error_set(error, NB_UNUSABLE,
                            takes_list ? "`values`: '%s' is a set and takes a list of strings"
                                       : "`values`: '%s' takes one value; a field that takes a "
                                         "list is of the kind set",
                            attribute->name);
    if (attribute->kind == NB_FIELD_KIND_NUMBER)
        return check_number(value->items[0], attribute, error);
    if (value->type == NB_VALUE_FRACTION)
        return nb_error_set(error, NB_INVALID, "`values`: '%s' takes a string, not a fraction",
                            attribute->name);
    bool is_text = attribute->kind == NB_FIELD_KIND_TEXT;
    for (size_t i = 0; !is_text && i < value->count; i++)
        if (value->items[i].length > NB_CATEGORY_MOST)
            return nb_error_set(error, NB_UNUSABLE,
                                "`values`: a value of '%s' has %zu bytes, and may have %d",
                                attribute->name, value->items[i].length, NB_CATEGORY_MOST);
    return 0;
}

int nb_values_check(struct nb_values values, struct nb_attributes attributes,
                    struct nb_error *error)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < values.count; i++) {
        const struct nb_value *value = &values.values[i];
        size_t number = nb_attribute_find(attributes, value->name);
        if (number < attributes.count)
            rc = check_value(value, &attributes.list[number], error);
        else if (!attributes.is_open)
            rc = unknown(value->name, error);
    }
    return rc;
}
