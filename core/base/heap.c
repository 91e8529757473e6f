/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/heap.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static char *at(const struct nb_heap *heap, size_t i)
{
    return (char *)heap->items + i * heap->item_size;
}

/* Whether the element in place `i` comes after that in place `j`, and so belongs above it. */
static int is_after(const struct nb_heap *heap, size_t i, size_t j)
{
    return heap->compare(at(heap, i), at(heap, j)) > 0;
}

static void swap(const struct nb_heap *heap, size_t i, size_t j)
{
    char *a = at(heap, i), *b = at(heap, j);
    for (size_t k = 0; k < heap->item_size; k++) {
        char byte = a[k];
        a[k] = b[k];
        b[k] = byte;
    }
}

/* Moves the element in place `i` up as far as needed. */
static void sift_up(struct nb_heap *heap, size_t i)
{
    for (size_t parent; i > 0; i = parent) {
        parent = (i - 1) / 2;
        if (!is_after(heap, i, parent))
            return;
        swap(heap, i, parent);
    }
}

/* Moves the element in the root down as far as needed. */
static void sift_down(struct nb_heap *heap)
{
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < heap->count; i = child) {
        if (child + 1 < heap->count && is_after(heap, child + 1, child))
            child++;
        if (!is_after(heap, child, i))
            return;
        swap(heap, child, i);
    }
}

void nb_heap_add(struct nb_heap *heap, const void *item)
{
    assert(heap->count <= heap->most && heap->item_size > 0);
    if (heap->count < heap->most) {
        memcpy(at(heap, heap->count), item, heap->item_size);
        sift_up(heap, heap->count++);
    } else if (heap->most > 0 && heap->compare(nb_heap_last(heap), item) > 0) {
        memcpy(at(heap, 0), item, heap->item_size);
        sift_down(heap);
    }
}

void nb_heap_sort(struct nb_heap *heap)
{
    if (heap->count > 1)
        qsort(heap->items, heap->count, heap->item_size, heap->compare);
}
