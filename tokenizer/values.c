/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/values.h"

#include <assert.h>
#include <string.h>

#include "core/base/feature_hash.h"
#include "tokenizer/text/text.h"

static int count_id(struct nb_tokenizing *t, uint64_t id, const char *text, size_t length)
{
    if (t->tokens_left == 0) {
        t->bag->truncated = true;
        return 0;
    }
    t->tokens_left--;
    return nb_bag_add_id(t->bag, id, text, length);
}

/* Counts a feature of a part, by its whole text. */
static int count_feature(struct nb_tokenizing *t, unsigned part, const char *text, size_t length)
{
    return count_id(t, nb_feature_value_id(part, nb_feature_hash(t->key, text, length)), text,
                    length);
}

static int count_category(struct nb_tokenizing *t, unsigned part, struct nb_string name,
                          struct nb_string value)
{
    char text[NB_CATEGORY_TEXT_MOST];
    size_t length = nb_category_text(name, value, text);
    return count_id(t, nb_category_id(t->key, part / 2, text, length), text, length);
}

static int count_number(struct nb_tokenizing *t, unsigned part, struct nb_string name,
                        struct nb_string value)
{
    char text[NB_ATTRIBUTE_NAME_MOST + 1 + NB_DECIMAL_TEXT];
    uint64_t number;
    bool is_number = nb_decimal_read(value, &number);
    assert(name.length <= NB_ATTRIBUTE_NAME_MOST && is_number);
    memcpy(text, name.bytes, name.length);
    text[name.length] = '=';
    size_t length = name.length + 1 + nb_decimal_write(number, text + name.length + 1);
    return count_id(t, nb_feature_number_id(part, number), text, length);
}

static int count_text(struct nb_tokenizing *t, unsigned part, struct nb_string name,
                      struct nb_string value)
{
    char prefix[NB_ATTRIBUTE_NAME_MOST + 2];
    assert(name.length <= NB_ATTRIBUTE_NAME_MOST);
    memcpy(prefix, name.bytes, name.length);
    memcpy(prefix + name.length, ":", 2);
    return nb_tokenize_value(t, part, prefix, value.bytes, value.length);
}

static int count_item(struct nb_tokenizing *t, unsigned part, int kind, struct nb_string name,
                      struct nb_string item)
{
    if (kind == NB_FIELD_KIND_NUMBER)
        return count_number(t, part, name, item);
    return kind == NB_FIELD_KIND_TEXT ? count_text(t, part, name, item)
                                      : count_category(t, part, name, item);
}

/* Counts the presence of a value first: if a limit ends the count, every counted value has it. */
static int count_value(struct nb_tokenizing *t, const struct nb_value *value, unsigned part,
                       int kind)
{
    int rc = 0;
    if (kind == NB_FIELD_KIND_TEXT || kind == NB_FIELD_KIND_SET)
        rc = count_feature(t, part + 1, value->name.bytes, value->name.length);
    for (size_t i = 0; rc == 0 && i < value->count; i++)
        rc = count_item(t, part, kind, value->name, value->items[i]);
    return rc;
}

int nb_tokenize_values(struct nb_tokenizing *t, struct nb_values values,
                       struct nb_attributes attributes)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < values.count; i++) {
        size_t number = nb_attribute_find(attributes, values.values[i].name);
        assert(number <= NB_ATTRIBUTES_MOST && (number < attributes.count || attributes.is_open));
        if (number == attributes.count)
            continue;
        rc = count_value(t, &values.values[i], (unsigned)number * 2, attributes.list[number].kind);
    }
    return rc;
}

static bool is_given(struct nb_values given, const char *name)
{
    size_t i = 0;
    while (i < given.count && !nb_string_equals(given.values[i].name, name))
        i++;
    return i < given.count;
}

int nb_tokenize_mail_values(struct nb_tokenizing *t, const struct nb_mail_values *known,
                            struct nb_values given, struct nb_attributes attributes)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < NB_MAIL_VALUES; i++) {
        struct nb_string name = nb_string_of(nb_mail_value_names[i]);
        size_t number = nb_attribute_find(attributes, name);
        bool is_wanted = number < attributes.count && known->known[i].length > 0 &&
                         attributes.list[number].kind == NB_FIELD_KIND_CATEGORY &&
                         !is_given(given, nb_mail_value_names[i]);
        if (is_wanted)
            rc = count_category(t, (unsigned)number * 2, name,
                                (struct nb_string){known->known[i].text, known->known[i].length});
    }
    return rc;
}
