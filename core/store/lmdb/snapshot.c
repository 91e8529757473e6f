/* SPDX-License-Identifier: Apache-2.0
 *
 * Snapshots.
 */
#include "core/store/lmdb/environment.h"
#include "core/store/lmdb/store_private.h"

enum { GATE_SECONDS = 2 }; /* a snapshot waits for the writer */

/* The changes and LMDB's transaction are of one state: both are taken under the lock, which the
 * writer takes before each commit of LMDB (nb_snapshots_pass). */
static int begin(struct nb_store *store, struct nb_view *view)
{
    MDB_txn *transaction;
    struct nb_recent *recent = NULL;
    pthread_mutex_lock(&store->recent_lock);
    uint64_t base = store->recent_base, last = store->recent_last;
    int rc = store->environment == NULL
                 ? MDB_PANIC
                 : mdb_txn_begin(store->environment, NULL, MDB_RDONLY, &transaction);
    /* A later transaction has all changes: it was committed, and the writer is about to say so. */
    if (rc == 0 && last != 0 && mdb_txn_id(transaction) == base)
        recent = nb_recent_ref(store->recent);
    pthread_mutex_unlock(&store->recent_lock);
    if (rc == 0)
        *view = (struct nb_view){transaction, store, recent, last};
    return rc;
}

void nb_snapshots_pass(struct nb_store *store)
{
    pthread_mutex_lock(&store->recent_lock);
    pthread_mutex_unlock(&store->recent_lock);
}

int nb_store_snapshot(struct nb_store *store, struct nb_view *view, struct nb_error *error)
{
    if (!nb_gate_pass(&store->gate, GATE_SECONDS))
        return nb_error_set(error, NB_IO, "the store is busy growing: try again");
    int rc = begin(store, view);
    if (rc != 0) {
        struct nb_error failure = {.text = ""};
        nb_gate_leave(&store->gate);
        return nb_store_failed(store, &failure) ? nb_error_set(error, NB_IO, "%s", failure.text)
                                                : nb_environment_error(error, rc, store->file.path);
    }
    return 0;
}

void nb_store_snapshot_end(struct nb_view *view)
{
    if (view->transaction == NULL)
        return;
    mdb_txn_abort(view->transaction);
    view->transaction = NULL;
    nb_recent_unref(&view->recent);
    nb_gate_leave(&view->store->gate);
}

bool nb_store_wanted(const struct nb_view *view)
{
    return nb_gate_is_closed(&view->store->gate);
}
