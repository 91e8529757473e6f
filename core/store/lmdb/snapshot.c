/* SPDX-License-Identifier: Apache-2.0
 *
 * Snapshots.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

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

/* Pages of the file that count as memory of the process. */
/* Of all files, the libraries' among them (10 MiB or so): it is not worth the calls for less. */
#define MAPPED_MOST ((uint64_t)32 << 20)

struct map {
    uintptr_t begin, end;
};

/* Third number of /proc/self/statm, in bytes; 0 if it cannot be read. */
static uint64_t mapped_bytes(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    uint64_t size, resident, shared;
    if (file == NULL)
        return 0;
    if (fscanf(file, "%" SCNu64 " %" SCNu64 " %" SCNu64, &size, &resident, &shared) != 3)
        shared = 0;
    (void)fclose(file); /* was only read */
    return shared * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Whether a line of /proc/self/maps is of a shared map of a file with the address `at`. */
static bool read_line(const char *line, uintptr_t at, struct map *map)
{
    char mode[5];
    return sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s", &map->begin, &map->end, mode) == 3 &&
           at >= map->begin && at < map->end && mode[3] == 's';
}

static bool find_map(uintptr_t at, struct map *map)
{
    FILE *file = fopen("/proc/self/maps", "re");
    char *line = NULL;
    size_t room = 0;
    bool found = false;
    if (file == NULL)
        return false;
    while (!found && getline(&line, &room, file) > 0)
        found = read_line(line, at, map);
    free(line);
    (void)fclose(file); /* was only read */
    return found;
}

/* LMDB does not tell where its map is, but each value that is read lies in it. The kernel knows the
 * bounds. */
void nb_store_unmap_pages(struct nb_store *store)
{
    struct nb_view view = {0};
    struct nb_string value;
    struct map map;
    if (mapped_bytes() < MAPPED_MOST || nb_store_snapshot(store, &view, NULL) != 0)
        return;
    if (nb_store_get(&view, NB_TABLE_META, (struct nb_string){"format", 6}, &value, NULL) == 0 &&
        find_map((uintptr_t)value.bytes, &map))
        /* Of a shared map of a file this changes nothing that can be read. */
        (void)madvise((void *)map.begin, map.end - map.begin, MADV_DONTNEED);
    nb_store_snapshot_end(&view);
}
