/* SPDX-License-Identifier: Apache-2.0 */
#include "server/base/json_values.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/label_set.h"
#include "core/base/names.h"
#include "core/base/string.h"
#include "core/engine/engine.h"
#include "server/base/emit.h"
#include "server/base/ndjson.h"

/* Reading JSON with jansson, and taking objects apart by a table of their members. */
/* How deep jansson follows brackets (its JSON_PARSER_MAX_DEPTH); it stops reading there. */
enum { MOST_DEPTH = 2048 };

/* Whether the text has more than `most` values. Every value but the first follows a comma, a colon
 * or an opening bracket; those inside strings do not count. What lies beyond the depth at which
 * jansson stops is never parsed: such a text is refused, however many values it has. */
static bool has_more_values(struct nb_string text, size_t most)
{
    size_t values = 1, depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < text.length && values <= most && depth <= MOST_DEPTH; i++) {
        char c = text.bytes[i];
        bool opens = c == '[' || c == '{', closes = c == ']' || c == '}';
        if (c == '"') {
            quoted = !quoted;
        } else if (quoted) {
            i += c == '\\';
        } else {
            values += c == ',' || opens;
            depth += opens;
            depth -= closes && depth > 0;
        }
    }
    return values > most;
}

/* The message for a text of one line has no line number: for a line of NDJSON it would mislead. */
static int not_json(struct nb_string text, const json_error_t *fault, struct nb_error *error)
{
    if (text.length == 0)
        return nb_error_set(error, NB_INVALID, "not valid JSON: there is nothing");
    const char *hint = nb_json_fault_hint(fault->text);
    if (memchr(text.bytes, '\n', text.length) == NULL)
        return nb_error_set(error, NB_INVALID, "not valid JSON: column %d: %s%s", fault->column,
                            fault->text, hint);
    return nb_error_set(error, NB_INVALID, "not valid JSON: line %d, column %d: %s%s", fault->line,
                        fault->column, fault->text, hint);
}

int nb_json_load(struct nb_string text, size_t most_values, json_t **value, struct nb_error *error)
{
    if (has_more_values(text, most_values))
        return nb_error_set(error, NB_TOO_LARGE, "more than %zu values in one JSON text",
                            most_values);
    json_error_t fault;
    json_t *parsed = json_loadb(text.length == 0 ? "" : text.bytes, text.length,
                                JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY, &fault);
    /* jansson has a message for every fault of a text, but may have none when memory is short. */
    if (parsed == NULL &&
        (json_error_code(&fault) == json_error_out_of_memory || fault.text[0] == '\0'))
        return nb_error_no_memory(error);
    if (parsed == NULL)
        return not_json(text, &fault, error);
    *value = parsed;
    return 0;
}

const char *nb_json_type_name(const json_t *value)
{
    static const char *const names[] = {
        [JSON_OBJECT] = "an object", [JSON_ARRAY] = "an array", [JSON_STRING] = "a string",
        [JSON_INTEGER] = "a number", [JSON_REAL] = "a number",  [JSON_TRUE] = "true",
        [JSON_FALSE] = "false",      [JSON_NULL] = "null",
    };
    return names[json_typeof(value)];
}

/* Returns the allowed types as words, for a message. */
static const char *wanted(unsigned types)
{
    if (types & NB_TYPE_STRING)
        return types & NB_TYPE_OBJECT  ? "a string or an object"
               : types & NB_TYPE_COUNT ? "a string or a whole number"
                                       : "a string";
    if (types & 1u << JSON_REAL)
        return types & NB_TYPE_OBJECT ? "a number or an object" : "a number";
    if (types & NB_TYPE_COUNT)
        return "a whole number";
    if (types & NB_TYPE_BOOLEAN)
        return "true or false";
    if (types & NB_TYPE_ARRAY)
        return types & NB_TYPE_NULL ? "an array or null" : "an array";
    return "an object";
}

/* Writes "a, b, c"; a list that does not fit is cut. */
static void list_names(const struct nb_json_member *members, size_t count, char *text, size_t size)
{
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        const char *name = members[i].name, *separator = i == 0 ? "" : ", ";
        bool fits = length + strlen(name) + sizeof ", , ..." < size;
        int n = snprintf(text + length, size - length, "%s%s", separator, fits ? name : "...");
        length += n < 0 ? 0 : (size_t)n;
        if (!fits)
            return;
    }
}

/* Refuses a member that the object does not have: names the one that was meant, or all. */
static int refuse_unknown(const char *name, const char *what, const struct nb_json_member *members,
                          size_t count, struct nb_error *error)
{
    char names[160];
    for (size_t i = 0; i < count; i++)
        if (nb_near_is(nb_string_of(name), nb_string_of(members[i].name)))
            return nb_error_about(
                error,
                nb_error_set(error, NB_INVALID,
                             "unknown member \"%.64s\" of %s: did you mean \"%s\"?", name, what,
                             members[i].name),
                NULL, name);
    list_names(members, count, names, sizeof names);
    return nb_error_about(
        error,
        nb_error_set(error, NB_INVALID, "unknown member \"%.64s\"; %s has %s", name, what, names),
        NULL, name);
}

static int check_member(const struct nb_json_member *member, const json_t *value, const char *what,
                        struct nb_error *error)
{
    if (value == NULL)
        return !member->required
                   ? 0
                   : nb_error_about(error,
                                    nb_error_set(error, NB_INVALID, "%s must have member \"%s\"",
                                                 what, member->name),
                                    NULL, member->name);
    if (member->types >> json_typeof(value) & 1u)
        return 0;
    if ((member->types & NB_TYPE_COUNT) != 0 && json_is_real(value))
        return nb_error_set(error, NB_INVALID,
                            "member \"%s\" must be %s, without a point or an exponent",
                            member->name, wanted(member->types));
    return nb_error_about(error,
                          nb_error_set(error, NB_INVALID, "member \"%s\" must be %s, not %s",
                                       member->name, wanted(member->types),
                                       nb_json_type_name(value)),
                          NULL, member->name);
}

int nb_json_take(const json_t *object, const char *what, const struct nb_json_member *members,
                 size_t count, const json_t **values, struct nb_error *error)
{
    if (!json_is_object(object))
        return nb_error_set(error, NB_INVALID, "%s is an object, not %s", what,
                            nb_json_type_name(object));
    size_t known = 0;
    for (size_t i = 0; i < count; i++) {
        values[i] = json_object_get(object, members[i].name);
        known += values[i] != NULL;
    }
    /* Searches for the unknown member only if there is one. jansson's iterators take a json_t that
     * is not const, but only read it. */
    json_t *all = (json_t *)(uintptr_t)object;
    for (void *at = known == json_object_size(object) ? NULL : json_object_iter(all); at != NULL;
         at = json_object_iter_next(all, at)) {
        const char *name = json_object_iter_key(at);
        size_t i = 0;
        while (i < count && strcmp(members[i].name, name) != 0)
            i++;
        if (i == count) {
            return refuse_unknown(name, what, members, count, error);
        }
    }
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = check_member(&members[i], values[i], what, error);
    return rc;
}

struct nb_string nb_json_text(const json_t *string)
{
    return (struct nb_string){json_string_value(string), json_string_length(string)};
}

int nb_json_name(const json_t *value, struct nb_buffer *room, struct nb_string *name)
{
    if (!json_is_integer(value)) {
        *name = nb_json_text(value);
        return 0;
    }
    if (nb_buffer_reserve(room, NB_NUMBER_TEXT) != 0)
        return NB_NO_MEMORY;
    char *begin = room->bytes + room->length;
    char *end = nb_number_text_i64(begin, json_integer_value(value));
    *name = (struct nb_string){begin, (size_t)(end - begin)};
    room->length += name->length;
    return 0;
}

static int by_text(const void *a, const void *b)
{
    return nb_string_compare(*(const struct nb_string *)a, *(const struct nb_string *)b);
}

/* Sorts the ids, at least one, and drops duplicates. Returns the number of different ids. */
static size_t keep_different(struct nb_string *ids, size_t size)
{
    size_t count = 1;
    qsort(ids, size, sizeof *ids, by_text);
    for (size_t i = 1; i < size; i++)
        if (!nb_string_same(ids[i], ids[count - 1]))
            ids[count++] = ids[i];
    return count;
}

int nb_json_read_ids(const json_t *list, size_t most, struct nb_string **ids, size_t *count,
                     struct nb_error *error)
{
    size_t size = json_array_size(list);
    if (size == 0)
        return nb_error_set(error, NB_INVALID, "\"ids\" must have at least one id");
    if (size > most)
        return nb_error_set(error, NB_TOO_LARGE, "\"ids\" has %zu ids, the limit is %zu", size,
                            most);
    *ids = calloc(size, sizeof **ids);
    if (*ids == NULL)
        return nb_error_no_memory(error);
    for (size_t i = 0; i < size; i++) {
        const json_t *id = json_array_get(list, i);
        assert(id != NULL);
        if (!json_is_string(id))
            return nb_error_set(error, NB_INVALID, "\"ids\" holds strings, not %s",
                                nb_json_type_name(id));
        (*ids)[i] = nb_json_text(id);
        int rc = nb_check_id((*ids)[i], error);
        if (rc != 0)
            return rc;
    }
    *count = keep_different(*ids, size);
    return 0;
}

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

/* The labels of a document as they are read; the texts lie in `room`. */
struct labels {
    struct nb_buffer room; /* owned; each label, its length before it */
    size_t count;
};

static int add_label(struct labels *labels, struct nb_string label, struct nb_error *error)
{
    struct nb_buffer room = {0};
    struct nb_packer w = {.out = &labels->room};
    int rc = nb_label_take(&label, &room, error);
    if (rc == 0 && labels->count++ == NB_LABEL_SET_MOST)
        rc = nb_error_about(
            error,
            nb_error_set(error, NB_UNUSABLE, "a document has at most %d labels", NB_LABEL_SET_MOST),
            NULL, "labels");
    if (rc == 0) {
        nb_pack_string(&w, label);
        rc = w.code == 0 ? 0 : nb_error_no_memory(error);
    }
    nb_buffer_deinit(&room);
    return rc;
}

/* Writes the set, and frees the labels. `rc`: a failure so far. */
static int end_labels(struct labels *labels, int rc, struct nb_buffer *out, struct nb_error *error)
{
    struct nb_string list[NB_LABEL_SET_MOST];
    struct nb_unpacker r = nb_unpacker_of(labels->room.bytes, labels->room.length);
    for (size_t i = 0; rc == 0 && i < labels->count; i++)
        list[i] = nb_unpack_string(&r);
    if (rc == 0)
        rc = nb_label_set_write(list, labels->count, out, error);
    nb_buffer_deinit(&labels->room);
    return rc;
}

int nb_json_read_labels(const json_t *list, const char *what, struct nb_buffer *out,
                        struct nb_error *error)
{
    struct labels labels = {.count = 0};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < json_array_size(list); i++) {
        const json_t *value = json_array_get(list, i);
        struct nb_buffer digits = {0};
        struct nb_string text;
        if (!json_is_string(value) && !json_is_integer(value))
            rc = nb_error_set(error, NB_INVALID, "\"%s\" holds labels, not %s", what,
                              nb_json_type_name(value));
        if (rc == 0 && nb_json_name(value, &digits, &text) != 0)
            rc = nb_error_no_memory(error);
        if (rc == 0)
            rc = add_label(&labels, text, error);
        nb_buffer_deinit(&digits);
    }
    return end_labels(&labels, rc, out, error);
}

int nb_text_read_labels(struct nb_string text, char separator, struct nb_buffer *out,
                        struct nb_error *error)
{
    struct labels labels = {.count = 0};
    int rc = 0;
    while (rc == 0 && text.length > 0) {
        const char *found = memchr(text.bytes, separator, text.length);
        size_t end = found != NULL ? (size_t)(found - text.bytes) : text.length;
        struct nb_string label = nb_string_trim((struct nb_string){text.bytes, end});
        if (label.length > 0)
            rc = add_label(&labels, label, error);
        text = nb_string_from(text, end < text.length ? end + 1 : end);
    }
    return end_labels(&labels, rc, out, error);
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
