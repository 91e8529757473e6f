/* SPDX-License-Identifier: Apache-2.0
 *
 * Cells of a CSV (RFC 4180). Pure functions; any thread.
 */
#ifndef NB_CLIENT_WRITE_CSV_H
#define NB_CLIENT_WRITE_CSV_H

#include <stdbool.h>

#include "core/base/buffer.h"

/* Appends a cell, behind a comma unless it is the first of its row; in quotes when it needs them.
 * Returns 0 or NB_NO_MEMORY. */
int nb_csv_cell(struct nb_string text, bool is_first, struct nb_buffer *out);

#endif
