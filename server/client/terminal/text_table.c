/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/terminal/text_table.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

#include "server/client/terminal/terminal.h"

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
