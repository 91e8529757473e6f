/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether the store has failed, and why.
 */
#include "core/lmdb/store_private.h"

void nb_store_set_failure(struct nb_store *store, const struct nb_error *failure)
{
    pthread_mutex_lock(&store->failure_lock);
    store->failure = *failure;
    pthread_mutex_unlock(&store->failure_lock);
}

bool nb_store_failed(struct nb_store *store, struct nb_error *error)
{
    pthread_mutex_lock(&store->failure_lock);
    bool failed = store->failure.code != 0;
    if (failed && error != NULL)
        *error = store->failure;
    pthread_mutex_unlock(&store->failure_lock);
    return failed;
}
