/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads CSV (RFC 4180), and documents from it: a header line names the columns, and each row
 * becomes the JSON object that it stands for, so that rows are read by the same code as JSON. The
 * columns text, label and id are the members of these names. Every other column has values of the
 * field of its name; a column "tags[]" has lists for the field "tags", whose items are separated by
 * ';'. An empty cell is no value. Any thread; a reader and a table belong to one.
 */
#ifndef NB_SERVER_BASE_JSON_TABLE_H
#define NB_SERVER_BASE_JSON_TABLE_H

#include <stdbool.h>

#include "core/base/buffer.h"
#include "core/base/error.h"

/* A reader of fields, one after the other. */
struct nb_csv {
    const char *at, *end;
    size_t line; /* the line of the field that was read last, from 1 */
    size_t next; /* the line of the next field */
    struct nb_buffer unquoted;
    char separator;
    bool has_returns; /* there is no line feed: a CR alone ends lines */
};

/* Begins to read. Skips a byte order mark at the beginning. A first line "sep=;" sets the separator
 * and is skipped. Otherwise the separator is a comma, or if the first line has none outside of
 * quotes, a semicolon or a tab. */
void nb_csv_init(struct nb_csv *csv, struct nb_string text);
void nb_csv_deinit(struct nb_csv *csv);

/* Whether nothing is left. Ask between rows only. */
bool nb_csv_is_end(const struct nb_csv *csv);

struct nb_csv_field {
    struct nb_string text; /* valid until the next call */
    bool is_quoted;
    bool is_last; /* it is the last field of its row */
};
/* Reads a field. Returns 0, NB_INVALID (text after a closing quote, or a quote that is not closed;
 * the error names the line) or NB_NO_MEMORY. */
int nb_csv_next(struct nb_csv *csv, struct nb_csv_field *field, struct nb_error *error);

enum { NB_TABLE_COLUMNS = 512 /* most columns: 256 fields, and other columns */ };

struct nb_table_cell {
    size_t at, length; /* place in `name_bytes`, or in `row` */
};

struct nb_json_table {
    struct nb_csv csv;
    struct nb_table_cell *names, *cells; /* owned; NB_TABLE_COLUMNS of each */
    size_t count;                        /* number of columns */
    struct nb_buffer name_bytes, row;
    bool takes_unlabelled; /* set after the opening: a row without a label has a null one */
    char separator;        /* set after the opening: between the labels of a cell; NUL: ';' */
    struct nb_buffer json; /* the current row as an object */
    size_t line;           /* where it begins, from 1 */
};

/* Reads the header. `text` must outlive the table. NB_INVALID: it is not UTF-8, there is no header,
 * or a name is empty or comes twice; NB_TOO_LARGE: too many columns; NB_NO_MEMORY. The caller
 * closes the table in any case. */
int nb_table_open(struct nb_json_table *table, struct nb_string text, struct nb_error *error);

/* Reads the next row that is not empty. Returns 1 and sets table->json, or 1 and sets *why if the
 * number of cells is not that of the header; 0 after the last row. NB_INVALID (a quoted cell that
 * is not closed, or text after a closing quote) and NB_NO_MEMORY end the table. */
int nb_table_next(struct nb_json_table *table, struct nb_error *why, struct nb_error *error);

void nb_table_close(struct nb_json_table *table);

#endif
