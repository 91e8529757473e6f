/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/live/dirty.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/ledger/entries/range.h"

enum { FIRST_ROOM = 16 };

int nb_dirty_reserve(struct nb_checkpoint *checkpoint, size_t ranges)
{
    if (ranges <= checkpoint->room)
        return 0;
    /* Starts smaller than other arrays, because each of many small models has one. */
    size_t room = ranges <= FIRST_ROOM ? FIRST_ROOM : nb_array_room(checkpoint->room, ranges, 1);
    if (nb_array_resize(&checkpoint->dirty, room, 1) != 0)
        return NB_NO_MEMORY;
    memset(checkpoint->dirty + checkpoint->room, 0, room - checkpoint->room);
    checkpoint->room = room;
    return 0;
}

int nb_dirty_mark(struct nb_checkpoint *checkpoint, const struct nb_rows *rows, uint32_t model_rows)
{
    if (nb_dirty_reserve(checkpoint, nb_ranges_of(model_rows)) != 0)
        return NB_NO_MEMORY;
    assert(rows->size == 0 || rows->counts[rows->size - 1].row < model_rows);
    unsigned char *dirty = checkpoint->dirty;
    for (size_t i = 0; i < rows->size; i++)
        dirty[rows->counts[i].row / NB_RANGE_ROWS] = 1;
    return 0;
}
