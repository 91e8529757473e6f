/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/parts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* One block: the table, the vocabularies, the sums. */
static size_t bytes_of(unsigned count, uint32_t label_room)
{
    return sizeof(struct nb_parts) + count * sizeof(uint64_t) +
           (size_t)label_room * count * sizeof(struct nb_part_sum);
}

struct nb_parts *nb_parts_new(unsigned count, uint32_t label_room, const struct nb_parts *from)
{
    struct nb_parts *parts = calloc(1, bytes_of(count, label_room));
    if (parts == NULL)
        return NULL;
    parts->count = count;
    parts->label_room = label_room;
    parts->vocabulary = (uint64_t *)(parts + 1);
    parts->sums = (struct nb_part_sum *)(parts->vocabulary + count);
    if (from == NULL)
        return parts;
    assert(from->count <= count && from->label_room <= label_room);
    memcpy(parts->vocabulary, from->vocabulary, from->count * sizeof *from->vocabulary);
    for (uint32_t label = 0; label < from->label_room; label++)
        memcpy(nb_parts_at(parts, label, 0), nb_parts_at(from, label, 0),
               from->count * sizeof *from->sums);
    return parts;
}

void nb_parts_free(struct nb_parts **parts)
{
    free(*parts);
    *parts = NULL;
}

size_t nb_parts_memory(const struct nb_parts *parts)
{
    return parts == NULL ? 0 : bytes_of(parts->count, parts->label_room);
}
