/* SPDX-License-Identifier: Apache-2.0
 *
 * Cells and rows of a CSV (RFC 4180). Pure functions; any thread.
 */
#ifndef NB_CLIENT_WRITE_CSV_H
#define NB_CLIENT_WRITE_CSV_H

#include <stdbool.h>

#include <stdio.h>

#include "core/base/buffer.h"
#include "server/client/files/files.h"

/* Appends a cell, behind the separator unless it is the first of its row; in quotes when it needs
 * them. Returns 0 or NB_NO_MEMORY. */
int nb_csv_cell(struct nb_string text, char separator, bool is_first, struct nb_buffer *out);

/* Writes a row, in UTF-8 and without its end, to `out` as the table was written: its charset and
 * its line end; `is_first`: what stands before the header comes before it. A form that is not known
 * is UTF-8 with line feeds. Returns 0, NB_INVALID (a character is not in the charset), NB_IO or
 * NB_NO_MEMORY. */
int nb_csv_write_row(const struct nb_table_form *form, struct nb_string row, bool is_first,
                     FILE *out, struct nb_error *error);

#endif
