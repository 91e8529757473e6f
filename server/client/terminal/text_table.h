/* SPDX-License-Identifier: Apache-2.0
 *
 * A table for people: rows are gathered, then printed with columns as wide as their widest cell.
 * One thread.
 */
#ifndef NB_SERVER_CLIENT_TERMINAL_TEXT_TABLE_H
#define NB_SERVER_CLIENT_TERMINAL_TEXT_TABLE_H

#include <stdio.h>

#include "core/base/buffer.h"

enum { NB_TABLE_COLUMNS = 20, NB_TABLE_CELL = 60 /* columns of the terminal for one cell */ };

/* Private to the functions below. */
struct nb_text_table {
    struct nb_buffer cells; /* each ends in a NUL, row after row */
    size_t columns;
    size_t count; /* of cells */
    bool is_right[NB_TABLE_COLUMNS];
    bool is_broken; /* memory ran out: later cells are not kept */
};

/* Sets up the table and adds its first row: `count` names of columns, at most NB_TABLE_COLUMNS. A
 * name that begins with '>' marks a column of numbers, which is aligned to the right. */
void nb_table_head(struct nb_text_table *table, const char *const *names, size_t count);

/* Adds a cell. Control characters become spaces; a text longer than NB_TABLE_CELL is cut. */
void nb_table_cell(struct nb_text_table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void nb_table_print(const struct nb_text_table *table, FILE *out);
void nb_table_deinit(struct nb_text_table *table);

#endif
