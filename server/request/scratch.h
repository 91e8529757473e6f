/* SPDX-License-Identifier: Apache-2.0
 *
 * Working memory of one classification, kept from request to request so that a verdict costs few
 * allocations. The pool is for any thread; a scratch belongs to the thread that took it.
 */
#ifndef NB_SERVER_REQUEST_SCRATCH_H
#define NB_SERVER_REQUEST_SCRATCH_H

#include "core/engine/engine.h"

struct nb_scratch {
    struct nb_verdict verdict;
    struct nb_bag bag;
    struct nb_scratch *next;
};

/* Keeps every scratch that was ever made: at most one for each thread that works on requests. */
struct nb_scratch_pool;

/* NULL when there is no memory. */
struct nb_scratch_pool *nb_scratch_pool_new(void);
void nb_scratch_pool_free(struct nb_scratch_pool **pool);

/* NULL when there is no memory. Give it back with nb_scratch_give. */
struct nb_scratch *nb_scratch_take(struct nb_scratch_pool *pool);
void nb_scratch_give(struct nb_scratch_pool *pool, struct nb_scratch *scratch);

#endif
