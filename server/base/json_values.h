/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads JSON with jansson, takes objects apart by a table of their members, and reads the member
 * "values" of a document, an object with the names of fields and their values, and a document's
 * label. Any thread; a struct nb_json_values belongs to one.
 */
#ifndef NB_SERVER_BASE_JSON_VALUES_H
#define NB_SERVER_BASE_JSON_VALUES_H

#include <jansson.h>

#include "core/base/attribute.h"
#include "core/base/buffer.h"
#include "core/base/error.h"

/* Parses a text. More than `most_values` values give NB_TOO_LARGE before the text is parsed,
 * because three bytes of text make a value of a hundred bytes of memory. Refuses duplicate keys,
 * invalid UTF-8 and anything after the value. */
int nb_json_load(struct nb_string text, size_t most_values, json_t **value, struct nb_error *error);

/* Returns "a string", "a number" ... for messages. */
const char *nb_json_type_name(const json_t *value);

enum {
    NB_TYPE_STRING = 1 << JSON_STRING,
    NB_TYPE_COUNT = 1 << JSON_INTEGER,
    NB_TYPE_NAME = NB_TYPE_STRING | NB_TYPE_COUNT, /* a number stands for its text */
    NB_TYPE_NUMBER = 1 << JSON_INTEGER | 1 << JSON_REAL,
    NB_TYPE_ARRAY = 1 << JSON_ARRAY,
    NB_TYPE_OBJECT = 1 << JSON_OBJECT,
    NB_TYPE_NULL = 1 << JSON_NULL,
    NB_TYPE_BOOLEAN = 1 << JSON_TRUE | 1 << JSON_FALSE
};

struct nb_json_member {
    const char *name;
    unsigned types; /* allowed ones: NB_TYPE_... or'ed */
    bool required;
};

/* Takes an object apart: sets `values[i]` to the value of `members[i]` (borrowed) or to NULL.
 * Returns 0, or NB_INVALID for a value that is no object, an unknown member, a wrong type or a
 * missing required member. `what` names the object in messages, with its article: "a document". */
int nb_json_take(const json_t *object, const char *what, const struct nb_json_member *members,
                 size_t count, const json_t **values, struct nb_error *error);

/* Returns the bytes of a JSON string, borrowed. */
struct nb_string nb_json_text(const json_t *string);

/* Sets *name to the text of an id or a label (NB_TYPE_NAME): the bytes of a string, or the decimal
 * digits of a whole number, which are appended to `room`. Earlier names that point into `room` stay
 * valid if it has NB_NUMBER_TEXT bytes left for each number. Returns 0 or NB_NO_MEMORY. */
int nb_json_name(const json_t *value, struct nb_buffer *room, struct nb_string *name);

/* Reads the member "ids", 1 to `most` ids, and sorts them; duplicates are dropped. The ids borrow
 * from `list`; *ids is the caller's to free, also on failure. Returns 0, NB_INVALID, NB_UNUSABLE,
 * NB_TOO_LARGE or NB_NO_MEMORY. */
int nb_json_read_ids(const json_t *list, size_t most, struct nb_string **ids, size_t *count,
                     struct nb_error *error);

/* Trims and composes a label that a client gives in a member, a query or a path
 * (core/base/label.h), and checks it (nb_check_label). Every protocol calls this one
 * function. *label is set to a part of itself, or to bytes in `room`, which must outlive it.
 * Returns 0, NB_UNUSABLE (also for a label with U+FFFD, the mark of bytes that were lost in a wrong
 * charset) or NB_NO_MEMORY. */
int nb_label_take(struct nb_string *label, struct nb_buffer *room, struct nb_error *error);

/* Reads a list of labels, each as nb_label_take does, into the set of them
 * (core/base/label_set.h). `out` is emptied first. `what` names the list in messages. Returns 0,
 * NB_INVALID, NB_UNUSABLE or NB_NO_MEMORY. */
int nb_json_read_labels(const json_t *list, const char *what, struct nb_buffer *out,
                        struct nb_error *error);
/* As nb_json_read_labels, for a text of labels with `separator` between them, and white space
 * around them; empty ones are left out. */
int nb_text_read_labels(struct nb_string text, char separator, struct nb_buffer *out,
                        struct nb_error *error);

/* The values borrow from the JSON value that they were read from. */
struct nb_json_values {
    struct nb_value *values; /* owned; sorted by name; not NULL after reading, even if empty */
    size_t count;
    struct nb_string *items; /* private: owned; the items of all values */
    char *numbers;           /* private: owned; the texts of numbers */
};

/* Reads an object. A string is one value, as is a number or a boolean, which stands for its text. A
 * list of strings, whole numbers and booleans is a set; null is no value. On failure nothing needs
 * freeing. Returns 0, NB_INVALID (other types) or NB_NO_MEMORY. */
int nb_json_values_read(const struct json_t *object, struct nb_json_values *values,
                        struct nb_error *error);
void nb_json_values_deinit(struct nb_json_values *values);

#endif
