/* SPDX-License-Identifier: Apache-2.0
 *
 * Documents out of rows: CSV (RFC 4180), TSV (one row a line, nothing is quoted) and NDJSON.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "server/client/source_private.h"

enum { COLUMNS_MOST = 32 };

enum column { COLUMN_NONE, COLUMN_TEXT, COLUMN_MAIL, COLUMN_LABEL, COLUMN_ID };

struct table {
    struct nb_reading *reading;
    char separator;
    enum column columns[COLUMNS_MOST];
    size_t column_count;
    struct nb_buffer row; /* the cells, one behind the other */
    struct {
        size_t begin, length;
    } cells[COLUMNS_MOST];
    size_t cell_count;
    uint64_t number; /* of the row */
};

/* ---- rows --------------------------------------------------------------------------------------
 */

static int end_cell(struct table *t, size_t begin, struct nb_error *error)
{
    if (t->cell_count == COLUMNS_MOST)
        return nb_error_set(error, NB_INVALID, "row %llu has more than %d columns",
                            (unsigned long long)t->number, COLUMNS_MOST);
    t->cells[t->cell_count].begin = begin;
    t->cells[t->cell_count++].length = t->row.length - begin;
    return 0;
}

/* Copies the inside of a quoted cell from `at` on; returns where it goes on behind the closing
 * quote, or line.length + 1 when the quote is not closed in this line. */
static size_t copy_quoted(struct table *t, struct nb_string line, size_t at)
{
    while (at < line.length) {
        const char *quote = memchr(line.bytes + at, '"', line.length - at);
        size_t end = quote != NULL ? (size_t)(quote - line.bytes) : line.length;
        (void)nb_buffer_append(&t->row, line.bytes + at, end - at); /* room was reserved */
        if (quote == NULL)
            break;
        if (end + 1 == line.length || line.bytes[end + 1] != '"')
            return end + 1;
        (void)nb_buffer_append(&t->row, "\"", 1);
        at = end + 2;
    }
    return line.length + 1;
}

/* The rest of a quoted cell, which may go over several lines. *at: where it begins, then ends. */
static int read_quoted(struct table *t, struct nb_string *line, size_t *at, struct nb_error *error)
{
    for (;;) {
        if (nb_buffer_reserve(&t->row, line->length + 2) != 0)
            return nb_error_no_memory(error);
        *at = copy_quoted(t, *line, *at);
        if (*at <= line->length)
            return 0;
        if (t->row.length > NB_ITEM_MOST)
            return nb_error_set(error, NB_TOO_LARGE, "row %llu is larger than %d bytes",
                                (unsigned long long)t->number, NB_ITEM_MOST);
        (void)nb_buffer_append(&t->row, "\n", 1); /* room was reserved */
        int rc = nb_input_line(&t->reading->input, line, error);
        if (rc < 0)
            return rc;
        if (rc == 0)
            return nb_error_set(error, NB_INVALID, "row %llu: a quote is not closed",
                                (unsigned long long)t->number);
        *at = 0;
    }
}

static int read_cell(struct table *t, struct nb_string *line, size_t *at, struct nb_error *error)
{
    size_t begin = t->row.length;
    if (t->separator == ',' && *at < line->length && line->bytes[*at] == '"') {
        ++*at;
        int rc = read_quoted(t, line, at, error);
        if (rc != 0)
            return rc;
    }
    const char *end =
        *at < line->length ? memchr(line->bytes + *at, t->separator, line->length - *at) : NULL;
    size_t length = end != NULL ? (size_t)(end - line->bytes) - *at : line->length - *at;
    if (nb_buffer_append(&t->row, line->bytes + *at, length) != 0)
        return nb_error_no_memory(error);
    *at += length + 1;
    return end_cell(t, begin, error);
}

/* 1 with a row in `cells`, 0 at the end, or a code. Empty lines are passed over. */
static int read_row(struct table *t, struct nb_error *error)
{
    struct nb_string line = {0};
    do {
        int rc = nb_input_line(&t->reading->input, &line, error);
        if (rc != 1)
            return rc;
        t->number++;
    } while (line.length == 0);
    t->row.length = 0;
    t->cell_count = 0;
    for (size_t at = 0; at <= line.length;) {
        int rc = read_cell(t, &line, &at, error);
        if (rc != 0)
            return rc;
    }
    return 1;
}

static struct nb_string cell(const struct table *t, size_t i)
{
    return (struct nb_string){t->row.bytes + t->cells[i].begin, t->cells[i].length};
}

/* ---- columns -----------------------------------------------------------------------------------
 */

static enum column column_of(struct nb_string name)
{
    static const char *const NAMES[] = {"-", "text", "mail", "label", "id"};
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++)
        if (strlen(NAMES[i]) == name.length && strncasecmp(NAMES[i], name.bytes, name.length) == 0)
            return (enum column)i;
    return COLUMN_NONE;
}

static bool has_content(const struct table *t)
{
    bool found = false;
    for (size_t i = 0; i < t->column_count; i++)
        found = found || t->columns[i] == COLUMN_TEXT || t->columns[i] == COLUMN_MAIL;
    return found;
}

static int columns_of_option(struct table *t, const char *names, struct nb_error *error)
{
    while (*names != '\0') {
        size_t length = strcspn(names, ",");
        struct nb_string name = {names, length};
        if (t->column_count == COLUMNS_MOST ||
            (column_of(name) == COLUMN_NONE && !(length == 1 && *names == '-')))
            return nb_error_set(error, NB_CLIENT_USAGE,
                                "--columns '%s': names are text, mail, label, id and -", names);
        t->columns[t->column_count++] = column_of(name);
        names += length + (names[length] == ',');
    }
    return has_content(t)
               ? 0
               : nb_error_set(error, NB_CLIENT_USAGE, "--columns: one must be text or mail");
}

/* The first row names the columns, or there are two: label and text. *is_header says which. */
static int columns_of_row(struct table *t, bool *is_header, struct nb_error *error)
{
    for (size_t i = 0; i < t->cell_count; i++)
        t->columns[i] = column_of(cell(t, i));
    t->column_count = t->cell_count;
    *is_header = has_content(t);
    if (*is_header)
        return 0;
    if (t->cell_count != 2)
        return nb_error_set(error, NB_INVALID,
                            "the first line names no column text or mail: use --columns");
    t->columns[0] = COLUMN_LABEL;
    t->columns[1] = COLUMN_TEXT;
    return 0;
}

static int give_row(struct table *t, struct nb_error *error)
{
    struct nb_item item = {0};
    for (size_t i = 0; i < t->cell_count && i < t->column_count; i++) {
        if (t->columns[i] == COLUMN_LABEL)
            item.label = cell(t, i);
        else if (t->columns[i] == COLUMN_ID)
            item.id = cell(t, i);
        else if (t->columns[i] != COLUMN_NONE)
            item.content = cell(t, i);
        item.is_mail = item.is_mail || t->columns[i] == COLUMN_MAIL;
    }
    if (t->cell_count < t->column_count && item.content.bytes == NULL)
        return nb_error_set(error, NB_INVALID, "row %llu has too few columns",
                            (unsigned long long)t->number);
    return nb_reading_give(t->reading, &item, t->number, error);
}

static int read_rows(struct table *t, struct nb_error *error)
{
    const char *names = t->reading->source->options->columns;
    bool is_header = false;
    int rc = names != NULL ? columns_of_option(t, names, error) : 0;
    while (rc == 0 && (rc = read_row(t, error)) == 1) {
        rc = t->column_count == 0 ? columns_of_row(t, &is_header, error) : 0;
        if (rc == 0 && !is_header)
            rc = give_row(t, error);
        is_header = false;
    }
    return rc;
}

int nb_reading_table(struct nb_reading *reading, char separator, struct nb_error *error)
{
    struct table table = {.reading = reading, .separator = separator};
    int rc = read_rows(&table, error);
    nb_buffer_deinit(&table.row);
    return rc;
}

/* ---- NDJSON ------------------------------------------------------------------------------------
 */

static struct nb_string string_of(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return (struct nb_string){json_string_value(value), json_string_length(value)};
}

static int digit_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* RFC 4648, section 4. Ends at the padding; the daemon is not asked to judge what was read here. */
static int decode_base64(struct nb_string text, struct nb_buffer *out)
{
    uint32_t group = 0;
    size_t digits = 0;
    for (size_t i = 0; i < text.length && text.bytes[i] != '='; i++) {
        int digit = digit_of(text.bytes[i]);
        if (digit < 0)
            continue; /* white space */
        group = group << 6 | (uint32_t)digit;
        if (++digits % 4 == 1)
            continue;
        unsigned char byte = (unsigned char)(group >> (6 - 2 * ((digits - 1) % 4)));
        if (nb_buffer_append(out, &byte, 1) != 0)
            return NB_NO_MEMORY;
    }
    return 0;
}

static int give_object(struct nb_reading *reading, const json_t *object, uint64_t number,
                       struct nb_error *error)
{
    struct nb_buffer decoded = {0};
    struct nb_item item = {.label = string_of(object, "label"), .id = string_of(object, "id")};
    item.content = string_of(object, "text");
    if (item.content.bytes == NULL) {
        item.is_mail = true;
        item.content = string_of(object, "mail");
    }
    int rc = 0;
    if (item.content.bytes == NULL && json_is_string(json_object_get(object, "mail_base64"))) {
        rc = decode_base64(string_of(object, "mail_base64"), &decoded);
        item.content = (struct nb_string){decoded.bytes, decoded.length};
    }
    if (rc != 0)
        rc = nb_error_no_memory(error);
    else if (item.content.bytes == NULL)
        rc = nb_error_set(error, NB_INVALID, "line %llu has no text, mail or mail_base64",
                          (unsigned long long)number);
    else
        rc = nb_reading_give(reading, &item, number, error);
    nb_buffer_deinit(&decoded);
    return rc;
}

int nb_reading_ndjson(struct nb_reading *reading, struct nb_error *error)
{
    struct nb_string line;
    uint64_t number = 0;
    int rc;
    while ((rc = nb_input_line(&reading->input, &line, error)) == 1) {
        number++;
        if (line.length == 0)
            continue;
        json_t *object =
            json_loadb(line.bytes, line.length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
        rc = json_is_object(object) ? give_object(reading, object, number, error)
                                    : nb_error_set(error, NB_INVALID, "line %llu is no JSON object",
                                                   (unsigned long long)number);
        json_decref(object);
        if (rc != 0)
            return rc;
    }
    return rc;
}
