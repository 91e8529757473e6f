/* SPDX-License-Identifier: Apache-2.0 */
#include "core/live/dirty.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/store/range.h"

enum { FIRST_ROOM = 16 };

int nb_dirty_reserve(struct nb_checkpoint *checkpoint, size_t ranges)
{
    if (ranges <= checkpoint->room)
        return 0;
    size_t room = checkpoint->room == 0 ? FIRST_ROOM : checkpoint->room;
    while (room < ranges)
        room *= 2;
    unsigned char *dirty = realloc(checkpoint->dirty, room);
    if (dirty == NULL)
        return NB_NO_MEMORY;
    memset(dirty + checkpoint->room, 0, room - checkpoint->room);
    checkpoint->dirty = dirty;
    checkpoint->room = room;
    return 0;
}

int nb_dirty_mark(struct nb_checkpoint *checkpoint, const struct nb_rows *rows, uint32_t model_rows)
{
    if (nb_dirty_reserve(checkpoint, nb_ranges_of(model_rows)) != 0)
        return NB_NO_MEMORY;
    for (size_t i = 0; i < rows->size; i++) {
        assert(rows->counts[i].row < model_rows);
        checkpoint->dirty[rows->counts[i].row / NB_RANGE_ROWS] = 1;
    }
    return 0;
}
