/* SPDX-License-Identifier: Apache-2.0
 *
 * Keys and values: what is read, written and checked inside a transaction.
 */
#include <assert.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/lmdb/environment.h"
#include "core/lmdb/store_private.h"

enum { CHECKSUM_BYTES = 8 };

static MDB_val value_of(struct nb_string s)
{
    /* LMDB does not write through the keys and values it is given. */
    return (MDB_val){.mv_size = s.length, .mv_data = (void *)(uintptr_t)s.bytes};
}

static struct nb_string string_of(const MDB_val *v)
{
    return (struct nb_string){v->mv_data, v->mv_size};
}

/* ---- checksums ------------------------------------------------------------------------------- */

/* Table, key and value are hashed one after the other, each with the hash before it as its seed: no
 * byte can move from one to the other. */
static uint64_t checksum_of(const struct nb_store *store, enum nb_table table, struct nb_string key,
                            struct nb_string value)
{
    uint64_t seed = XXH3_64bits_withSeed(key.bytes, key.length, store->seeds[table]);
    uint64_t hash = XXH3_64bits(value.bytes, value.length);
    return XXH3_64bits_withSeed(&hash, sizeof hash, seed);
}

/* Splits the checksum off; false if it does not fit. */
static bool split(const struct nb_store *store, enum nb_table table, struct nb_string key,
                  struct nb_string sealed, struct nb_string *value)
{
    uint64_t checksum;
    *value = (struct nb_string){"", 0};
    if (sealed.length < CHECKSUM_BYTES)
        return false;
    *value = (struct nb_string){sealed.bytes, sealed.length - CHECKSUM_BYTES};
    memcpy(&checksum, value->bytes + value->length, sizeof checksum);
    return checksum == checksum_of(store, table, key, *value);
}

static bool unseal(const struct nb_view *view, enum nb_table table, const MDB_val *key,
                   const MDB_val *sealed, struct nb_string *value)
{
    return split(view->store, table, string_of(key), string_of(sealed), value);
}

bool nb_store_is_sound(const void *store, unsigned table, struct nb_string key,
                       struct nb_string sealed)
{
    struct nb_string value;
    assert(table < NB_TABLES);
    return split(store, (enum nb_table)table, key, sealed, &value);
}

static int damaged(const struct nb_view *view, enum nb_table table, struct nb_error *error)
{
    return nb_error_set(error, NB_CORRUPT, "%s is damaged: a checksum in table %s is wrong",
                        view->store->file.path, nb_store_table_name(table));
}

static int damaged_pages(const struct nb_view *view, enum nb_table table, struct nb_error *error)
{
    return nb_error_set(error, NB_CORRUPT, "%s is damaged: pages of table %s cannot be read",
                        view->store->file.path, nb_store_table_name(table));
}

static bool is_damaged(const struct nb_view *view, enum nb_table table)
{
    return (view->store->damaged >> table & 1u) != 0;
}

/* ---- one value ------------------------------------------------------------------------------- */

int nb_store_get(const struct nb_view *view, enum nb_table table, struct nb_string key,
                 struct nb_string *value, struct nb_error *error)
{
    MDB_val k = value_of(key);
    MDB_val v;
    assert(view->transaction != NULL);
    if (is_damaged(view, table))
        return damaged_pages(view, table, error);
    int rc = mdb_get(view->transaction, view->store->tables[table], &k, &v);
    if (rc == MDB_NOTFOUND)
        return NB_NOT_FOUND;
    if (rc != 0)
        return nb_environment_error(error, rc, "reading the store");
    return unseal(view, table, &k, &v, value) ? 0 : damaged(view, table, error);
}

/* What a write of LMDB came to. */
static int written(const struct nb_view *view, int rc, const char *what, struct nb_error *error)
{
    if (rc == MDB_MAP_FULL)
        view->store->grow = true;
    return nb_environment_error(error, nb_store_file_reason(&view->store->file, rc), what);
}

static int put(const struct nb_view *view, enum nb_table table, struct nb_string key,
               struct nb_string value, unsigned flags, struct nb_error *error)
{
    struct nb_buffer *sealed = &view->store->sealed;
    uint64_t checksum = checksum_of(view->store, table, key, value);
    assert(view->transaction != NULL && view->store->writing);
    assert(key.length > 0 && key.length <= NB_STORE_KEY_MOST);
    sealed->length = 0;
    if (nb_buffer_append(sealed, value.bytes, value.length) != 0 ||
        nb_buffer_append(sealed, &checksum, sizeof checksum) != 0)
        return nb_error_no_memory(error);
    MDB_val k = value_of(key);
    MDB_val v = {.mv_size = sealed->length, .mv_data = sealed->bytes};
    int rc = mdb_put(view->transaction, view->store->tables[table], &k, &v, flags);
    if (rc == MDB_KEYEXIST)
        return nb_error_set(error, NB_EXISTS, "table %s has a key that is not below the new one",
                            nb_store_table_name(table));
    return written(view, rc, "writing to the store", error);
}

int nb_store_put(const struct nb_view *view, enum nb_table table, struct nb_string key,
                 struct nb_string value, struct nb_error *error)
{
    return put(view, table, key, value, 0, error);
}

int nb_store_append(const struct nb_view *view, enum nb_table table, struct nb_string key,
                    struct nb_string value, struct nb_error *error)
{
    return put(view, table, key, value, MDB_APPEND, error);
}

int nb_store_delete(const struct nb_view *view, enum nb_table table, struct nb_string key,
                    struct nb_error *error)
{
    MDB_val k = value_of(key);
    assert(view->transaction != NULL && view->store->writing);
    int rc = mdb_del(view->transaction, view->store->tables[table], &k, NULL);
    return rc == MDB_NOTFOUND ? 0 : written(view, rc, "deleting from the store", error);
}

/* ---- many ------------------------------------------------------------------------------------ */

static int open_cursor(const struct nb_view *view, enum nb_table table, MDB_cursor **cursor,
                       struct nb_error *error)
{
    assert(view->transaction != NULL);
    if (is_damaged(view, table))
        return damaged_pages(view, table, error);
    int rc = mdb_cursor_open(view->transaction, view->store->tables[table], cursor);
    return nb_environment_error(error, rc, "reading the store");
}

static bool has_prefix(const MDB_val *key, struct nb_string from, size_t prefix)
{
    return key->mv_size >= prefix && (prefix == 0 || memcmp(key->mv_data, from.bytes, prefix) == 0);
}

int nb_store_scan(const struct nb_view *view, enum nb_table table, struct nb_string from,
                  size_t prefix, nb_store_visit *visit, void *user, struct nb_error *error)
{
    MDB_cursor *cursor;
    assert(prefix <= from.length);
    int result = open_cursor(view, table, &cursor, error);
    if (result != 0)
        return result;
    MDB_val k = value_of(from);
    MDB_val v;
    int rc = mdb_cursor_get(cursor, &k, &v, from.length == 0 ? MDB_FIRST : MDB_SET_RANGE);
    while (rc == 0 && result == 0 && has_prefix(&k, from, prefix)) {
        struct nb_string value;
        if (unseal(view, table, &k, &v, &value))
            result = visit(user, string_of(&k), value, error);
        else
            result = damaged(view, table, error);
        if (result == 0)
            rc = mdb_cursor_get(cursor, &k, &v, MDB_NEXT);
    }
    mdb_cursor_close(cursor);
    if (result != 0 || rc == MDB_NOTFOUND)
        return result;
    return nb_environment_error(error, rc, "reading the store");
}

int nb_store_inspect(const struct nb_view *view, enum nb_table table, nb_store_inspector *inspect,
                     void *user, struct nb_error *error)
{
    MDB_cursor *cursor;
    int result = open_cursor(view, table, &cursor, error);
    if (result != 0)
        return result;
    MDB_val k;
    MDB_val v;
    int rc = mdb_cursor_get(cursor, &k, &v, MDB_FIRST);
    while (rc == 0 && result == 0) {
        struct nb_string value;
        bool sound = unseal(view, table, &k, &v, &value);
        result = inspect(user, table, string_of(&k), value, sound, error);
        if (result == 0)
            rc = mdb_cursor_get(cursor, &k, &v, MDB_NEXT);
    }
    mdb_cursor_close(cursor);
    if (result != 0 || rc == MDB_NOTFOUND)
        return result;
    return nb_environment_error(error, rc, "reading the store");
}

int nb_store_floor(const struct nb_view *view, enum nb_table table, struct nb_string from,
                   size_t prefix, struct nb_string *key, struct nb_string *value,
                   struct nb_error *error)
{
    MDB_cursor *cursor;
    assert(prefix <= from.length);
    int rc = open_cursor(view, table, &cursor, error);
    if (rc != 0)
        return rc;
    MDB_val k = value_of(from);
    MDB_val v;
    rc = mdb_cursor_get(cursor, &k, &v, MDB_SET_RANGE);
    if (rc == MDB_NOTFOUND)
        rc = mdb_cursor_get(cursor, &k, &v, MDB_LAST);
    else if (rc == 0 && !nb_string_same(string_of(&k), from))
        rc = mdb_cursor_get(cursor, &k, &v, MDB_PREV);
    mdb_cursor_close(cursor);
    if (rc == MDB_NOTFOUND || (rc == 0 && !has_prefix(&k, from, prefix)))
        return NB_NOT_FOUND;
    if (rc != 0)
        return nb_environment_error(error, rc, "reading the store");
    *key = string_of(&k);
    return unseal(view, table, &k, &v, value) ? 0 : damaged(view, table, error);
}

int nb_store_clear(const struct nb_view *view, enum nb_table table, struct nb_string prefix,
                   size_t most, size_t *deleted, struct nb_error *error)
{
    MDB_cursor *cursor;
    *deleted = 0;
    assert(view->store->writing);
    int rc = open_cursor(view, table, &cursor, error);
    if (rc != 0)
        return rc;
    while (*deleted < most) {
        MDB_val k = value_of(prefix);
        MDB_val v;
        rc = mdb_cursor_get(cursor, &k, &v, prefix.length == 0 ? MDB_FIRST : MDB_SET_RANGE);
        if (rc != 0 || !has_prefix(&k, prefix, prefix.length))
            break;
        rc = mdb_cursor_del(cursor, 0);
        if (rc != 0)
            break;
        ++*deleted;
    }
    mdb_cursor_close(cursor);
    return rc == MDB_NOTFOUND ? 0 : written(view, rc, "deleting from the store", error);
}

/* ---- free pages ------------------------------------------------------------------------------ */

/* LMDB's list of free pages is its table 0: for each transaction that freed some, their count and
 * their numbers (lmdb.h has no other way to it; mdb_stat -f does the same). */
int nb_store_free_bytes(const struct nb_view *view, uint64_t *bytes, struct nb_error *error)
{
    enum { FREE_PAGES = 0 };
    MDB_cursor *cursor;
    MDB_val key, value;
    uint64_t pages = 0;
    int status = mdb_cursor_open(view->transaction, FREE_PAGES, &cursor);
    if (status != 0)
        return nb_error_set(error, NB_IO, "reading the list of free pages: %s",
                            mdb_strerror(status));
    while ((status = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == 0) {
        size_t count = 0;
        if (value.mv_size >= sizeof count)
            memcpy(&count, value.mv_data, sizeof count);
        pages += count;
    }
    mdb_cursor_close(cursor);
    if (status != MDB_NOTFOUND)
        return nb_error_set(error, NB_IO, "reading the list of free pages: %s",
                            mdb_strerror(status));
    MDB_stat statistics;
    status = mdb_stat(view->transaction, FREE_PAGES, &statistics);
    *bytes = pages * statistics.ms_psize;
    return status == 0 ? 0 : nb_error_set(error, NB_IO, "%s", mdb_strerror(status));
}
