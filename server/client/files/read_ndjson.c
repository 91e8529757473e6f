/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <jansson.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/ndjson.h"
#include "server/client/files/file_rows.h"
#include "server/client/files/mapping.h"
#include "server/client/files/reading.h"

static struct nb_string string_of(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return (struct nb_string){json_string_value(value), json_string_length(value)};
}

/* Decodes base64 (RFC 4648, section 4), with or without its padding; white space is skipped.
 * Returns 0, NB_INVALID or NB_NO_MEMORY. */
static int decode_base64(struct nb_string text, struct nb_buffer *out)
{
    bool is_padded = memchr(text.bytes, '=', text.length) != NULL;
    size_t length = 0;
    const char *end = NULL;
    if (nb_buffer_reserve(out, text.length + 1) != 0)
        return NB_NO_MEMORY;
    assert(out->bytes != NULL);
    int rc = sodium_base642bin((unsigned char *)out->bytes, out->capacity, text.bytes, text.length,
                               " \t\r\n", &length, &end,
                               is_padded ? sodium_base64_VARIANT_ORIGINAL
                                         : sodium_base64_VARIANT_ORIGINAL_NO_PADDING);
    out->length = length;
    return rc == 0 && end == text.bytes + text.length ? 0 : NB_INVALID;
}

/* Returns the values as text, which the caller frees; NULL without memory. */
static char *text_of_values(const json_t *values, struct nb_item *item)
{
    char *text = json_dumps(values, JSON_COMPACT);
    item->values = nb_string_of(text);
    item->has_no_content = item->content.bytes == NULL;
    item->is_mail = item->is_mail && !item->has_no_content;
    return text;
}

/* ---- members --------------------------------------------------------------------------------- */

enum { NAME_MOST = 256 /* bytes of the name of a member */ };

struct lines {
    struct nb_file_reading *reading;
    struct nb_mapping mapping; /* of --columns, if it is given */
    struct nb_string names[NB_ROWS_CELLS], cells[NB_ROWS_CELLS];
    size_t column_count;
    char *texts[NB_ROWS_CELLS]; /* owned: members that are not strings, as text */
    size_t text_count;
    uint64_t number; /* of the line, from 1 */
    bool is_mapped;
};

static int refuse_member(const struct lines *l, const char *name, const json_t *value,
                         struct nb_error *error)
{
    return nb_error_set(error, NB_INVALID,
                        "line %ju: the member \"%s\" is %s; a string or a number is needed",
                        (uintmax_t)l->number, name,
                        json_is_array(value)    ? "a list"
                        : json_is_object(value) ? "an object"
                                                : "neither of them");
}

/* Returns a member as text: some exports have numbers where others have strings. A missing or null
 * member gives no bytes. */
static int text_of_member(struct lines *l, const json_t *object, const char *name,
                          struct nb_string *text, struct nb_error *error)
{
    const json_t *value = json_object_get(object, name);
    *text = (struct nb_string){NULL, 0};
    if (value == NULL || json_is_null(value))
        return 0;
    if (json_is_string(value)) {
        *text = (struct nb_string){json_string_value(value), json_string_length(value)};
        return 0;
    }
    if (!json_is_number(value) && !(l->is_mapped && json_is_boolean(value)))
        return refuse_member(l, name, value, error);
    char *made = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    if (made == NULL)
        return nb_error_no_memory(error);
    l->texts[l->text_count++] = made;
    *text = nb_string_of(made);
    return 0;
}

static void forget_texts(struct lines *l)
{
    for (size_t i = 0; i < l->text_count; i++)
        free(l->texts[i]);
    l->text_count = 0;
}

/* ---- documents ------------------------------------------------------------------------------- */

static int read_content(struct lines *l, const json_t *object, struct nb_item *item,
                        struct nb_buffer *decoded, struct nb_error *error)
{
    static const char *const NAMES[] = {"text", "mail", "mail_base64"};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        const json_t *value = json_object_get(object, NAMES[i]);
        if (value != NULL && !json_is_string(value) && !json_is_null(value))
            return nb_error_set(error, NB_INVALID,
                                "line %ju: the member \"%s\" is no string, which it must be",
                                (uintmax_t)l->number, NAMES[i]);
    }
    item->content = string_of(object, "text");
    if (item->content.bytes == NULL) {
        item->is_mail = true;
        item->content = string_of(object, "mail");
    }
    if (item->content.bytes != NULL || !json_is_string(json_object_get(object, "mail_base64")))
        return 0;
    int rc = decode_base64(string_of(object, "mail_base64"), decoded);
    item->content = (struct nb_string){decoded->bytes, decoded->length};
    if (rc == NB_NO_MEMORY)
        return nb_error_no_memory(error);
    return rc == 0 ? 0
                   : nb_error_set(error, rc, "line %ju: mail_base64 is not base64",
                                  (uintmax_t)l->number);
}

/* Lists the names of the members of an object, for a message. */
static void list_members(json_t *object, char *names, size_t room)
{
    const char *name;
    json_t *value;
    size_t length = 0;
    names[0] = '\0';
    json_object_foreach(object, name, value)
    {
        int more = snprintf(names + length, room - length, "%s%.32s", length > 0 ? ", " : "", name);
        if (more < 0 || (size_t)more >= room - length)
            break;
        length += (size_t)more;
    }
    names[length] = '\0';
}

static int refuse_empty(const struct lines *l, json_t *object, struct nb_error *error)
{
    char names[200];
    list_members(object, names, sizeof names);
    return nb_error_set(
        error, NB_INVALID, "line %ju has no text, mail, mail_base64 or values%s%s%s",
        (uintmax_t)l->number, names[0] != '\0' ? ": it has " : "", names,
        names[0] != '\0' ? " (--columns text=NAME,label=NAME says what they are)" : "");
}

static int give_object(struct lines *l, json_t *object, struct nb_error *error)
{
    struct nb_buffer decoded = {0};
    char *text = NULL;
    const json_t *values = json_object_get(object, "values");
    struct nb_item item = {.is_one_of_many = true};
    int rc = text_of_member(l, object, "label", &item.label, error);
    if (rc == 0)
        rc = text_of_member(l, object, "id", &item.id, error);
    if (rc == 0)
        rc = read_content(l, object, &item, &decoded, error);
    if (rc == 0 && json_is_object(values)) {
        text = text_of_values(values, &item);
        rc = text != NULL ? 0 : nb_error_no_memory(error);
    }
    if (rc == 0 && values != NULL && !json_is_object(values))
        rc = nb_error_set(error, NB_INVALID, "line %ju: values is not an object",
                          (uintmax_t)l->number);
    if (rc == 0 && item.content.bytes == NULL && values == NULL)
        rc = refuse_empty(l, object, error);
    if (rc == 0)
        rc = nb_file_reading_give(l->reading, &item, l->number, error);
    free(text);
    nb_buffer_deinit(&decoded);
    return rc;
}

/* ---- a mapping ------------------------------------------------------------------------------- */

/* Collects the columns of the mapping, each once, like the header of a table. */
static int open_mapping(struct lines *l, struct nb_error *error)
{
    const struct nb_files_options *options = l->reading->files->options;
    if (options->columns == NULL)
        return 0;
    l->is_mapped = true;
    if (!nb_mapping_is(options->columns))
        return nb_error_set(error, NB_CLIENT_USAGE,
                            "--columns '%s': of JSON lines they have names, as in "
                            "text=MEMBER,label=MEMBER",
                            options->columns);
    int rc = nb_mapping_read(&l->mapping, options->columns, options->fields, error);
    for (size_t i = 0; rc == 0 && i < l->mapping.count; i++) {
        const struct nb_mapping_part *part = &l->mapping.parts[i];
        for (size_t k = 0; k < part->count; k++) {
            size_t at = 0;
            while (at < l->column_count && !nb_string_same(l->names[at], part->columns[k]))
                at++;
            if (at == NB_ROWS_CELLS)
                return nb_error_set(error, NB_CLIENT_USAGE, "--columns has more than %d names",
                                    NB_ROWS_CELLS);
            bool is_numbering =
                part->role == NB_MAPPING_ID && nb_string_equals(part->columns[k], "#");
            if (at == l->column_count && !is_numbering)
                l->names[l->column_count++] = part->columns[k];
        }
    }
    return rc == 0 ? nb_mapping_find(&l->mapping, l->names, l->column_count, 1, error) : rc;
}

/* Refuses names that no member has: they are most likely mistyped. */
static int check_texts(const struct lines *l, json_t *object, struct nb_error *error)
{
    char names[200], name[NAME_MOST + 1];
    for (size_t i = 0; i < l->mapping.count; i++) {
        const struct nb_mapping_part *part = &l->mapping.parts[i];
        bool is_there = part->role != NB_MAPPING_TEXT && part->role != NB_MAPPING_MAIL;
        for (size_t k = 0; k < part->count && !is_there; k++) {
            (void)snprintf(name, sizeof name, "%.*s", (int)part->columns[k].length,
                           part->columns[k].bytes); /* a longer name is cut */
            is_there = json_object_get(object, name) != NULL;
        }
        if (is_there)
            continue;
        list_members(object, names, sizeof names);
        return nb_error_set(error, NB_INVALID, "line %ju has no member '%s' (there are: %s)",
                            (uintmax_t)l->number, name, names);
    }
    return 0;
}

static int give_mapped(struct lines *l, json_t *object, struct nb_error *error)
{
    struct nb_item item = {.is_one_of_many = true};
    int rc = check_texts(l, object, error);
    for (size_t i = 0; rc == 0 && i < l->column_count; i++) {
        char name[NAME_MOST + 1];
        (void)snprintf(name, sizeof name, "%.*s", (int)l->names[i].length, l->names[i].bytes);
        rc = text_of_member(l, object, name, &l->cells[i], error);
        if (rc == 0 && l->cells[i].bytes == NULL)
            l->cells[i] = nb_string_of("");
    }
    if (rc == 0)
        rc = nb_mapping_apply(&l->mapping, l->cells, l->column_count, l->number, &item, error);
    if (rc == 0 && l->mapping.numbers_rows)
        rc = nb_file_reading_number_row(l->reading, l->number, &item, error);
    if (rc == 0)
        rc = nb_file_reading_name_row(l->reading, l->number, &item, error);
    if (rc == 0)
        rc = nb_file_reading_give(l->reading, &item, l->number, error);
    return rc;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static int give_line(struct lines *l, struct nb_string line, struct nb_error *error)
{
    json_error_t why;
    json_t *object =
        json_loadb(line.bytes, line.length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);
    int rc;
    if (object == NULL)
        rc = nb_error_set(error, NB_INVALID, "line %ju is not valid JSON: byte %d: %.120s%s",
                          (uintmax_t)l->number, why.position, why.text,
                          nb_json_fault_hint(why.text));
    else if (!json_is_object(object))
        rc = nb_error_set(error, NB_INVALID,
                          "line %ju is not a JSON object, as in {\"text\": \"...\", \"label\": "
                          "\"...\"}",
                          (uintmax_t)l->number);
    else
        rc = l->is_mapped ? give_mapped(l, object, error) : give_object(l, object, error);
    forget_texts(l);
    json_decref(object);
    return nb_file_reading_fault(l->reading, NB_FILE_REFUSED, rc, error);
}

int nb_read_ndjson(struct nb_file_reading *reading, struct nb_error *error)
{
    struct nb_string line;
    struct lines *l = calloc(1, sizeof *l); /* too large for the stack */
    if (l == NULL)
        return nb_error_no_memory(error);
    l->reading = reading;
    bool is_empty = true;
    bool is_table = reading->files->options->columns != NULL;
    int rc = is_table ? nb_file_reading_hash(reading, error) : 0;
    if (rc == 0)
        rc = nb_file_reading_decode(reading, false, error);
    if (rc == 0)
        rc = open_mapping(l, error);
    while (rc == 0 && (rc = nb_input_line(&reading->input, NB_ITEM_MOST, &line, error)) == 1) {
        l->number++;
        rc = line.length == 0 ? 0 : give_line(l, line, error);
        is_empty = is_empty && line.length == 0;
    }
    nb_mapping_deinit(&l->mapping);
    free(l);
    return rc == 0 && is_empty ? nb_error_set(error, NB_INVALID, "is empty") : rc;
}
