/* SPDX-License-Identifier: Apache-2.0
 *
 * Builds the larger index that a growing model will need soon, in a thread of its own, beside the
 * index in use. Putting all rows into another index is a twentieth of the writer's cost of
 * learning, and everybody waits for the writer. For core/counts only.
 *
 * Threads: all functions are called by the writer. Meanwhile the other thread reads the ids of the
 * rows that there were at the beginning, which stay where they are; it is given up before one of
 * them gets another id (nb_growth_spare).
 */
#ifndef NB_CORE_COUNTS_GROWTH_H
#define NB_CORE_COUNTS_GROWTH_H

#include "core/counts/index.h"

struct nb_growth;

/* Puts the rows from `start` to below `end` into an index, except dropped rows. */
void nb_index_put_rows(struct nb_index *index, unsigned char *const *table, uint32_t start,
                       uint32_t end);

/* Starts a thread that makes an index with room for `room` rows, and puts the first `rows` rows
 * into it, except dropped rows. `table` has their segments, which no longer move; it is copied.
 * Returns NULL without memory or a thread. */
struct nb_growth *nb_growth_begin(unsigned char *const *table, uint32_t rows, uint64_t room);

/* Returns the bytes of the finished index; 0 for NULL. */
size_t nb_growth_memory(const struct nb_growth *growth);

/* Waits for the thread, frees `growth` and sets *index and how many rows it has seen. Returns 0 or
 * NB_NO_MEMORY. */
int nb_growth_end(struct nb_growth **growth, struct nb_index *index, uint32_t *rows);

/* Waits for the thread, and frees all; NULL: there is none. */
void nb_growth_drop(struct nb_growth **growth);

/* As nb_growth_drop, if the thread reads the id of `row` or of a later row, because those ids are
 * about to change. */
void nb_growth_spare(struct nb_growth **growth, uint32_t row);

#endif
