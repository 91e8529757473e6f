/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/heap.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static char *at(const struct nb_heap *heap, size_t i)
{
    return (char *)heap->items + i * heap->item_size;
}

/* Whether `a` comes after `b` in order, and so belongs nearer to the root. */
static int is_after(const struct nb_heap *heap, const void *a, const void *b)
{
    return heap->compare(a, b) > 0;
}

static void swap(char *a, char *b, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        char byte = a[i];
        a[i] = b[i];
        b[i] = byte;
    }
}

/* Moves the element in place `i` up as far as needed. */
static void sift_up(struct nb_heap *heap, size_t i)
{
    for (size_t parent; i > 0; i = parent) {
        parent = (i - 1) / 2;
        if (!is_after(heap, at(heap, i), at(heap, parent)))
            return;
        swap(at(heap, i), at(heap, parent), heap->item_size);
    }
}

/* Puts `item` into the free root, or below it: children move up as far as needed. */
static void sift_down(struct nb_heap *heap, const void *item)
{
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < heap->count; i = child) {
        if (child + 1 < heap->count && is_after(heap, at(heap, child + 1), at(heap, child)))
            child++;
        if (!is_after(heap, at(heap, child), item))
            break;
        memcpy(at(heap, i), at(heap, child), heap->item_size);
    }
    memcpy(at(heap, i), item, heap->item_size);
}

void nb_heap_add(struct nb_heap *heap, const void *item)
{
    assert(heap->count <= heap->most && heap->item_size > 0);
    if (heap->count < heap->most) {
        /* Not memcpy: `item` may be in this very place. */
        memmove(at(heap, heap->count), item, heap->item_size);
        sift_up(heap, heap->count++);
    } else if (heap->most > 0 && is_after(heap, nb_heap_last(heap), item)) {
        sift_down(heap, item);
    }
}

void nb_heap_sort(struct nb_heap *heap)
{
    if (heap->count > 1)
        qsort(heap->items, heap->count, heap->item_size, heap->compare);
}
