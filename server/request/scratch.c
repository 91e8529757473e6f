/* SPDX-License-Identifier: Apache-2.0 */
#include "server/request/scratch.h"

#include <pthread.h>
#include <stdlib.h>

struct nb_scratch_pool {
    pthread_mutex_t lock; /* innermost: nothing else is taken while it is held */
    struct nb_scratch *free;
};

struct nb_scratch_pool *nb_scratch_pool_new(void)
{
    struct nb_scratch_pool *pool = calloc(1, sizeof *pool);
    if (pool != NULL)
        (void)pthread_mutex_init(&pool->lock, NULL); /* cannot fail with the GNU library */
    return pool;
}

static void scratch_free(struct nb_scratch *scratch)
{
    nb_verdict_deinit(&scratch->verdict);
    nb_bag_deinit(&scratch->bag);
    free(scratch);
}

void nb_scratch_pool_free(struct nb_scratch_pool **pool)
{
    struct nb_scratch_pool *p = *pool;
    if (p == NULL)
        return;
    while (p->free != NULL) {
        struct nb_scratch *scratch = p->free;
        p->free = scratch->next;
        scratch_free(scratch);
    }
    (void)pthread_mutex_destroy(&p->lock); /* fails only when locked, which would be a bug */
    free(p);
    *pool = NULL;
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
    return scratch;
}

void nb_scratch_give(struct nb_scratch_pool *pool, struct nb_scratch *scratch)
{
    if (scratch == NULL)
        return;
    nb_verdict_reset(&scratch->verdict);
    pthread_mutex_lock(&pool->lock);
    scratch->next = pool->free;
    pool->free = scratch;
    pthread_mutex_unlock(&pool->lock);
}
