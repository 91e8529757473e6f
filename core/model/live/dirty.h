/* SPDX-License-Identifier: Apache-2.0
 *
 * Dirty marks: a byte for each stored range of rows, set if the range is older than the counts. On
 * the thread that changes the counts.
 */
#ifndef NB_CORE_MODEL_LIVE_DIRTY_H
#define NB_CORE_MODEL_LIVE_DIRTY_H

#include "core/ledger/coding/rows_coding.h"
#include "core/model/live/live.h"

/* Allocates marks for `ranges` ranges. Returns 0 or NB_NO_MEMORY. */
int nb_dirty_reserve(struct nb_checkpoint *checkpoint, size_t ranges);
/* Marks the ranges of these rows, which are in ascending order and below `model_rows`. Returns 0 or
 * NB_NO_MEMORY. */
int nb_dirty_mark(struct nb_checkpoint *checkpoint, const struct nb_rows *rows,
                  uint32_t model_rows);

#endif
