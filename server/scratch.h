/* SPDX-License-Identifier: Apache-2.0
 *
 * Working memory of one classification, kept from request to request so that a verdict costs few
 * allocations. The pool is for any thread; a scratch belongs to the thread that took it.
 */
#ifndef NB_SERVER_SCRATCH_H
#define NB_SERVER_SCRATCH_H

#include <pthread.h>

#include "core/base/buffer.h"
#include "core/engine/engine.h"

struct nb_scratch {
    struct nb_verdict verdict;
    struct nb_bag bag;
    struct nb_buffer text; /* a document after charset conversion, or one mail of an mbox */
    struct nb_scratch *next;
};

/* As many as were ever in use at once, that is at most one per HTTP thread. */
struct nb_scratch_pool {
    pthread_mutex_t lock; /* innermost: nothing else is taken while it is held */
    struct nb_scratch *free;
};

/* 0 or NB_NO_MEMORY. */
int nb_scratch_pool_init(struct nb_scratch_pool *pool);
void nb_scratch_pool_deinit(struct nb_scratch_pool *pool);

/* NULL when there is no memory. Give it back with nb_scratch_give. */
struct nb_scratch *nb_scratch_take(struct nb_scratch_pool *pool);
void nb_scratch_give(struct nb_scratch_pool *pool, struct nb_scratch *scratch);

#endif
