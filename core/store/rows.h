/* SPDX-License-Identifier: Apache-2.0
 *
 * The bag of a document as the ledger stores it: the ascending list of row numbers, as runs of
 * neighbours (above all, the features that are new with a document are one), and the counts above
 * one; 1.2 bytes a feature. Pure functions; any thread.
 *
 * Stored form: nothing, if the bag is empty; else a varint with the number of runs, for each run
 *
 *     varint   four times the number of rows that are skipped since the run before (the first: its
 *              first row), plus its length less 1, if that is below 3, else 3
 *     varint   its length less 4; only if it is that long
 *
 * and for each count above one
 *
 *     varint   four times the number of features that are skipped since the count before, plus the
 *              count less 2, if that is below 3, else 3
 *     varint   the count less 5; only if it is that large
 */
#ifndef NB_CORE_STORE_ROWS_H
#define NB_CORE_STORE_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/model/model.h"

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
/* Radix sort by row number, in a third of the time; `scratch` holds `size` elements. */
void nb_row_counts_sort(struct nb_row_count *counts, size_t size, struct nb_row_count *scratch);

/* Most rows of a bag that is read: more than the texts of an entry can be of. */
enum { NB_BAG_MOST = 1 << 27 };

/* Appends the stored form of rows that are sorted and distinct. Returns 0 or NB_NO_MEMORY. */
int nb_bag_encode(const struct nb_rows *rows, struct nb_buffer *out);

/* The stored form of the first rows of a bag, for whoever knows these before the others. The last
 * run may go on with the others, and is not written. `{0}` is of no rows. */
struct nb_bag_beginning {
    struct nb_buffer bytes; /* runs, and behind them counts */
    size_t size;            /* rows */
    size_t runs, runs_length;
    size_t begin;      /* of the run that may go on: its first row's place, */
    uint32_t next;     /* and the row behind the run before it */
    size_t next_count; /* place behind the last count that is written */
};
void nb_bag_beginning_deinit(struct nb_bag_beginning *beginning);
/* Of rows that are sorted and distinct; `beginning` is empty. `scratch` is emptied and used, and
 * has many times the bytes. Returns 0 or NB_NO_MEMORY. */
int nb_bag_begin_encoding(const struct nb_row_count *counts, size_t size, struct nb_buffer *scratch,
                          struct nb_bag_beginning *beginning);
/* As nb_bag_encode, of rows that begin with those of `beginning`. */
int nb_bag_end_encoding(const struct nb_bag_beginning *beginning, const struct nb_rows *rows,
                        struct nb_buffer *out);

/* Fills `rows` (emptied first). Every row must be below `limit`. Returns 0, NB_CORRUPT or
 * NB_NO_MEMORY. */
int nb_bag_decode(struct nb_string bag, uint32_t limit, struct nb_rows *rows,
                  struct nb_error *error);

#endif
