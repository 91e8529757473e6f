/* SPDX-License-Identifier: Apache-2.0 */
#include "server/base/json_table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/string.h"
#include "server/base/emit.h"

static char separator_of(const struct nb_csv *csv)
{
    bool is_quoted = false, has_semicolon = false, has_tab = false;
    for (const char *c = csv->at; c < csv->end; c++) {
        is_quoted = is_quoted != (*c == '"');
        if (is_quoted)
            continue;
        if (*c == '\n' || *c == '\r')
            break;
        if (*c == ',')
            return ',';
        has_semicolon = has_semicolon || *c == ';';
        has_tab = has_tab || *c == '\t';
    }
    return has_semicolon ? ';' : has_tab ? '\t' : ',';
}

/* Whether a CR at `at` ends a line. */
static bool is_return(const struct nb_csv *csv, const char *at)
{
    return *at == '\r' && (csv->has_returns || (csv->end - at >= 2 && at[1] == '\n'));
}

void nb_csv_init(struct nb_csv *csv, struct nb_string text)
{
    if (nb_string_starts(text, "\xEF\xBB\xBF"))
        text = nb_string_from(text, 3);
    const char *at = text.length == 0 ? "" : text.bytes;
    *csv = (struct nb_csv){.at = at, .end = at + text.length, .next = 1, .separator = ','};
    csv->has_returns = text.length > 0 && memchr(at, '\n', text.length) == NULL;
    if (nb_string_starts_nocase(text, "sep=") && text.length > 5 &&
        (at[5] == '\n' || at[5] == '\r')) {
        csv->separator = at[4];
        csv->at += at[5] == '\r' && text.length > 6 && at[6] == '\n' ? 7 : 6;
        csv->next = 2;
    } else {
        csv->separator = separator_of(csv);
    }
}

void nb_csv_deinit(struct nb_csv *csv)
{
    nb_buffer_deinit(&csv->unquoted);
}

bool nb_csv_is_end(const struct nb_csv *csv)
{
    return csv->at == csv->end;
}

/* Takes the text between two fields: the separator, or a line's end. Returns false for anything
 * else. */
static bool take_separator(struct nb_csv *csv, struct nb_csv_field *field)
{
    field->is_last = true;
    if (csv->at < csv->end && *csv->at == csv->separator) {
        csv->at++;
        field->is_last = false;
        return true;
    }
    if (csv->end - csv->at >= 2 && csv->at[0] == '\r' && csv->at[1] == '\n')
        csv->at++;
    else if (csv->at < csv->end && is_return(csv, csv->at)) {
        csv->at++;
        csv->next++;
        return true;
    }
    if (csv->at < csv->end && *csv->at != '\n')
        return false;
    csv->at += csv->at < csv->end;
    csv->next++;
    return true;
}

/* Reads from after the opening quote up to the closing one; two quotes stand for one. */
static int read_quoted(struct nb_csv *csv, struct nb_csv_field *field, struct nb_error *error)
{
    csv->unquoted.length = 0;
    for (;;) {
        const char *quote =
            csv->at < csv->end ? memchr(csv->at, '"', (size_t)(csv->end - csv->at)) : NULL;
        if (quote == NULL)
            return nb_error_set(error, NB_INVALID, "line %zu: a quoted field is not closed",
                                csv->line);
        bool is_text = quote + 1 < csv->end && quote[1] == '"';
        for (const char *c = csv->at; c < quote; c++)
            csv->next += *c == '\n';
        if (nb_buffer_append(&csv->unquoted, csv->at, (size_t)(quote - csv->at) + is_text) != 0)
            return nb_error_no_memory(error);
        csv->at = quote + 1 + is_text;
        if (!is_text)
            break;
    }
    field->text = (struct nb_string){csv->unquoted.bytes, csv->unquoted.length};
    field->is_quoted = true;
    if (take_separator(csv, field))
        return 0;
    return nb_error_set(error, NB_INVALID,
                        "line %zu: a separator or the line's end must follow the closing quote",
                        csv->line);
}

int nb_csv_next(struct nb_csv *csv, struct nb_csv_field *field, struct nb_error *error)
{
    assert(csv->at <= csv->end);
    csv->line = csv->next;
    *field = (struct nb_csv_field){.is_quoted = false};
    if (csv->at < csv->end && *csv->at == '"') {
        csv->at++;
        return read_quoted(csv, field, error);
    }
    const char *start = csv->at;
    while (csv->at < csv->end && *csv->at != csv->separator && *csv->at != '\n' &&
           !is_return(csv, csv->at))
        csv->at++;
    field->text = (struct nb_string){start, (size_t)(csv->at - start)};
    bool is_taken = take_separator(csv, field);
    assert(is_taken); /* the loop has ended at a separator, or at the end of a line */
    (void)is_taken;
    return 0;
}

static const char *const MEMBERS[] = {"text", "label", "id", "labels"};
enum { MEMBER_LABEL = 1, MEMBER_LABELS = 3, MEMBER_COUNT = 4 };
static_assert(sizeof MEMBERS / sizeof MEMBERS[0] == MEMBER_COUNT, "a number for each");

static struct nb_string bytes_of(const struct nb_buffer *buffer, struct nb_table_cell cell)
{
    assert(buffer->length == 0 || cell.at + cell.length <= buffer->length);
    return (struct nb_string){buffer->length == 0 ? "" : buffer->bytes + cell.at, cell.length};
}

/* Reads a row: its first `most` cells into `cells`, and their bytes into the emptied buffer. Sets
 * *count to the number of all cells. */
static int read_row(struct nb_csv *csv, struct nb_table_cell *cells, size_t most,
                    struct nb_buffer *bytes, size_t *count, struct nb_error *error)
{
    struct nb_csv_field field = {.is_last = false};
    int rc = 0;
    bytes->length = 0;
    for (*count = 0; rc == 0 && !field.is_last; ++*count) {
        rc = nb_csv_next(csv, &field, error);
        if (rc != 0 || *count >= most)
            continue;
        cells[*count] = (struct nb_table_cell){bytes->length, field.text.length};
        if (nb_buffer_append(bytes, field.text.bytes, field.text.length) != 0)
            rc = nb_error_no_memory(error);
    }
    return rc;
}

/* ---- the header ------------------------------------------------------------------------------ */

static struct nb_string name_of(const struct nb_json_table *t, size_t column)
{
    assert(column < t->count);
    return bytes_of(&t->name_bytes, t->names[column]);
}

static int check_names(const struct nb_json_table *t, struct nb_error *error)
{
    for (size_t i = 0; i < t->count; i++) {
        struct nb_string name = name_of(t, i);
        if (name.length == 0)
            return nb_error_set(error, NB_INVALID, "column %zu of the header has no name", i + 1);
        for (size_t k = 0; k < i; k++)
            if (nb_string_compare(name, name_of(t, k)) == 0)
                return nb_error_set(error, NB_INVALID, "the header names '%.*s' twice",
                                    name.length < 80 ? (int)name.length : 80, name.bytes);
    }
    return 0;
}

int nb_table_open(struct nb_json_table *table, struct nb_string text, struct nb_error *error)
{
    *table = (struct nb_json_table){.count = 0};
    nb_csv_init(&table->csv, text);
    if (nb_csv_is_end(&table->csv))
        return nb_error_set(error, NB_INVALID, "CSV begins with a line of names; it is empty");
    if (!nb_utf8_is_valid(text))
        return nb_error_set(error, NB_INVALID, "CSV must be UTF-8");
    table->names = calloc(NB_TABLE_COLUMNS, sizeof *table->names);
    table->cells = calloc(NB_TABLE_COLUMNS, sizeof *table->cells);
    if (table->names == NULL || table->cells == NULL)
        return nb_error_no_memory(error);
    int rc = read_row(&table->csv, table->names, NB_TABLE_COLUMNS, &table->name_bytes,
                      &table->count, error);
    if (rc == 0 && table->count > NB_TABLE_COLUMNS)
        return nb_error_set(error, NB_TOO_LARGE, "there are more than %d columns",
                            NB_TABLE_COLUMNS);
    return rc == 0 ? check_names(table, error) : rc;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Returns the index in MEMBERS; MEMBER_COUNT if the name is that of a field. */
static size_t member_of(struct nb_string name)
{
    size_t i = 0;
    while (i < MEMBER_COUNT && !nb_string_equals(name, MEMBERS[i]))
        i++;
    return i;
}

/* Writes the items between separators, without white space around them; empty items are dropped. */
static void emit_items(struct nb_emitter *e, struct nb_string cell, char separator)
{
    nb_emit_open(e, '[');
    while (cell.length > 0) {
        size_t end = 0;
        while (end < cell.length && cell.bytes[end] != separator)
            end++;
        struct nb_string item = nb_string_trim((struct nb_string){cell.bytes, end});
        if (item.length > 0)
            nb_emit_string(e, item);
        cell = nb_string_from(cell, end < cell.length ? end + 1 : end);
    }
    nb_emit_close(e, ']');
}

static void emit_value(struct nb_emitter *e, struct nb_string name, struct nb_string cell)
{
    bool is_list =
        name.length > 2 && name.bytes[name.length - 2] == '[' && name.bytes[name.length - 1] == ']';
    nb_emit_name(e, (struct nb_string){name.bytes, name.length - (is_list ? 2 : 0)});
    if (is_list)
        emit_items(e, cell, ';');
    else
        nb_emit_string(e, cell);
}

/* Writes the members first, then the values. A row without values has no member "values". Returns 1
 * or NB_NO_MEMORY. */
static int emit_row(struct nb_json_table *t, struct nb_error *error)
{
    struct nb_emitter e = nb_emit_begin(&t->json);
    bool has_values = false, has_label = false;
    nb_emit_open(&e, '{');
    for (size_t i = 0; i < t->count; i++) {
        size_t member = member_of(name_of(t, i));
        if (member == MEMBER_LABELS) { /* an empty cell: the document has none of the labels */
            has_label = true;
            nb_emit_key(&e, MEMBERS[member]);
            emit_items(&e, bytes_of(&t->row, t->cells[i]),
                       t->separator == '\0' ? ';' : t->separator);
            continue;
        }
        if (t->cells[i].length == 0 || member == MEMBER_COUNT)
            continue;
        has_label = has_label || member == MEMBER_LABEL;
        nb_emit_member_string(&e, MEMBERS[member], bytes_of(&t->row, t->cells[i]));
    }
    if (t->takes_unlabelled && !has_label) {
        nb_emit_key(&e, MEMBERS[MEMBER_LABEL]);
        nb_emit_raw(&e, "null");
    }
    for (size_t i = 0; i < t->count; i++) {
        if (t->cells[i].length == 0 || member_of(name_of(t, i)) < MEMBER_COUNT)
            continue;
        if (!has_values) {
            nb_emit_member_open(&e, "values", '{');
        }
        has_values = true;
        emit_value(&e, name_of(t, i), bytes_of(&t->row, t->cells[i]));
    }
    if (has_values)
        nb_emit_close(&e, '}');
    nb_emit_close(&e, '}');
    return nb_emit_end(&e) == 0 ? 1 : nb_error_no_memory(error);
}

int nb_table_next(struct nb_json_table *table, struct nb_error *why, struct nb_error *error)
{
    struct nb_json_table *t = table;
    size_t cells = 0;
    bool is_empty = true;
    while (is_empty) {
        if (nb_csv_is_end(&t->csv))
            return 0;
        bool is_quoted = *t->csv.at == '"'; /* "" is an empty cell, not an empty line */
        t->line = t->csv.next;
        int rc = read_row(&t->csv, t->cells, t->count, &t->row, &cells, error);
        if (rc != 0)
            return rc;
        is_empty = cells == 1 && t->cells[0].length == 0 && !is_quoted;
    }
    t->json.length = 0;
    if (cells == t->count)
        return emit_row(t, error);
    (void)nb_error_set(why, NB_INVALID, "line %zu: it has %zu cells, and the header %zu", t->line,
                       cells, t->count); /* this returns the code that it was given */
    return 1;
}

void nb_table_close(struct nb_json_table *table)
{
    nb_csv_deinit(&table->csv);
    free(table->names);
    free(table->cells);
    nb_buffer_deinit(&table->name_bytes);
    nb_buffer_deinit(&table->row);
    nb_buffer_deinit(&table->json);
    *table = (struct nb_json_table){.count = 0};
}
