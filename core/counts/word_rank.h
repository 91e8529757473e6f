/* SPDX-License-Identifier: Apache-2.0
 *
 * The order in which `skip_top` leaves words out: more occurrences first, then the smaller id.
 *
 * Threads: any; the functions have no state.
 */
#ifndef NB_CORE_COUNTS_WORD_RANK_H
#define NB_CORE_COUNTS_WORD_RANK_H

#include <stdbool.h>
#include <stdint.h>

struct nb_word_rank {
    uint64_t occurrences, id; /* in all labels; of the feature */
};

/* For qsort and heaps of struct nb_word_rank: first in rank first. */
static inline int nb_word_rank_compare(const void *a, const void *b)
{
    const struct nb_word_rank *x = a, *y = b;
    if (x->occurrences != y->occurrences)
        return x->occurrences > y->occurrences ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* Whether the word stands behind `last`, the last one that is left out. */
static inline bool nb_word_rank_is_behind(uint64_t occurrences, uint64_t id,
                                          const struct nb_word_rank *last)
{
    return occurrences != last->occurrences ? occurrences < last->occurrences : id > last->id;
}

#endif
