/* SPDX-License-Identifier: Apache-2.0
 *
 * Transactions, and the growth of the map.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "core/store/lease.h"
#include "core/store/store_private.h"

enum {
    GROWTH_FACTOR = 4, /* a transaction writes several times as many bytes as it puts */
    MAP_TRIES = 16,    /* how often a flush meets a full map, which then doubles, at most */
};

/* ---- growing --------------------------------------------------------------------------------- */

void nb_environment_close(MDB_env **environment)
{
    if (*environment != NULL)
        mdb_env_close(*environment);
    *environment = NULL;
}

/* Whether the map may grow by `more` bytes. Returns 0 or NB_IO. */
static int may_grow(uint64_t more, struct nb_error *error)
{
    void *probe =
        mmap(NULL, (size_t)more, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (probe == MAP_FAILED)
        return nb_error_set(error, NB_IO,
                            "the store cannot grow: %llu more bytes of address space are refused "
                            "(ulimit -v): %s",
                            (unsigned long long)more, strerror(errno));
    munmap(probe, (size_t)more);
    return 0;
}

/* Resizes the map; the gate is closed. LMDB unmaps the old map before it makes the new one. If that
 * fails, there is no map, and LMDB must be opened again. */
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
    int rc = may_grow(size - atomic_load(&store->map), error);
    if (rc == 0)
        rc = nb_store_enter_alone(store, error);
    if (rc != 0)
        return rc;
    rc = resize_alone(store, size, error);
    nb_gate_open(&store->gate);
    return rc;
}

/* Doubles the map until `needed` bytes fit; in a limited address space, grows it only to `needed`.
 */
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
    if (needed < size && may_grow(size - map, NULL) != 0)
        size = needed;
    return resize(store, size, error);
}

/* ---- transactions ---------------------------------------------------------------------------- */

/* Returns the size of the map that the next transaction may need, in bytes. */
static uint64_t needed(const struct nb_store *store, uint64_t expected)
{
    uint64_t waiting = store->recent_last == 0 ? 0 : nb_recent_bytes(store->recent);
    return atomic_load(&store->used) + (expected + waiting) * GROWTH_FACTOR + store->reserve;
}

static int begin(struct nb_store *store, uint64_t expected, struct nb_error *error)
{
    bool records = nb_recording_is_for(store, expected);
    int rc = grow_map(store, needed(store, expected), error);
    if (rc != 0)
        return rc;
    nb_recent_mark(store->recent);
    store->recorded = 0;
    store->recording = false;
    return records ? nb_recording_begin(store, error) : nb_recording_spill(store, error);
}

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
        rc = begin(store, expected, error);
    if (rc != 0)
        return rc;
    store->writing = true;
    *view = (struct nb_view){.transaction = store, .store = store};
    return 0;
}

/* Whether LMDB still works after a failed commit: then the commit has no effect. */
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

/* Enters the failed state. It is unknown what the refused commit has written to the disk. The
 * sooner that is overwritten, the less likely it is that a start after a crash finds the commit. */
static void fail(struct nb_store *store, struct nb_error *failure)
{
    const struct nb_error told = *failure;
    nb_store_set_failure(store, failure);
    if (nb_store_settle(store, NULL) != 0)
        (void)nb_error_set(failure, told.code,
                           "%s; if the daemon ends before it can write "
                           "again, the change may be there at its next start",
                           told.text);
}

static int commit_to_lmdb(struct nb_store *store, struct nb_error *failure)
{
    uint64_t before = store->committed;
    nb_snapshots_pass(store);
    int rc = mdb_txn_commit(store->transaction);
    store->grow = rc == MDB_MAP_FULL;
    if (rc == 0) {
        nb_store_note_state(store);
        if (store->committed != before) {
            nb_recording_done(store);
            store->commits++;
        }
        return 0;
    }
    (void)nb_environment_error(failure, nb_store_file_reason(&store->file, rc),
                               "committing to the store");
    /* The journal may have room where LMDB has none. */
    store->is_full = failure->code == NB_DISK_FULL;
    if (store->is_full)
        store->journal_avoid = false;
    if (!is_harmless(store, rc)) {
        store->unsure = true;
        fail(store, failure);
    }
    return failure->code;
}

/* Commits the open transaction. If the journal cannot take it, tries LMDB. */
static int commit(struct nb_store *store, struct nb_error *failure)
{
    bool durable = false;
    int rc = 0;
    if (store->recording) {
        rc = nb_recording_commit(store, &durable, failure);
        if (rc != 0)
            fail(store, failure);
        else if (!durable)
            rc = nb_recording_spill(store, failure);
        if (rc != 0 || durable)
            mdb_txn_abort(store->transaction);
        if (rc != 0 || durable)
            return rc;
    }
    return commit_to_lmdb(store, failure);
}

int nb_store_commit(struct nb_view *view, struct nb_error *error)
{
    struct nb_store *store = view->store;
    struct nb_error failure = {.text = ""};
    assert(view->transaction == store && store->writing);
    int rc = commit(store, &failure);
    if (rc != 0)
        nb_recording_take_back(store);
    store->transaction = NULL;
    store->writing = store->recording = false;
    view->transaction = NULL;
    if (rc != 0 && error != NULL)
        *error = failure;
    return rc;
}

uint64_t nb_store_committed(const struct nb_store *store)
{
    return store->commits;
}

void nb_store_abort(struct nb_view *view)
{
    if (view->transaction == NULL)
        return;
    struct nb_store *store = view->store;
    assert(view->transaction == store && store->writing);
    mdb_txn_abort(store->transaction);
    nb_recording_take_back(store);
    store->transaction = NULL;
    store->writing = store->recording = false;
    view->transaction = NULL;
}

int nb_store_flush(struct nb_store *store, struct nb_error *error)
{
    struct nb_view view;
    int rc = store->recent_last == 0 ? 0 : NB_STORE_MAP_FULL;
    for (int i = 0; rc == NB_STORE_MAP_FULL && i < MAP_TRIES; i++) {
        store->journal_avoid = true;
        rc = nb_store_begin(store, 0, &view, error);
        if (rc == 0)
            rc = nb_store_commit(&view, error);
    }
    return rc;
}
