/* SPDX-License-Identifier: Apache-2.0
 *
 * Binary search in a sorted list of anything. Pure function; any thread.
 */
#ifndef NB_CORE_BASE_SEARCH_H
#define NB_CORE_BASE_SEARCH_H

#include <stdbool.h>
#include <stddef.h>

/* The first of the places 0 .. count - 1 whose element does not stand before the key, which is
 * where the key is, or would be inserted; `count`: all stand before it. `is_before` says whether
 * the element at a place of `list` does; those for which it is true precede all others. Inline, so
 * that `is_before` is, too. */
static inline size_t nb_search(const void *list, size_t count, const void *key,
                               bool (*is_before)(const void *list, size_t at, const void *key))
{
    size_t low = 0;
    size_t high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (is_before(list, middle, key))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#endif
