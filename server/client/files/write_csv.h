/* SPDX-License-Identifier: Apache-2.0
 *
 * Cells and rows of a CSV (RFC 4180). Pure functions; any thread.
 */
#ifndef NB_CLIENT_WRITE_CSV_H
#define NB_CLIENT_WRITE_CSV_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core/base/buffer.h"
#include "server/client/files/files.h"

/* Appends a cell, behind the separator unless it is the first of its row; in quotes when it needs
 * them. Returns 0 or NB_NO_MEMORY. */
int nb_csv_cell(struct nb_string text, char separator, bool is_first, struct nb_buffer *out);

/* A row of a table with cells behind it, in UTF-8 and without its end. */
struct nb_csv_row {
    struct nb_string own;   /* as the table has it */
    struct nb_string added; /* with the separator before each cell */
    bool is_first;          /* what stands before the header comes before it */
};

/* Writes a row to `out` as the table was written: its charset and its line end. A form that is not
 * known is UTF-8 with line feeds. Characters of the added cells that are not in the charset become
 * question marks, which are added to *lost. Returns 0, NB_INVALID (a character of the row's own is
 * not in it, as where it is of another table), NB_IO or NB_NO_MEMORY. */
int nb_csv_write_row(const struct nb_table_form *form, const struct nb_csv_row *row, uint64_t *lost,
                     FILE *out, struct nb_error *error);

#endif
