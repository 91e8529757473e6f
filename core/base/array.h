/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays that grow (a pointer, its room, and a count that the caller keeps), binary search in
 * sorted arrays, and heaps that keep the best few of many elements. Any thread; an array belongs to
 * one thread at a time.
 *
 *     struct item *items; size_t count, room;
 *     if (nb_array_reserve(&items, &room, count + 1, sizeof *items) != 0)
 *         return NB_NO_MEMORY;
 *     items[count++] = item;
 *
 * `array` below is the address of the caller's pointer, of whatever type the elements are. The
 * pointer is NULL or from malloc; the caller frees it.
 */
#ifndef NB_CORE_BASE_ARRAY_H
#define NB_CORE_BASE_ARRAY_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

/* The slow path of nb_array_reserve: there is too little room. */
int nb_array_grow(void *array, size_t *room, size_t wanted, size_t size);

/* Makes room for `wanted` elements of `size` bytes, and for some more, so that growing by one costs
 * constant time on average. The new elements are uninitialized. Returns 0 or NB_NO_MEMORY, in which
 * case nothing has changed. */
static inline int nb_array_reserve(void *array, size_t *room, size_t wanted, size_t size)
{
    return wanted <= *room ? 0 : nb_array_grow(array, room, wanted, size);
}

/* As nb_array_reserve, but if the array grows, its elements are lost: nothing is copied. On failure
 * the array is NULL and has no room. */
int nb_array_renew(void *array, size_t *room, size_t wanted, size_t size);

/* Returns the room that an array of `room` elements of `size` bytes gets when it grows for `wanted`
 * elements; for arrays that grow together. */
size_t nb_array_room(size_t room, size_t wanted, size_t size);

/* Sets the room to `room` elements of `size` bytes (at least one element). Returns 0 or
 * NB_NO_MEMORY, in which case nothing has changed. */
int nb_array_resize(void *array, size_t room, size_t size);

/* Returns the first place from 0 to count - 1 whose element is not before the key: the key is
 * there, or would be inserted there. Returns `count` if all elements are before the key.
 * `is_before` tells whether an element is before the key; in a sorted list this holds for the first
 * elements only. Inline, so that `is_before` is inlined, too. */
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

/* Keeps the best few of many elements: a binary heap whose root is the worst element kept. Any
 * thread; one heap belongs to one thread at a time.
 *
 * Adding an element takes one comparison if it is not among the best, else log2(most). */
struct nb_heap {
    void *items;      /* borrowed: room for `most` elements */
    size_t count;     /* number of elements kept; begins as 0 */
    size_t most;      /* most elements to keep */
    size_t item_size; /* bytes of an element */
    /* As for qsort: negative if `a` comes before `b`, that is, is better. Two elements must not
     * compare equal if the result must not depend on the order in which they are added. */
    int (*compare)(const void *a, const void *b);
};

/* Keeps a copy of `item` if fewer than `most` of the elements added so far come before it. `item`
 * must not be in the heap's own array. */
void nb_heap_add(struct nb_heap *heap, const void *item);

/* Returns the worst element kept; the heap is not empty. */
static inline const void *nb_heap_last(const struct nb_heap *heap)
{
    return heap->items;
}

/* Sorts the kept elements, best first. The array is no heap afterwards: nothing can be added. */
void nb_heap_sort(struct nb_heap *heap);

/* ---- memory and the cache -------------------------------------------------------------------- */

/* Memory and the processor's cache: aligned allocation and prefetching. Any thread. */

/* Allocates at least `size` uninitialized bytes at a multiple of `alignment`, a power of two. The
 * caller frees them with free(). NULL: out of memory. aligned_alloc needs a size that is a
 * multiple of the alignment (C11, 7.22.3.1); glibc accepts any size, but the sanitizers end the
 * program. */
static inline void *nb_aligned_alloc(size_t alignment, size_t size)
{
    assert(alignment > 0 && (alignment & (alignment - 1)) == 0);
    size_t rest = -size & (alignment - 1);
    return size + rest < size ? NULL : aligned_alloc(alignment, size + rest);
}

/* Declares a function that only prefetches memory. gcc 12 assumes that a function whose only effect
 * is __builtin_prefetch has no effect, and drops calls of such a function unless it has inlined the
 * function before that check. */
#define NB_PREFETCHING __attribute__((always_inline)) static inline

/* Prefetches a cache line for writing, so that this core owns the line before it writes, even if
 * other threads have read it. Without -mprfchw, __builtin_prefetch only prefetches for reading.
 * Does nothing on x86-64 processors that lack the instruction. */
NB_PREFETCHING void nb_prefetch_to_write(const void *at)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)at));
#else
    __builtin_prefetch(at, 1);
#endif
}

#endif
