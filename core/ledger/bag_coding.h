/* SPDX-License-Identifier: Apache-2.0
 *
 * The stored form of a document's bag: the ascending list of row numbers, as runs of neighbours
 * (the features that are new with a document are one run), and the counts above one; 1.2 bytes a
 * feature. Pure functions; any thread.
 *
 * Stored form: nothing, if the bag is empty; else one part, or two: the rows that were known before
 * the document was learned, and the rows behind them. A part is a list of its runs, and a list of
 * its counts above one. An item of a list has two numbers. The first is how much is skipped: rows
 * since the previous run (or from row 0 on), or features of the part since the previous count. The
 * second is the length of the run less 1, or the count less 2. The item is stored in 16 bits: four
 * times the lowest 14 bits of the first number, plus the second one. If the second is above 2, or
 * 14 bits do not suffice for the first, 3 is stored instead of the second, and the tail has the
 * rest. Stored for a list:
 *
 *     varint   number of items
 *     varint   number of items above 255
 *     bytes    each item: its low byte, and if it is above 255 its high byte
 *     bits     for each item, from the lowest bit of a byte on: whether it is above 255
 *     varints  the tail; for each item with a 3: twice the second number, plus 1 if 14 bits do not
 *              suffice; then the first number divided by 2^14 follows
 *
 * So a reader finds the bytes of an item without decoding the items before it, and need not wait
 * for these: a refit reads thousands of bags.
 */
#ifndef NB_CORE_LEDGER_BAG_CODING_H
#define NB_CORE_LEDGER_BAG_CODING_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/counts/model.h"

/* ---- lists of rows --------------------------------------------------------------------------- */

/* Lists of rows with counts: the features of a document, as rows of a model. Pure functions; any
 * thread. */

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

/* The most rows of a bag that is read: more than the texts of an entry can have. */
enum { NB_BAG_MOST = 1 << 27 };

/* Appends the stored form of rows that are sorted and distinct. Returns 0 or NB_NO_MEMORY. */
int nb_bag_encode(const struct nb_rows *rows, struct nb_buffer *out);

/* The stored form of the first rows of a bag, for a caller that knows these before the others.
 * `{0}` has no rows. */
struct nb_bag_beginning {
    struct nb_buffer bytes;
    size_t size; /* rows */
};
void nb_bag_beginning_deinit(struct nb_bag_beginning *beginning);
/* Encodes rows that are sorted and distinct into an empty `beginning`. Overwrites `scratch`, which
 * grows to many times the bytes of the result. Returns 0 or NB_NO_MEMORY. */
int nb_bag_begin_encoding(const struct nb_row_count *counts, size_t size, struct nb_buffer *scratch,
                          struct nb_bag_beginning *beginning);
/* Appends the stored form of rows that begin with those of `beginning`: as nb_bag_encode, but in
 * two parts. So the same rows can have different bytes, and bags must be compared by their rows. */
int nb_bag_end_encoding(const struct nb_bag_beginning *beginning, const struct nb_rows *rows,
                        struct nb_buffer *out);

/* Fills `rows` (emptied first). Every row must be below `limit`. Returns 0, NB_CORRUPT or
 * NB_NO_MEMORY. */
int nb_bag_decode(struct nb_string bag, uint32_t limit, struct nb_rows *rows,
                  struct nb_error *error);

#endif
