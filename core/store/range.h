/* SPDX-License-Identifier: Apache-2.0
 *
 * A range of rows as stored: their ids and counts, and the number of the entry up to which they are
 * true. Pure functions on bytes and a model; any thread, under the rules of core/model/model.h.
 *
 * Stored form: a varint with the mark, a varint with the number of rows, and for each row
 *
 *     8 bytes  its id, little-endian; of a row that was dropped NB_DROPPED_ID, without cells
 *     varint   odd: the feature was seen once, in one document of the label `varint / 2` (three
 *              features of five). Even: twice the number of cells, which follow
 *
 * and for each cell
 *
 *     varint   label
 *     varint   twice the documents, plus one if there are more occurrences than documents
 *     varint   how many more; only in this case
 */
#ifndef NB_CORE_STORE_RANGE_H
#define NB_CORE_STORE_RANGE_H

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/model/model.h"

enum { NB_RANGE_ROWS = 1024 }; /* rows per stored range */

/* How many ranges so many rows take. */
static inline uint32_t nb_ranges_of(uint32_t rows)
{
    return rows / NB_RANGE_ROWS + (rows % NB_RANGE_ROWS != 0);
}

/* Appends the stored form of rows first .. first + count - 1 and of `mark`, the number of the entry
 * up to which they are true. Returns 0 or NB_NO_MEMORY. */
int nb_range_write(const struct nb_model *model, uint32_t first, uint32_t count, uint64_t mark,
                   struct nb_buffer *out);
/* Appends the rows of a stored range to the model (which must have `first` rows so far). Sets
 * *mark. Returns 0, NB_CORRUPT or NB_NO_MEMORY. */
int nb_range_read(struct nb_model *model, uint32_t first, struct nb_string stored, uint64_t *mark,
                  struct nb_error *error);

#endif
