/* SPDX-License-Identifier: Apache-2.0
 *
 * Puts loaded rows into the index of a model. That is half the time of a start, so for a large
 * model a second thread does it behind the one that reads. For core/counts only.
 *
 * Threads: all functions are called by the one that loads, before others see the model. Between
 * nb_indexing_begin and nb_indexing_end it leaves the index and the ids of rows that it has told
 * alone; the rows and the index have room for all rows, so that neither moves.
 */
#ifndef NB_CORE_COUNTS_INDEXING_H
#define NB_CORE_COUNTS_INDEXING_H

#include <stdbool.h>
#include <stdint.h>

struct nb_model;
struct nb_indexing;

/* Models of fewer rows are not worth a thread. */
enum { NB_INDEXING_LEAST = 1 << 18 };

/* Puts rows into the index. Returns false if an id is there twice. */
bool nb_index_rows(struct nb_model *model, uint32_t start, uint32_t end);

/* Starts a thread, which borrows the model. NULL: no thread could start, and the caller uses
 * nb_index_rows. */
struct nb_indexing *nb_indexing_begin(struct nb_model *model);
/* Tells the thread that all rows below `end` have their ids. */
void nb_indexing_tell(struct nb_indexing *x, uint32_t end);
/* Waits until all rows below `end` are in the index, and frees `x`. Returns false if an id is there
 * twice. */
bool nb_indexing_end(struct nb_indexing *x, uint32_t end);

#endif
