/* SPDX-License-Identifier: Apache-2.0 */
#include "core/store/store_private.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "core/store/page.h"
#include "core/store/store.h"

/* ---- the state of the store: its last commit, failures, damage ------------------------------- */

void nb_store_note_state(struct nb_store *store)
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

int nb_store_settle(struct nb_store *store, struct nb_error *error)
{
    int rc = nb_journal_settle(&store->journal, error);
    if (rc != 0 || !store->unsure)
        return rc;
    rc = nb_meta_put_back(store->file.data, store->file.data_path, store->page_size,
                          store->committed, error);
    store->unsure = rc != 0;
    return rc;
}

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

bool nb_store_met_damage(struct nb_store *store, struct nb_error *what)
{
    pthread_mutex_lock(&store->failure_lock);
    *what = store->damage;
    pthread_mutex_unlock(&store->failure_lock);
    return what->code != 0;
}

enum {
    READERS = 1024, /* snapshots that may be open at once */
    /* Size of their table in lock.mdb: a cache line each, and more than enough for its head. */
    READERS_BYTES = READERS * 64 + 4096,
    ADDRESS_SHARE = 4, /* the map takes a quarter of a limited address space */
};

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif

#if defined(__SANITIZE_THREAD__)
/* The most bytes of the map. The thread sanitizer needs four times as much memory as is mapped. */
static const uint64_t MOST_MAP = (uint64_t)16 << 30;
#else
static const uint64_t MOST_MAP = (uint64_t)1 << 40;
#endif

int nb_environment_error(struct nb_error *error, int rc, const char *what)
{
    switch (rc) {
    case MDB_SUCCESS:
        return 0;
    case MDB_MAP_FULL:
        return nb_error_set(error, NB_STORE_MAP_FULL, "%s: the store's map is full", what);
    case MDB_VERSION_MISMATCH:
        return nb_error_set(error, NB_VERSION,
                            "%s: the store was written by another version of LMDB", what);
    case MDB_INVALID:
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
        return nb_error_set(error, NB_CORRUPT, "%s: the store's data file is damaged (%s)", what,
                            mdb_strerror(rc));
    case EFBIG:
        return nb_error_set(error, NB_DISK_FULL, "%s: no space, the file is at its limit: %s", what,
                            strerror(rc));
    default:
        break;
    }
    if (rc > 0)
        return nb_error_errno(error, rc, what);
    return nb_error_set(error, NB_IO, "%s: %s", what, mdb_strerror(rc));
}

static int try_size(const struct nb_store_file *file, uint64_t map_size, unsigned flags,
                    MDB_env **environment)
{
    int rc = mdb_env_create(environment);
    if (rc != 0) {
        *environment = NULL;
        return rc;
    }
    rc = mdb_env_set_mapsize(*environment, (size_t)map_size);
    if (rc == 0)
        rc = mdb_env_set_maxdbs(*environment, NB_TABLES);
    if (rc == 0)
        rc = mdb_env_set_maxreaders(*environment, READERS);
    /* MDB_NOTLS: a snapshot does not belong to a thread, so another one may use or end it. */
    if (rc == 0)
        rc = mdb_env_open(*environment, file->path, MDB_NOTLS | flags, 0600);
    if (rc != 0)
        nb_environment_close(environment);
    return rc;
}

/* Returns the most bytes of the map. In a limited address space it leaves room for the heap. */
static uint64_t most_map(void)
{
    struct rlimit limit;
    uint64_t most = MOST_MAP < SIZE_MAX / 4 ? MOST_MAP : SIZE_MAX / 4;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        limit.rlim_cur / ADDRESS_SHARE < most)
        most = limit.rlim_cur / ADDRESS_SHARE;
    return most / NB_MAP_UNIT * NB_MAP_UNIT;
}

static int open_any_size(const struct nb_store_file *file, uint64_t needed, unsigned flags,
                         MDB_env **environment)
{
    uint64_t size = most_map();
    if (size < needed)
        size = needed;
    int rc = try_size(file, size, flags, environment);
    while ((rc == ENOMEM || rc == EINVAL) && size > needed) {
        size = size / 2 > needed ? size / 2 / NB_MAP_UNIT * NB_MAP_UNIT : needed;
        rc = try_size(file, size, flags, environment);
    }
    return rc;
}

int nb_environment_open(const struct nb_store_file *file, uint64_t map_size, uint64_t needed,
                        unsigned flags, MDB_env **environment, struct nb_error *error)
{
    mdb_filehandle_t data;
    *environment = NULL;
    int rc = nb_store_file_reserve_readers(file, READERS_BYTES, error);
    if (rc != 0)
        return rc;
    rc = map_size == 0 ? open_any_size(file, needed, flags, environment)
                       : try_size(file, map_size < needed ? needed : map_size, flags, environment);
    if (rc != 0)
        return nb_environment_error(error, nb_store_file_reason(file, rc), file->path);
    /* LMDB opens the file by its name: it must be the file that was locked and checked. */
    mdb_env_get_fd(*environment, &data);
    rc = nb_store_file_same(file, data, error);
    if (rc != 0)
        nb_environment_close(environment);
    return rc;
}

void nb_environment_close(MDB_env **environment)
{
    if (*environment != NULL)
        mdb_env_close(*environment);
    *environment = NULL;
}

int nb_environment_may_grow(uint64_t more, struct nb_error *error)
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
