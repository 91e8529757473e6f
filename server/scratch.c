/* SPDX-License-Identifier: Apache-2.0 */
#include "server/scratch.h"

#include <stdlib.h>

#include "core/base/error.h"

/* A text above this size is not kept for the next document. */
enum { KEEP_BYTES = 1024 * 1024 };

int nb_scratch_pool_init(struct nb_scratch_pool *pool)
{
    pool->free = NULL;
    return pthread_mutex_init(&pool->lock, NULL) == 0 ? 0 : NB_NO_MEMORY;
}

static void scratch_free(struct nb_scratch *scratch)
{
    nb_verdict_deinit(&scratch->verdict);
    nb_bag_deinit(&scratch->bag);
    nb_buffer_deinit(&scratch->text);
    free(scratch);
}

void nb_scratch_pool_deinit(struct nb_scratch_pool *pool)
{
    while (pool->free != NULL) {
        struct nb_scratch *scratch = pool->free;
        pool->free = scratch->next;
        scratch_free(scratch);
    }
    (void)pthread_mutex_destroy(&pool->lock); /* fails only when locked, which would be our bug */
}

struct nb_scratch *nb_scratch_take(struct nb_scratch_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    struct nb_scratch *scratch = pool->free;
    if (scratch != NULL)
        pool->free = scratch->next;
    pthread_mutex_unlock(&pool->lock);
    if (scratch != NULL)
        return scratch;
    scratch = calloc(1, sizeof *scratch);
    if (scratch == NULL)
        return NULL;
    nb_verdict_init(&scratch->verdict);
    nb_bag_init(&scratch->bag);
    nb_buffer_init(&scratch->text);
    return scratch;
}

void nb_scratch_give(struct nb_scratch_pool *pool, struct nb_scratch *scratch)
{
    if (scratch == NULL)
        return;
    nb_verdict_reset(&scratch->verdict);
    if (scratch->text.capacity > KEEP_BYTES)
        nb_buffer_deinit(&scratch->text);
    pthread_mutex_lock(&pool->lock);
    scratch->next = pool->free;
    pool->free = scratch;
    pthread_mutex_unlock(&pool->lock);
}
