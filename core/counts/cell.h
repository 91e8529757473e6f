/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers of rows and labels, and the cell where both meet. Constants and a struct; any thread.
 */
#ifndef NB_CORE_COUNTS_CELL_H
#define NB_CORE_COUNTS_CELL_H

#include <stdbool.h>
#include <stdint.h>

#define NB_NO_ROW UINT32_MAX
/* The id of a dropped row; of no feature, because there are not so many fields. */
#define NB_DROPPED_ID UINT64_MAX
static inline bool nb_model_is_dropped(uint64_t id)
{
    return id == NB_DROPPED_ID;
}
#define NB_LABELS_MOST 65535u

/* One cell of a row: what label `label` has of the feature. */
struct nb_cell {
    uint32_t label;
    uint32_t occurrences; /* n_wv */
    uint32_t documents;   /* d_wv */
};

#endif
