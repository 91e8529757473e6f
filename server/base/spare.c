/* SPDX-License-Identifier: Apache-2.0 */
#include "server/base/spare.h"

#include <stdlib.h>
#include <string.h>

struct nb_spare {
    struct nb_buffer body; /* empty */
    uint64_t since;
};

static void free_spare(struct nb_spare *spare)
{
    if (spare == NULL)
        return;
    nb_buffer_deinit(&spare->body);
    free(spare);
}

/* Puts memory in its place and frees the memory that was there. */
static void put(nb_spare_place *place, struct nb_spare *spare)
{
    free_spare(atomic_exchange(place, spare));
}

void nb_spare_take(nb_spare_place *place, struct nb_buffer *body)
{
    struct nb_spare *spare = atomic_exchange(place, NULL);
    if (spare == NULL)
        return;
    if (spare->body.capacity <= body->capacity) {
        put(place, spare);
        return;
    }
    if (body->length > 0)
        memcpy(spare->body.bytes, body->bytes, body->length);
    spare->body.length = body->length;
    nb_buffer_deinit(body);
    *body = spare->body;
    free(spare);
}

void nb_spare_give(nb_spare_place *place, struct nb_buffer *body, uint64_t now)
{
    bool is_kept = body->capacity >= NB_SPARE_LEAST && body->capacity <= NB_SPARE_MOST;
    struct nb_spare *spare = is_kept ? malloc(sizeof *spare) : NULL;
    if (spare == NULL) {
        nb_buffer_deinit(body);
        return;
    }
    *spare = (struct nb_spare){*body, now};
    spare->body.length = 0;
    nb_buffer_init(body);
    put(place, spare);
}

void nb_spare_drop(nb_spare_place *place, uint64_t before)
{
    if (atomic_load(place) == NULL)
        return;
    struct nb_spare *spare = atomic_exchange(place, NULL);
    if (spare == NULL)
        return;
    if (spare->since >= before)
        put(place, spare);
    else
        free_spare(spare);
}
