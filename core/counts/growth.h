/* SPDX-License-Identifier: Apache-2.0
 *
 * The larger index that a growing model will need soon, made by a thread of its own beside the one
 * in use: to put all rows into another index is a twentieth of what learning costs the thread that
 * changes the model, and everybody waits for that. For core/counts only.
 *
 * Threads: all functions are called by the writer. Meanwhile the other thread reads the ids of the
 * rows that there were at the beginning, which stay where they are; it is given up before one of
 * them gets another id (nb_growth_spare).
 */
#ifndef NB_CORE_COUNTS_GROWTH_H
#define NB_CORE_COUNTS_GROWTH_H

#include "core/counts/index.h"

struct nb_growth;

/* Puts the rows from `start` to below `end` into an index; those that are dropped it leaves out. */
void nb_index_put_rows(struct nb_index *index, unsigned char *const *table, uint32_t start,
                       uint32_t end);

/* Starts a thread that makes an index with room for `room` rows, and puts the first `rows` rows
 * into it; those that are dropped it leaves out. `table` is that of their segments, none of which
 * moves any more; it is copied. NULL: there is no memory or no thread to be had. */
struct nb_growth *nb_growth_begin(unsigned char *const *table, uint32_t rows, uint64_t room);

/* Bytes that the index takes when it is there; NULL: 0. */
size_t nb_growth_memory(const struct nb_growth *growth);

/* Waits for the thread, frees `growth` and sets *index and how many rows it has seen. Returns 0 or
 * NB_NO_MEMORY. */
int nb_growth_end(struct nb_growth **growth, struct nb_index *index, uint32_t *rows);

/* Waits for the thread, and frees all; NULL: there is none. */
void nb_growth_drop(struct nb_growth **growth);

/* The same, if the thread reads the id of this row or of one behind it, which is about to change.
 */
void nb_growth_spare(struct nb_growth **growth, uint32_t row);

#endif
