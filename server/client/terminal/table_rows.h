/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints the rows of a reply as a table for people, from a description of the columns. One
 * thread.
 */
#ifndef NB_CLIENT_TABLE_ROWS_H
#define NB_CLIENT_TABLE_ROWS_H

#include <jansson.h>

#include "server/client/terminal/text_table.h"

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
