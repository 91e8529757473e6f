/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens a store with its journal, and opens it again after a failure.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/base/buffer.h"
#include "core/base/platform/platform.h"
#include "core/base/system.h"
#include "core/store/lease.h"
#include "core/store/page.h"
#include "core/store/pages.h"
#include "core/store/store.h"
#include "core/store/store_private.h"

/* ---- the journal ----------------------------------------------------------------------------- */

/* The key in META of the store's identity, a random number that its journal contains. */
static const struct nb_string IDENTITY_KEY = {"journal", 7};

static int load_change(void *user, const struct nb_recent_change *change)
{
    struct nb_store *store = user;
    struct nb_recent_change sealed = *change;
    if (change->table >= NB_TABLES || change->key.length > NB_STORE_KEY_MOST)
        return NB_CORRUPT;
    int rc = change->deleted ? 0
                             : nb_store_seal(store, (enum nb_table)change->table, change->key,
                                             change->value, &sealed.value, NULL);
    return rc != 0 ? rc : nb_recent_add(store->recent, &sealed);
}

/* Reports that the identity cannot be read. The store is refused, because its journal, which cannot
 * be recognized without the identity, may have changes. */
static int lost_identity(const struct nb_store *store, struct nb_error *error)
{
    return nb_error_set(error, NB_CORRUPT,
                        "%s is damaged: the store's identity does not read back; run bayesd "
                        "--rebuild",
                        store->file.path);
}

static int draw_identity(uint64_t *identity, struct nb_error *error)
{
    *identity = 0;
    while (*identity == 0)
        if (getentropy(identity, sizeof *identity) != 0)
            return nb_error_errno(error, errno, "drawing the store's identity");
    return 0;
}

int nb_recording_identify(const struct nb_view *view, struct nb_error *error)
{
    struct nb_string value;
    struct nb_error damage;
    uint64_t identity;
    int rc = nb_store_get(view, NB_TABLE_META, IDENTITY_KEY, &value, error);
    if (rc == NB_CORRUPT || (rc == NB_NOT_FOUND && nb_store_met_damage(view->store, &damage)))
        return lost_identity(view->store, error);
    if (rc == NB_NOT_FOUND)
        rc = draw_identity(&identity, error);
    else
        return rc;
    identity = htole64(identity);
    return rc != 0
               ? rc
               : nb_store_put(view, NB_TABLE_META, IDENTITY_KEY,
                              (struct nb_string){(const char *)&identity, sizeof identity}, error);
}

/* Returns the store's identity; 0 if it cannot be read. */
static uint64_t read_identity(struct nb_store *store)
{
    struct nb_view view;
    struct nb_string value;
    uint64_t identity = 0;
    if (nb_store_snapshot(store, &view, NULL) != 0)
        return 0;
    if (nb_store_get(&view, NB_TABLE_META, IDENTITY_KEY, &value, NULL) == 0) {
        struct nb_unpacker r = nb_unpacker_of(value.bytes, value.length);
        identity = nb_unpack_u64(&r);
    }
    nb_store_snapshot_end(&view);
    return identity;
}

/* Decides whether the store may be used with this journal. If the store is opened for reading only,
 * to save its data, changes behind damage in the journal are left out without an error. */
static int judge(struct nb_store *store, const struct nb_journal_found *found,
                 struct nb_error *error)
{
    store->journal_foreign = found->is_foreign;
    if (store->reading)
        return 0;
    if (found->is_later)
        return nb_error_set(error, NB_CORRUPT,
                            "%s has changes that came after a later state of data.mdb than it has: "
                            "put the right data.mdb in its place; or, if this one is meant, remove "
                            "the journal",
                            store->file.journal_path);
    if (found->is_damaged)
        return nb_error_set(error, NB_CORRUPT,
                            "%s is damaged at byte %lld, and changes lie behind it: restore a "
                            "backup, or run bayesd --rebuild, which keeps what comes before",
                            store->file.journal_path, (long long)store->journal.at);
    return 0;
}

static int read_journal(struct nb_store *store, struct nb_error *error)
{
    struct nb_journal_found found;
    int rc = nb_journal_read(&store->journal, store->committed, load_change, store, &found, error);
    store->journal_found = found;
    if (rc == NB_NO_MEMORY)
        return nb_error_no_memory(error);
    if (rc == NB_CORRUPT)
        return nb_error_set(error, NB_CORRUPT,
                            "%s is damaged: a record cannot be read; restore a backup, or run "
                            "bayesd --rebuild",
                            store->file.journal_path);
    if (rc == 0)
        rc = judge(store, &found, error);
    if (rc == 0)
        store->recent_last = nb_recent_last(store->recent);
    return rc;
}

int nb_recording_load(struct nb_store *store, struct nb_error *error)
{
    int file = -1;
    uint64_t identity = read_identity(store);
    store->recent_base = store->committed;
    store->recent = nb_recent_new();
    if (store->recent == NULL)
        return nb_error_no_memory(error);
    int rc = nb_store_file_journal(&store->file, false, &file, error);
    nb_journal_init(&store->journal, file, store->file.journal_path, identity);
    nb_journal_begin(&store->journal, store->committed);
    assert(identity != 0 || store->reading);
    if (rc == 0 && file >= 0)
        rc = read_journal(store, error);
    store->journal_loaded = rc == 0;
    return rc;
}

void nb_recording_unload(struct nb_store *store, bool whole)
{
    if (whole && store->journal_loaded && store->journal.file >= 0 && !store->journal_foreign)
        nb_store_file_remove_journal(&store->file, false);
    nb_store_file_close_journal(&store->journal.file);
    nb_journal_deinit(&store->journal);
    nb_recent_unref(&store->recent);
    nb_recent_unref(&store->spare);
}

bool nb_store_met_journal(const struct nb_store *store, struct nb_error *what, bool *is_cut)
{
    const struct nb_journal_found *found = &store->journal_found;
    *is_cut = found->is_cut;
    if (found->records == 0 && !found->is_cut)
        return false;
    (void)nb_error_set(what, NB_CORRUPT, "%s: %llu records were read, %lld of %lld bytes%s",
                       store->file.journal_path, (unsigned long long)found->records,
                       (long long)found->end, (long long)found->size,
                       found->is_cut ? "; the file was cut short or its last record is not whole: "
                                       "changes that came after these may be missing"
                                     : "");
    return true;
}

void nb_store_limit_journal(struct nb_store *store, uint64_t bytes)
{
    store->journal_most = bytes;
}

/* ---- the environment of LMDB ----------------------------------------------------------------- */

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

static int try_size(const struct nb_store_file *file, uint64_t map_size, unsigned flags,
                    MDB_env **environment)
{
    int rc = map_size > NB_PLATFORM_MAP_MOST ? EFBIG : mdb_env_create(environment);
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
    uint64_t most = MOST_MAP < SIZE_MAX / 4 ? MOST_MAP : (uint64_t)SIZE_MAX / 4 + 1;
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

/* ---- the format ------------------------------------------------------------------------------ */

static const struct nb_string FORMAT_KEY = {"format", 6};

static int refuse_format(const struct nb_store *store, uint64_t format, struct nb_error *error)
{
    if (format > NB_STORE_FORMAT)
        return nb_error_set(error, NB_VERSION,
                            "%s has store format %llu, this bayesd reads up to %d: use a newer "
                            "bayesd",
                            store->file.path, (unsigned long long)format, NB_STORE_FORMAT);
    return nb_error_set(error, NB_VERSION,
                        "%s has store format %llu, this bayesd reads %d to %d: export every model "
                        "with the bayesd that wrote it, and import the files with this one into an "
                        "empty directory",
                        store->file.path, (unsigned long long)format, NB_STORE_OLDEST_FORMAT,
                        NB_STORE_FORMAT);
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
    store->format = NB_STORE_FORMAT;
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
    if (format < NB_STORE_OLDEST_FORMAT || format > NB_STORE_FORMAT)
        return refuse_format(store, format, error);
    store->format = (unsigned)format;
    return 0;
}

static int put_format(const struct nb_view *view, struct nb_error *error)
{
    static const char format[] = {NB_STORE_FORMAT};
    view->store->format = NB_STORE_FORMAT;
    return nb_store_put(view, NB_TABLE_META, FORMAT_KEY, (struct nb_string){format, 1}, error);
}

unsigned nb_store_format(const struct nb_store *store)
{
    return store->format;
}

int nb_store_raise_format(const struct nb_view *view, struct nb_error *error)
{
    return put_format(view, error);
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
    size_t next = metas[newest].transaction + 1;
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
    nb_condition_init(&store->leases_opened);
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
