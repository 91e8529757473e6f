/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/base/text_table.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "server/client/base/terminal.h"

void nb_table_head(struct nb_text_table *table, const char *const *names, size_t count)
{
    *table = (struct nb_text_table){.columns = count};
    assert(count > 0 && count <= NB_TABLE_COLUMNS);
    for (size_t i = 0; i < count; i++) {
        table->is_right[i] = names[i][0] == '>';
        nb_table_cell(table, "%s", names[i] + table->is_right[i]);
    }
}

void nb_table_cell(struct nb_text_table *table, const char *format, ...)
{
    char text[512];
    struct nb_buffer safe = {0};
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments); /* cut if it is longer */
    va_end(arguments);
    nb_terminal_safe(text, NB_TABLE_CELL, &safe);
    table->is_broken = table->is_broken || safe.bytes == NULL ||
                       nb_buffer_append(&table->cells, safe.bytes, strlen(safe.bytes) + 1) != 0;
    table->count += !table->is_broken;
    nb_buffer_deinit(&safe);
}

static void print_cell(const struct nb_text_table *table, size_t column, const char *text,
                       size_t width, FILE *out)
{
    int space = (int)(width - nb_terminal_width(text));
    bool is_last = column + 1 == table->columns;
    if (table->is_right[column])
        (void)fprintf(out, "%*s%s%s", space, "", text, is_last ? "\n" : "  ");
    else
        (void)fprintf(out, "%s%*s%s", text, is_last ? 0 : space, "", is_last ? "\n" : "  ");
}

void nb_table_print(const struct nb_text_table *table, FILE *out)
{
    size_t widths[NB_TABLE_COLUMNS] = {0};
    const char *cell = table->cells.bytes;
    for (size_t i = 0; i < table->count; i++, cell += strlen(cell) + 1) {
        size_t width = nb_terminal_width(cell), column = i % table->columns;
        widths[column] = width > widths[column] ? width : widths[column];
    }
    cell = table->cells.bytes;
    for (size_t i = 0; i < table->count; i++, cell += strlen(cell) + 1) {
        if (i == 0)
            (void)fputs(nb_colour(out, NB_COLOUR_BOLD), out);
        if (i == table->columns)
            (void)fputs(nb_colour(out, NB_COLOUR_PLAIN), out);
        print_cell(table, i % table->columns, cell, widths[i % table->columns], out);
    }
    if (table->count == table->columns)
        (void)fputs(nb_colour(out, NB_COLOUR_PLAIN), out);
}

void nb_table_deinit(struct nb_text_table *table)
{
    nb_buffer_deinit(&table->cells);
}

void nb_table_rows_head(struct nb_text_table *table, const struct nb_table_column *columns,
                        size_t count)
{
    const char *heads[NB_TABLE_COLUMNS];
    assert(count > 0 && count <= NB_TABLE_COLUMNS);
    for (size_t i = 0; i < count; i++)
        heads[i] = columns[i].head;
    nb_table_head(table, heads, count);
}

static void add_json(struct nb_text_table *table, const json_t *value)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(10));
    nb_table_cell(table, "%s", text != NULL ? text : "");
    free(text);
}

static void add_value(struct nb_text_table *table, const struct nb_table_column *column,
                      size_t index, const json_t *value)
{
    const char *text = json_string_value(value);
    switch (column->cell) {
    case NB_CELL_COUNT:
        nb_table_cell(table, "%s", nb_figure_of((uint64_t)json_integer_value(value)).text);
        break;
    case NB_CELL_GENERAL:
        if (value == NULL)
            nb_table_cell(table, "-");
        else
            nb_table_cell(table, "%.*g", column->digits, json_number_value(value));
        break;
    case NB_CELL_FIXED:
        if (value == NULL)
            nb_table_cell(table, "%s", "");
        else
            nb_table_cell(table, "%.*f", column->digits, json_number_value(value));
        break;
    case NB_CELL_JSON:
        add_json(table, value);
        break;
    case NB_CELL_INDEX:
        nb_table_cell(table, "%zu", index + 1);
        break;
    case NB_CELL_TEXT:
    default:
        nb_table_cell(table, "%s", text != NULL ? text : "");
        break;
    }
}

void nb_table_rows_add(struct nb_text_table *table, const struct nb_table_column *columns,
                       size_t count, const char *name, size_t index, const json_t *row)
{
    for (size_t i = 0; i < count; i++) {
        const struct nb_table_column *column = &columns[i];
        if (column->add != NULL)
            column->add(table, name, row);
        else if (column->member == NULL)
            add_value(table, column, index, row);
        else if (strcmp(column->member, "@") == 0)
            nb_table_cell(table, "%s", name);
        else
            add_value(table, column, index, json_object_get(row, column->member));
    }
}

void nb_table_rows_fill(struct nb_text_table *table, const struct nb_table_column *columns,
                        size_t count, const json_t *rows)
{
    json_t *object = (json_t *)(uintptr_t)rows; /* its iterators only read it */
    const char *name;
    const json_t *row;
    size_t i = 0;
    json_object_foreach(object, name, row)
    {
        nb_table_rows_add(table, columns, count, name, i++, row);
    }
    json_array_foreach(rows, i, row)
    {
        nb_table_rows_add(table, columns, count, "", i, row);
    }
}

void nb_table_rows_print(const struct nb_table_column *columns, size_t count, const json_t *rows)
{
    struct nb_text_table table;
    nb_table_rows_head(&table, columns, count);
    nb_table_rows_fill(&table, columns, count, rows);
    nb_table_print(&table, stdout);
    nb_table_deinit(&table);
}
