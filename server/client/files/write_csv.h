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

/* Appends a cell, after a separator unless it is the first of its row, and in quotes when it needs
 * them. Returns 0 or NB_NO_MEMORY. */
int nb_csv_cell(struct nb_string text, char separator, bool is_first, struct nb_buffer *out);

/* A row of a table and the cells added to it, in UTF-8 and without a line end. */
struct nb_csv_row {
    struct nb_string own;   /* as in the table */
    struct nb_string added; /* with the separator before each cell */
    bool is_first;          /* byte order mark and preface come before it */
};

/* Writes a row to `out` in the form of the table: with its charset and its line end. An unknown
 * form means UTF-8 with line feeds. Characters of the added cells that are not in the charset
 * become question marks, whose number is added to *lost. Returns 0, NB_INVALID (the row's own cells
 * have a character that is not in the charset, as when they come from another table), NB_IO or
 * NB_NO_MEMORY. */
int nb_csv_write_row(const struct nb_table_form *form, const struct nb_csv_row *row, uint64_t *lost,
                     FILE *out, struct nb_error *error);

#endif
