/* SPDX-License-Identifier: Apache-2.0
 *
 * Opening, transactions, growing, and opening again after a failure.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/base/clock.h"
#include "core/base/wire.h"
#include "core/store_environment.h"
#include "core/store_meta.h"
#include "core/store_private.h"

enum {
    ALONE_SECONDS = 10, /* the writer waits for snapshots to end */
    GATE_SECONDS = 2,   /* a snapshot waits for the writer */
    FORMAT_CHECKSUM = 8,
};

/* A transaction copies the pages it touches: room for several times what it writes. */
static const uint64_t GROWTH_RESERVE = (uint64_t)64 << 20;
static const uint64_t GROWTH_FACTOR = 4;

static const char *const TABLE_NAMES[NB_TABLES] = {
    [NB_TABLE_META] = "meta",       [NB_TABLE_MODELS] = "models",
    [NB_TABLE_STATE] = "state",     [NB_TABLE_LABELS] = "labels",
    [NB_TABLE_LEDGER] = "ledger",   [NB_TABLE_DOCUMENTS] = "documents",
    [NB_TABLE_ROWS] = "rows",       [NB_TABLE_WORDS] = "words",
    [NB_TABLE_STACK] = "stack",     [NB_TABLE_SCORES] = "scores",
    [NB_TABLE_GARBAGE] = "garbage", [NB_TABLE_ORPHANS] = "orphans",
};

static const struct nb_string FORMAT_KEY = {"format", 6};

const char *nb_store_table_name(enum nb_table table)
{
    assert(table < NB_TABLES);
    return TABLE_NAMES[table];
}

/* ---- the gate -------------------------------------------------------------------------------- */

static struct timespec in_seconds(int seconds)
{
    uint64_t at = nb_clock_monotonic() + (uint64_t)seconds * 1000000000u;
    return (struct timespec){.tv_sec = (time_t)(at / 1000000000u),
                             .tv_nsec = (long)(at % 1000000000u)};
}

/* Closes the gate and waits until no snapshot is open. */
static int enter_alone(struct nb_store *store, struct nb_error *error)
{
    struct timespec until = in_seconds(ALONE_SECONDS);
    int rc = 0;
    pthread_mutex_lock(&store->gate);
    assert(!atomic_load(&store->wanted));
    atomic_store(&store->wanted, true);
    while (store->snapshots > 0 && rc != ETIMEDOUT)
        rc = pthread_cond_clockwait(&store->passed, &store->gate, CLOCK_MONOTONIC, &until);
    bool alone = store->snapshots == 0;
    if (!alone) {
        atomic_store(&store->wanted, false);
        pthread_cond_broadcast(&store->passed);
    }
    pthread_mutex_unlock(&store->gate);
    return alone ? 0
                 : nb_error_set(error, NB_IO,
                                "the store waits for a long export or listing to end: try again");
}

static void leave_alone(struct nb_store *store)
{
    pthread_mutex_lock(&store->gate);
    assert(atomic_load(&store->wanted) && store->snapshots == 0);
    atomic_store(&store->wanted, false);
    pthread_cond_broadcast(&store->passed);
    pthread_mutex_unlock(&store->gate);
}

static void leave_gate(struct nb_store *store)
{
    pthread_mutex_lock(&store->gate);
    assert(store->snapshots > 0);
    if (--store->snapshots == 0)
        pthread_cond_broadcast(&store->passed);
    pthread_mutex_unlock(&store->gate);
}

static int pass_gate(struct nb_store *store, struct nb_error *error)
{
    struct timespec until = in_seconds(GATE_SECONDS);
    int rc = 0;
    pthread_mutex_lock(&store->gate);
    while (atomic_load(&store->wanted) && rc != ETIMEDOUT)
        rc = pthread_cond_clockwait(&store->passed, &store->gate, CLOCK_MONOTONIC, &until);
    if (atomic_load(&store->wanted)) {
        rc = nb_error_set(error, NB_IO, "the store is busy growing: try again");
    } else if (store->environment == NULL) {
        rc = nb_error_set(error, NB_IO, "%s", store->failure.text);
    } else {
        rc = 0;
        store->snapshots++;
    }
    pthread_mutex_unlock(&store->gate);
    return rc;
}

/* ---- the failed state ------------------------------------------------------------------------ */

static void set_failure(struct nb_store *store, const struct nb_error *failure)
{
    pthread_mutex_lock(&store->gate);
    store->failure = *failure;
    pthread_mutex_unlock(&store->gate);
}

bool nb_store_failed(struct nb_store *store, struct nb_error *error)
{
    pthread_mutex_lock(&store->gate);
    bool failed = store->failure.code != 0;
    if (failed && error != NULL)
        *error = store->failure;
    pthread_mutex_unlock(&store->gate);
    return failed;
}

/* Puts the last successful commit in force on the disk if a later one may have got there. */
static int settle(struct nb_store *store, struct nb_error *error)
{
    if (!store->unsure)
        return 0;
    int rc = nb_meta_put_back(store->file.data, store->file.data_path, store->page_size,
                              store->committed, error);
    store->unsure = rc != 0;
    return rc;
}

/* ---- the format ------------------------------------------------------------------------------ */

static int refuse_format(const struct nb_store *store, uint64_t format, struct nb_error *error)
{
    if (format > NB_STORE_FORMAT)
        return nb_error_set(error, NB_VERSION,
                            "%s has store format %llu, this bayesd reads up to %d: use a newer "
                            "bayesd",
                            store->file.path, (unsigned long long)format, NB_STORE_FORMAT);
    return nb_error_set(error, NB_VERSION,
                        "%s has store format %llu, this bayesd reads %d: export every model with "
                        "the bayesd that wrote it, and import the files with this one into an "
                        "empty directory",
                        store->file.path, (unsigned long long)format, NB_STORE_FORMAT);
}

/* Format 1 had checksums over the value alone. */
static bool is_first_format(const MDB_val *v)
{
    const unsigned char *bytes = v->mv_data;
    uint64_t checksum;
    if (v->mv_size != 1 + FORMAT_CHECKSUM || bytes[0] != 1)
        return false;
    memcpy(&checksum, bytes + 1, sizeof checksum);
    return checksum == XXH3_64bits(bytes, 1);
}

static int check_format(const struct nb_view *view, struct nb_error *error)
{
    struct nb_store *store = view->store;
    MDB_val key = {.mv_size = FORMAT_KEY.length, .mv_data = (void *)(uintptr_t)FORMAT_KEY.bytes};
    MDB_val sealed;
    struct nb_string value;
    int rc = mdb_get(view->transaction, store->tables[NB_TABLE_META], &key, &sealed);
    if (rc == 0 && is_first_format(&sealed))
        return refuse_format(store, 1, error);
    rc = nb_store_get(view, NB_TABLE_META, FORMAT_KEY, &value, error);
    if (rc == NB_NOT_FOUND)
        return nb_error_set(error, NB_CORRUPT, "%s is damaged: the format's number is missing",
                            store->file.path);
    if (rc != 0)
        return rc;
    struct nb_reader r = nb_reader_of(value.bytes, value.length);
    uint64_t format = nb_read_varint(&r);
    if (r.failed || format == 0)
        return nb_error_set(error, NB_CORRUPT, "%s: the format's number is damaged",
                            store->file.path);
    return format == NB_STORE_FORMAT ? 0 : refuse_format(store, format, error);
}

static int put_format(const struct nb_view *view, struct nb_error *error)
{
    static const char format[] = {NB_STORE_FORMAT};
    return nb_store_put(view, NB_TABLE_META, FORMAT_KEY, (struct nb_string){format, 1}, error);
}

/* ---- opening --------------------------------------------------------------------------------- */

static int open_table(const struct nb_view *view, enum nb_table table, bool create,
                      struct nb_error *error)
{
    struct nb_store *store = view->store;
    int rc = mdb_dbi_open(view->transaction, TABLE_NAMES[table], create ? MDB_CREATE : 0,
                          &store->tables[table]);
    if (rc == MDB_NOTFOUND)
        return nb_error_set(error, NB_CORRUPT, "%s is damaged: it has no table %s",
                            store->file.path, TABLE_NAMES[table]);
    return nb_environment_error(error, rc, store->file.path);
}

static int open_all_tables(const struct nb_view *view, bool create, struct nb_error *error)
{
    int rc = open_table(view, NB_TABLE_META, create, error);
    if (rc == 0)
        rc = create ? put_format(view, error) : check_format(view, error);
    for (int i = 0; rc == 0 && i < NB_TABLES; i++)
        if (i != NB_TABLE_META)
            rc = open_table(view, (enum nb_table)i, create, error);
    return rc;
}

/* After each change of the environment, so that nobody else needs to ask LMDB, which reads the
 * map. */
static void note_state(struct nb_store *store)
{
    MDB_envinfo info;
    MDB_stat statistics;
    mdb_env_info(store->environment, &info);
    mdb_env_stat(store->environment, &statistics);
    store->committed = info.me_last_txnid;
    store->page_size = statistics.ms_psize;
    atomic_store(&store->used, (info.me_last_pgno + 1) * (uint64_t)statistics.ms_psize);
    atomic_store(&store->map, info.me_mapsize);
}

/* Tables are made with the first transaction of a store. */
static int open_tables(struct nb_store *store, struct nb_error *error)
{
    struct nb_view view = {.store = store};
    MDB_txn *transaction;
    int rc = mdb_txn_begin(store->environment, NULL, 0, &transaction);
    if (rc != 0)
        return nb_environment_error(error, rc, store->file.path);
    view.transaction = transaction;
    store->writing = true;
    rc = open_all_tables(&view, store->committed == 0, error);
    store->writing = false;
    if (rc != 0) {
        mdb_txn_abort(transaction);
        return rc;
    }
    rc = mdb_txn_commit(transaction);
    if (rc == 0)
        note_state(store);
    return nb_environment_error(error, rc, store->file.path);
}

/* What the file must have room for in the map. */
static int look_at_file(struct nb_store *store, uint64_t *needed, struct nb_error *error)
{
    struct nb_meta metas[2];
    int newest;
    *needed = GROWTH_RESERVE;
    int rc = nb_meta_read(store->file.data, store->file.data_path, metas, &newest, error);
    if (rc == NB_NOT_FOUND)
        return 0;
    if (rc != 0)
        return rc;
    uint64_t bytes = (metas[newest].last_page + 1) * metas[newest].free.pad;
    struct stat status;
    if (fstat(store->file.data, &status) != 0)
        return nb_error_errno(error, errno, store->file.path);
    /* A store in which nothing was ever committed has only its two meta pages. */
    if (metas[newest].transaction != 0 && (uint64_t)status.st_size < bytes)
        return nb_error_set(error, NB_CORRUPT, "%s is damaged: it has %lld bytes, %llu are in use",
                            store->file.data_path, (long long)status.st_size,
                            (unsigned long long)bytes);
    *needed += bytes;
    return 0;
}

/* Opens LMDB: at the start, and again after a failure. On failure the environment is closed. */
static int open_environment(struct nb_store *store, struct nb_error *error)
{
    uint64_t needed;
    assert(store->environment == NULL);
    int rc = look_at_file(store, &needed, error);
    if (rc == 0)
        rc = nb_environment_open(&store->file, store->map_size, needed, NB_TABLES,
                                 &store->environment, error);
    if (rc != 0)
        return rc;
    note_state(store);
    rc = open_tables(store, error);
    if (rc != 0)
        nb_environment_close(&store->environment);
    return rc;
}

static struct nb_store *new_store(uint64_t map_size)
{
    struct nb_store *store = calloc(1, sizeof *store);
    if (store == NULL)
        return NULL;
    store->map_size = map_size != 0 && map_size < NB_MAP_UNIT ? NB_MAP_UNIT : map_size;
    for (int i = 0; i < NB_TABLES; i++)
        store->seeds[i] = XXH3_64bits(TABLE_NAMES[i], strlen(TABLE_NAMES[i]));
    pthread_mutex_init(&store->gate, NULL);
    pthread_cond_init(&store->passed, NULL);
    return store;
}

static void free_store(struct nb_store *store)
{
    pthread_cond_destroy(&store->passed);
    pthread_mutex_destroy(&store->gate);
    nb_buffer_deinit(&store->sealed);
    free(store);
}

int nb_store_open(const char *directory, uint64_t map_size, struct nb_store **out,
                  struct nb_error *error)
{
    struct nb_store *store = new_store(map_size);
    if (store == NULL)
        return nb_error_no_memory(error);
    int rc = nb_store_file_open(directory, &store->file, error);
    if (rc != 0) {
        free_store(store);
        return rc;
    }
    rc = open_environment(store, error);
    if (rc == 0) {
        *out = store;
        return 0;
    }
    /* A full disk may hold half of the two first pages: the next start begins anew. */
    if (store->file.fresh && store->committed == 0)
        (void)!ftruncate(store->file.data, 0);
    nb_store_close(&store);
    return rc;
}

void nb_store_close(struct nb_store **out)
{
    struct nb_store *store = *out;
    *out = NULL;
    if (store == NULL)
        return;
    assert(store->snapshots == 0 && !store->writing);
    nb_environment_close(&store->environment);
    (void)settle(store, NULL);
    nb_store_file_close(&store->file);
    free_store(store);
}

/* ---- opening again --------------------------------------------------------------------------- */

/* The gate is closed. */
static int replace_environment(struct nb_store *store, struct nb_error *error)
{
    uint64_t committed = store->committed;
    nb_environment_close(&store->environment);
    int rc = nb_store_file_check(&store->file, error);
    if (rc == 0)
        rc = open_environment(store, error);
    if (rc == 0 && store->committed != committed) {
        rc = nb_error_set(
            error, NB_CORRUPT, "%s is damaged: it holds transaction %llu, the last one was %llu",
            store->file.path, (unsigned long long)store->committed, (unsigned long long)committed);
        nb_environment_close(&store->environment);
    }
    store->committed = committed;
    return rc;
}

static int reopen_alone(struct nb_store *store, struct nb_error *error)
{
    int rc = replace_environment(store, error);
    set_failure(store, rc == 0 ? &(struct nb_error){.code = 0} : error);
    store->grow = store->grow && rc != 0;
    return rc;
}

int nb_store_reopen(struct nb_store *store, struct nb_error *error)
{
    struct nb_error local = {0};
    assert(!store->writing);
    if (!nb_store_failed(store, NULL))
        return 0;
    int rc = settle(store, &local);
    if (rc == 0)
        rc = enter_alone(store, &local);
    if (rc == 0) {
        rc = reopen_alone(store, &local);
        leave_alone(store);
    }
    if (rc != 0 && error != NULL)
        *error = local;
    return rc;
}

/* ---- growing --------------------------------------------------------------------------------- */

void nb_store_sizes(struct nb_store *store, uint64_t *used, uint64_t *map)
{
    *used = atomic_load(&store->used);
    *map = atomic_load(&store->map);
}

/* LMDB takes the old map away before it makes the new one. If that fails there is none, and only
 * opening again helps. */
static int resize_alone(struct nb_store *store, uint64_t size, struct nb_error *error)
{
    int rc = mdb_env_set_mapsize(store->environment, (size_t)size);
    if (rc == 0) {
        note_state(store);
        store->grow = false;
        return 0;
    }
    struct nb_error failure;
    nb_error_set(&failure, NB_IO, "growing the store's map: %s", strerror(rc));
    set_failure(store, &failure);
    nb_environment_close(&store->environment);
    if (error != NULL)
        *error = failure;
    return failure.code;
}

static int resize(struct nb_store *store, uint64_t size, struct nb_error *error)
{
    int rc = nb_environment_may_grow(size - atomic_load(&store->map), error);
    if (rc == 0)
        rc = enter_alone(store, error);
    if (rc != 0)
        return rc;
    rc = resize_alone(store, size, error);
    leave_alone(store);
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
    if (store->grow && needed < map + GROWTH_RESERVE)
        needed = map + GROWTH_RESERVE;
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
    if (nb_store_failed(store, &failure))
        return nb_error_set(error, NB_IO, "%s", failure.text);
    int rc = nb_store_file_check(&store->file, error);
    if (rc == 0)
        rc = grow_map(store, atomic_load(&store->used) + expected * GROWTH_FACTOR + GROWTH_RESERVE,
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
        note_state(store);
        return 0;
    }
    int code = nb_environment_error(&failure, rc, "committing to the store");
    if (!is_harmless(store, rc)) {
        /* It is not known what reached the disk. The sooner the meta page is overwritten, the less
         * likely it is that a crash brings back what was refused. */
        store->unsure = true;
        (void)settle(store, NULL);
        set_failure(store, &failure);
    }
    if (error != NULL)
        *error = failure;
    return code;
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

int nb_store_snapshot(struct nb_store *store, struct nb_view *view, struct nb_error *error)
{
    int rc = pass_gate(store, error);
    if (rc != 0)
        return rc;
    MDB_txn *transaction;
    rc = mdb_txn_begin(store->environment, NULL, MDB_RDONLY, &transaction);
    if (rc != 0) {
        struct nb_error failure = {.text = ""};
        leave_gate(store);
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
    leave_gate(view->store);
}

bool nb_store_wanted(const struct nb_view *view)
{
    return atomic_load_explicit(&view->store->wanted, memory_order_relaxed);
}
