/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes files: cells and rows of a CSV (RFC 4180), and a file that gets its name only when it is
 * complete. Any thread.
 */
#ifndef NB_SERVER_CLIENT_FILES_WRITE_FILE_H
#define NB_SERVER_CLIENT_FILES_WRITE_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "server/client/files/files.h"

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

/* Writes the content to `out`. Returns 0 or a code. */
typedef int nb_write_content(void *user, FILE *out, struct nb_error *error);

/* Makes the file `name`, or replaces it, or writes to standard output if the name is "-": the
 * content goes to NAME.part, which gets the name when it is complete and on disk. After a failure
 * NAME is as before, and NAME.part is removed. Returns 0, what `content` returns, NB_DISK_FULL,
 * NB_IO or NB_NO_MEMORY. */
int nb_write_file(const char *name, nb_write_content *content, void *user, struct nb_error *error);

#endif
