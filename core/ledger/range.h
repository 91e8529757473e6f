/* SPDX-License-Identifier: Apache-2.0
 *
 * The stored form of a range of rows: their ids and counts, and the mark, which is the number of
 * the last ledger entry that the counts include. Pure functions on bytes and a model; any thread,
 * under the rules of core/counts/model.h.
 *
 * Stored form: a varint with the mark, a varint with the number of rows, and for each row
 *
 *     8 bytes  its id, little-endian; NB_DROPPED_ID for a dropped row, which has no cells
 *     varint   four times a value, plus
 *              0: the value is the number of cells, which follow
 *              1: the feature was seen once, in one document of the label `value` (half of all)
 *              2: one cell of the label `value / 16`. `value % 16` gives its counts: 0 to 7 are two
 *                 to nine documents with one occurrence each; 8 to 11 one to four documents, with
 *                 one more occurrence than documents; 12 to 14 one to three documents, with two
 *                 more; 15: the counts follow, as those of a cell below
 *              3: two cells, of the labels 0 and 1, follow without their labels. The value is the
 *                 first number of the first cell
 *
 * and for each cell
 *
 *     varint   label
 *     varint   twice the documents, plus one if there are more occurrences than documents
 *     varint   how many more occurrences; only if there are more
 */
#ifndef NB_CORE_LEDGER_RANGE_H
#define NB_CORE_LEDGER_RANGE_H

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/counts/model.h"

/* Rows per stored range. If most features were seen once or twice, a range takes 12,000 bytes,
 * nearly all of three pages of 4,096 bytes (with 1,024 rows a fifth of these was empty). */
enum { NB_RANGE_ROWS = 1280 };

/* The number of ranges for this many rows. */
static inline uint32_t nb_ranges_of(uint32_t rows)
{
    return rows / NB_RANGE_ROWS + (rows % NB_RANGE_ROWS != 0);
}

/* Appends the stored form of rows first .. first + count - 1 with `mark`. Returns 0 or
 * NB_NO_MEMORY.
 */
int nb_range_write(const struct nb_model *model, uint32_t first, uint32_t count, uint64_t mark,
                   struct nb_buffer *out);
/* Appends the rows of a stored range to the model (which must have `first` rows so far). Sets
 * *mark. Returns 0, NB_CORRUPT or NB_NO_MEMORY. */
int nb_range_read(struct nb_model *model, uint32_t first, struct nb_string stored, uint64_t *mark,
                  struct nb_error *error);

#endif
