/* SPDX-License-Identifier: Apache-2.0
 *
 * Snapshots.
 */
#include "core/lmdb/environment.h"
#include "core/lmdb/store_private.h"

enum { GATE_SECONDS = 2 }; /* a snapshot waits for the writer */

int nb_store_snapshot(struct nb_store *store, struct nb_view *view, struct nb_error *error)
{
    if (!nb_gate_pass(&store->gate, GATE_SECONDS))
        return nb_error_set(error, NB_IO, "the store is busy growing: try again");
    MDB_txn *transaction;
    int rc = store->environment == NULL
                 ? MDB_PANIC
                 : mdb_txn_begin(store->environment, NULL, MDB_RDONLY, &transaction);
    if (rc != 0) {
        struct nb_error failure = {.text = ""};
        nb_gate_leave(&store->gate);
        return nb_store_failed(store, &failure) ? nb_error_set(error, NB_IO, "%s", failure.text)
                                                : nb_environment_error(error, rc, store->file.path);
    }
    *view = (struct nb_view){.transaction = transaction, .store = store};
    return 0;
}

void nb_store_snapshot_end(struct nb_view *view)
{
    if (view->transaction == NULL)
        return;
    mdb_txn_abort(view->transaction);
    view->transaction = NULL;
    nb_gate_leave(&view->store->gate);
}

bool nb_store_wanted(const struct nb_view *view)
{
    return nb_gate_is_closed(&view->store->gate);
}
