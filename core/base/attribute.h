/* SPDX-License-Identifier: Apache-2.0
 *
 * Attributes: the fields that a model's settings name, and the values that a document has for them.
 * The number of an attribute is its place in the settings. It never changes, because the ids of
 * features contain it (core/base/feature.h). Pure functions; any thread.
 */
#ifndef NB_CORE_BASE_ATTRIBUTE_H
#define NB_CORE_BASE_ATTRIBUTE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/error.h"
#include "core/base/feature.h"

struct nb_key;

enum {
    NB_ATTRIBUTES_MOST = NB_PARTS_MOST / 2, /* most attributes of one model */
    NB_ATTRIBUTE_NAME_MOST = 32,            /* bytes */
    NB_CATEGORY_MOST = 256,                 /* bytes of a value of a category or a set */
    NB_CATEGORY_TEXT_MOST = NB_ATTRIBUTE_NAME_MOST + 1 + NB_CATEGORY_MOST
};

struct nb_attribute {
    char *name; /* NUL-terminated */
    int kind;   /* enum nb_field_kind */
};

/* The type that a value had before it became a text, where that matters. */
enum nb_value_type { NB_VALUE_TEXT, NB_VALUE_WHOLE_NUMBER, NB_VALUE_FRACTION };

/* A value of an attribute in a document; all of it is borrowed. Attributes without a value are left
 * out. */
struct nb_value {
    struct nb_string name;         /* name of the attribute */
    bool is_list;                  /* a set of values; else one */
    const struct nb_string *items; /* UTF-8; of a set in ascending order, each once */
    size_t count;                  /* number of items; 1 unless it is a set */
    enum nb_value_type type;       /* the type of a single value */
};

/* The values of a document, in the order of their names. */
struct nb_values {
    const struct nb_value *values;
    size_t count;
};

/* The attributes of a model. */
struct nb_attributes {
    const struct nb_attribute *list;
    size_t count;
    bool is_open; /* documents may have other attributes, which are ignored */
};

/* Returns the number of the attribute with this name, or `attributes.count` if there is none. */
size_t nb_attribute_find(struct nb_attributes attributes, struct nb_string name);

/* Returns the kind of a new attribute to which this value would belong: number, set or category. */
enum nb_field_kind nb_attribute_kind_of(const struct nb_value *value);

/* Whether an attribute can have this name: UTF-8 of 1 to NB_ATTRIBUTE_NAME_MOST bytes without
 * control characters, '=' and ':', which follow it in the texts of features. */
bool nb_attribute_name_is_good(struct nb_string name);

/* Writes the feature text of a value of a category or a set ("country=DE"). Name and value are
 * within their limits. Returns its length. */
size_t nb_category_text(struct nb_string name, struct nb_string value,
                        char text[NB_CATEGORY_TEXT_MOST]);
/* Returns the id of that feature under a key. `number` is the attribute's; `text` has `length`
 * bytes. */
uint64_t nb_category_id(const struct nb_key *key, size_t number, const char *text, size_t length);

/* Checks whether a document of a model with these attributes can have these values. Returns 0,
 * NB_INVALID (a fraction for an attribute that takes none), or NB_UNUSABLE with the fault: an
 * unknown attribute, a single value instead of a set or the reverse, a category that is too long,
 * or, for an attribute that takes numbers, a text that is no number in range. */
int nb_values_check(struct nb_values values, struct nb_attributes attributes,
                    struct nb_error *error);

#endif
