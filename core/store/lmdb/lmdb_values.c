/* SPDX-License-Identifier: Apache-2.0
 *
 * Keys and values: what is read, written and checked inside a transaction.
 */
#include <assert.h>
#include <string.h>

#include "core/store/lmdb/environment.h"
#include "core/store/lmdb/recording.h"
#include "core/store/lmdb/store_private.h"

static MDB_val value_of(struct nb_string s)
{
    /* LMDB does not write through the keys and values it is given. */
    return (MDB_val){.mv_size = s.length, .mv_data = (void *)(uintptr_t)s.bytes};
}

static struct nb_string string_of(const MDB_val *v)
{
    return (struct nb_string){v->mv_data, v->mv_size};
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

/* The stored value; 0, MDB_NOTFOUND or another code of LMDB's. */
static int find(const struct nb_view *view, enum nb_table table, struct nb_string key,
                struct nb_string *sealed)
{
    struct nb_seen seen = nb_store_seen(view);
    MDB_val k = value_of(key);
    MDB_val v;
    if (seen.recent != NULL) {
        const struct nb_recent_change *change = nb_recent_find(seen.recent, seen.last, table, key);
        if (change != NULL) {
            *sealed = change->value;
            return change->deleted ? MDB_NOTFOUND : 0;
        }
    }
    int rc = mdb_get(seen.transaction, view->store->tables[table], &k, &v);
    if (rc == 0)
        *sealed = string_of(&v);
    return rc;
}

int nb_store_get(const struct nb_view *view, enum nb_table table, struct nb_string key,
                 struct nb_string *value, struct nb_error *error)
{
    struct nb_string sealed;
    assert(view->transaction != NULL);
    if (is_damaged(view, table))
        return damaged_pages(view, table, error);
    int rc = find(view, table, key, &sealed);
    if (rc == MDB_NOTFOUND)
        return NB_NOT_FOUND;
    if (rc != 0)
        return nb_environment_error(error, rc, "reading the store");
    return nb_store_unseal(view->store, table, key, sealed, value) ? 0
                                                                   : damaged(view, table, error);
}

/* What a write of LMDB came to. */
static int written(const struct nb_view *view, int rc, const char *what, struct nb_error *error)
{
    if (rc == MDB_MAP_FULL)
        view->store->grow = true;
    return nb_environment_error(error, nb_store_file_reason(&view->store->file, rc), what);
}

/* Adds the change to the journal's, if the transaction is for it. */
static int record(const struct nb_view *view, enum nb_table table, struct nb_string key,
                  const struct nb_string *sealed, bool *recorded, struct nb_error *error)
{
    struct nb_recent_change change = {.table = table, .key = key, .deleted = sealed == NULL};
    if (sealed != NULL)
        change.value = *sealed;
    *recorded = false;
    assert(key.length > 0 && key.length <= NB_STORE_KEY_MOST);
    return view->store->recording ? nb_recording_change(view->store, &change, recorded, error) : 0;
}

static int out_of_order(enum nb_table table, struct nb_error *error)
{
    return nb_error_set(error, NB_EXISTS, "table %s has a key that is not below the new one",
                        nb_store_table_name(table));
}

static int put(const struct nb_view *view, enum nb_table table, struct nb_string key,
               struct nb_string value, unsigned flags, struct nb_error *error)
{
    struct nb_string sealed;
    bool recorded = false;
    assert(view->transaction != NULL && view->store->writing);
    int rc = nb_store_seal(view->store, table, key, value, &sealed, error);
    if (rc == 0)
        rc = record(view, table, key, &sealed, &recorded, error);
    if (rc != 0 || recorded)
        return rc;
    MDB_val k = value_of(key);
    MDB_val v = value_of(sealed);
    rc = mdb_put(nb_store_seen(view).transaction, view->store->tables[table], &k, &v, flags);
    return rc == MDB_KEYEXIST ? out_of_order(table, error)
                              : written(view, rc, "writing to the store", error);
}

int nb_store_put(const struct nb_view *view, enum nb_table table, struct nb_string key,
                 struct nb_string value, struct nb_error *error)
{
    return put(view, table, key, value, 0, error);
}

/* Whether the key is behind all others: 0, NB_EXISTS or another code. */
static int check_is_last(const struct nb_view *view, enum nb_table table, struct nb_string key,
                         struct nb_error *error)
{
    struct nb_merged walk;
    int rc = nb_merged_open(&walk, view, table, error);
    if (rc != 0)
        return rc;
    rc = nb_merged_floor(&walk, (struct nb_string){"", 0});
    if (rc == 0 && nb_string_compare(walk.key, key) >= 0)
        rc = out_of_order(table, error);
    else
        rc = rc == MDB_NOTFOUND ? 0 : nb_environment_error(error, rc, "reading the store");
    nb_merged_close(&walk);
    return rc;
}

int nb_store_append(const struct nb_view *view, enum nb_table table, struct nb_string key,
                    struct nb_string value, struct nb_error *error)
{
    int rc = view->store->recording ? check_is_last(view, table, key, error) : 0;
    return rc != 0 ? rc : put(view, table, key, value, MDB_APPEND, error);
}

int nb_store_delete(const struct nb_view *view, enum nb_table table, struct nb_string key,
                    struct nb_error *error)
{
    struct nb_string sealed;
    bool recorded = false;
    assert(view->transaction != NULL && view->store->writing);
    int rc = view->store->recording ? find(view, table, key, &sealed) : 0;
    if (rc != 0)
        return rc == MDB_NOTFOUND ? 0 : nb_environment_error(error, rc, "reading the store");
    rc = record(view, table, key, NULL, &recorded, error);
    if (rc != 0 || recorded)
        return rc;
    MDB_val k = value_of(key);
    rc = mdb_del(nb_store_seen(view).transaction, view->store->tables[table], &k, NULL);
    return rc == MDB_NOTFOUND ? 0 : written(view, rc, "deleting from the store", error);
}

/* ---- many ------------------------------------------------------------------------------------ */

static int open_walk(const struct nb_view *view, enum nb_table table, struct nb_merged *walk,
                     struct nb_error *error)
{
    assert(view->transaction != NULL);
    if (is_damaged(view, table))
        return damaged_pages(view, table, error);
    return nb_merged_open(walk, view, table, error);
}

/* Ends a walk that came to `result`, where LMDB said `rc`. */
static int close_walk(struct nb_merged *walk, int result, int rc, struct nb_error *error)
{
    nb_merged_close(walk);
    if (result != 0 || rc == MDB_NOTFOUND)
        return result;
    return nb_environment_error(error, rc, "reading the store");
}

static bool has_prefix(struct nb_string key, struct nb_string from, size_t prefix)
{
    return key.length >= prefix && (prefix == 0 || memcmp(key.bytes, from.bytes, prefix) == 0);
}

int nb_store_scan(const struct nb_view *view, enum nb_table table, struct nb_string from,
                  size_t prefix, nb_store_visit *visit, void *user, struct nb_error *error)
{
    struct nb_merged walk;
    assert(prefix <= from.length);
    int result = open_walk(view, table, &walk, error);
    if (result != 0)
        return result;
    int rc = nb_merged_from(&walk, from);
    while (rc == 0 && result == 0 && has_prefix(walk.key, from, prefix)) {
        struct nb_string value;
        if (nb_store_unseal(view->store, table, walk.key, walk.sealed, &value))
            result = visit(user, walk.key, value, error);
        else
            result = damaged(view, table, error);
        if (result == 0)
            rc = nb_merged_next(&walk);
    }
    return close_walk(&walk, result, rc, error);
}

int nb_store_inspect(const struct nb_view *view, enum nb_table table, nb_store_inspector *inspect,
                     void *user, struct nb_error *error)
{
    struct nb_merged walk;
    int result = open_walk(view, table, &walk, error);
    if (result != 0)
        return result;
    int rc = nb_merged_from(&walk, (struct nb_string){"", 0});
    while (rc == 0 && result == 0) {
        struct nb_string value;
        bool sound = nb_store_unseal(view->store, table, walk.key, walk.sealed, &value);
        result = inspect(user, table, walk.key, value, sound, error);
        if (result == 0)
            rc = nb_merged_next(&walk);
    }
    return close_walk(&walk, result, rc, error);
}

int nb_store_floor(const struct nb_view *view, enum nb_table table, struct nb_string from,
                   size_t prefix, struct nb_string *key, struct nb_string *value,
                   struct nb_error *error)
{
    struct nb_merged walk;
    assert(prefix <= from.length && from.length > 0);
    int rc = open_walk(view, table, &walk, error);
    if (rc != 0)
        return rc;
    rc = nb_merged_floor(&walk, from);
    nb_merged_close(&walk);
    if (rc == MDB_NOTFOUND || (rc == 0 && !has_prefix(walk.key, from, prefix)))
        return NB_NOT_FOUND;
    if (rc != 0)
        return nb_environment_error(error, rc, "reading the store");
    *key = walk.key;
    return nb_store_unseal(view->store, table, walk.key, walk.sealed, value)
               ? 0
               : damaged(view, table, error);
}

/* Finds the first key >= `from` and copies it. */
static int first_from(const struct nb_view *view, enum nb_table table, struct nb_string from,
                      struct nb_store_key *key, struct nb_error *error)
{
    struct nb_merged walk;
    int rc = nb_merged_open(&walk, view, table, error);
    if (rc != 0)
        return rc;
    rc = nb_merged_from(&walk, from);
    if (rc == 0 && walk.key.length > sizeof key->bytes)
        rc = MDB_BAD_VALSIZE;
    if (rc == 0) {
        memcpy(key->bytes, walk.key.bytes, walk.key.length);
        key->length = walk.key.length;
    }
    nb_merged_close(&walk);
    if (rc == MDB_NOTFOUND)
        return NB_NOT_FOUND;
    return nb_environment_error(error, rc, "reading the store");
}

/* Deletes for the journal, key by key. Ends early if the transaction becomes one of LMDB's. */
static int clear_recorded(const struct nb_view *view, enum nb_table table, struct nb_string prefix,
                          size_t most, size_t *deleted, struct nb_error *error)
{
    struct nb_store_key key = {.length = 0};
    struct nb_string from = prefix;
    int rc = 0;
    while (rc == 0 && *deleted < most && view->store->recording) {
        rc = first_from(view, table, from, &key, error);
        from = nb_store_key_string(&key);
        if (rc == NB_NOT_FOUND || (rc == 0 && !has_prefix(from, prefix, prefix.length)))
            return 0;
        if (rc == 0)
            rc = nb_store_delete(view, table, from, error);
        *deleted += rc == 0;
    }
    return rc;
}

static int clear_in_lmdb(const struct nb_view *view, enum nb_table table, struct nb_string prefix,
                         size_t most, size_t *deleted, struct nb_error *error)
{
    MDB_cursor *cursor;
    int rc = mdb_cursor_open(nb_store_seen(view).transaction, view->store->tables[table], &cursor);
    if (rc != 0)
        return nb_environment_error(error, rc, "reading the store");
    while (*deleted < most) {
        MDB_val k = value_of(prefix);
        MDB_val v;
        rc = mdb_cursor_get(cursor, &k, &v, prefix.length == 0 ? MDB_FIRST : MDB_SET_RANGE);
        if (rc != 0 || !has_prefix(string_of(&k), prefix, prefix.length))
            break;
        rc = mdb_cursor_del(cursor, 0);
        if (rc != 0)
            break;
        ++*deleted;
    }
    mdb_cursor_close(cursor);
    return rc == MDB_NOTFOUND ? 0 : written(view, rc, "deleting from the store", error);
}

int nb_store_clear(const struct nb_view *view, enum nb_table table, struct nb_string prefix,
                   size_t most, size_t *deleted, struct nb_error *error)
{
    *deleted = 0;
    assert(view->store->writing);
    int rc = view->store->recording ? clear_recorded(view, table, prefix, most, deleted, error) : 0;
    return rc != 0 || view->store->recording
               ? rc
               : clear_in_lmdb(view, table, prefix, most, deleted, error);
}

/* ---- free pages ------------------------------------------------------------------------------ */

/* LMDB's list of free pages is its table 0: for each transaction that freed some, their count and
 * their numbers (lmdb.h has no other way to it; mdb_stat -f does the same). */
int nb_store_free_bytes(const struct nb_view *view, uint64_t *bytes, struct nb_error *error)
{
    enum { FREE_PAGES = 0 };
    MDB_cursor *cursor;
    MDB_val key, value;
    MDB_txn *transaction = nb_store_seen(view).transaction;
    uint64_t pages = 0;
    int status = mdb_cursor_open(transaction, FREE_PAGES, &cursor);
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
    status = mdb_stat(transaction, FREE_PAGES, &statistics);
    *bytes = pages * statistics.ms_psize;
    return status == 0 ? 0 : nb_error_set(error, NB_IO, "%s", mdb_strerror(status));
}
