/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading JSON with jansson, and taking objects apart by a table of their members.
 */
#include "server/json/json_load.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/label.h"
#include "core/base/string.h"
#include "core/engine/engine.h"
#include "server/base/ndjson.h"
#include "server/json/number_text.h"

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
