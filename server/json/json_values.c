/* SPDX-License-Identifier: Apache-2.0 */
#include "server/json/json_values.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/base/label.h"
#include "core/engine/engine.h"
#include "server/json/json_load.h"

int nb_label_take(struct nb_string *label, struct nb_buffer *room, struct nb_error *error)
{
    if (nb_label_normalize(label, room) != 0)
        return nb_error_no_memory(error);
    if (nb_label_is_lossy(*label))
        return nb_error_set(error, NB_UNUSABLE,
                            "`label` has U+FFFD, which stands for bytes that were lost in a wrong "
                            "charset; send it as UTF-8");
    return nb_check_label(*label, error);
}

enum { NUMBER_BYTES = 32 }; /* -9223372036854775808, or 17 digits with an exponent, and a NUL */

/* Where the next item and the text of the next number are stored. */
struct reading {
    struct nb_string *item;
    char *number;
};

static size_t items_of(const json_t *value)
{
    return json_is_null(value) ? 0 : json_is_array(value) ? json_array_size(value) : 1;
}

/* Writes the shortest text that reads back as the same number. */
static void write_fraction(double value, char *text)
{
    int digits = 15;
    do
        (void)snprintf(text, NUMBER_BYTES, "%.*g", digits, value);
    while (strtod(text, NULL) != value && ++digits <= 17);
}

static int read_item(struct reading *to, const char *name, const json_t *item, bool is_listed,
                     struct nb_error *error)
{
    if (json_is_string(item)) {
        *to->item = nb_json_text(item);
    } else if (json_is_boolean(item)) {
        *to->item = nb_string_of(json_is_true(item) ? "true" : "false");
    } else if (json_is_integer(item)) {
        (void)snprintf(to->number, NUMBER_BYTES, "%" JSON_INTEGER_FORMAT, json_integer_value(item));
        *to->item = nb_string_of(to->number);
        to->number += NUMBER_BYTES;
    } else if (json_is_real(item) && !is_listed) {
        write_fraction(json_real_value(item), to->number);
        *to->item = nb_string_of(to->number);
        to->number += NUMBER_BYTES;
    } else {
        return nb_error_set(error, NB_INVALID,
                            "member \"values\": \"%.64s\" has %s where a string or a number is "
                            "right, or a list of strings",
                            name, nb_json_type_name(item));
    }
    to->item++;
    return 0;
}

static int by_bytes(const void *a, const void *b)
{
    const struct nb_string *x = a, *y = b;
    return nb_string_compare(*x, *y);
}

static int by_name(const void *a, const void *b)
{
    const struct nb_value *x = a, *y = b;
    return nb_string_compare(x->name, y->name);
}

/* Sorts a set and drops duplicates. Returns the number of values that are left. */
static size_t sort_set(struct nb_string *items, size_t count)
{
    size_t kept = 0;
    qsort(items, count, sizeof *items, by_bytes);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || !nb_string_same(items[kept - 1], items[i]))
            items[kept++] = items[i];
    return kept;
}

static int read_value(struct reading *to, const char *name, const json_t *json,
                      struct nb_value *value, struct nb_error *error)
{
    int rc = 0;
    struct nb_string *first = to->item;
    *value = (struct nb_value){.name = nb_string_of(name),
                               .is_list = json_is_array(json),
                               .items = first,
                               .count = items_of(json)};
    if (json_is_number(json))
        value->type = json_is_real(json) ? NB_VALUE_FRACTION : NB_VALUE_WHOLE_NUMBER;
    if (!value->is_list)
        return read_item(to, name, json, false, error);
    for (size_t i = 0; rc == 0 && i < value->count; i++)
        rc = read_item(to, name, json_array_get(json, i), true, error);
    if (rc == 0)
        value->count = sort_set(first, value->count);
    return rc;
}

int nb_json_values_read(const json_t *object, struct nb_json_values *values, struct nb_error *error)
{
    json_t *all = (json_t *)(uintptr_t)object; /* iterators only read it */
    size_t items = 0;
    for (void *at = json_object_iter(all); at != NULL; at = json_object_iter_next(all, at))
        items += items_of(json_object_iter_value(at));
    struct nb_json_values made = {.values = calloc(json_object_size(all) + 1, sizeof *made.values),
                                  .items = calloc(items + 1, sizeof *made.items),
                                  .numbers = malloc((items + 1) * NUMBER_BYTES)};
    struct reading to = {made.items, made.numbers};
    int rc = 0;
    if (made.values == NULL || made.items == NULL || made.numbers == NULL)
        rc = nb_error_no_memory(error);
    for (void *at = json_object_iter(all); at != NULL && rc == 0;
         at = json_object_iter_next(all, at))
        if (!json_is_null(json_object_iter_value(at)))
            rc = read_value(&to, json_object_iter_key(at), json_object_iter_value(at),
                            &made.values[made.count++], error);
    if (rc != 0) {
        nb_json_values_deinit(&made);
        return rc;
    }
    qsort(made.values, made.count, sizeof *made.values, by_name);
    *values = made;
    return 0;
}

void nb_json_values_deinit(struct nb_json_values *values)
{
    free(values->values);
    free(values->items);
    free(values->numbers);
    *values = (struct nb_json_values){.count = 0};
}
