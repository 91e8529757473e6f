/* SPDX-License-Identifier: Apache-2.0
 *
 * Transactions, and the growth of the map.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "core/lmdb/environment.h"
#include "core/lmdb/lease.h"
#include "core/lmdb/store_private.h"

enum { GROWTH_FACTOR = 4 }; /* a transaction writes several times what is put in */

/* ---- growing --------------------------------------------------------------------------------- */

/* LMDB takes the old map away before it makes the new one. If that fails there is none, and only
 * opening again helps. */
static int resize_alone(struct nb_store *store, uint64_t size, struct nb_error *error)
{
    int rc = mdb_env_set_mapsize(store->environment, (size_t)size);
    if (rc == 0) {
        nb_store_note_state(store);
        store->grow = false;
        return 0;
    }
    struct nb_error failure;
    nb_error_set(&failure, NB_IO, "growing the store's map: %s", strerror(rc));
    nb_store_set_failure(store, &failure);
    nb_environment_close(&store->environment);
    if (error != NULL)
        *error = failure;
    return failure.code;
}

static int resize(struct nb_store *store, uint64_t size, struct nb_error *error)
{
    int rc = nb_environment_may_grow(size - atomic_load(&store->map), error);
    if (rc == 0)
        rc = nb_store_enter_alone(store, error);
    if (rc != 0)
        return rc;
    rc = resize_alone(store, size, error);
    nb_gate_open(&store->gate);
    return rc;
}

/* Doubles the map until `needed` bytes fit; in a limited address space, takes what just fits. */
static int grow_map(struct nb_store *store, uint64_t needed, struct nb_error *error)
{
    uint64_t map = atomic_load(&store->map);
    uint64_t size = store->grow ? map * 2 : map;
    while (size < needed)
        size *= 2;
    if (size == map)
        return 0;
    if (store->grow && needed < map + store->reserve)
        needed = map + store->reserve;
    needed = (needed + NB_MAP_UNIT - 1) / NB_MAP_UNIT * NB_MAP_UNIT;
    if (needed < size && nb_environment_may_grow(size - map, NULL) != 0)
        size = needed;
    return resize(store, size, error);
}

/* ---- transactions ---------------------------------------------------------------------------- */

int nb_store_begin(struct nb_store *store, uint64_t expected, struct nb_view *view,
                   struct nb_error *error)
{
    struct nb_error failure;
    assert(!store->writing);
    if (store->reading)
        return nb_error_set(error, NB_CONFLICT, "%s is open for reading only", store->file.path);
    if (nb_store_failed(store, &failure))
        return nb_error_set(error, NB_IO, "%s", failure.text);
    nb_leases_expire(store);
    int rc = nb_store_file_check(&store->file, error);
    if (rc == 0)
        rc = grow_map(store, atomic_load(&store->used) + expected * GROWTH_FACTOR + store->reserve,
                      error);
    if (rc != 0)
        return rc;
    MDB_txn *transaction;
    rc = mdb_txn_begin(store->environment, NULL, 0, &transaction);
    if (rc != 0)
        return nb_environment_error(error, rc, store->file.path);
    store->writing = true;
    *view = (struct nb_view){.transaction = transaction, .store = store};
    return 0;
}

/* Whether LMDB goes on after a commit that failed: nothing of it was written where it counts. */
static bool is_harmless(struct nb_store *store, int rc)
{
    MDB_txn *transaction;
    if (rc != MDB_MAP_FULL && rc != ENOSPC && rc != EDQUOT && rc != EFBIG)
        return false;
    if (mdb_txn_begin(store->environment, NULL, MDB_RDONLY, &transaction) != 0)
        return false;
    mdb_txn_abort(transaction);
    return true;
}

int nb_store_commit(struct nb_view *view, struct nb_error *error)
{
    struct nb_store *store = view->store;
    struct nb_error failure;
    assert(view->transaction != NULL && store->writing);
    int rc = mdb_txn_commit(view->transaction);
    view->transaction = NULL;
    store->writing = false;
    store->grow = rc == MDB_MAP_FULL;
    if (rc == 0) {
        nb_store_note_state(store);
        return 0;
    }
    int code = nb_environment_error(&failure, nb_store_file_reason(&store->file, rc),
                                    "committing to the store");
    if (!is_harmless(store, rc)) {
        /* It is not known what reached the disk. The sooner the meta page is overwritten, the less
         * likely it is that a crash brings back what was refused. */
        store->unsure = true;
        nb_store_set_failure(store, &failure);
        const struct nb_error told = failure;
        if (nb_store_settle(store, NULL) != 0)
            (void)nb_error_set(&failure, code,
                               "%s; if the daemon ends before it can write "
                               "again, the change may be there at its next start",
                               told.text);
    }
    if (error != NULL)
        *error = failure;
    return code;
}

uint64_t nb_store_committed(const struct nb_store *store)
{
    return store->committed;
}

void nb_store_abort(struct nb_view *view)
{
    if (view->transaction == NULL)
        return;
    assert(view->store->writing);
    mdb_txn_abort(view->transaction);
    view->transaction = NULL;
    view->store->writing = false;
}
