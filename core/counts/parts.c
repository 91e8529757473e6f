/* SPDX-License-Identifier: Apache-2.0 */
#include "core/counts/parts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* One block: the table, the vocabularies, the sums. Moments are apart. */
static size_t bytes_of(unsigned count, uint32_t label_room)
{
    return sizeof(struct nb_parts) + count * sizeof(uint64_t) +
           (size_t)label_room * count * sizeof(struct nb_part_sum);
}

static size_t moments_of(unsigned count, uint32_t label_room)
{
    return (size_t)label_room * count / 2;
}

struct nb_parts *nb_parts_new(unsigned count, uint32_t label_room, bool has_moments,
                              const struct nb_parts *from)
{
    struct nb_parts *parts = calloc(1, bytes_of(count, label_room));
    if (parts == NULL)
        return NULL;
    has_moments = has_moments || (from != NULL && from->moments != NULL);
    if (has_moments) {
        parts->moments = calloc(moments_of(count, label_room) + 1, sizeof *parts->moments);
        if (parts->moments == NULL) {
            free(parts);
            return NULL;
        }
    }
    parts->count = count;
    parts->label_room = label_room;
    parts->vocabulary = (uint64_t *)(parts + 1);
    parts->sums = (struct nb_part_sum *)(parts->vocabulary + count);
    if (from == NULL)
        return parts;
    assert(from->count <= count && from->label_room <= label_room);
    memcpy(parts->vocabulary, from->vocabulary, from->count * sizeof *from->vocabulary);
    for (uint32_t label = 0; label < from->label_room; label++) {
        memcpy(nb_parts_at(parts, label, 0), nb_parts_at(from, label, 0),
               from->count * sizeof *from->sums);
        if (from->moments != NULL)
            memcpy(nb_parts_moments(parts, label, 0), nb_parts_moments(from, label, 0),
                   from->count / 2 * sizeof *from->moments);
    }
    return parts;
}

void nb_parts_free(struct nb_parts **parts)
{
    if (*parts != NULL)
        free((*parts)->moments);
    free(*parts);
    *parts = NULL;
}

size_t nb_parts_memory(const struct nb_parts *parts)
{
    if (parts == NULL)
        return 0;
    size_t moments = parts->moments == NULL ? 0 : moments_of(parts->count, parts->label_room) + 1;
    return bytes_of(parts->count, parts->label_room) + moments * sizeof *parts->moments;
}
