/* SPDX-License-Identifier: Apache-2.0
 *
 * The best few of many: a binary heap whose root is the last in order of those kept. Any thread;
 * one heap belongs to one thread at a time.
 *
 * Adding an element costs one comparison if it is not among the best, else log2(most).
 */
#ifndef NB_CORE_BASE_HEAP_H
#define NB_CORE_BASE_HEAP_H

#include <stddef.h>

struct nb_heap {
    void *items;      /* borrowed: room for `most` elements */
    size_t count;     /* of the elements kept; begins as 0 */
    size_t most;      /* elements kept at most */
    size_t item_size; /* bytes of an element */
    /* As for qsort: negative when `a` comes before `b`, that is, is better. It must not be 0 for
     * two elements of one heap if the result must not depend on the order of adding. */
    int (*compare)(const void *a, const void *b);
};

/* Keeps a copy of `item` if fewer than `most` of those added come before it. `item` is no element
 * of the heap's own array. */
void nb_heap_add(struct nb_heap *heap, const void *item);

/* The last in order of those kept; the heap is not empty. */
static inline const void *nb_heap_last(const struct nb_heap *heap)
{
    return heap->items;
}

/* Sorts the kept elements, best first. The array is no heap afterwards: nothing can be added. */
void nb_heap_sort(struct nb_heap *heap);

#endif
