/* SPDX-License-Identifier: Apache-2.0
 *
 * The rows of a table: CSV (RFC 4180; where a spreadsheet's comma is the decimal sign, with
 * semicolons), or TSV, in which nothing is quoted. One thread.
 */
#ifndef NB_SERVER_CLIENT_FILES_FILE_ROWS_H
#define NB_SERVER_CLIENT_FILES_FILE_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "server/client/files/input.h"

enum { NB_ROWS_CELLS = 32 /* of a row */ };

/* All zero but for the first three members at the beginning. */
struct nb_file_rows {
    struct nb_input *input;                /* borrowed */
    bool is_csv;                           /* cells may be quoted */
    char separator;                        /* NUL in a CSV: the first row tells */
    struct nb_string cells[NB_ROWS_CELLS]; /* of the last row; they point into `text` */
    size_t cell_count;
    uint64_t number;          /* of the row, from 1 */
    uint64_t line, next_line; /* of the file, from 1: where the row begins, and what comes next */
    struct nb_buffer text;    /* owned: the text of the cells, one behind the other */
    struct nb_buffer raw;     /* owned: the row as it stands in the file, without its last end */
    struct nb_string preface; /* the line "sep=;" before the header, as it is; or empty */
    char preface_text[8];     /* private */
    size_t begins[NB_ROWS_CELLS];
};

/* Reads the next row into `cells`; empty lines, a byte order mark before the first, and Excel's
 * line "sep=;", which names the separator, are skipped. Returns 1, 0 at the end, or a code. */
int nb_file_rows_next(struct nb_file_rows *rows, struct nb_error *error);

void nb_file_rows_deinit(struct nb_file_rows *rows);

#endif
