/* SPDX-License-Identifier: Apache-2.0 */
#include "core/networks/network/columns.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"

struct nb_columns *nb_columns_new(size_t most_values)
{
    struct nb_columns *columns = calloc(1, sizeof *columns);
    if (columns != NULL)
        columns->most_values = most_values;
    return columns;
}

void nb_columns_free(struct nb_columns **columns)
{
    if (*columns == NULL)
        return;
    for (size_t i = 0; i < (*columns)->count; i++) {
        struct nb_column *column = &(*columns)->columns[i];
        nb_strings_free(column->states, column->state_count);
        free(column->name);
        free(column->codes);
    }
    free((*columns)->columns);
    free(*columns);
    *columns = NULL;
}

size_t nb_columns_find(const struct nb_columns *columns, struct nb_string name)
{
    for (size_t i = 0; i < columns->count; i++)
        if (nb_string_equals(name, columns->columns[i].name))
            return i;
    return SIZE_MAX;
}

int nb_columns_add(struct nb_columns *columns, struct nb_string name, struct nb_error *error)
{
    assert(columns->rows == 0);
    int rc = nb_network_check_name(name, "the name of a column", error);
    if (rc != 0)
        return rc;
    if (nb_columns_find(columns, name) != SIZE_MAX)
        return nb_error_set(error, NB_INVALID, "column '%.*s' is there twice", (int)name.length,
                            name.bytes);
    if (columns->count >= NB_NETWORK_NODES)
        return nb_error_set(error, NB_TOO_LARGE, "there are more than %d columns",
                            NB_NETWORK_NODES);
    struct nb_column *more =
        realloc(columns->columns, (columns->count + 1) * sizeof *columns->columns);
    if (more == NULL)
        return nb_error_no_memory(error);
    columns->columns = more;
    more[columns->count] = (struct nb_column){.name = nb_string_copy(name)};
    if (more[columns->count].name == NULL)
        return nb_error_no_memory(error);
    columns->count++;
    return 0;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int grow(struct nb_columns *columns, struct nb_error *error)
{
    size_t room = nb_array_room(columns->room, columns->rows + 1, 1);
    for (size_t i = 0; i < columns->count; i++)
        if (nb_array_resize(&columns->columns[i].codes, room, 1) != 0)
            return nb_error_no_memory(error);
    columns->room = room;
    return 0;
}

int nb_columns_add_row(struct nb_columns *columns, struct nb_error *error)
{
    assert(columns->count > 0);
    if ((columns->rows + 1) * columns->count > columns->most_values)
        return nb_error_set(error, NB_TOO_LARGE,
                            "there are more than %zu values, rows times columns ([networks] "
                            "learn_values)",
                            columns->most_values);
    if (columns->rows == columns->room) {
        int rc = grow(columns, error);
        if (rc != 0)
            return rc;
    }
    for (size_t i = 0; i < columns->count; i++)
        columns->columns[i].codes[columns->rows] = NB_COLUMN_MISSING;
    columns->rows++;
    return 0;
}

static size_t find_state(const struct nb_column *column, struct nb_string value)
{
    if (column->last < column->state_count && nb_string_equals(value, column->states[column->last]))
        return column->last;
    for (size_t i = 0; i < column->state_count; i++)
        if (nb_string_equals(value, column->states[i]))
            return i;
    return SIZE_MAX;
}

static int add_state(struct nb_column *column, struct nb_string value, struct nb_error *error)
{
    int rc = nb_network_check_name(value, "a value", error);
    if (rc != 0)
        return rc;
    if (column->state_count >= NB_NETWORK_STATES)
        return nb_error_set(error, NB_TOO_LARGE, "column '%s' has more than %d different values",
                            column->name, NB_NETWORK_STATES);
    return nb_network_append_state(&column->states, &column->state_count, value, error);
}

int nb_columns_set(struct nb_columns *columns, size_t at, struct nb_string value,
                   struct nb_error *error)
{
    assert(at < columns->count && columns->rows > 0);
    struct nb_column *column = &columns->columns[at];
    size_t state = find_state(column, value);
    if (state == SIZE_MAX) {
        int rc = add_state(column, value, error);
        if (rc != 0)
            return rc;
        state = column->state_count - 1;
    }
    column->last = (uint32_t)state;
    column->codes[columns->rows - 1] = (unsigned char)state;
    return 0;
}

/* ---- the end --------------------------------------------------------------------------------- */

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int sort_states(struct nb_column *column, size_t rows, struct nb_error *error)
{
    unsigned char codes[NB_COLUMN_MISSING + 1];
    char **sorted = malloc(column->state_count * sizeof *sorted);
    if (sorted == NULL)
        return nb_error_no_memory(error);
    memcpy(sorted, column->states, column->state_count * sizeof *sorted);
    qsort(sorted, column->state_count, sizeof *sorted, by_bytes);
    memset(codes, NB_COLUMN_MISSING, sizeof codes);
    for (size_t i = 0; i < column->state_count; i++)
        for (size_t s = 0; s < column->state_count; s++)
            if (column->states[i] == sorted[s])
                codes[i] = (unsigned char)s;
    for (size_t row = 0; row < rows; row++)
        column->codes[row] = codes[column->codes[row]];
    free(column->states);
    column->states = sorted;
    return 0;
}

int nb_columns_close(struct nb_columns *columns, struct nb_error *error)
{
    int rc = 0;
    if (columns->rows == 0)
        return nb_error_set(error, NB_INVALID, "there are no rows to learn from");
    for (size_t i = 0; rc == 0 && i < columns->count; i++) {
        if (columns->columns[i].state_count == 0)
            return nb_error_set(error, NB_INVALID, "column '%s' has no value in any row",
                                columns->columns[i].name);
        rc = sort_states(&columns->columns[i], columns->rows, error);
    }
    return rc;
}
