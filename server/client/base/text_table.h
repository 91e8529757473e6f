/* SPDX-License-Identifier: Apache-2.0
 *
 * A table for people: rows are gathered, then printed with columns as wide as their widest cell.
 * One thread.
 */
#ifndef NB_SERVER_CLIENT_BASE_TEXT_TABLE_H
#define NB_SERVER_CLIENT_BASE_TEXT_TABLE_H

#include <jansson.h>
#include <stdio.h>

#include "core/base/buffer.h"

enum { NB_TABLE_COLUMNS = 20, NB_TABLE_CELL = 60 /* columns of the terminal for one cell */ };

/* Private to the functions below. */
struct nb_text_table {
    struct nb_buffer cells; /* each ends in a NUL, row after row */
    size_t columns;
    size_t count; /* number of cells */
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

/* Prints the rows of a reply as a table for people, from a description of the columns. One
 * thread. */
/* How a cell shows the member of its row. */
enum nb_table_cell_kind {
    NB_CELL_TEXT,    /* a text; empty if it is missing */
    NB_CELL_COUNT,   /* an integer with commas, 0 if it is missing */
    NB_CELL_GENERAL, /* a number as "%.Ng" with N = `digits`; "-" if it is missing */
    NB_CELL_FIXED,   /* a number as "%.Nf" with N = `digits`; empty if it is missing */
    NB_CELL_JSON,    /* any value as JSON */
    NB_CELL_INDEX    /* the number of the row, from 1 on */
};

struct nb_table_column {
    const char *head;   /* as nb_table_head takes it */
    const char *member; /* of the row; NULL: the row itself; "@": the name of the row */
    enum nb_table_cell_kind cell;
    int digits;
    /* Adds a cell that no kind above can show; else NULL. */
    void (*add)(struct nb_text_table *table, const char *name, const json_t *row);
};

/* A column whose cells show a member of the row. */
#define NB_COLUMN(title, name, kind, places)                                                       \
    {                                                                                              \
        .head = (title), .member = (name), .cell = (kind), .digits = (places)                      \
    }

/* Expands an array into the two arguments of a function that takes columns: the array, its
 * length. */
#define NB_COLUMNS(columns) (columns), sizeof(columns) / sizeof(columns)[0]

/* Sets up the table and adds the row of heads. */
void nb_table_rows_head(struct nb_text_table *table, const struct nb_table_column *columns,
                        size_t count);

/* Adds the cells of one row. `name` is "" in an array; `index` counts from 0. */
void nb_table_rows_add(struct nb_text_table *table, const struct nb_table_column *columns,
                       size_t count, const char *name, size_t index, const json_t *row);

/* Adds a row for each element of an array or each member of an object; none for NULL. */
void nb_table_rows_fill(struct nb_text_table *table, const struct nb_table_column *columns,
                        size_t count, const json_t *rows);

/* Prints a table of all rows on standard output. */
void nb_table_rows_print(const struct nb_table_column *columns, size_t count, const json_t *rows);

#endif
