/* SPDX-License-Identifier: Apache-2.0
 *
 * The sums of a model over the parts of its attributes (core/base/feature.h), which few models
 * have: a table apart, so that the others pay one pointer. For core/counts alone.
 *
 * Threads: as in core/counts/model.h. The table does not change its place but under the write lock.
 */
#ifndef NB_CORE_COUNTS_PARTS_H
#define NB_CORE_COUNTS_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/decimal.h"

struct nb_part_sum {
    uint64_t occurrences, presences;
};

struct nb_parts {
    unsigned count;           /* parts; even: an attribute has two */
    uint32_t label_room;      /* labels that `sums` has room for */
    uint64_t *vocabulary;     /* by part; in the block of the table */
    struct nb_part_sum *sums; /* [label * count + part]; likewise */
    /* Owned; of the values that are numbers, [(label * count + part) / 2]; NULL: none has been. */
    struct nb_moments *moments;
};

/* A table with room for so many parts and labels, with moments or, if `from` has none, without; and
 * the sums of `from` (NULL: all are 0), which has no more of either. NULL: out of memory. */
struct nb_parts *nb_parts_new(unsigned count, uint32_t label_room, bool has_moments,
                              const struct nb_parts *from);
void nb_parts_free(struct nb_parts **parts);
size_t nb_parts_memory(const struct nb_parts *parts); /* NULL: 0 */

/* The sums of a label over a part, which the table has. */
static inline struct nb_part_sum *nb_parts_at(const struct nb_parts *parts, uint32_t label,
                                              unsigned part)
{
    return &parts->sums[(size_t)label * parts->count + part];
}

/* Those of a label and the attribute of a part; the table has moments. */
static inline struct nb_moments *nb_parts_moments(const struct nb_parts *parts, uint32_t label,
                                                  unsigned part)
{
    return &parts->moments[((size_t)label * parts->count + part) / 2];
}

#endif
