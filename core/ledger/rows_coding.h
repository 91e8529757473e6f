/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists of rows with counts: the features of a document, as rows of a model. Pure functions; any
 * thread.
 */
#ifndef NB_CORE_LEDGER_ROWS_CODING_H
#define NB_CORE_LEDGER_ROWS_CODING_H

#include <stddef.h>
#include <stdint.h>

#include "core/counts/model.h"

/* A growable list of row counts; `struct nb_rows r = {0}` is an empty one. */
struct nb_rows {
    struct nb_row_count *counts; /* owned */
    size_t size, room;
};
void nb_rows_deinit(struct nb_rows *rows);
/* Returns 0 or NB_NO_MEMORY. */
int nb_rows_add(struct nb_rows *rows, uint32_t row, uint32_t count);
/* Sorts by row number. */
void nb_rows_sort(struct nb_rows *rows);
/* Sorts by row number with a radix sort, in a third of the time; `scratch` holds `size` elements.
 */
void nb_row_counts_sort(struct nb_row_count *counts, size_t size, struct nb_row_count *scratch);

#endif
