/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads, writes and checks keys and values inside a transaction.
 */
#include <assert.h>
#include <string.h>

#include "core/store/store_private.h"

/* The stored form of values, which has a checksum at the end. */
#define XXH_INLINE_ALL
#include <xxhash.h>

/* Hashes table, key and value one after the other, each with the previous hash as its seed, so that
 * a byte that moves from the key to the value changes the checksum. */
static uint64_t checksum_of(const struct nb_store *store, enum nb_table table, struct nb_string key,
                            struct nb_string value)
{
    uint64_t seed = XXH3_64bits_withSeed(key.bytes, key.length, store->seeds[table]);
    uint64_t hash = XXH3_64bits(value.bytes, value.length);
    return XXH3_64bits_withSeed(&hash, sizeof hash, seed);
}

/* Whether the checksum is right. Sets *value to the bytes before the checksum. */
static bool store_unseal(const struct nb_store *store, enum nb_table table, struct nb_string key,
                         struct nb_string sealed, struct nb_string *value)
{
    uint64_t checksum;
    *value = (struct nb_string){"", 0};
    if (sealed.length < NB_STORE_CHECKSUM_BYTES)
        return false;
    *value = (struct nb_string){sealed.bytes, sealed.length - NB_STORE_CHECKSUM_BYTES};
    memcpy(&checksum, value->bytes + value->length, sizeof checksum);
    return checksum == checksum_of(store, table, key, *value);
}

bool nb_store_is_sound(const void *store, unsigned table, struct nb_string key,
                       struct nb_string sealed)
{
    struct nb_string value;
    assert(table < NB_TABLES);
    return store_unseal(store, (enum nb_table)table, key, sealed, &value);
}

int nb_store_seal(struct nb_store *store, enum nb_table table, struct nb_string key,
                  struct nb_string value, struct nb_string *sealed, struct nb_error *error)
{
    uint64_t checksum = checksum_of(store, table, key, value);
    store->sealed.length = 0;
    if (nb_buffer_append(&store->sealed, value.bytes, value.length) != 0 ||
        nb_buffer_append(&store->sealed, &checksum, sizeof checksum) != 0)
        return nb_error_no_memory(error);
    *sealed = nb_buffer_string(&store->sealed);
    return 0;
}

/* The names of the tables. */
const char *const nb_store_table_names[NB_TABLES] = {
    [NB_TABLE_META] = "meta",
    [NB_TABLE_MODELS] = "models",
    [NB_TABLE_STATE] = "state",
    [NB_TABLE_LABELS] = "labels",
    [NB_TABLE_LEDGER] = "ledger",
    [NB_TABLE_ENTRIES] = "entries",
    [NB_TABLE_ROWS] = "rows",
    [NB_TABLE_DOCUMENTS] = "documents",
    [NB_TABLE_WORDS] = "words",
    [NB_TABLE_WEIGHTS] = "weights",
    [NB_TABLE_SCORES] = "scores",
    [NB_TABLE_GARBAGE] = "garbage",
    [NB_TABLE_ORPHANS] = "orphans",
    [NB_TABLE_QUARANTINE] = "quarantine",
    [NB_TABLE_WAITING] = "waiting",
    [NB_TABLE_KEPT] = "kept",
    [NB_TABLE_TWIN] = "twin",
    [NB_TABLE_HISTORY] = "history",
    [NB_TABLE_HISTORY_IDS] = "history_ids",
};

const char *nb_store_table_name(enum nb_table table)
{
    assert(table < NB_TABLES);
    return nb_store_table_names[table];
}

/* ---- keys ------------------------------------------------------------------------------------ */

static void put_number(struct nb_store_key *key, uint64_t number, unsigned bytes)
{
    assert(key->length + bytes <= sizeof key->bytes);
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
    if (length > 0)
        memcpy(key.bytes + 4, id.bytes, length);
    key.length += length;
    return key;
}

/* Returns the big-endian number of `bytes` bytes at `from`; 0 if the key is too short. */
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

static MDB_val value_of(struct nb_string s)
{
    /* LMDB does not write to the keys and values that it gets. */
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

/* Finds the stored form of a value. Returns 0, MDB_NOTFOUND or another code of LMDB. */
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
    return store_unseal(view->store, table, key, sealed, value) ? 0 : damaged(view, table, error);
}

/* Turns LMDB's code for a write into a code and an error. Notes if the map is full. */
static int written(const struct nb_view *view, int rc, const char *what, struct nb_error *error)
{
    if (rc == MDB_MAP_FULL)
        view->store->grow = true;
    return nb_environment_error(error, nb_store_file_reason(&view->store->file, rc), what);
}

/* Adds the change to the journal if the transaction goes there. */
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

/* Checks that the key is greater than all others. Returns 0, NB_EXISTS or another code. */
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

/* Closes a walk. Returns `result`, or an error for LMDB's code `rc`. */
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
        if (store_unseal(view->store, table, walk.key, walk.sealed, &value))
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
        bool sound = store_unseal(view->store, table, walk.key, walk.sealed, &value);
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
    return store_unseal(view->store, table, walk.key, walk.sealed, value)
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

/* Deletes entries through the journal, one by one. Stops early if the transaction becomes one of
 * LMDB's. */
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

/* LMDB's list of free pages is its table 0. It has an entry for each transaction that freed pages:
 * their count and their numbers. lmdb.h offers no other way to read it; mdb_stat -f reads it so. */
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
