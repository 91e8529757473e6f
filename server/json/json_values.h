/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the member "values" of a document, an object with the names of fields and their values, and
 * a document's label. Any thread; a struct nb_json_values belongs to one.
 */
#ifndef NB_SERVER_JSON_JSON_VALUES_H
#define NB_SERVER_JSON_JSON_VALUES_H

#include "core/base/attribute.h"
#include "core/base/buffer.h"
#include "core/base/error.h"

struct json_t;

/* Trims and composes a label that a client gives in a member, a query or a path
 * (core/base/label.h), and checks it (nb_check_label). Every protocol calls this one
 * function. *label is set to a part of itself, or to bytes in `room`, which must outlive it.
 * Returns 0, NB_UNUSABLE (also for a label with U+FFFD, the mark of bytes that were lost in a wrong
 * charset) or NB_NO_MEMORY. */
int nb_label_take(struct nb_string *label, struct nb_buffer *room, struct nb_error *error);

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
