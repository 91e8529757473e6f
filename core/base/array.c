/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/array.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"

enum { FIRST_BYTES = 256 };

size_t nb_array_room(size_t room, size_t wanted, size_t size)
{
    assert(size > 0);
    if (wanted <= room)
        return room;
    size_t more = room == 0 ? FIRST_BYTES / size : room <= SIZE_MAX / 2 ? room * 2 : SIZE_MAX;
    return more > wanted ? more : wanted;
}

int nb_array_resize(void *array, size_t room, size_t size)
{
    /* memcpy, because `array` points to a pointer whose type is unknown here. */
    void *items;
    size_t bytes;
    assert(size > 0);
    memcpy(&items, array, sizeof items);
    if (__builtin_mul_overflow(room == 0 ? 1 : room, size, &bytes))
        return NB_NO_MEMORY;
    void *resized = realloc(items, bytes);
    if (resized == NULL)
        return NB_NO_MEMORY;
    memcpy(array, &resized, sizeof resized);
    /* cppcheck-suppress memleak ; the caller's pointer has it */
    return 0;
}

int nb_array_grow(void *array, size_t *room, size_t wanted, size_t size)
{
    assert(wanted > *room);
    size_t more = nb_array_room(*room, wanted, size);
    int rc = nb_array_resize(array, more, size);
    if (rc == 0)
        *room = more;
    return rc;
}

int nb_array_renew(void *array, size_t *room, size_t wanted, size_t size)
{
    void *items;
    size_t more = nb_array_room(*room, wanted, size);
    if (wanted <= *room)
        return 0;
    memcpy(&items, array, sizeof items);
    free(items);
    items = NULL;
    memcpy(array, &items, sizeof items);
    *room = 0;
    int rc = nb_array_resize(array, more, size);
    if (rc == 0)
        *room = more;
    return rc;
}

static char *at(const struct nb_heap *heap, size_t i)
{
    return (char *)heap->items + i * heap->item_size;
}

/* Whether the element at index `i` comes after that at `j`, and so belongs nearer to the root. */
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

/* Moves the element at index `i` up as far as needed. */
static void sift_up(struct nb_heap *heap, size_t i)
{
    for (size_t parent; i > 0; i = parent) {
        parent = (i - 1) / 2;
        if (!is_after(heap, i, parent))
            return;
        swap(heap, i, parent);
    }
}

/* Moves the element at the root down as far as needed. */
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
