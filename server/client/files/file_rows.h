/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the rows of a table: CSV (RFC 4180; with semicolons where spreadsheets use the comma as the
 * decimal sign), or TSV, in which nothing is quoted. One thread.
 */
#ifndef NB_SERVER_CLIENT_FILES_FILE_ROWS_H
#define NB_SERVER_CLIENT_FILES_FILE_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buffer.h"
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

#endif
