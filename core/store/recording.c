/* SPDX-License-Identifier: Apache-2.0
 *
 * Records small transactions in the journal of a store, and passes them on to LMDB later, many at
 * once. Also merges the recorded changes with LMDB's entries for readers, and keeps the state of
 * the store: its last commit, failures and damage.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "core/store/page.h"
#include "core/store/store_private.h"

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

/* ---- transactions that go to the journal ----------------------------------------------------- */

static MDB_val value_of(struct nb_string s)
{
    /* LMDB does not write to the keys that it gets. */
    return (MDB_val){.mv_size = s.length, .mv_data = (void *)(uintptr_t)s.bytes};
}

static struct nb_string string_of(const MDB_val *v)
{
    return (struct nb_string){v->mv_data, v->mv_size};
}

int nb_merged_open(struct nb_merged *walk, const struct nb_view *view, enum nb_table table,
                   struct nb_error *error)
{
    *walk = (struct nb_merged){.seen = nb_store_seen(view), .table = table};
    int rc = mdb_cursor_open(walk->seen.transaction, view->store->tables[table], &walk->cursor);
    return nb_environment_error(error, rc, "reading the store");
}

void nb_merged_close(struct nb_merged *walk)
{
    if (walk->cursor != NULL)
        mdb_cursor_close(walk->cursor);
    walk->cursor = NULL;
}

static int move(struct nb_merged *walk, MDB_cursor_op op)
{
    walk->status = mdb_cursor_get(walk->cursor, &walk->lmdb_key, &walk->lmdb_value, op);
    return walk->status;
}

/* ---- forwards -------------------------------------------------------------------------------- */

/* Returns < 0 if LMDB's entry comes first, 0 if the change has the same key, > 0 if the change
 * comes first. */
static int order(const struct nb_merged *walk)
{
    if (walk->change == NULL)
        return -1;
    if (walk->status == MDB_NOTFOUND)
        return 1;
    return nb_string_compare(string_of(&walk->lmdb_key), walk->change->key);
}

static void next_change(struct nb_merged *walk)
{
    walk->change = nb_recent_after(walk->seen.last, walk->change);
}

/* Makes LMDB's entry or the change the present entry, whichever has the smaller key. Skips entries
 * that changes replace or delete. */
static int settle(struct nb_merged *walk)
{
    for (;;) {
        if (walk->status != 0 && walk->status != MDB_NOTFOUND)
            return walk->status;
        if (walk->status == MDB_NOTFOUND && walk->change == NULL)
            return MDB_NOTFOUND;
        int first = order(walk);
        if (first < 0) {
            walk->key = string_of(&walk->lmdb_key);
            walk->sealed = string_of(&walk->lmdb_value);
            return 0;
        }
        if (first == 0) /* the change replaces LMDB's entry */
            (void)move(walk, MDB_NEXT);
        if (!walk->change->deleted) {
            walk->key = walk->change->key;
            walk->sealed = walk->change->value;
            return 0;
        }
        next_change(walk);
    }
}

int nb_merged_from(struct nb_merged *walk, struct nb_string from)
{
    const struct nb_seen *seen = &walk->seen;
    walk->lmdb_key = value_of(from);
    (void)move(walk, from.length == 0 ? MDB_FIRST : MDB_SET_RANGE);
    walk->change =
        seen->recent == NULL ? NULL : nb_recent_from(seen->recent, seen->last, walk->table, from);
    return settle(walk);
}

int nb_merged_next(struct nb_merged *walk)
{
    if (walk->change != NULL && walk->key.bytes == walk->change->key.bytes)
        next_change(walk);
    else
        (void)move(walk, MDB_NEXT);
    return settle(walk);
}

/* ---- backwards ------------------------------------------------------------------------------- */

/* Moves to LMDB's last key <= `most`; to the last of all if `most` is empty. */
static int lmdb_floor(struct nb_merged *walk, struct nb_string most)
{
    walk->lmdb_key = value_of(most);
    if (most.length == 0)
        return move(walk, MDB_LAST);
    if (move(walk, MDB_SET_RANGE) == MDB_NOTFOUND)
        return move(walk, MDB_LAST);
    if (walk->status == 0 && !nb_string_same(string_of(&walk->lmdb_key), most))
        return move(walk, MDB_PREV);
    return walk->status;
}

static const struct nb_recent_change *change_floor(const struct nb_merged *walk,
                                                   struct nb_string most)
{
    const struct nb_seen *seen = &walk->seen;
    const struct nb_recent_change *same = NULL;
    if (seen->recent == NULL)
        return NULL;
    if (most.length > 0)
        same = nb_recent_find(seen->recent, seen->last, walk->table, most);
    return same != NULL ? same : nb_recent_before(seen->recent, seen->last, walk->table, most);
}

int nb_merged_floor(struct nb_merged *walk, struct nb_string most)
{
    walk->change = change_floor(walk, most);
    (void)lmdb_floor(walk, most);
    while (walk->status == 0 || (walk->status == MDB_NOTFOUND && walk->change != NULL)) {
        int last = walk->change == NULL ? 1
                   : walk->status != 0
                       ? -1
                       : nb_string_compare(string_of(&walk->lmdb_key), walk->change->key);
        if (last > 0) {
            walk->key = string_of(&walk->lmdb_key);
            walk->sealed = string_of(&walk->lmdb_value);
            return 0;
        }
        if (!walk->change->deleted) {
            walk->key = walk->change->key;
            walk->sealed = walk->change->value;
            return 0;
        }
        if (last == 0)
            (void)move(walk, MDB_PREV);
        walk->change =
            nb_recent_before(walk->seen.recent, walk->seen.last, walk->table, walk->change->key);
    }
    return walk->status;
}

enum {
    /* A transaction that changes more bytes goes to LMDB at once, with all changes in the journal.
     * That is faster than writing it twice, because its changes nearly fill its pages. */
    RECORD_BYTES = 96 << 10,
    /* The same limit for the estimate at its beginning, which is several times too high. */
    EXPECTED_BYTES = 512 << 10,
    /* A byte in the journal takes about two in memory; changes that were taken back take more. */
    MEMORY_FACTOR = 8,
};

/* ---- recording ------------------------------------------------------------------------------- */

bool nb_recording_is_for(struct nb_store *store, uint64_t expected)
{
    return store->journal.store != 0 && !store->journal_avoid && !store->grow &&
           (expected <= EXPECTED_BYTES || store->is_full) &&
           (uint64_t)store->journal.at < store->journal_most &&
           nb_recent_bytes(store->recent) < MEMORY_FACTOR * store->journal_most;
}

int nb_recording_begin(struct nb_store *store, struct nb_error *error)
{
    int rc = mdb_txn_begin(store->environment, NULL, MDB_RDONLY, &store->transaction);
    store->recording = rc == 0;
    /* If LMDB has no room for another reader, the transaction becomes one of LMDB's. */
    return rc == 0 ? 0 : nb_recording_spill(store, error);
}

int nb_recording_change(struct nb_store *store, const struct nb_recent_change *change,
                        bool *recorded, struct nb_error *error)
{
    *recorded = false;
    if (store->recording && store->recorded >= RECORD_BYTES) {
        int rc = nb_recording_spill(store, error);
        if (rc != 0)
            return rc;
    }
    if (!store->recording)
        return 0;
    if (nb_recent_add(store->recent, change) != 0)
        return nb_error_no_memory(error);
    store->recorded += change->key.length + change->value.length;
    *recorded = true;
    return 0;
}

/* Opens the file of the journal, or makes it, when it is first needed. */
static int open_journal(struct nb_store *store, struct nb_error *error)
{
    struct nb_journal *journal = &store->journal;
    if (journal->file >= 0 && nb_store_file_has_journal(&store->file, journal->file) &&
        !store->journal_foreign)
        return 0;
    bool is_new = journal->number == 0;
    nb_store_file_close_journal(&journal->file);
    if (!is_new) /* the records are gone, so LMDB must get all changes */
        return nb_error_set(error, NB_IO, "%s was removed or replaced", store->file.journal_path);
    if (store->journal_foreign)
        nb_store_file_remove_journal(&store->file, true);
    store->journal_foreign = false;
    journal->size = 0;
    return nb_store_file_journal(&store->file, true, &journal->file, error);
}

/* Adds a change to the record, without the checksum of its value: the record has its own. */
static int add_change(void *user, const struct nb_recent_change *change)
{
    struct nb_recent_change bare = *change;
    if (!bare.deleted)
        bare.value.length -= NB_STORE_CHECKSUM_BYTES;
    return nb_journal_add(user, &bare);
}

static int record(struct nb_store *store, struct nb_error *error)
{
    int rc = open_journal(store, error);
    if (rc == 0 && nb_recent_each(store->recent, add_change, &store->journal) != 0)
        rc = nb_error_no_memory(error);
    if (rc == 0)
        return nb_journal_append(&store->journal, error);
    nb_journal_drop(&store->journal);
    return rc;
}

/* Makes the changes visible to readers. */
static void publish(struct nb_store *store)
{
    pthread_mutex_lock(&store->recent_lock);
    store->recent_last = nb_recent_last(store->recent);
    pthread_mutex_unlock(&store->recent_lock);
    store->commits++;
}

int nb_recording_commit(struct nb_store *store, bool *durable, struct nb_error *error)
{
    *durable = !nb_recent_is_marked(store->recent);
    if (*durable)
        return 0;
    int rc = record(store, error);
    if (rc == 0) {
        publish(store);
        *durable = true;
        return 0;
    }
    store->journal_avoid = true;
    return nb_journal_settle(&store->journal, NULL) == 0 ? 0 : rc;
}

void nb_recording_take_back(struct nb_store *store)
{
    nb_recent_take_back(store->recent);
}

/* ---- into LMDB ------------------------------------------------------------------------------- */

/* Copies changes to a table. Keys after the table's last one are appended, which fills pages. */
struct copying {
    MDB_txn *transaction;
    MDB_cursor *cursor;
    MDB_val last; /* the last key of the table; empty: it has no keys */
};

static int begin_table(struct nb_store *store, enum nb_table table, struct copying *c)
{
    MDB_val value;
    int rc = mdb_cursor_open(c->transaction, store->tables[table], &c->cursor);
    if (rc != 0)
        return rc;
    rc = mdb_cursor_get(c->cursor, &c->last, &value, MDB_LAST);
    if (rc == MDB_NOTFOUND)
        c->last.mv_size = 0;
    return rc == MDB_NOTFOUND ? 0 : rc;
}

static int copy_change(const struct copying *c, const struct nb_recent_change *change, bool append)
{
    MDB_val key = {change->key.length, (void *)(uintptr_t)change->key.bytes};
    MDB_val value = {change->value.length, (void *)(uintptr_t)change->value.bytes};
    if (!change->deleted)
        return mdb_cursor_put(c->cursor, &key, &value, append ? MDB_APPEND : 0);
    if (append)
        return 0;
    int rc = mdb_cursor_get(c->cursor, &key, NULL, MDB_SET);
    if (rc == 0)
        rc = mdb_cursor_del(c->cursor, 0);
    return rc == MDB_NOTFOUND ? 0 : rc;
}

/* Copies the changes of a table in ascending order of keys: after the first key that is appended,
 * all others are appended, too. */
static int copy_table(struct nb_store *store, enum nb_table table, MDB_txn *transaction)
{
    char bytes[NB_STORE_KEY_MOST];
    struct copying c = {.transaction = transaction};
    const struct nb_recent_change *change =
        nb_recent_from(store->recent, UINT64_MAX, table, (struct nb_string){"", 0});
    if (change == NULL)
        return 0;
    int rc = begin_table(store, table, &c);
    struct nb_string last = {bytes, c.last.mv_size};
    if (rc == 0 && last.length > 0)
        memcpy(bytes, c.last.mv_data, last.length);
    for (; rc == 0 && change != NULL; change = nb_recent_after(UINT64_MAX, change))
        rc = copy_change(&c, change, nb_string_compare(change->key, last) > 0);
    if (c.cursor != NULL)
        mdb_cursor_close(c.cursor);
    return rc;
}

int nb_recording_spill(struct nb_store *store, struct nb_error *error)
{
    MDB_txn *transaction;
    if (store->spare == NULL)
        store->spare = nb_recent_new();
    if (store->spare == NULL)
        return nb_error_no_memory(error);
    int rc = mdb_txn_begin(store->environment, NULL, 0, &transaction);
    if (rc != 0)
        return nb_environment_error(error, rc, store->file.path);
    for (int i = 0; rc == 0 && i < NB_TABLES; i++)
        rc = copy_table(store, (enum nb_table)i, transaction);
    if (rc != 0) {
        mdb_txn_abort(transaction);
        store->grow = store->grow || rc == MDB_MAP_FULL;
        return nb_environment_error(error, nb_store_file_reason(&store->file, rc),
                                    "writing to the store");
    }
    if (store->recording)
        mdb_txn_abort(store->transaction);
    store->recording = false;
    store->transaction = transaction;
    return 0;
}

void nb_recording_done(struct nb_store *store)
{
    struct nb_recent *old = store->recent;
    bool is_empty = nb_recent_last(old) == 0;
    assert(is_empty || store->spare != NULL);
    pthread_mutex_lock(&store->recent_lock);
    if (!is_empty) {
        store->recent = store->spare;
        store->spare = NULL;
    }
    store->recent_last = 0;
    store->recent_base = store->committed;
    pthread_mutex_unlock(&store->recent_lock);
    if (!is_empty)
        nb_recent_unref(&old);
    nb_journal_begin(&store->journal, store->committed);
    store->journal_avoid = store->is_full = false;
}
