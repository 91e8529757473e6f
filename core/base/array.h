/* SPDX-License-Identifier: Apache-2.0
 *
 * Growing arrays: a pointer, the room behind it, and a count that the caller keeps. Any thread;
 * one array belongs to one thread at a time.
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

#include <stddef.h>

/* The slow path of nb_array_reserve: there is too little room. */
int nb_array_grow(void *array, size_t *room, size_t wanted, size_t size);

/* Makes room for `wanted` elements of `size` bytes, and for some more, so that growing by one costs
 * constant time on average. What is behind the old room is undefined. Returns 0 or NB_NO_MEMORY, in
 * which case nothing has changed. */
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

#endif
