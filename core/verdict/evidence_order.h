/* SPDX-License-Identifier: Apache-2.0
 *
 * The order of an explanation's rows. Pure functions; any thread.
 */
#ifndef NB_CORE_VERDICT_EVIDENCE_ORDER_H
#define NB_CORE_VERDICT_EVIDENCE_ORDER_H

#include <stddef.h>

#include "core/score/explain.h"

/* Puts the `most` strongest rows (by magnitude, ties by feature) first, in order; the others follow
 * in no order. No magnitude is NaN, and there are less than 2^32 rows. In time count + count
 * log(most) at worst, whatever the rows are; mostly in count + most. */
void nb_evidence_sort(struct nb_evidence *rows, size_t count, size_t most);

#endif
