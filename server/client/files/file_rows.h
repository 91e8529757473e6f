/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the rows of a table: CSV (RFC 4180; with semicolons where spreadsheets use the comma as the
 * decimal sign), or TSV, in which nothing is quoted. One thread.
 */
#ifndef NB_SERVER_CLIENT_FILES_FILE_ROWS_H
#define NB_SERVER_CLIENT_FILES_FILE_ROWS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "server/client/files/files.h"
#include "server/client/files/input.h"

enum { NB_ROWS_CELLS = 32 /* most cells of a row */ };

/* At the beginning all members except the first three are zero. */
struct nb_file_rows {
    struct nb_input *input;                /* borrowed */
    bool is_csv;                           /* cells may be quoted */
    char separator;                        /* NUL: found from the first rows of a CSV */
    struct nb_string cells[NB_ROWS_CELLS]; /* of the last row; they point into `text` */
    size_t cell_count;
    uint64_t number;          /* of the row, from 1 */
    uint64_t line, next_line; /* lines of the file, from 1, where this row and the next begin */
    struct nb_buffer text;    /* owned: the text of the cells, one after the other */
    struct nb_buffer raw;     /* owned: the row as in the file, without its line end */
    struct nb_string preface; /* the line "sep=;" before the header, as it is; or empty */
    char preface_text[8];     /* private */
    size_t begins[NB_ROWS_CELLS];
};

/* Reads the next row into `cells`. Skips empty lines, a byte order mark before the first line, and
 * Excel's line "sep=;", which names the separator. Returns 1, 0 at the end, or a code. */
int nb_file_rows_next(struct nb_file_rows *rows, struct nb_error *error);

void nb_file_rows_deinit(struct nb_file_rows *rows);

/* Writes the cells and rows of a CSV (RFC 4180). Any thread. */
/* Appends a cell, after a separator unless it is the first of its row, and in quotes when it needs
 * them. Returns 0 or NB_NO_MEMORY. */
int nb_csv_cell(struct nb_string text, char separator, bool is_first, struct nb_buffer *out);

/* A row of a table and the cells added to it, in UTF-8 and without a line end. */
struct nb_csv_row {
    struct nb_string own;   /* as in the table */
    struct nb_string added; /* with the separator before each cell */
    bool is_first;          /* the byte order mark and the preface are written before it */
};

/* Writes a row to `out` in the form of the table: with its charset and its line end. An unknown
 * form means UTF-8 with line feeds. Characters of the added cells that are not in the charset
 * become question marks, whose number is added to *lost. Returns 0, NB_INVALID (the row's own cells
 * have a character that is not in the charset, as when they come from another table), NB_IO or
 * NB_NO_MEMORY. */
int nb_csv_write_row(const struct nb_table_form *form, const struct nb_csv_row *row, uint64_t *lost,
                     FILE *out, struct nb_error *error);

#endif
