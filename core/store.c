/* SPDX-License-Identifier: Apache-2.0 */
#include "core/store.h"

#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/base/pack.h"

enum {
    READERS = 1024, /* snapshots that may be open at once */
    /* Their table in lock.mdb: a cache line each, and more than its head needs. */
    READERS_BYTES = READERS * 64 + 4096,
    CHECKSUM_BYTES = 8,
    PATH_MOST = 4096,
};

/* A transaction copies the pages it touches: room for several times what it writes. */
static const uint64_t GROWTH_RESERVE = (uint64_t)64 << 20;
static const uint64_t GROWTH_FACTOR = 4;

static const char *const TABLE_NAMES[NB_TABLES] = {
    [NB_TABLE_META] = "meta",       [NB_TABLE_MODELS] = "models",
    [NB_TABLE_STATE] = "state",     [NB_TABLE_LABELS] = "labels",
    [NB_TABLE_LEDGER] = "ledger",   [NB_TABLE_ENTRIES] = "entries",
    [NB_TABLE_ROWS] = "rows",       [NB_TABLE_DOCUMENTS] = "documents",
    [NB_TABLE_WORDS] = "words",     [NB_TABLE_WEIGHTS] = "weights",
    [NB_TABLE_SCORES] = "scores",   [NB_TABLE_GARBAGE] = "garbage",
    [NB_TABLE_ORPHANS] = "orphans",
};

struct nb_store {
    MDB_env *environment;
    MDB_dbi tables[NB_TABLES];
    int lock;                /* file descriptor that holds the directory's lock */
    bool grow;               /* the last transaction met a full map */
    pthread_rwlock_t resize; /* read: the map is in use; write: it is being moved */
    struct nb_buffer sealed; /* the writer's: a value with its checksum */
    char directory[PATH_MOST];
};

/* LMDB's codes are its own negative ones and errno values. */
static int store_error(struct nb_error *error, int rc, const char *what)
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

static MDB_val value_of(struct nb_string s)
{
    /* LMDB does not write through the keys and values it is given. */
    return (MDB_val){.mv_size = s.length, .mv_data = (void *)(uintptr_t)s.bytes};
}

/* ---- opening --------------------------------------------------------------------------------- */

static int lock_directory(struct nb_store *store, struct nb_error *error)
{
    char path[PATH_MOST + 8];
    snprintf(path, sizeof path, "%s/lock", store->directory);
    if (mkdir(store->directory, 0700) != 0 && errno != EEXIST)
        return nb_error_errno(error, errno, store->directory);
    store->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (store->lock < 0)
        return nb_error_errno(error, errno, path);
    if (flock(store->lock, LOCK_EX | LOCK_NB) == 0)
        return 0;
    if (errno != EWOULDBLOCK)
        return nb_error_errno(error, errno, path);
    return nb_error_set(error, NB_LOCKED,
                        "%s is in use by another bayesd: stop it, or choose another directory",
                        store->directory);
}

/* LMDB maps the file: pages that its own bookkeeping promises but the file does not have would be a
 * SIGBUS later. */
static int check_length(struct nb_store *store, struct nb_error *error)
{
    char path[PATH_MOST + 16];
    snprintf(path, sizeof path, "%s/data.mdb", store->directory);
    struct stat status;
    MDB_envinfo info;
    MDB_stat statistics;
    int rc = mdb_env_info(store->environment, &info);
    if (rc == 0)
        rc = mdb_env_stat(store->environment, &statistics);
    if (rc != 0)
        return store_error(error, rc, path);
    if (stat(path, &status) != 0)
        return nb_error_errno(error, errno, path);
    /* A store in which nothing was ever committed has only its two meta pages. */
    uint64_t needed = info.me_last_txnid == 0 ? 0 : (info.me_last_pgno + 1) * statistics.ms_psize;
    if ((uint64_t)status.st_size >= needed)
        return 0;
    return nb_error_set(error, NB_CORRUPT, "%s is damaged: it has %lld bytes, %llu are in use",
                        path, (long long)status.st_size, (unsigned long long)needed);
}

/* LMDB makes its table of readers as a file with a hole and maps it: on a full disk, the first
 * write to it would be a SIGBUS. So the room is taken before; what is there already is kept. */
static int allocate_readers(struct nb_store *store, struct nb_error *error)
{
    char path[PATH_MOST + 16];
    snprintf(path, sizeof path, "%s/lock.mdb", store->directory);
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0)
        return nb_error_errno(error, errno, path);
    int fault = posix_fallocate(file, 0, READERS_BYTES);
    close(file);
    return fault == 0 ? 0 : nb_error_errno(error, fault, path);
}

static int open_environment(struct nb_store *store, uint64_t map_size, struct nb_error *error)
{
    int rc = allocate_readers(store, error);
    if (rc != 0)
        return rc;
    rc = mdb_env_create(&store->environment);
    if (rc == 0)
        rc = mdb_env_set_mapsize(store->environment, (size_t)map_size);
    if (rc == 0)
        rc = mdb_env_set_maxdbs(store->environment, NB_TABLES);
    if (rc == 0)
        rc = mdb_env_set_maxreaders(store->environment, READERS);
    /* MDB_NOTLS: a snapshot belongs to whoever holds it, not to a thread. */
    if (rc == 0)
        rc = mdb_env_open(store->environment, store->directory, MDB_NOTLS, 0600);
    if (rc != 0)
        return store_error(error, rc, store->directory);
    return check_length(store, error);
}

static int check_format(struct nb_view *view, struct nb_error *error)
{
    static const struct nb_string key = {"format", 6};
    struct nb_string value = {"", 0};
    int rc = nb_store_get(view, NB_TABLE_META, key, &value, error);
    if (rc == 0) {
        struct nb_unpacker r = nb_unpacker_of(value.bytes, value.length);
        uint64_t format = nb_unpack_varint(&r);
        if (r.failed || format == 0)
            return nb_error_set(error, NB_CORRUPT, "%s: the format's number is damaged",
                                view->store->directory);
        if (format > NB_STORE_FORMAT)
            return nb_error_set(error, NB_VERSION,
                                "%s has store format %llu, this bayesd reads up to %d: use a newer "
                                "bayesd",
                                view->store->directory, (unsigned long long)format,
                                NB_STORE_FORMAT);
        return 0;
    }
    if (rc != NB_NOT_FOUND)
        return rc;
    static const char format[] = {NB_STORE_FORMAT};
    return nb_store_put(view, NB_TABLE_META, key, (struct nb_string){format, 1}, error);
}

static int open_tables(struct nb_store *store, struct nb_error *error)
{
    struct nb_view view = {.store = store};
    int rc = nb_store_begin(store, 0, &view, error);
    if (rc != 0)
        return rc;
    for (int i = 0; rc == 0 && i < NB_TABLES; i++)
        rc = store_error(
            error, mdb_dbi_open(view.transaction, TABLE_NAMES[i], MDB_CREATE, &store->tables[i]),
            store->directory);
    if (rc == 0)
        rc = check_format(&view, error);
    if (rc == 0)
        return nb_store_commit(&view, error);
    nb_store_abort(&view);
    return rc;
}

int nb_store_open(const char *directory, uint64_t map_size, struct nb_store **out,
                  struct nb_error *error)
{
    struct nb_store *store = calloc(1, sizeof *store);
    if (store == NULL)
        return nb_error_no_memory(error);
    store->lock = -1;
    pthread_rwlock_init(&store->resize, NULL);
    int rc = 0;
    if (strlen(directory) >= sizeof store->directory)
        rc = nb_error_set(error, NB_UNUSABLE, "the data directory's path is over %d bytes",
                          PATH_MOST - 1);
    if (rc == 0) {
        memcpy(store->directory, directory, strlen(directory) + 1);
        rc = lock_directory(store, error);
    }
    if (rc == 0)
        rc = open_environment(store, map_size, error);
    if (rc == 0)
        rc = open_tables(store, error);
    if (rc == 0)
        *out = store;
    else
        nb_store_close(&store);
    return rc;
}

void nb_store_close(struct nb_store **store)
{
    if (*store == NULL)
        return;
    if ((*store)->environment != NULL)
        mdb_env_close((*store)->environment);
    if ((*store)->lock >= 0)
        close((*store)->lock);
    pthread_rwlock_destroy(&(*store)->resize);
    nb_buffer_deinit(&(*store)->sealed);
    free(*store);
    *store = NULL;
}

/* ---- transactions ---------------------------------------------------------------------------- */

void nb_store_sizes(struct nb_store *store, uint64_t *used, uint64_t *map)
{
    MDB_envinfo info = {0};
    MDB_stat statistics = {0};
    /* Both read the map's first pages. */
    pthread_rwlock_rdlock(&store->resize);
    mdb_env_info(store->environment, &info);
    mdb_env_stat(store->environment, &statistics);
    pthread_rwlock_unlock(&store->resize);
    *used = (info.me_last_pgno + 1) * (uint64_t)statistics.ms_psize;
    *map = info.me_mapsize;
}

/* Doubles the map until `needed` bytes fit. Waits for the snapshots that are open. */
static int grow_map(struct nb_store *store, uint64_t needed, struct nb_error *error)
{
    uint64_t used;
    uint64_t map;
    nb_store_sizes(store, &used, &map);
    uint64_t size = store->grow ? map * 2 : map;
    while (size < needed)
        size *= 2;
    if (size == map)
        return 0;
    pthread_rwlock_wrlock(&store->resize);
    int rc = mdb_env_set_mapsize(store->environment, (size_t)size);
    pthread_rwlock_unlock(&store->resize);
    if (rc == 0)
        store->grow = false;
    return store_error(error, rc, "growing the store's map");
}

int nb_store_begin(struct nb_store *store, uint64_t expected, struct nb_view *view,
                   struct nb_error *error)
{
    uint64_t used;
    uint64_t map;
    nb_store_sizes(store, &used, &map);
    int rc = grow_map(store, used + expected * GROWTH_FACTOR + GROWTH_RESERVE, error);
    if (rc != 0)
        return rc;
    MDB_txn *transaction;
    rc = mdb_txn_begin(store->environment, NULL, 0, &transaction);
    if (rc != 0)
        return store_error(error, rc, store->directory);
    *view = (struct nb_view){.transaction = transaction, .store = store};
    return 0;
}

int nb_store_commit(struct nb_view *view, struct nb_error *error)
{
    int rc = mdb_txn_commit(view->transaction);
    view->transaction = NULL;
    view->store->grow = rc == MDB_MAP_FULL;
    return store_error(error, rc, "committing to the store");
}

void nb_store_abort(struct nb_view *view)
{
    if (view->transaction != NULL)
        mdb_txn_abort(view->transaction);
    view->transaction = NULL;
}

int nb_store_snapshot(struct nb_store *store, struct nb_view *view, struct nb_error *error)
{
    pthread_rwlock_rdlock(&store->resize);
    MDB_txn *transaction;
    int rc = mdb_txn_begin(store->environment, NULL, MDB_RDONLY, &transaction);
    if (rc != 0) {
        pthread_rwlock_unlock(&store->resize);
        return store_error(error, rc, store->directory);
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
    pthread_rwlock_unlock(&view->store->resize);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Splits the checksum off; false if it does not fit the bytes. */
static bool unseal(const MDB_val *sealed, struct nb_string *value)
{
    if (sealed->mv_size < CHECKSUM_BYTES)
        return false;
    const char *bytes = sealed->mv_data;
    size_t length = sealed->mv_size - CHECKSUM_BYTES;
    uint64_t checksum;
    memcpy(&checksum, bytes + length, sizeof checksum);
    *value = (struct nb_string){bytes, length};
    return checksum == XXH3_64bits(bytes, length);
}

static int damaged(const struct nb_view *view, enum nb_table table, struct nb_error *error)
{
    return nb_error_set(error, NB_CORRUPT, "%s is damaged: a checksum in table %s is wrong",
                        view->store->directory, TABLE_NAMES[table]);
}

int nb_store_get(const struct nb_view *view, enum nb_table table, struct nb_string key,
                 struct nb_string *value, struct nb_error *error)
{
    MDB_val k = value_of(key);
    MDB_val v;
    int rc = mdb_get(view->transaction, view->store->tables[table], &k, &v);
    if (rc == MDB_NOTFOUND)
        return NB_NOT_FOUND;
    if (rc != 0)
        return store_error(error, rc, "reading the store");
    return unseal(&v, value) ? 0 : damaged(view, table, error);
}

int nb_store_put(const struct nb_view *view, enum nb_table table, struct nb_string key,
                 struct nb_string value, struct nb_error *error)
{
    struct nb_buffer *sealed = &view->store->sealed;
    uint64_t checksum = XXH3_64bits(value.bytes, value.length);
    sealed->length = 0;
    if (nb_buffer_append(sealed, value.bytes, value.length) != 0 ||
        nb_buffer_append(sealed, &checksum, sizeof checksum) != 0)
        return nb_error_no_memory(error);
    MDB_val k = value_of(key);
    MDB_val v = {.mv_size = sealed->length, .mv_data = sealed->bytes};
    int rc = mdb_put(view->transaction, view->store->tables[table], &k, &v, 0);
    if (rc == MDB_MAP_FULL)
        view->store->grow = true;
    return store_error(error, rc, "writing to the store");
}

int nb_store_delete(const struct nb_view *view, enum nb_table table, struct nb_string key,
                    struct nb_error *error)
{
    MDB_val k = value_of(key);
    int rc = mdb_del(view->transaction, view->store->tables[table], &k, NULL);
    if (rc == MDB_MAP_FULL)
        view->store->grow = true;
    return rc == MDB_NOTFOUND ? 0 : store_error(error, rc, "deleting from the store");
}

static bool has_prefix(const MDB_val *key, struct nb_string from, size_t prefix)
{
    return key->mv_size >= prefix && memcmp(key->mv_data, from.bytes, prefix) == 0;
}

int nb_store_scan(const struct nb_view *view, enum nb_table table, struct nb_string from,
                  size_t prefix, nb_store_visit *visit, void *user, struct nb_error *error)
{
    MDB_cursor *cursor;
    int rc = mdb_cursor_open(view->transaction, view->store->tables[table], &cursor);
    if (rc != 0)
        return store_error(error, rc, "reading the store");
    MDB_val k = value_of(from);
    MDB_val v;
    int result = 0;
    rc = mdb_cursor_get(cursor, &k, &v, from.length == 0 ? MDB_FIRST : MDB_SET_RANGE);
    while (rc == 0 && result == 0 && has_prefix(&k, from, prefix)) {
        struct nb_string value;
        if (unseal(&v, &value))
            result = visit(user, (struct nb_string){k.mv_data, k.mv_size}, value, error);
        else
            result = damaged(view, table, error);
        if (result == 0)
            rc = mdb_cursor_get(cursor, &k, &v, MDB_NEXT);
    }
    mdb_cursor_close(cursor);
    if (result != 0 || rc == MDB_NOTFOUND)
        return result;
    return store_error(error, rc, "reading the store");
}

int nb_store_floor(const struct nb_view *view, enum nb_table table, struct nb_string from,
                   size_t prefix, struct nb_string *key, struct nb_string *value,
                   struct nb_error *error)
{
    MDB_cursor *cursor;
    int rc = mdb_cursor_open(view->transaction, view->store->tables[table], &cursor);
    if (rc != 0)
        return store_error(error, rc, "reading the store");
    MDB_val k = value_of(from);
    MDB_val v;
    rc = mdb_cursor_get(cursor, &k, &v, MDB_SET_RANGE);
    if (rc == MDB_NOTFOUND)
        rc = mdb_cursor_get(cursor, &k, &v, MDB_LAST);
    else if (rc == 0 && (k.mv_size != from.length || memcmp(k.mv_data, from.bytes, k.mv_size) != 0))
        rc = mdb_cursor_get(cursor, &k, &v, MDB_PREV);
    mdb_cursor_close(cursor);
    if (rc == MDB_NOTFOUND || (rc == 0 && !has_prefix(&k, from, prefix)))
        return NB_NOT_FOUND;
    if (rc != 0)
        return store_error(error, rc, "reading the store");
    *key = (struct nb_string){k.mv_data, k.mv_size};
    return unseal(&v, value) ? 0 : damaged(view, table, error);
}

int nb_store_clear(const struct nb_view *view, enum nb_table table, struct nb_string prefix,
                   size_t most, size_t *deleted, struct nb_error *error)
{
    MDB_cursor *cursor;
    *deleted = 0;
    int rc = mdb_cursor_open(view->transaction, view->store->tables[table], &cursor);
    if (rc != 0)
        return store_error(error, rc, "deleting from the store");
    while (*deleted < most) {
        MDB_val k = value_of(prefix);
        MDB_val v;
        rc = mdb_cursor_get(cursor, &k, &v, MDB_SET_RANGE);
        if (rc != 0 || !has_prefix(&k, prefix, prefix.length))
            break;
        rc = mdb_cursor_del(cursor, 0);
        if (rc != 0)
            break;
        ++*deleted;
    }
    mdb_cursor_close(cursor);
    if (rc == MDB_MAP_FULL)
        view->store->grow = true;
    return rc == MDB_NOTFOUND ? 0 : store_error(error, rc, "deleting from the store");
}

/* ---- keys ------------------------------------------------------------------------------------ */

static void put_number(struct nb_store_key *key, uint64_t number, unsigned bytes)
{
    for (unsigned i = bytes; i > 0; i--)
        key->bytes[key->length++] = (unsigned char)(number >> (8 * (i - 1)));
}

struct nb_store_key nb_store_key_model(uint32_t model)
{
    struct nb_store_key key = {.length = 0};
    put_number(&key, model, 4);
    return key;
}

struct nb_store_key nb_store_key_number(uint32_t model, uint32_t number)
{
    struct nb_store_key key = nb_store_key_model(model);
    put_number(&key, number, 4);
    return key;
}

struct nb_store_key nb_store_key_sequence(uint32_t model, uint64_t sequence)
{
    struct nb_store_key key = nb_store_key_model(model);
    put_number(&key, sequence, 8);
    return key;
}

struct nb_store_key nb_store_key_id(uint32_t model, struct nb_string id)
{
    struct nb_store_key key = nb_store_key_model(model);
    size_t length = id.length < sizeof key.bytes - 4 ? id.length : sizeof key.bytes - 4;
    memcpy(key.bytes + 4, id.bytes, length);
    key.length += length;
    return key;
}

/* The big-endian number of `bytes` bytes at `from`; 0 if the key is too short. */
static uint64_t number_at(struct nb_string key, size_t from, size_t bytes)
{
    uint64_t number = 0;
    if (key.length < from + bytes)
        return 0;
    for (size_t i = from; i < from + bytes; i++)
        number = number << 8 | (unsigned char)key.bytes[i];
    return number;
}

uint32_t nb_store_key_head(struct nb_string key)
{
    return (uint32_t)number_at(key, 0, 4);
}

uint64_t nb_store_key_tail(struct nb_string key)
{
    return key.length <= 4 ? 0 : number_at(key, 4, key.length < 12 ? key.length - 4 : 8);
}

struct nb_store_key nb_store_key_entry(uint64_t number, uint16_t piece)
{
    struct nb_store_key key = {.length = 0};
    put_number(&key, number, 8);
    put_number(&key, piece, 2);
    return key;
}

uint64_t nb_store_key_entry_number(struct nb_string key)
{
    return number_at(key, 0, 8);
}

uint16_t nb_store_key_entry_piece(struct nb_string key)
{
    return (uint16_t)number_at(key, 8, 2);
}
