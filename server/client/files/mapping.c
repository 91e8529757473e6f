/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/files/mapping.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/emit.h"
#include "server/client/base/client.h"

/* ---- numbers --------------------------------------------------------------------------------- */

enum {
    CELL_NUMBER_MOST = 64 /* bytes of a number */
};

enum cell_number {
    CELL_NUMBER_READ,
    CELL_NUMBER_NONE,     /* not a number */
    CELL_NUMBER_AMBIGUOUS /* "1,234": a number with three decimals, or one over a thousand */
};

/* Returns whether the comma may separate thousands: one to three digits before it, three after it,
 * and no leading zero. */
static bool is_thousands(const char *text, const char *comma)
{
    const char *digits = text + strspn(text, "+-");
    ptrdiff_t before = comma - digits;
    return before >= 1 && before <= 3 && *digits != '0' && strspn(comma + 1, "0123456789") == 3 &&
           comma[4] == '\0';
}

/* Reads a number, with or without an exponent: "12.5", "-3", "+.5e3". A comma also counts as the
 * decimal point, as in "12,5". Before three digits it may separate thousands, and is read as a
 * point only with `has_decimal_commas`: the table comes from a country that writes decimal commas.
 * Writes the number with a point into `text`, which has room for CELL_NUMBER_MOST + 1 bytes, and
 * its value. */
static enum cell_number cell_number_read(struct nb_string cell, bool has_decimal_commas, char *text,
                                         double *number)
{
    char *end = NULL;
    if (cell.length == 0 || cell.length > CELL_NUMBER_MOST)
        return CELL_NUMBER_NONE;
    memcpy(text, cell.bytes, cell.length);
    text[cell.length] = '\0';
    if (strspn(text, "+-.,0123456789eE") != cell.length) /* strtod also accepts inf and 0x10 */
        return CELL_NUMBER_NONE;
    char *comma = strchr(text, ',');
    if (comma != NULL && (strchr(comma + 1, ',') != NULL || strchr(text, '.') != NULL))
        return CELL_NUMBER_NONE;
    if (comma != NULL && !has_decimal_commas && is_thousands(text, comma))
        return CELL_NUMBER_AMBIGUOUS;
    if (comma != NULL)
        *comma = '.';
    errno = 0;
    *number = strtod(text, &end);
    return end == text + cell.length && isfinite(*number) ? CELL_NUMBER_READ : CELL_NUMBER_NONE;
}

enum { NAME_SHOWN = 64 };

static const char *const ROLES[] = {"text", "mail", "label", "id"};
static_assert(sizeof ROLES / sizeof ROLES[0] == NB_MAPPING_FIELD, "a name for each role");

static int shown(struct nb_string name)
{
    return name.length < NAME_SHOWN ? (int)name.length : NAME_SHOWN;
}

/* ---- the option ------------------------------------------------------------------------------ */

bool nb_mapping_is(const char *option)
{
    return option != NULL && strchr(option, '=') != NULL;
}

static enum nb_mapping_role role_of(struct nb_string name)
{
    size_t i = 0;
    while (i < NB_MAPPING_FIELD && !nb_string_equals(name, ROLES[i]))
        i++;
    return (enum nb_mapping_role)i;
}

/* Cuts off and returns the text before the separator. */
static struct nb_string cut(struct nb_string *rest, char separator)
{
    const char *end =
        rest->length > 0 ? memchr(rest->bytes, (unsigned char)separator, rest->length) : NULL;
    size_t length = end != NULL ? (size_t)(end - rest->bytes) : rest->length;
    struct nb_string head = {rest->bytes, length};
    *rest = nb_string_from(*rest, length + (end != NULL));
    return head;
}

bool nb_mapping_has_fields(const char *option)
{
    bool has = false;
    struct nb_string rest = nb_string_of(option);
    while (nb_mapping_is(option) && rest.length > 0) {
        struct nb_string part = cut(&rest, ',');
        has = has || role_of(cut(&part, '=')) == NB_MAPPING_FIELD;
    }
    return has;
}

static enum nb_mapping_kind kind_of(struct nb_string name, const json_t *fields)
{
    const char *kind = json_string_value(json_object_getn(fields, name.bytes, name.length));
    if (kind == NULL)
        return NB_MAPPING_CATEGORY;
    if (strcmp(kind, "text") == 0)
        return NB_MAPPING_WORDS;
    if (strcmp(kind, "set") == 0)
        return NB_MAPPING_SET;
    return strcmp(kind, "number") == 0 ? NB_MAPPING_NUMBER : NB_MAPPING_CATEGORY;
}

static bool is_joinable(const struct nb_mapping_part *part)
{
    return part->role == NB_MAPPING_TEXT ||
           (part->role == NB_MAPPING_FIELD && part->kind == NB_MAPPING_WORDS);
}

/* Reads "name=column+column". */
static int read_part(struct nb_mapping_part *part, struct nb_string text, const json_t *fields,
                     struct nb_error *error)
{
    struct nb_string whole = text;
    *part = (struct nb_mapping_part){.name = cut(&text, '=')};
    part->role = role_of(part->name);
    part->kind = kind_of(part->name, fields);
    while (text.length > 0 && part->count < NB_MAPPING_JOINED) {
        struct nb_string column = cut(&text, '+');
        if (column.length == 0)
            break;
        part->columns[part->count++] = column;
    }
    if (part->name.length == 0 || part->count == 0 || text.length > 0 ||
        whole.bytes[whole.length - 1] == '+')
        return nb_error_set(error, NB_CLIENT_USAGE,
                            "--columns '%.*s': a part is FIELD=COLUMN, or text=COLUMN+COLUMN of at "
                            "most %d",
                            shown(whole), whole.bytes, NB_MAPPING_JOINED);
    if (part->count > 1 && !is_joinable(part))
        return nb_error_set(error, NB_CLIENT_USAGE,
                            "--columns '%.*s': only text, and fields of kind text, can be several "
                            "columns",
                            shown(whole), whole.bytes);
    return 0;
}

static bool has_role(const struct nb_mapping *mapping, enum nb_mapping_role role)
{
    bool has = false;
    for (size_t i = 0; i < mapping->count; i++)
        has = has || mapping->parts[i].role == role;
    return has;
}

static int check_roles(const struct nb_mapping *mapping, struct nb_error *error)
{
    bool has_text = has_role(mapping, NB_MAPPING_TEXT),
         has_mail = has_role(mapping, NB_MAPPING_MAIL);
    if (has_text && has_mail)
        return nb_error_set(error, NB_CLIENT_USAGE,
                            "--columns: text and mail cannot both be given");
    if (!has_text && !has_mail && !has_role(mapping, NB_MAPPING_FIELD))
        return nb_error_set(error, NB_CLIENT_USAGE,
                            "--columns: a text, a mail or a field must be given");
    return 0;
}

int nb_mapping_read(struct nb_mapping *mapping, const char *option, const json_t *fields,
                    struct nb_error *error)
{
    struct nb_string rest = nb_string_of(option);
    while (rest.length > 0) {
        if (mapping->count == NB_MAPPING_MOST)
            return nb_error_set(error, NB_CLIENT_USAGE, "--columns has more than %d parts",
                                NB_MAPPING_MOST);
        struct nb_mapping_part *part = &mapping->parts[mapping->count];
        int rc = read_part(part, cut(&rest, ','), fields, error);
        if (rc != 0)
            return rc;
        for (size_t i = 0; i < mapping->count; i++)
            if (nb_string_same(mapping->parts[i].name, part->name))
                return nb_error_set(error, NB_CLIENT_USAGE, "--columns: '%.*s' is given twice",
                                    shown(part->name), part->name.bytes);
        mapping->count++;
    }
    return check_roles(mapping, error);
}

void nb_mapping_deinit(struct nb_mapping *mapping)
{
    nb_buffer_deinit(&mapping->content);
    nb_buffer_deinit(&mapping->values);
}

/* ---- the header ------------------------------------------------------------------------------ */

/* Reports a missing column, with as many names of the header as fit in a message. */
static int no_column(struct nb_string name, const struct nb_string *header, size_t count,
                     uint64_t line, struct nb_error *error)
{
    struct nb_buffer names = {0};
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = nb_buffer_printf(&names, "%s%.*s", i > 0 ? ", " : "", shown(header[i]),
                              header[i].bytes);
    rc = nb_error_set(error, NB_INVALID,
                      "line %ju, the header, has no column '%.*s' (there are: %.200s)",
                      (uintmax_t)line, shown(name), name.bytes, rc == 0 ? names.bytes : "");
    nb_buffer_deinit(&names);
    return rc;
}

static int find_column(struct nb_string name, const struct nb_string *header, size_t count,
                       uint64_t line, size_t *cell, struct nb_error *error)
{
    size_t found = 0;
    for (size_t i = count; i-- > 0;)
        if (nb_string_same(header[i], name) || nb_string_same(nb_string_trim(header[i]), name)) {
            *cell = i;
            found++;
        }
    if (found == 0)
        return no_column(name, header, count, line, error);
    return found == 1 ? 0
                      : nb_error_set(error, NB_INVALID,
                                     "line %ju, the header, has more than one column '%.*s'",
                                     (uintmax_t)line, shown(name), name.bytes);
}

static bool is_in(const struct nb_string *header, size_t count, const char *name)
{
    bool is = false;
    for (size_t i = 0; i < count; i++)
        is = is || nb_string_equals(nb_string_trim(header[i]), name);
    return is;
}

/* Returns whether the id of a row is its number. */
static bool is_numbering(const struct nb_mapping_part *part, const struct nb_string *header,
                         size_t count)
{
    return part->role == NB_MAPPING_ID && nb_string_equals(part->columns[0], "#") &&
           !is_in(header, count, "#");
}

int nb_mapping_find(struct nb_mapping *mapping, const struct nb_string *header, size_t count,
                    uint64_t line, struct nb_error *error)
{
    int rc = 0;
    for (size_t i = 0; i < mapping->count; i++) {
        struct nb_mapping_part *part = &mapping->parts[i];
        if (is_numbering(part, header, count)) {
            mapping->numbers_rows = true;
            part->count = 0;
        }
        for (size_t k = 0; k < part->count && rc == 0; k++)
            rc = find_column(part->columns[k], header, count, line, &part->cells[k], error);
    }
    return rc;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Joins the cells of a part that are not empty by line feeds. */
static int join(const struct nb_mapping_part *part, const struct nb_string *cells,
                struct nb_buffer *out)
{
    int rc = 0;
    out->length = 0;
    for (size_t k = 0; k < part->count && rc == 0; k++) {
        struct nb_string cell = cells[part->cells[k]];
        if (cell.length > 0 && out->length > 0)
            rc = nb_buffer_puts(out, "\n");
        if (rc == 0)
            rc = nb_buffer_append(out, cell.bytes, cell.length);
    }
    return rc;
}

/* Writes a number. If its text is also a JSON number, it is sent unchanged. */
static void emit_number(struct nb_emitter *e, const char *text, double number)
{
    json_t *json = json_loads(text, JSON_DECODE_ANY, NULL);
    char digits[32];
    (void)snprintf(digits, sizeof digits, "%.17g", number);
    nb_emit_raw(e, json_is_number(json) ? text : digits);
    json_decref(json);
}

/* Writes a set without empty values: ";" is the empty set. */
static void emit_set(struct nb_emitter *e, struct nb_string cell)
{
    nb_emit_open(e, '[');
    while (cell.length > 0) {
        struct nb_string value = nb_string_trim(cut(&cell, ';'));
        if (value.length > 0)
            nb_emit_string(e, value);
    }
    nb_emit_close(e, ']');
}

/* Reports why a cell is not a number. */
static int refuse(const struct nb_mapping_part *part, struct nb_string text, uint64_t line,
                  enum cell_number what, struct nb_error *error)
{
    return nb_error_set(error, NB_INVALID, "line %ju, column '%.*s': '%.*s' is not a number%s",
                        (uintmax_t)line, shown(part->columns[0]), part->columns[0].bytes,
                        shown(text), text.bytes,
                        what == CELL_NUMBER_AMBIGUOUS
                            ? ": the comma may be a point or part thousands; write it without one"
                            : "");
}

static int emit_value(struct nb_emitter *e, const struct nb_mapping *mapping,
                      const struct nb_mapping_part *part, struct nb_string text, uint64_t line,
                      struct nb_error *error)
{
    char digits[CELL_NUMBER_MOST + 1];
    double number = 0;
    bool is_number = part->kind == NB_MAPPING_NUMBER;
    enum cell_number what =
        is_number
            ? cell_number_read(nb_string_trim(text), mapping->has_decimal_commas, digits, &number)
            : CELL_NUMBER_READ;
    if (what != CELL_NUMBER_READ)
        return refuse(part, text, line, what, error);
    nb_emit_name(e, part->name);
    if (is_number)
        emit_number(e, digits, number);
    else if (part->kind == NB_MAPPING_SET)
        emit_set(e, text);
    else
        nb_emit_string(e, text);
    return 0;
}

static int check_cells(const struct nb_mapping *mapping, size_t count, uint64_t line,
                       struct nb_error *error)
{
    for (size_t i = 0; i < mapping->count; i++) {
        const struct nb_mapping_part *part = &mapping->parts[i];
        for (size_t k = 0; k < part->count; k++)
            if (part->cells[k] >= count)
                return nb_error_set(
                    error, NB_INVALID, "line %ju has too few columns: '%.*s' is not there",
                    (uintmax_t)line, shown(part->columns[k]), part->columns[k].bytes);
    }
    return 0;
}

/* Makes the values before the content, because fields of several columns use the buffer of the
 * content. */
static int make_values(struct nb_mapping *mapping, const struct nb_string *cells, uint64_t line,
                       struct nb_error *error)
{
    mapping->values.length = 0;
    struct nb_emitter e = nb_emit_begin(&mapping->values);
    int rc = 0;
    if (!has_role(mapping, NB_MAPPING_FIELD))
        return 0;
    nb_emit_open(&e, '{');
    for (size_t i = 0; i < mapping->count && rc == 0; i++) {
        const struct nb_mapping_part *part = &mapping->parts[i];
        if (part->role != NB_MAPPING_FIELD)
            continue;
        if (join(part, cells, &mapping->content) != 0)
            return nb_error_no_memory(error);
        struct nb_string text = {mapping->content.bytes, mapping->content.length};
        if (text.length > 0)
            rc = emit_value(&e, mapping, part, text, line, error);
    }
    nb_emit_close(&e, '}');
    return rc != 0 || nb_emit_end(&e) == 0 ? rc : nb_error_no_memory(error);
}

static int set_content(struct nb_mapping *mapping, const struct nb_string *cells,
                       struct nb_item *item, struct nb_error *error)
{
    mapping->content.length = 0;
    for (size_t i = 0; i < mapping->count; i++) {
        const struct nb_mapping_part *part = &mapping->parts[i];
        if (part->role == NB_MAPPING_LABEL)
            item->label = cells[part->cells[0]];
        else if (part->role == NB_MAPPING_ID && !mapping->numbers_rows)
            item->id = cells[part->cells[0]];
        else if (part->role < NB_MAPPING_LABEL && join(part, cells, &mapping->content) != 0)
            return nb_error_no_memory(error);
    }
    bool has_bytes = mapping->content.length > 0;
    item->content =
        (struct nb_string){has_bytes ? mapping->content.bytes : "", mapping->content.length};
    item->values = (struct nb_string){mapping->values.bytes, mapping->values.length};
    item->has_no_content = item->content.length == 0 && item->values.length > 0;
    item->is_mail = !item->has_no_content && has_role(mapping, NB_MAPPING_MAIL);
    return 0;
}

int nb_mapping_apply(struct nb_mapping *mapping, const struct nb_string *cells, size_t count,
                     uint64_t line, struct nb_item *item, struct nb_error *error)
{
    int rc = check_cells(mapping, count, line, error);
    if (rc == 0)
        rc = make_values(mapping, cells, line, error);
    return rc == 0 ? set_content(mapping, cells, item, error) : rc;
}
