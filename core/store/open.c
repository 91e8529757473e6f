/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens a store, and opens it again after a failure.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The store's format, and opening its tables. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/base/pack.h"
#include "core/store/store_private.h"

static const struct nb_string FORMAT_KEY = {"format", 6};

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

/* Whether the value is that of format 1, whose checksums covered the value alone. */
static bool is_first_format(const MDB_val *v)
{
    const unsigned char *bytes = v->mv_data;
    uint64_t checksum;
    if (v->mv_size != 1 + NB_STORE_CHECKSUM_BYTES || bytes[0] != 1)
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
    if ((rc == NB_NOT_FOUND || rc == NB_CORRUPT) && store->reading)
        return 0; /* a rebuild writes it anew, and ledger entries have their own format numbers */
    if (rc == NB_NOT_FOUND || rc == NB_CORRUPT)
        return nb_error_set(error, NB_CORRUPT,
                            "%s is damaged: its format's number does not read back; run bayesd "
                            "--rebuild",
                            store->file.path);
    if (rc != 0)
        return rc;
    struct nb_unpacker r = nb_unpacker_of(value.bytes, value.length);
    uint64_t format = nb_unpack_varint(&r);
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

/* ---- tables ---------------------------------------------------------------------------------- */

static int open_table(const struct nb_view *view, enum nb_table table, bool create,
                      struct nb_error *error)
{
    struct nb_store *store = view->store;
    int rc = mdb_dbi_open(view->transaction, nb_store_table_names[table], create ? MDB_CREATE : 0,
                          &store->tables[table]);
    if (rc == MDB_NOTFOUND)
        return nb_error_set(error, NB_CORRUPT, "%s is damaged: it has no table %s",
                            store->file.path, nb_store_table_names[table]);
    return nb_environment_error(error, rc, store->file.path);
}

/* Opens all tables in the write transaction `view` and checks the format; with `create`, makes
 * them and writes the format. NB_VERSION, NB_CORRUPT and others. */
static int store_open_tables(const struct nb_view *view, bool create, struct nb_error *error)
{
    int rc = open_table(view, NB_TABLE_META, create, error);
    if (rc == 0)
        rc = create ? put_format(view, error) : check_format(view, error);
    if (rc == 0 && !view->store->reading)
        rc = nb_recording_identify(view, error);
    if (rc == 0 && view->store->unknown_table[0] != '\0')
        rc =
            nb_error_set(error, NB_CORRUPT,
                         "%s is damaged: it has a table '%s' that does not exist; restore a backup",
                         view->store->file.data_path, view->store->unknown_table);
    for (int i = 0; rc == 0 && i < NB_TABLES; i++)
        if (i != NB_TABLE_META && (view->store->damaged >> i & 1u) == 0)
            rc = open_table(view, (enum nb_table)i, create, error);
    return rc;
}

#define XXH_INLINE_ALL

#include "core/store/lease.h"
#include "core/store/page.h"
#include "core/store/pages.h"

/* ---- checking the file ----------------------------------------------------------------------- */

static void note_damage(struct nb_store *store, const struct nb_pages_answer *answer)
{
    if (answer->damaged_page == 0)
        return;
    pthread_mutex_lock(&store->failure_lock);
    (void)nb_error_set(&store->damage, NB_CORRUPT,
                       "%s is damaged, first in page %llu, table %s: entries with a wrong "
                       "checksum: %u; keys that were out of order and were replaced: %u",
                       store->file.data_path, (unsigned long long)answer->damaged_page,
                       nb_store_table_names[answer->damaged_table], answer->damaged_entries,
                       answer->replaced);
    pthread_mutex_unlock(&store->failure_lock);
}

/* Sets question->meta to the meta page of the newest complete transaction, usually the one with the
 * greater number. If the pages of the other one show that it is newer still, its number was damaged
 * after the commit: the number is corrected, so that no acknowledged change is lost. (The file
 * looks the same if a commit failed while it wrote that page, and the process was killed before it
 * could restore the page. Then the commit takes effect although its caller got an error.) */
static int choose_meta(struct nb_pages_question *question, const struct nb_meta metas[2],
                       int newest, struct nb_error *error)
{
    struct nb_pages_answer answer;
    uint64_t next = metas[newest].transaction + 1;
    question->meta = metas[!newest];
    if (nb_pages_last_transaction(question) == next) {
        question->meta.transaction = next;
        if (nb_pages_check(question, &answer, NULL) == 0)
            return nb_meta_write(question->file, question->path, !newest, &question->meta, error);
    }
    question->meta = metas[newest];
    return 0;
}

/* Checks the pages of data.mdb before LMDB uses them. Sets *needed to the least size of the map in
 * bytes. */
static int examine(struct nb_store *store, uint64_t *needed, struct nb_error *error)
{
    struct nb_pages_question question = {.file = store->file.data,
                                         .path = store->file.data_path,
                                         .any_order = store->reading,
                                         .user = store,
                                         .tables = nb_store_table_names,
                                         .table_count = NB_TABLES};
    struct nb_pages_answer answer = {.used = 0};
    struct nb_meta metas[2];
    int newest;
    *needed = store->reserve;
    store->unknown_table[0] = '\0';
    int rc = nb_meta_read(question.file, question.path, metas, &newest, error);
    if (rc == NB_NOT_FOUND)
        return 0;
    if (rc == 0)
        rc = choose_meta(&question, metas, newest, error);
    if (!store->reading)
        question.is_sound = nb_store_is_sound;
    if (rc == 0)
        rc = nb_pages_check(&question, &answer, error);
    if (rc == NB_CORRUPT && store->reading && answer.readable) {
        store->damaged = answer.damaged;
        rc = 0;
    }
    if (rc != 0)
        return rc;
    note_damage(store, &answer);
    memcpy(store->unknown_table, answer.unknown, sizeof store->unknown_table);
    *needed += (question.meta.last_page + 1) * question.meta.free.pad;
    return 0;
}

/* ---- opening --------------------------------------------------------------------------------- */

static unsigned flags_of(const struct nb_store *store)
{
    return store->reading ? MDB_RDONLY : 0;
}

/* Opens the tables. The first transaction of a store makes them. */
static int open_tables(struct nb_store *store, struct nb_error *error)
{
    struct nb_view view = {.store = store};
    MDB_txn *transaction;
    int rc = mdb_txn_begin(store->environment, NULL, flags_of(store), &transaction);
    if (rc != 0)
        return nb_environment_error(error, rc, store->file.path);
    view.transaction = transaction;
    store->writing = !store->reading;
    rc = store_open_tables(&view, store->committed == 0 && !store->reading, error);
    store->writing = false;
    if (rc != 0) {
        mdb_txn_abort(transaction);
        return rc;
    }
    rc = mdb_txn_commit(transaction);
    if (rc == 0)
        nb_store_note_state(store);
    return nb_environment_error(error, nb_store_file_reason(&store->file, rc), store->file.path);
}

/* Opens LMDB at the start, and again after a failure. If this fails, the environment is closed. */
static int open_environment(struct nb_store *store, struct nb_error *error)
{
    uint64_t needed;
    assert(store->environment == NULL);
    int rc = examine(store, &needed, error);
    if (rc == 0)
        rc = nb_environment_open(&store->file, store->map_size, needed, flags_of(store),
                                 &store->environment, error);
    if (rc != 0)
        return rc;
    nb_store_note_state(store);
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
    bool is_small = store->map_size != 0 && store->map_size < NB_STORE_RESERVE_MOST;
    store->reserve = is_small ? store->map_size : NB_STORE_RESERVE_MOST;
    for (int i = 0; i < NB_TABLES; i++)
        store->seeds[i] = XXH3_64bits(nb_store_table_names[i], strlen(nb_store_table_names[i]));
    nb_gate_init(&store->gate);
    pthread_mutex_init(&store->failure_lock, NULL);
    pthread_mutex_init(&store->lease_lock, NULL);
    pthread_cond_init(&store->leases_opened, NULL);
    pthread_mutex_init(&store->recent_lock, NULL);
    store->journal.file = -1;
    store->journal_most = NB_STORE_JOURNAL_BYTES;
    atomic_init(&store->lease_deadline, UINT64_MAX);
    return store;
}

static void free_store(struct nb_store *store)
{
    assert(store->leases == NULL);
    pthread_mutex_destroy(&store->recent_lock);
    pthread_cond_destroy(&store->leases_opened);
    pthread_mutex_destroy(&store->lease_lock);
    pthread_mutex_destroy(&store->failure_lock);
    nb_gate_deinit(&store->gate);
    nb_buffer_deinit(&store->sealed);
    free(store);
}

/* Opens `store` and sets *out to it. On failure, frees `store`. */
static int open_store(struct nb_store *store, const char *directory, struct nb_store **out,
                      struct nb_error *error)
{
    if (store == NULL)
        return nb_error_no_memory(error);
    int rc = nb_store_file_open(directory, &store->file, error);
    if (rc != 0) {
        free_store(store);
        return rc;
    }
    rc = open_environment(store, error);
    if (rc == 0)
        rc = nb_recording_load(store, error);
    if (rc == 0) {
        *out = store;
        return 0;
    }
    /* If the disk is full, the first two pages may be incomplete: the next start begins anew. */
    if (store->file.fresh && store->committed == 0)
        (void)!ftruncate(store->file.data, 0);
    nb_store_close(&store);
    return rc;
}

int nb_store_open(const char *directory, uint64_t map_size, struct nb_store **store,
                  struct nb_error *error)
{
    return open_store(new_store(map_size), directory, store, error);
}

int nb_store_open_reading(const char *directory, struct nb_store **out, uint32_t *damaged,
                          struct nb_error *error)
{
    struct nb_store *store = new_store(0);
    if (store != NULL)
        store->reading = true;
    int rc = open_store(store, directory, out, error);
    *damaged = rc == 0 ? (*out)->damaged : 0;
    return rc;
}

void nb_store_close(struct nb_store **out)
{
    struct nb_store *store = *out;
    *out = NULL;
    if (store == NULL)
        return;
    assert(!store->writing);
    bool whole = !store->reading && nb_store_flush(store, NULL) == 0;
    nb_environment_close(&store->environment);
    (void)nb_store_settle(store, NULL);
    nb_recording_unload(store, whole);
    nb_store_file_close(&store->file);
    free_store(store);
}

void nb_store_sizes(struct nb_store *store, uint64_t *used, uint64_t *map)
{
    *used = atomic_load(&store->used);
    *map = atomic_load(&store->map);
}

void nb_store_room(const struct nb_store *store, uint64_t *size, uint64_t *left)
{
    nb_store_file_room(&store->file, size, left);
}

/* ---- opening again --------------------------------------------------------------------------- */

/* Closes LMDB and opens it again. The gate is closed. */
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
    static const struct nb_error none = {.code = 0};
    int rc = replace_environment(store, error);
    nb_store_set_failure(store, rc == 0 ? &none : error);
    store->grow = store->grow && rc != 0;
    return rc;
}

int nb_store_reopen(struct nb_store *store, struct nb_error *error)
{
    struct nb_error local = {0};
    assert(!store->writing);
    if (!nb_store_failed(store, NULL))
        return 0;
    int rc = nb_store_settle(store, &local);
    if (rc == 0)
        rc = nb_store_enter_alone(store, &local);
    if (rc == 0) {
        rc = reopen_alone(store, &local);
        nb_gate_open(&store->gate);
    }
    if (rc != 0 && error != NULL)
        *error = local;
    return rc;
}
