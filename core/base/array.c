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
    /* memcpy is needed because `array` points to a pointer of a type that is unknown here. */
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
