/* SPDX-License-Identifier: Apache-2.0
 *
 * The bag of a document as the ledger stores it: the ascending list of row numbers, as runs of
 * neighbours (above all, the features that are new with a document are one), and the counts above
 * one; 1.2 bytes a feature. Pure functions; any thread.
 *
 * Stored form: nothing, if the bag is empty; else one part, or two: the rows that were known before
 * it was learned, and those behind them. A part is a list of its runs and one of its counts above
 * one. An item of a list says how many rows are skipped (before the first run of a bag: those below
 * it; else those since the run before; and features of the part since the count before), and the
 * length of the run less 1, or the count less 2. It is a number of 16 bits: four times what is
 * skipped, of which it has the lowest 14 bits, plus the other number, if that is below 3 and
 * nothing is lacking, else 3. Of a list are stored
 *
 *     varint   how many items there are
 *     varint   how many of them are above 255
 *     bytes    each item: its low byte, and the high one of those that are
 *     bits     for each item, from the lowest bit of a byte on: whether it is
 *     varints  the tail; for each item that says 3: twice the other number, plus 1 if 14 bits were
 *              not enough; then comes what was skipped, divided by 2^14
 *
 * So where an item is does not depend on the bytes of those before it, which a reader would have to
 * wait for: a refit reads thousands of bags.
 */
#ifndef NB_CORE_LEDGER_CODING_BAG_CODING_H
#define NB_CORE_LEDGER_CODING_BAG_CODING_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/ledger/coding/rows_coding.h"

/* Most rows of a bag that is read: more than the texts of an entry can be of. */
enum { NB_BAG_MOST = 1 << 27 };

/* Appends the stored form of rows that are sorted and distinct. Returns 0 or NB_NO_MEMORY. */
int nb_bag_encode(const struct nb_rows *rows, struct nb_buffer *out);

/* The stored form of the first rows of a bag, for whoever knows these before the others. `{0}` is
 * of no rows. */
struct nb_bag_beginning {
    struct nb_buffer bytes;
    size_t size; /* rows */
};
void nb_bag_beginning_deinit(struct nb_bag_beginning *beginning);
/* Of rows that are sorted and distinct; `beginning` is empty. `scratch` is emptied and used, and
 * has many times the bytes. Returns 0 or NB_NO_MEMORY. */
int nb_bag_begin_encoding(const struct nb_row_count *counts, size_t size, struct nb_buffer *scratch,
                          struct nb_bag_beginning *beginning);
/* Appends the stored form of rows that begin with those of `beginning`: as nb_bag_encode, but in
 * two parts. So the same rows may have other bytes: whoever compares bags compares rows. */
int nb_bag_end_encoding(const struct nb_bag_beginning *beginning, const struct nb_rows *rows,
                        struct nb_buffer *out);

/* Fills `rows` (emptied first). Every row must be below `limit`. Returns 0, NB_CORRUPT or
 * NB_NO_MEMORY. */
int nb_bag_decode(struct nb_string bag, uint32_t limit, struct nb_rows *rows,
                  struct nb_error *error);

#endif
