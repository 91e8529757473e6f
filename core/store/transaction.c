/* SPDX-License-Identifier: Apache-2.0
 *
 * Transactions, and the growth of the map.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/platform/platform.h"
#include "core/base/system.h"
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
    if (more > NB_PLATFORM_MAP_MOST)
        return nb_error_set(error, NB_IO,
                            "the store cannot grow: the address space of this machine has no room "
                            "for %llu more bytes",
                            (unsigned long long)more);
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

void nb_gate_init(struct nb_gate *gate)
{
    pthread_mutex_init(&gate->lock, NULL);
    nb_condition_init(&gate->changed);
    gate->inside = 0;
    atomic_init(&gate->closed, false);
}

void nb_gate_deinit(struct nb_gate *gate)
{
    assert(gate->inside == 0);
    pthread_cond_destroy(&gate->changed);
    pthread_mutex_destroy(&gate->lock);
}

static uint64_t in_seconds(unsigned seconds)
{
    return nb_clock_monotonic() + seconds * UINT64_C(1000000000);
}

bool nb_gate_pass(struct nb_gate *gate, unsigned seconds)
{
    uint64_t until = in_seconds(seconds);
    bool in_time = true;
    pthread_mutex_lock(&gate->lock);
    while (atomic_load(&gate->closed) && in_time)
        in_time = nb_condition_wait(&gate->changed, &gate->lock, until);
    bool passed = !atomic_load(&gate->closed);
    gate->inside += passed;
    pthread_mutex_unlock(&gate->lock);
    return passed;
}

void nb_gate_leave(struct nb_gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    assert(gate->inside > 0);
    if (--gate->inside == 0)
        pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
}

bool nb_gate_close(struct nb_gate *gate, unsigned seconds)
{
    uint64_t until = in_seconds(seconds);
    bool in_time = true;
    pthread_mutex_lock(&gate->lock);
    assert(!atomic_load(&gate->closed));
    atomic_store(&gate->closed, true);
    while (gate->inside > 0 && in_time)
        in_time = nb_condition_wait(&gate->changed, &gate->lock, until);
    bool alone = gate->inside == 0;
    if (!alone) {
        atomic_store(&gate->closed, false);
        pthread_cond_broadcast(&gate->changed);
    }
    pthread_mutex_unlock(&gate->lock);
    return alone;
}

void nb_gate_open(struct nb_gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    assert(atomic_load(&gate->closed) && gate->inside == 0);
    atomic_store(&gate->closed, false);
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
}

/* Snapshots. */
enum { GATE_SECONDS = 2 }; /* how long a new snapshot waits for the writer */

/* Begins a snapshot. Recent changes and LMDB's transaction must be from one state, so both are
 * taken under the lock, which the writer takes before each commit of LMDB (nb_snapshots_pass). */
static int begin_lease(struct nb_store *store, struct nb_view *view)
{
    MDB_txn *transaction;
    struct nb_recent *recent = NULL;
    pthread_mutex_lock(&store->recent_lock);
    uint64_t base = store->recent_base, last = store->recent_last;
    int rc = store->environment == NULL
                 ? MDB_PANIC
                 : mdb_txn_begin(store->environment, NULL, MDB_RDONLY, &transaction);
    /* A later transaction contains all changes: it is committed, and the writer is about to update
     * recent_base. */
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
    int rc = begin_lease(store, view);
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

/* Pages of the file that count as memory of the process. */

/* Bytes of all mapped files, including libraries (about 10 MiB): below this, unmapping is not worth
 * the calls. */
#define MAPPED_MOST ((uint64_t)32 << 20)

/* LMDB does not tell where its map is, but every value that is read lies in it, and the kernel
 * knows the bounds of the map around an address. */
void nb_store_unmap_pages(struct nb_store *store)
{
    struct nb_view view = {0};
    struct nb_string value;
    if (nb_platform_memory().of_files < MAPPED_MOST || nb_store_snapshot(store, &view, NULL) != 0)
        return;
    if (nb_store_get(&view, NB_TABLE_META, (struct nb_string){"format", 6}, &value, NULL) == 0)
        nb_platform_drop_map(value.bytes);
    nb_store_snapshot_end(&view);
}

enum {
    ALONE_SECONDS = 10, /* how long the writer waits for snapshots to end */
    OPEN_SECONDS = 2,   /* how long a new lease waits for the writer, like a snapshot */
};

/* All members are guarded by the store's `lease_lock`, which is held from nb_lease_enter to
 * nb_lease_leave. */
struct nb_lease {
    struct nb_store *store;
    struct nb_view view; /* the snapshot; ended if it was taken back */
    uint64_t deadline;   /* nb_clock_monotonic */
    struct nb_error why; /* why the snapshot was taken back */
    struct nb_lease *next;
};

/* Updates the earliest deadline, which the writer reads without the lock. `lease_lock` is held. */
static void note_deadline(struct nb_store *store)
{
    uint64_t earliest = UINT64_MAX;
    for (const struct nb_lease *l = store->leases; l != NULL; l = l->next)
        if (l->view.transaction != NULL && l->deadline < earliest)
            earliest = l->deadline;
    atomic_store(&store->lease_deadline, earliest);
}

/* Adds the lease, which the writer may take back from then on. If the writer wants to be alone,
 * ends the lease's snapshot instead, because the writer would have to wait for it. Returns whether
 * the lease was added. */
static bool add(struct nb_store *store, struct nb_lease *lease)
{
    pthread_mutex_lock(&store->lease_lock);
    bool may = !store->leases_closed;
    if (may) {
        lease->next = store->leases;
        store->leases = lease;
        note_deadline(store);
    } else {
        nb_store_snapshot_end(&lease->view);
    }
    pthread_mutex_unlock(&store->lease_lock);
    return may;
}

/* Waits until new leases are allowed again. Returns false if they are not by the time `until`. */
static bool wait_until_open(struct nb_store *store, uint64_t until)
{
    bool in_time = true;
    pthread_mutex_lock(&store->lease_lock);
    while (store->leases_closed && in_time)
        in_time = nb_condition_wait(&store->leases_opened, &store->lease_lock, until);
    bool is_open = !store->leases_closed;
    pthread_mutex_unlock(&store->lease_lock);
    return is_open;
}

int nb_lease_take(struct nb_store *store, uint64_t seconds, struct nb_lease **out,
                  struct nb_error *error)
{
    struct nb_lease *lease = calloc(1, sizeof *lease);
    uint64_t until = in_seconds(OPEN_SECONDS);
    if (lease == NULL)
        return nb_error_no_memory(error);
    lease->store = store;
    lease->deadline = nb_clock_monotonic() + seconds * 1000000000u;
    /* A snapshot may wait for the writer, so it is taken before the lock. */
    int rc = nb_store_snapshot(store, &lease->view, error);
    while (rc == 0 && !add(store, lease))
        rc = wait_until_open(store, until)
                 ? nb_store_snapshot(store, &lease->view, error)
                 : nb_error_set(error, NB_IO, "the store is busy growing: try again");
    if (rc != 0)
        free(lease);
    else
        *out = lease;
    return rc;
}

int nb_lease_enter(struct nb_lease *lease, const struct nb_view **view, struct nb_error *error)
{
    pthread_mutex_lock(&lease->store->lease_lock);
    *view = &lease->view;
    if (lease->view.transaction != NULL)
        return 0;
    int rc = nb_error_set(error, lease->why.code, "%s", lease->why.text);
    pthread_mutex_unlock(&lease->store->lease_lock);
    return rc;
}

void nb_lease_leave(struct nb_lease *lease)
{
    pthread_mutex_unlock(&lease->store->lease_lock);
}

void nb_lease_end(struct nb_lease **out)
{
    struct nb_lease *lease = *out;
    *out = NULL;
    if (lease == NULL)
        return;
    struct nb_store *store = lease->store;
    pthread_mutex_lock(&store->lease_lock);
    nb_store_snapshot_end(&lease->view);
    struct nb_lease **at = &store->leases;
    while (*at != lease)
        at = &(*at)->next;
    *at = lease->next;
    note_deadline(store);
    pthread_mutex_unlock(&store->lease_lock);
    free(lease);
}

/* ---- the writer ------------------------------------------------------------------------------ */

/* Takes back the snapshots whose deadline is before `now`. `lease_lock` is held. */
static void take_back(struct nb_store *store, uint64_t now, const char *why)
{
    for (struct nb_lease *l = store->leases; l != NULL; l = l->next) {
        if (l->view.transaction == NULL || l->deadline >= now)
            continue;
        nb_store_snapshot_end(&l->view);
        nb_error_set(&l->why, NB_IO, "%s", why);
    }
    note_deadline(store);
}

void nb_leases_expire(struct nb_store *store)
{
    uint64_t now = nb_clock_monotonic();
    if (atomic_load(&store->lease_deadline) >= now)
        return;
    pthread_mutex_lock(&store->lease_lock);
    take_back(store, now, "it took too long: the store may not keep old data for it any more");
    pthread_mutex_unlock(&store->lease_lock);
}

void nb_leases_close(struct nb_store *store)
{
    pthread_mutex_lock(&store->lease_lock);
    assert(!store->leases_closed);
    store->leases_closed = true;
    take_back(store, UINT64_MAX, "the store had to grow, or to be opened again: try again");
    pthread_mutex_unlock(&store->lease_lock);
}

void nb_leases_open(struct nb_store *store)
{
    pthread_mutex_lock(&store->lease_lock);
    store->leases_closed = false;
    pthread_cond_broadcast(&store->leases_opened);
    pthread_mutex_unlock(&store->lease_lock);
}

int nb_store_enter_alone(struct nb_store *store, struct nb_error *error)
{
    nb_leases_close(store);
    bool alone = nb_gate_close(&store->gate, ALONE_SECONDS);
    nb_leases_open(store);
    if (alone)
        return 0;
    return nb_error_set(error, NB_IO,
                        "the store waits for a long export or listing to end: try again");
}
