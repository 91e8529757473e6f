/* SPDX-License-Identifier: Apache-2.0 */
#include "server/api/network_rows.h"

#include <assert.h>
#include <stdlib.h>

#include "core/base/string.h"
#include "server/base/json_table.h"
#include "server/base/json_values.h"

/* Most values of one JSON text: jansson takes a hundred bytes for each. Larger tables come as
 * NDJSON or CSV. */
enum { JSON_VALUES = 1000000, LINE_VALUES = 4 * NB_NETWORK_NODES };

/* ---- columns, sorted by name ----------------------------------------------------------------- */

/* The columns that the fields of a row go to. */
struct places {
    size_t column[NB_NETWORK_NODES]; /* by field */
    size_t count;
};

static int by_name(const void *a, const void *b)
{
    return nb_string_compare(*(const struct nb_string *)a, *(const struct nb_string *)b);
}

/* Adds the columns sorted by name. `names` keeps its order. */
static int add_columns(struct nb_columns *columns, const struct nb_string *names,
                       struct places *places, struct nb_error *error)
{
    struct nb_string sorted[NB_NETWORK_NODES];
    assert(places->count <= NB_NETWORK_NODES); /* else too_many_columns was returned */
    int rc = 0;
    memcpy(sorted, names, places->count * sizeof *sorted);
    qsort(sorted, places->count, sizeof *sorted, by_name);
    for (size_t i = 0; rc == 0 && i < places->count; i++)
        rc = nb_columns_add(columns, sorted[i], error);
    for (size_t i = 0; rc == 0 && i < places->count; i++) {
        places->column[i] = nb_columns_find(columns, names[i]);
        assert(places->column[i] != SIZE_MAX); /* it was added */
    }
    if (rc == 0 && places->count < 2)
        rc = nb_error_set(error, NB_INVALID, "there must be at least two columns");
    return rc;
}

static int too_many_columns(struct nb_error *error)
{
    return nb_error_set(error, NB_TOO_LARGE, "there are more than %d columns", NB_NETWORK_NODES);
}

/* Puts "row 7: " or "line 7: " before the error's text. */
static int at_row(const char *what, size_t number, struct nb_error *error)
{
    struct nb_error why = *error;
    return nb_error_set(error, why.code, "%s %zu: %s", what, number, why.text);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

enum { COLUMNS, ROWS, MEMBERS };

static const struct nb_json_member members[MEMBERS] = {
    [COLUMNS] = {"columns", NB_TYPE_ARRAY, true},
    [ROWS] = {"rows", NB_TYPE_ARRAY, true},
};

static int set_value(struct nb_columns *columns, size_t column, const json_t *value,
                     struct nb_error *error)
{
    if (json_is_null(value))
        return 0;
    if (!json_is_string(value))
        return nb_error_set(error, NB_INVALID, "column '%s': a value is a string or null, not %s",
                            columns->columns[column].name, nb_json_type_name(value));
    return nb_columns_set(columns, column, nb_json_text(value), error);
}

static int json_row(struct nb_columns *columns, const struct places *places, const json_t *row,
                    struct nb_error *error)
{
    assert(places->count <= NB_NETWORK_NODES);
    if (json_array_size(row) != places->count || !json_is_array(row))
        return nb_error_set(error, NB_INVALID, "it must be an array of %zu values, as `columns`",
                            places->count);
    int rc = nb_columns_add_row(columns, error);
    for (size_t i = 0; rc == 0 && i < places->count; i++)
        rc = set_value(columns, places->column[i], json_array_get(row, i), error);
    return rc;
}

static int json_names(struct nb_columns *columns, struct places *places, const json_t *list,
                      struct nb_error *error)
{
    struct nb_string names[NB_NETWORK_NODES] = {{NULL, 0}};
    places->count = json_array_size(list);
    if (places->count > NB_NETWORK_NODES)
        return too_many_columns(error);
    for (size_t i = 0; i < places->count; i++) {
        if (!json_is_string(json_array_get(list, i)))
            return nb_error_set(error, NB_INVALID, "`columns` are strings, not %s",
                                nb_json_type_name(json_array_get(list, i)));
        names[i] = nb_json_text(json_array_get(list, i));
    }
    return add_columns(columns, names, places, error);
}

static int read_json(struct nb_string body, struct nb_columns *columns, struct nb_error *error)
{
    const json_t *values[MEMBERS];
    struct places places;
    json_t *object;
    int rc = nb_json_load(body, JSON_VALUES, &object, error);
    if (rc == NB_TOO_LARGE)
        return nb_error_set(error, rc, "more than %d values in one JSON text: send NDJSON or CSV",
                            JSON_VALUES);
    if (rc != 0)
        return rc;
    rc = nb_json_take(object, "a table", members, MEMBERS, values, error);
    if (rc == 0)
        rc = json_names(columns, &places, values[COLUMNS], error);
    for (size_t i = 0; rc == 0 && i < json_array_size(values[ROWS]); i++) {
        rc = json_row(columns, &places, json_array_get(values[ROWS], i), error);
        if (rc != 0)
            rc = at_row("row", i + 1, error);
    }
    json_decref(object);
    return rc;
}

/* ---- NDJSON ---------------------------------------------------------------------------------- */

static int line_names(struct nb_columns *columns, const json_t *row, struct nb_error *error)
{
    struct nb_string names[NB_NETWORK_NODES] = {{NULL, 0}};
    struct places places = {.count = 0};
    json_t *all = (json_t *)(uintptr_t)row; /* iterators only read it */
    for (void *at = json_object_iter(all); at != NULL; at = json_object_iter_next(all, at)) {
        if (places.count == NB_NETWORK_NODES)
            return too_many_columns(error);
        names[places.count++] =
            (struct nb_string){json_object_iter_key(at), json_object_iter_key_len(at)};
    }
    return add_columns(columns, names, &places, error);
}

static int line_values(struct nb_columns *columns, const json_t *row, struct nb_error *error)
{
    json_t *all = (json_t *)(uintptr_t)row; /* iterators only read it */
    int rc = nb_columns_add_row(columns, error);
    for (void *at = json_object_iter(all); rc == 0 && at != NULL;
         at = json_object_iter_next(all, at)) {
        struct nb_string name = {json_object_iter_key(at), json_object_iter_key_len(at)};
        size_t column = nb_columns_find(columns, name);
        if (column == SIZE_MAX)
            return nb_error_set(error, NB_INVALID,
                                "the first line has no '%.64s', so there is no such column",
                                name.bytes);
        rc = set_value(columns, column, json_object_iter_value(at), error);
    }
    return rc;
}

static int read_line(struct nb_columns *columns, struct nb_string line, struct nb_error *error)
{
    json_t *row;
    int rc = nb_json_load(line, LINE_VALUES, &row, error);
    if (rc != 0)
        return rc;
    if (!json_is_object(row))
        rc = nb_error_set(error, NB_INVALID, "a row is an object, not %s", nb_json_type_name(row));
    if (rc == 0 && columns->count == 0)
        rc = line_names(columns, row, error);
    if (rc == 0)
        rc = line_values(columns, row, error);
    json_decref(row);
    return rc;
}

static int read_ndjson(struct nb_string body, struct nb_columns *columns, struct nb_error *error)
{
    const char *at = body.bytes, *end = body.bytes + body.length;
    int rc = 0;
    for (size_t number = 1; rc == 0 && at < end; number++) {
        const char *next = nb_lines_next(at, end);
        struct nb_string line = nb_string_trim((struct nb_string){at, (size_t)(next - at)});
        rc = line.length == 0 ? 0 : read_line(columns, line, error);
        if (rc != 0)
            rc = at_row("line", number, error);
        at = next;
    }
    return rc;
}

/* ---- CSV ------------------------------------------------------------------------------------- */

static int csv_names(struct nb_csv *csv, struct nb_columns *columns, struct places *places,
                     struct nb_error *error)
{
    struct nb_string names[NB_NETWORK_NODES] = {{NULL, 0}};
    struct nb_csv_field field = {.is_last = false};
    int rc = 0;
    for (places->count = 0; rc == 0 && !field.is_last;) {
        rc = nb_csv_next(csv, &field, error);
        if (rc == 0 && places->count == NB_NETWORK_NODES)
            rc = too_many_columns(error);
        if (rc != 0)
            break;
        char *copy = nb_string_copy(field.text);
        if (copy == NULL)
            rc = nb_error_no_memory(error);
        else
            names[places->count++] = (struct nb_string){copy, field.text.length};
    }
    if (rc == 0)
        rc = add_columns(columns, names, places, error);
    for (size_t i = 0; i < places->count; i++)
        free((char *)(uintptr_t)names[i].bytes);
    return rc;
}

static int csv_row(struct nb_csv *csv, struct nb_columns *columns, const struct places *places,
                   struct nb_error *error)
{
    assert(places->count <= NB_NETWORK_NODES);
    struct nb_csv_field field = {.is_last = false};
    size_t count = 0, line = csv->next;
    int rc = nb_columns_add_row(columns, error);
    while (rc == 0 && !field.is_last) {
        rc = nb_csv_next(csv, &field, error);
        if (rc != 0)
            return rc; /* the error names the line */
        bool is_missing = field.text.length == 0 && !field.is_quoted;
        if (count < places->count && !is_missing)
            rc = nb_columns_set(columns, places->column[count], field.text, error);
        count++;
    }
    if (rc == 0 && count != places->count)
        rc = nb_error_set(error, NB_INVALID, "there are %zu fields, the first line names %zu",
                          count, places->count);
    return rc != 0 ? at_row("line", line, error) : 0;
}

static int read_csv(struct nb_string body, struct nb_columns *columns, struct nb_error *error)
{
    struct nb_csv csv;
    struct places places;
    nb_csv_init(&csv, body);
    int rc = csv_names(&csv, columns, &places, error);
    while (rc == 0 && !nb_csv_is_end(&csv))
        rc = csv_row(&csv, columns, &places, error);
    nb_csv_deinit(&csv);
    return rc;
}

/* ---- all media types ------------------------------------------------------------------------- */

int nb_rows_read(enum nb_media media, struct nb_string body, size_t most_values,
                 struct nb_columns **columns, struct nb_error *error)
{
    assert(media == NB_MEDIA_JSON || media == NB_MEDIA_NDJSON || media == NB_MEDIA_CSV);
    struct nb_columns *read = nb_columns_new(most_values);
    struct nb_error local = {0}; /* needed here even if the caller passes NULL */
    int rc;
    if (read == NULL)
        return nb_error_no_memory(error);
    if (media == NB_MEDIA_JSON)
        rc = read_json(body, read, &local);
    else
        rc = media == NB_MEDIA_NDJSON ? read_ndjson(body, read, &local)
                                      : read_csv(body, read, &local);
    if (rc == 0)
        rc = nb_columns_close(read, &local);
    if (rc == 0)
        *columns = read;
    else
        nb_columns_free(&read);
    return rc == 0 ? 0 : nb_error_set(error, rc, "%s", local.text);
}
