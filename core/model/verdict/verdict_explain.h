/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NB_CORE_MODEL_VERDICT_VERDICT_EXPLAIN_H
#define NB_CORE_MODEL_VERDICT_VERDICT_EXPLAIN_H

#include <stddef.h>

#include "core/bayes/book/explain.h"

/* The order of an explanation's rows. Pure functions; any thread. */

/* Sorts the `most` strongest rows (by magnitude, ties by feature) to the front. Overwrites the rows
 * behind them, and `room`, which has space for `count` rows. No magnitude may be NaN, and there
 * must be fewer than 2^32 rows. Takes O(count log(most)) at worst, mostly O(count + most), and
 * least where rows of the same magnitude come in the order of their features. */
void nb_evidence_sort(struct nb_evidence *rows, size_t count, size_t most,
                      struct nb_evidence *room);

#endif
