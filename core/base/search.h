/* SPDX-License-Identifier: Apache-2.0
 *
 * Binary search in a sorted list of anything. Pure function; any thread.
 */
#ifndef NB_CORE_BASE_SEARCH_H
#define NB_CORE_BASE_SEARCH_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the first place from 0 to count - 1 whose element is not before the key: there the key
 * is, or would be inserted. Returns `count` if all elements are before the key. `is_before` tells
 * whether an element is before the key; it is true for a first part of the list alone. Inline, so
 * that `is_before` is inlined, too. */
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
